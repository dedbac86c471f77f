//! Clients that send too much, too slowly, or nothing at all.

use std::time::{Duration, Instant};

use ralph_server::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{Place, Running, new_task};

#[tokio::test]
async fn bodies_are_json_and_not_too_large() {
    let server = Running::start(&Place::sqlite()).await;
    let authorization = format!("Bearer {}", server.admin);
    let post = async |media: &str, body: &[u8]| {
        let headers = [("Authorization", authorization.as_str()), ("Content-Type", media)];
        server.raw("POST", "/api/tasks", &headers, body).await
    };
    for media in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "json"] {
        post(media, new_task().to_string().as_bytes()).await.refuses(415, None);
    }
    assert_eq!(post("application/json; charset=utf-8", new_task().to_string().as_bytes()).await.status, 201);
    for body in [&b""[..], b"{", b"nonsense", b"{\"task\":\"\xff\"}", b"{} {}", b"{\"task\":\"\\ud800\"}"] {
        let reply = post("application/json", body).await;
        assert!([400, 422].contains(&reply.status), "{reply:?}");
    }
    post("application/json", b"{").await.refuses(400, None);
    post("application/json", b"[]").await.refuses(422, Some("body"));
    // The values of the fields in their order.
    let values = json!(["x", "single", null, 0, [], [], null, null, null, null, null, null, null]);
    post("application/json", format!(" {values}").as_bytes()).await.refuses(422, Some("body"));
    let deep = "[".repeat(100_000);
    post("application/json", format!("{{\"task\":{deep}").as_bytes()).await.refuses(422, Some("task"));
    let large = json!({"task": "x".repeat(1024 * 1024 + 1)}).to_string();
    post("application/json", large.as_bytes()).await.refuses(413, None);
    // One that does not say how long it is.
    let chunk = "x".repeat(60_000);
    let mut request = format!(
        "POST /api/tasks HTTP/1.1\r\nHost: {}\r\nAuthorization: {authorization}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        server.address
    );
    for _ in 0..20 {
        request.push_str(&format!("{:x}\r\n{chunk}\r\n", chunk.len()));
    }
    request.push_str("0\r\n\r\n");
    server.bytes(request.as_bytes()).await.refuses(413, None);
    let many: String = (0..200).map(|number| format!("X-{number}: y\r\n")).collect();
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n{many}\r\n", server.address);
    assert_eq!(server.bytes(request.as_bytes()).await.status, 431);
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n", server.address, "y".repeat(500_000));
    assert_eq!(server.bytes(request.as_bytes()).await.status, 431);
    assert_eq!(server.ask("GET", "/api/tasks", None).await.status, 200);
}

#[tokio::test]
async fn slow_clients_are_let_go() {
    let limits = Limits {
        header_timeout: Duration::from_millis(300),
        body_timeout: Duration::from_millis(300),
        ..Limits::default()
    };
    let server = Running::with_limits(&Place::sqlite(), limits).await;
    let head = format!(
        "POST /api/tasks HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n",
        server.address, server.admin
    );
    for (request, status) in [(String::new(), None), (head.clone(), None), (format!("{head}\r\n{{"), Some("408"))] {
        let begun = Instant::now();
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert!(begun.elapsed() < Duration::from_secs(20), "{request}");
        let answer = String::from_utf8_lossy(&answer);
        assert!(status.is_none_or(|status| answer.contains(status)), "{answer}");
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_a_free_one() {
    let limits = Limits { connections: 2, header_timeout: Duration::from_millis(500), ..Limits::default() };
    let server = Running::with_limits(&Place::sqlite(), limits).await;
    let idle = [TcpStream::connect(server.address).await.unwrap(), TcpStream::connect(server.address).await.unwrap()];
    // The idle ones are closed in time, and then this one is answered.
    assert_eq!(server.ask("GET", "/api/tasks", None).await.status, 200);
    drop(idle);
}

/// Resident memory in kilobytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// How many streams this process can hold both ends of: a thousand, if the system lets it have as many files open.
fn stream_count() -> usize {
    const WANTED: u64 = 1000;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let needed = 2 * WANTED + 200;
    let raised = maximum.unwrap_or(needed).min(needed).max(current.unwrap_or(needed));
    let is_raised = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_ok();
    let available = if is_raised { raised } else { current.unwrap_or(needed) };
    usize::try_from((available.saturating_sub(200) / 2).clamp(50, WANTED)).unwrap()
}

/// Reads what a stream says until these words come. Heartbeats come before them.
async fn read_until(stream: &mut TcpStream, words: &str) {
    let mut text = String::new();
    while !text.contains(words) {
        let mut piece = [0; 4096];
        let read = tokio::time::timeout(Duration::from_secs(120), stream.read(&mut piece)).await;
        match read.expect("a stream says that it is there").unwrap() {
            0 => panic!("a stream ended: {text}"),
            length => text.push_str(&String::from_utf8_lossy(&piece[..length])),
        }
    }
}

#[tokio::test]
async fn idle_streams_cost_little_and_do_not_grow() {
    let count = stream_count();
    let limits = Limits { heartbeat: Duration::from_secs(1), streams: count, ..Limits::default() };
    let server = Running::with_limits(&Place::sqlite(), limits).await;
    let task = server.task().await;
    let request = format!(
        "GET /api/tasks/{task}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        server.address, server.admin
    );
    let before = resident();
    let mut streams = Vec::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).await.unwrap();
        assert_eq!(&start, b"HTTP/1.1 200");
        streams.push(stream);
    }
    let full = server.ask("GET", &format!("/api/tasks/{task}/events"), None).await;
    full.refuses(503, None);
    assert_eq!(full.header("retry-after"), "1");
    // Once everything that an event needs was allocated, another one needs nothing more.
    let mut figures = Vec::new();
    for priority in 1..=2 {
        server.ask("PATCH", &format!("/api/tasks/{task}"), Some(&json!({"priority": priority}))).await;
        for stream in &mut streams {
            read_until(stream, "event: changed").await;
        }
        figures.push(resident());
    }
    let each = figures[0].saturating_sub(before) / count as u64;
    assert!(each < 100, "{each} kB for each stream");
    assert!(figures[1].saturating_sub(figures[0]) < 16 * 1024, "grew from {} kB to {} kB", figures[0], figures[1]);
    drop(streams);
}

/// The agent inside a worker has a token, and may be told by what it reads to use up what others need.
#[tokio::test]
async fn the_token_of_a_task_takes_at_most_half_of_the_streams() {
    let limits = Limits { streams: 4, ..Limits::default() };
    let server = Running::with_limits(&Place::sqlite(), limits).await;
    let task = server.task().await;
    let poll = json!({"agentId": "a", "waitSeconds": 0, "withoutRepo": true});
    let work = server.ask("POST", "/api/poll", Some(&poll)).await.json();
    let own = work["token"].as_str().unwrap();
    let open = async |token: &str| {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let request = format!(
            "GET /api/tasks/{task}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
            server.address
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).await.unwrap();
        (String::from_utf8_lossy(&start).into_owned(), stream)
    };
    let mut streams = Vec::new();
    for (token, status) in [(own, "200"), (own, "200"), (own, "503"), (&server.admin, "200"), (&server.admin, "200")] {
        let (start, stream) = open(token).await;
        assert_eq!(start, format!("HTTP/1.1 {status}"), "{} are open", streams.len());
        if status == "200" {
            streams.push(stream);
        }
    }
}
