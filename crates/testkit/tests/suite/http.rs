//! A client that reads an answer byte by byte and tells a proper end from a cut.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::support::TIMEOUT;

/// A connection with a request on its way.
pub(crate) struct Asking {
    stream: BufReader<TcpStream>,
}

#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    pub(crate) end: End,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Proper,
    Cut,
}

impl Asking {
    pub(crate) fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &str, body: &str) {
        let length = body.len();
        let text =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{headers}\r\n{body}");
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// The head, or nothing where the connection was closed without one.
    pub(crate) fn head(&mut self) -> Option<(u16, String)> {
        let mut head = String::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).unwrap_or(0) == 0 {
                assert_eq!(head, "", "the head was cut");
                return None;
            }
            if line == "\r\n" {
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                return Some((status, head.to_lowercase()));
            }
            head.push_str(&line);
        }
    }

    pub(crate) fn read(&mut self) -> Answered {
        let (status, head) = self.head().expect("an answer");
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length: ")).map(|text| text.parse().unwrap());
        let (body, end) = match length {
            Some(length) => self.bytes(length),
            None => self.chunks(),
        };
        Answered { status, head, body: String::from_utf8(body).unwrap(), end }
    }

    /// One chunk of a body whose length is not known before; an empty one is the last.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        let (chunk, end) = self.bytes(usize::from_str_radix(line.trim(), 16).unwrap() + 2);
        (end == End::Proper).then(|| chunk[..chunk.len() - 2].to_owned())
    }

    fn chunks(&mut self) -> (Vec<u8>, End) {
        let mut body = Vec::new();
        loop {
            match self.chunk() {
                Some(chunk) if chunk.is_empty() => return (body, End::Proper),
                Some(chunk) => body.extend(chunk),
                None => return (body, End::Cut),
            }
        }
    }

    fn bytes(&mut self, length: usize) -> (Vec<u8>, End) {
        let mut body = Vec::new();
        // A connection that is cut may be reset: what came before counts all the same.
        let _ = self.stream.by_ref().take(length as u64).read_to_end(&mut body);
        let end = if body.len() == length { End::Proper } else { End::Cut };
        (body, end)
    }
}

impl Answered {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The payloads of its events.
    pub(crate) fn events(&self) -> Vec<Value> {
        let texts = self.body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|text| *text != "[DONE]");
        texts.map(|text| serde_json::from_str(text).unwrap()).collect()
    }
}

pub(crate) fn post(port: u16, path: &str, body: &Value) -> Answered {
    let mut asking = Asking::connect(port);
    asking.send("POST", path, "Connection: close\r\n", &body.to_string());
    asking.read()
}
