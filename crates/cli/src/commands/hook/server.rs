//! Sends a checkpoint to the server that the agent's task comes from. Gives up after a few seconds: the agent waits for it.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use ralph_api::CheckpointReport;
use ralph_model::Checkpoint;

const PATIENCE: Duration = Duration::from_secs(5);
/// More than the first line of an answer has.
const MAX_ANSWER: usize = 4096;

/// Sends it. Plain HTTP is written by hand, because a hook runs often and a client takes longer to build than the call;
/// `https` uses the client.
///
/// # Errors
/// When the server cannot be reached in time, or does not take it.
pub(super) fn send(server: &str, token: Option<&str>, checkpoint: &Checkpoint) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    if server.starts_with("https://") {
        return send_encrypted(server, token, checkpoint);
    }
    let Some(rest) = server.strip_prefix("http://") else {
        return Err("it is not the address of a server: write it like http://127.0.0.1:3013".to_owned());
    };
    let (authority, prefix) = rest.split_once('/').map_or((rest, ""), |(authority, prefix)| (authority, prefix));
    let prefix = prefix.trim_end_matches('/');
    let prefix = if prefix.is_empty() { String::new() } else { format!("/{prefix}") };
    let is_named = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let place = if is_named { authority.to_owned() } else { format!("{authority}:80") };
    let is_header = |text: &str| !text.chars().any(char::is_control);
    if !is_header(server) || !token.is_none_or(is_header) {
        return Err("the address or the token holds control characters".to_owned());
    }
    let body = serde_json::to_string(checkpoint).map_err(|error| error.to_string())?;
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = format!(
        "POST {prefix}/api/tasks/{}/checkpoint HTTP/1.1\r\nHost: {authority}\r\n{authorization}Content-Type: \
         application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        checkpoint.task_id,
        body.len()
    );
    // On a thread of its own, which ends with the program: nothing limits how long a name is looked up.
    let (sender, answer) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(exchange(&place, &request, deadline)));
    let answer = answer.recv_timeout(PATIENCE).map_err(|_| no_answer())?;
    let answer = answer.map_err(|error| error.to_string())?;
    match answer.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok()) {
        Some(200..=299) => Ok(()),
        Some(status) => Err(format!("status {status}")),
        None => Err("it does not speak HTTP".to_owned()),
    }
}

fn no_answer() -> String {
    format!("no answer within {} seconds", PATIENCE.as_secs())
}

fn send_encrypted(server: &str, token: Option<&str>, checkpoint: &Checkpoint) -> Result<(), String> {
    let (server, token) = (server.to_owned(), token.unwrap_or_default().to_owned());
    let (task, report) = (checkpoint.task_id, CheckpointReport::from(checkpoint));
    let (sender, answer) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let sent = runtime.map_err(|error| error.to_string()).and_then(|runtime| {
            let client = ralph_api::Client::new(&server, &token).map_err(|error| error.to_string())?;
            runtime.block_on(client.set_checkpoint(task, &report)).map(drop).map_err(|error| error.to_string())
        });
        sender.send(sent)
    });
    answer.recv_timeout(PATIENCE).map_err(|_| no_answer())?
}

/// Sends the request and gives the first line of the answer.
fn exchange(place: &str, request: &str, deadline: Instant) -> std::io::Result<String> {
    let late = || std::io::Error::from(std::io::ErrorKind::TimedOut);
    let left =
        || Some(deadline.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero()).ok_or_else(late);
    let mut refused = std::io::Error::other("no such host");
    for address in place.to_socket_addrs()? {
        let mut stream = match TcpStream::connect_timeout(&address, left()?) {
            Ok(stream) => stream,
            Err(error) => {
                refused = error;
                continue;
            }
        };
        stream.set_write_timeout(Some(left()?))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        while !answer.contains(&b'\n') && answer.len() < MAX_ANSWER {
            stream.set_read_timeout(Some(left()?))?;
            let mut piece = [0; 512];
            match stream.read(&mut piece)? {
                0 => break,
                count => answer.extend_from_slice(&piece[..count]),
            }
        }
        return Ok(String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned());
    }
    Err(refused)
}
