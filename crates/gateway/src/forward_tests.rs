use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

/// A server that answers every connection with its name and ends it.
async fn server(name: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = [0; 1024];
            let count = stream.read(&mut asked).await.unwrap();
            let path = String::from_utf8_lossy(&asked[..count]).lines().next().unwrap_or_default().to_owned();
            let body = format!("{name}: {path}");
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    port
}

async fn ask(proxy: &ForwardProxy, request: &str, then: &str) -> String {
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let count = stream.read(&mut answer).await.unwrap();
    let mut answer = String::from_utf8_lossy(&answer[..count]).into_owned();
    if answer.starts_with("HTTP/1.1 200") && !then.is_empty() {
        stream.write_all(then.as_bytes()).await.unwrap();
        stream.read_to_string(&mut answer).await.unwrap();
    }
    answer
}

#[tokio::test]
async fn what_is_on_the_list_is_reached_and_nothing_else() {
    let (allowed, other) = (server("allowed").await, server("other").await);
    let rules = vec![
        HostRule::parse(&format!("localhost:{allowed}")).unwrap(),
        HostRule::parse(&format!("127.0.0.1:{allowed}")).unwrap(),
    ];
    let proxy = ForwardProxy::start(rules, Egress::default()).await.unwrap();
    for host in ["localhost", "127.0.0.1"] {
        let connect = |port: u16| format!("CONNECT {host}:{port} HTTP/1.1\r\nhost: {host}:{port}\r\n\r\n");
        let reached = ask(&proxy, &connect(allowed), "GET /inside HTTP/1.1\r\n\r\n").await;
        assert!(reached.contains("allowed: GET /inside"), "{reached}");
        let refused = ask(&proxy, &connect(other), "").await;
        assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("--allow-host"), "{refused}");
        let plain =
            |port: u16| format!("GET http://{host}:{port}/plain HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        let reached = ask(&proxy, &plain(allowed), "").await;
        assert!(reached.contains("allowed: GET /plain"), "{reached}");
        assert!(ask(&proxy, &plain(other), "").await.starts_with("HTTP/1.1 403"));
    }
    let nonsense = ask(&proxy, "GET /direct HTTP/1.1\r\nhost: x\r\n\r\n", "").await;
    assert!(nonsense.starts_with("HTTP/1.1 400"), "{nonsense}");
}

#[test]
fn a_permitted_name_does_not_lead_to_this_machine() {
    let cases = [
        ("127.0.0.1", false),
        ("::1", false),
        ("::ffff:127.0.0.1", false),
        ("169.254.169.254", false),
        ("0.0.0.0", false),
        ("fe80::1", false),
        ("10.1.2.3", true),
        ("93.184.216.34", true),
        ("2606:2800::1", true),
    ];
    for (address, is_permitted) in cases {
        assert_eq!(is_elsewhere(address.parse().unwrap()), is_permitted, "{address}");
    }
}
