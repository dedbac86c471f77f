use hyper::body::Incoming;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tower_service::Service as _;

use super::*;
use crate::tunnel::Tunnel;
use crate::{Bytes, Call, Http, Method, Response, tcp};

fn egress(variables: &[(&str, &str)]) -> Egress {
    Egress::from_variables(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn hosts_are_excepted_by_name_and_by_domain() {
    for (list, host, is_exempt) in [
        ("", "api.example.com", false),
        ("*", "api.example.com", true),
        ("localhost, .example.com", "api.example.com", true),
        ("example.com", "api.example.com", true),
        ("*.example.com", "api.example.com", true),
        ("example.com", "notexample.com", false),
        ("API.Example.com", "api.example.com", true),
        ("::1", "[::1]", true),
    ] {
        let egress = egress(&[("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", list)]);
        assert_eq!(egress.proxy(host).unwrap().is_none(), is_exempt, "{list} {host}");
    }
    assert!(egress(&[]).proxy("x").unwrap().is_none());
}

#[test]
fn a_login_of_a_proxy_is_decoded_and_another_kind_of_proxy_is_named() {
    let proxy = |address: &str| egress(&[("https_proxy", address)]).proxy("x");
    let found = proxy("http://me%40corp:p%3Aw@proxy.test:3128/").unwrap().unwrap();
    assert_eq!(found.uri, "http://proxy.test:3128");
    let basic = base64::engine::general_purpose::STANDARD.encode("me@corp:p:w");
    assert_eq!(found.authorization, Some(format!("Basic {basic}")));
    assert_eq!(proxy("proxy:8080").unwrap().unwrap().uri, "http://proxy:8080");
    for wrong in ["socks5://u:secret@127.0.0.1:1080", "https://proxy:443", "http://", "http://a b"] {
        let Err(Error::Setup(said)) = proxy(wrong) else { panic!("{wrong} was taken") };
        assert!(said.starts_with("https_proxy: ") && said.contains("HOST:PORT"), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
    let missing = egress(&[("NODE_EXTRA_CA_CERTS", "/nowhere/ca.pem")]).tls().unwrap_err().to_string();
    assert!(missing.starts_with("NODE_EXTRA_CA_CERTS: /nowhere/ca.pem"), "{missing}");
}

/// A proxy that answers each connection so, and what it was asked last.
async fn refusing(answer: &'static str) -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (tell, asked) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 2048];
            let count = stream.read(&mut request).await.unwrap();
            let _ = tell.send(String::from_utf8_lossy(&request[..count]).into_owned());
            if answer.is_empty() {
                std::future::pending::<()>().await;
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (address, asked)
}

async fn call(proxy: &str) -> Result<Response<Incoming>, Error> {
    let egress = egress(&[("HTTPS_PROXY", proxy)]);
    let http = Http::through(&"https://model.test".parse().unwrap(), &egress).unwrap();
    let url = "https://model.test/v1/messages".to_owned();
    let call = Call { method: Method::POST, url, headers: Vec::new(), body: Bytes::new() };
    http.send(call, std::time::Duration::from_secs(3600)).await
}

#[tokio::test]
async fn what_a_proxy_refuses_is_said_with_what_to_do() {
    let is_setup = |error: &Error| matches!(error, Error::Setup(_));
    for (answer, login, needs_user, words) in [
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "", true, &["wants a name", "USER:PASSWORD"][..]),
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "me:pw@", true, &["refuses the name", "(407)"]),
        ("HTTP/1.1 403 Forbidden\r\n\r\n", "", true, &["does not let model.test:443", "NO_PROXY"]),
        ("HTTP/1.1 502 Bad Gateway\r\n\r\n", "", false, &["cannot reach model.test:443", "502 Bad Gateway"]),
        ("SSH-2.0-OpenSSH\r\n\r\n", "", true, &["does not answer as a proxy"]),
    ] {
        let (address, mut asked) = refusing(answer).await;
        let error = call(&format!("http://{login}{address}")).await.unwrap_err();
        let said = error.to_string();
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert!(said.contains("HTTPS_PROXY") && said.contains(&address), "{said}");
        assert!(!said.contains("pw"), "{said}");
        assert_eq!(is_setup(&error), needs_user, "{said}");
        let request = asked.recv().await.unwrap();
        assert!(request.starts_with("CONNECT model.test:443 HTTP/1.1\r\nhost: model.test:443\r\n"), "{request}");
        assert_eq!(request.contains("proxy-authorization: Basic bWU6cHc="), !login.is_empty(), "{request}");
    }
    let (address, _asked) = refusing("").await;
    let mut proxy = egress(&[("ALL_PROXY", &address)]).proxy("model.test").unwrap().unwrap();
    assert_eq!(proxy.timeout, TIMEOUT);
    proxy.timeout = std::time::Duration::from_millis(100);
    let mut tunnel = Tunnel { proxy, tcp: tcp(None) };
    let said = tunnel.call("https://model.test".parse().unwrap()).await.unwrap_err().to_string();
    assert!(said.contains("ALL_PROXY: the proxy") && said.contains("does not answer for 100ms"), "{said}");
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let said = call(&format!("http://{closed}")).await.unwrap_err().to_string();
    assert!(said.contains("HTTPS_PROXY: the proxy") && said.contains("refused"), "{said}");
}
