//! A real HTTP receiver and a real SMTP server, on this machine.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStdout, Command};

/// What a receiver was sent: the request line and headers, and the body.
pub(crate) type Requests = Arc<Mutex<Vec<(String, String)>>>;

/// Answers every request as configured for its path, and keeps what it was sent.
pub(crate) struct Receiver {
    pub(crate) port: u16,
    pub(crate) requests: Requests,
}

impl Receiver {
    /// `answer` gets a path and a body, and gives a status line with headers, and a body.
    pub(crate) async fn start(answer: impl Fn(&str, &str) -> (String, Vec<u8>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (requests, answer) = (Requests::default(), Arc::new(answer));
        let kept = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let (mut head, mut length) = (String::new(), 0);
                    loop {
                        let before = head.len();
                        if stream.read_line(&mut head).await.unwrap_or(0) == 0 {
                            return;
                        }
                        let line = head[before..].to_ascii_lowercase();
                        if let Some(value) = line.strip_prefix("content-length:") {
                            length = value.trim().parse().unwrap();
                        }
                        if line.trim().is_empty() {
                            break;
                        }
                    }
                    let mut body = vec![0; length];
                    stream.read_exact(&mut body).await.unwrap();
                    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                    let body = String::from_utf8(body).unwrap();
                    kept.lock().unwrap().push((head, body.clone()));
                    let (head, body) = answer(&path, &body);
                    let head =
                        format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                    let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
                });
            }
        });
        Self { port, requests }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

const SERVER: &str = r#"
import asyncio, json
from aiosmtpd.smtp import SMTP
class Handler:
    async def handle_DATA(self, server, session, envelope):
        if "refused@example.com" in envelope.rcpt_tos:
            return "550 no such user"
        mail = {"from": envelope.mail_from, "to": envelope.rcpt_tos, "data": envelope.content.decode()}
        print(json.dumps(mail), flush=True)
        return "250 OK"
async def main():
    server = await asyncio.get_running_loop().create_server(lambda: SMTP(Handler()), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"#;

/// aiosmtpd, which `scripts/test-tools` installs.
pub(crate) struct MailServer {
    pub(crate) port: u16,
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl MailServer {
    pub(crate) async fn start() -> Self {
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-tools/python/bin/python3");
        let mut command = Command::new(&python);
        command.args(["-c", SERVER]).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("scripts/test-tools installs python with aiosmtpd");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.next_line().await.unwrap().expect("scripts/test-tools installs aiosmtpd");
        Self { port: port.parse().unwrap(), lines, _child: child }
    }

    /// The next mail that it took.
    pub(crate) async fn mail(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }
}
