//! A server of tasks, and requests to it by hand.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::User;

/// Longer than any answer takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A server that runs.
pub struct Server {
    child: Child,
    pub url: String,
    /// Of its administrator.
    pub token: String,
}

/// An answer, read to its end.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Server {
    pub fn start(user: &User, folder: &Path) -> Self {
        let words = ["serve", "--listen", "127.0.0.1:0"];
        let mut child = user.command(folder, words).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.find_map(|line| line.strip_prefix("listening on ").map(str::to_owned)).expect("it listens");
        std::thread::spawn(move || lines.for_each(drop));
        let token = user.ralph(folder, ["token"]).ok().stdout.trim().to_owned();
        Self { child, url, token }
    }

    fn authority(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// Sends a request and leaves the answer to be read.
    pub fn open(&self, token: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.authority()).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.0\r\nHost: {}\r\n", self.authority());
        let usual = [
            ("Authorization", format!("Bearer {token}")),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
            ("Content-Length", body.len().to_string()),
        ];
        for (name, value) in usual.iter().filter(|(name, _)| *name != "Authorization" || !token.is_empty()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        stream
    }

    pub fn request(&self, token: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        read(self.open(token, method, path, headers, &body))
    }

    /// A resource of the API.
    #[track_caller]
    pub fn api(&self, token: &str, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.request(token, method, path, &[], body);
        assert!(matches!(answer.status, 200..=299), "{method} {path}: {} {}", answer.status, answer.body);
        serde_json::from_str(&answer.body).unwrap_or(Value::Null)
    }

    /// Claims a task as an agent, and gives it with the token for it alone.
    #[track_caller]
    pub fn claim(&self, token: &str, agent: &str) -> (String, String) {
        let poll = json!({"agentId": agent, "withoutRepo": true, "waitSeconds": 0});
        let work = self.api(token, "POST", "/api/poll", &poll);
        (work["task"]["id"].as_str().unwrap().to_owned(), work["token"].as_str().unwrap().to_owned())
    }

    /// A message of the protocol to `/mcp`, and the last message of the answer.
    #[track_caller]
    pub fn mcp(&self, token: &str, id: u64, method: &str, params: &Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let version = [("MCP-Protocol-Version", "2025-11-25")];
        let headers: &[_] = if method == "initialize" { &[] } else { &version };
        let answer = self.request(token, "POST", "/mcp", headers, &message);
        assert_eq!(answer.status, 200, "{}", answer.body);
        messages(&answer.body).pop().unwrap_or_else(|| panic!("no message in {}", answer.body))
    }

    /// The result of a tool over `/mcp`.
    #[track_caller]
    pub fn call(&self, token: &str, tool: &str, arguments: &Value) -> Value {
        let answer = self.mcp(token, 7, "tools/call", &json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn read(mut stream: TcpStream) -> Answer {
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// The messages of a stream of events.
pub fn messages(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}
