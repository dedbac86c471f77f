//! Who may call, under which name, and from which page.

use std::time::Duration;

use ralph_model::{Millis, TaskType, Timestamp};
use ralph_server::Limits;
use ralph_store::{Claim, Role};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{Place, Running, new_task, now};

pub async fn tokens_decide_what_is_allowed(server: Running) {
    let path = "/api/tasks";
    for authorization in ["", "Bearer", "Bearer ", "Bearer wrong", "Basic YTpi", &format!("Token {}", server.admin)] {
        let reply = server.raw("GET", path, &[("Authorization", authorization)], b"").await;
        reply.refuses(401, None);
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
    server.raw("GET", path, &[], b"").await.refuses(401, None);
    let twice = format!("Bearer {}", server.admin);
    let headers = [("Authorization", twice.as_str()), ("Authorization", twice.as_str())];
    server.raw("GET", path, &headers, b"").await.refuses(401, None);
    let agent = server.token("agent", Role::Agent).await;
    assert_eq!(server.ask_as(&agent, "GET", path, None).await.status, 200);
    server.ask_as(&agent, "POST", path, Some(&new_task())).await.refuses(403, None);
    let poll = json!({"agentId": "w", "waitSeconds": 0});
    assert_eq!(server.ask_as(&agent, "POST", "/api/poll", Some(&poll)).await.status, 204);
    // Without a token no caller learns which paths and methods there are.
    for path in ["/api/none", "/none", "/api/tasks/x/none"] {
        server.raw("GET", path, &[], b"").await.refuses(401, None);
        server.ask("GET", path, None).await.refuses(404, None);
    }
    server.raw("PUT", "/api/tasks", &[], b"").await.refuses(401, None);
    let reply = server.ask("PUT", "/api/tasks", None).await;
    reply.refuses(405, None);
    assert!(reply.header("allow").contains("POST"), "{reply:?}");
    for path in ["/healthz", "/"] {
        assert_eq!(server.raw("GET", path, &[], b"").await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_revoked_token_ends() {
    let server = Running::start(&Place::sqlite()).await;
    let token = server.token("worker", Role::Agent).await;
    assert_eq!(server.ask_as(&token, "GET", "/api/tasks", None).await.status, 200);
    let names: Vec<String> =
        server.database.board.tokens().await.unwrap().into_iter().map(|token| token.name).collect();
    for name in names.iter().filter(|name| name.starts_with("worker")) {
        assert!(server.database.board.revoke_token(name).await.unwrap());
    }
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    server.ask_as(&token, "GET", "/api/tasks", None).await.refuses(401, None);
}

#[tokio::test]
async fn a_revoked_token_gets_nothing_more_of_what_it_began() {
    let limits = Limits { heartbeat: Duration::from_millis(50), ..Limits::default() };
    let server = Running::with_limits(&Place::sqlite(), limits).await;
    let (board, token) = (&server.database.board, server.token("worker", Role::Agent).await);
    let task = server.task().await;
    let work = board.claim_task(&claim(now())).await.unwrap().unwrap();
    let epoch = work.lease.epoch.0;
    let own = server.token("own", Role::Task { task_id: work.task.id, epoch }).await;
    let follow = |token: &str, path: &str| {
        let (address, token, path) = (server.address, token.to_owned(), path.to_owned());
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
        tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let (mut seen, mut part) = (String::new(), [0; 4096]);
            // The connection stays open for the next request.
            while !seen.ends_with("\r\n0\r\n\r\n") {
                let read = stream.read(&mut part).await.unwrap();
                assert!(read > 0, "{seen}");
                seen.push_str(&String::from_utf8_lossy(&part[..read]));
            }
            seen
        })
    };
    let streams = [follow(&token, "/api/events"), follow(&token, &format!("/api/tasks/{task}/events"))];
    let of_task = follow(&own, &format!("/api/tasks/{task}/events"));
    let poll = json!({"agentId": "w", "waitSeconds": 30, "withoutRepo": true});
    let polling = {
        let client = server.client_with(&token);
        tokio::spawn(async move { client.poll(&serde_json::from_value(poll).unwrap()).await })
    };
    while server.app.open_streams() < 3 || board.agents(9).await.unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for token in board.tokens().await.unwrap().iter().filter(|token| token.name.starts_with("worker")) {
        assert!(board.revoke_token(&token.name).await.unwrap());
    }
    for stream in streams {
        assert!(stream.await.unwrap().starts_with("HTTP/1.1 200"));
    }
    let left = server.task().await;
    let error = polling.await.unwrap().unwrap_err();
    assert_eq!(error.status(), Some(401), "{error}");
    assert_eq!(server.ask("GET", &format!("/api/tasks/{left}"), None).await.json()["status"], "unassigned");
    // The token of a task ends with the task, and its holder still learns how that ended.
    let end = json!({"epoch": epoch, "status": "failed"});
    assert_eq!(server.ask("POST", &format!("/api/tasks/{task}/complete"), Some(&end)).await.status, 200);
    assert!(of_task.await.unwrap().contains("event: end"));
}

fn claim(at: Timestamp) -> Claim {
    let types = vec![TaskType::Ralph];
    Claim { agent: "w".to_owned(), token: None, types, without_repo: true, lease: Millis::secs(600), at }
}

#[tokio::test]
async fn only_known_hosts_are_answered() {
    let server = Running::start(&Place::sqlite()).await;
    let port = server.address.port();
    let allowed = [
        format!("localhost:{port}"),
        format!("LOCALHOST:{port}"),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
        "ralph.example.org".to_owned(),
        format!("ralph.example.org:{port}"),
    ];
    for host in &allowed {
        assert_eq!(server.raw("GET", "/healthz", &[("Host", host)], b"").await.status, 200, "{host}");
    }
    let refused = [
        "localhost".to_owned(),
        format!("localhost:{}", port ^ 1),
        format!("localhost.:{port}"),
        format!("127.0.0.1.:{port}"),
        format!("2130706433:{port}"),
        format!("0177.0.0.1:{port}"),
        format!("0x7f.0.0.1:{port}"),
        format!("127.1:{port}"),
        format!("127.0.0.2:{port}"),
        format!("0.0.0.0:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("[0:0:0:0:0:0:0:1]:{port}"),
        format!("evil.example:{port}"),
        format!("127.0.0.1.nip.io:{port}"),
        format!("localhost:{port}.evil.example"),
        format!("localhost:{port}@evil.example"),
        "ralph.example.org.".to_owned(),
        String::new(),
    ];
    for host in &refused {
        for path in ["/healthz", "/", "/api/tasks", "/none"] {
            let authorization = format!("Bearer {}", server.admin);
            let headers = [("Host", host.as_str()), ("Authorization", authorization.as_str())];
            let reply = server.raw("GET", path, &headers, b"").await;
            assert!([400, 421].contains(&reply.status), "{host} {path}: {reply:?}");
        }
    }
    let own = server.address.to_string();
    let reply = server.raw("GET", "/healthz", &[("Host", own.as_str()), ("Host", "evil.example")], b"").await;
    assert_eq!(reply.status, 400, "{reply:?}");
    // A whole address in the request line has a host, too.
    let reply = server.raw("GET", "http://evil.example/healthz", &[], b"").await;
    assert!([400, 421].contains(&reply.status), "{reply:?}");
    let reply = server.bytes(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    assert_eq!(reply.status, 400, "{reply:?}");
}

#[tokio::test]
async fn only_known_origins_are_answered() {
    let server = Running::start(&Place::sqlite()).await;
    let port = server.address.port();
    let authorization = format!("Bearer {}", server.admin);
    let ask = async |method: &str, origin: &str| {
        let headers = [("Origin", origin), ("Authorization", authorization.as_str())];
        server.raw(method, "/api/tasks", &headers, b"").await
    };
    for origin in [
        format!("http://localhost:{port}"),
        format!("http://127.0.0.1:{port}"),
        "https://dash.example.org".to_owned(),
        "https://ralph.example.org".to_owned(),
    ] {
        let reply = ask("GET", &origin).await;
        assert_eq!(reply.status, 200, "{origin}: {reply:?}");
        assert_eq!(reply.header("access-control-allow-origin"), origin);
        let headers = [("Origin", origin.as_str()), ("Access-Control-Request-Method", "POST")];
        let reply = server.raw("OPTIONS", "/api/tasks", &headers, b"").await;
        assert_eq!(reply.status, 204, "{reply:?}");
        assert!(reply.header("access-control-allow-headers").contains("Authorization"), "{reply:?}");
    }
    for origin in [
        "null".to_owned(),
        "*".to_owned(),
        "https://evil.example".to_owned(),
        "http://dash.example.org".to_owned(),
        "https://dash.example.org.evil.example".to_owned(),
        "https://dash.example.org.".to_owned(),
        format!("https://localhost:{port}"),
        format!("http://localhost:{}", port ^ 1),
        format!("http://localhost.:{port}"),
        format!("http://2130706433:{port}"),
        format!("http://[::ffff:127.0.0.1]:{port}"),
    ] {
        for method in ["GET", "POST", "OPTIONS"] {
            let reply = ask(method, &origin).await;
            reply.refuses(403, Some("Origin"));
            assert_eq!(reply.header("access-control-allow-origin"), "");
        }
    }
}

#[tokio::test]
async fn every_answer_has_the_headers_that_protect_browsers() {
    let server = Running::start(&Place::sqlite()).await;
    let task = server.task().await;
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/healthz"),
        ("GET", "/none"),
        ("GET", "/api/tasks"),
        ("POST", "/api/tasks"),
        ("GET", &format!("/api/tasks/{task}")),
        ("PUT", &format!("/api/tasks/{task}")),
    ] {
        let reply = server.ask(method, path, None).await;
        for (name, value) in [
            (
                "content-security-policy",
                "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            ),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(reply.header(name), value, "{method} {path}");
        }
        assert_eq!(reply.header("access-control-allow-origin"), "", "{method} {path}");
    }
}
