//! What an agent could try that has read this source: other paths, methods, headers and bodies than a service is asked with.

use super::*;

impl Running {
    /// Sends these bytes, and gives everything that comes back until the connection ends.
    async fn raw(&self, request: &str) -> String {
        let address =
            self.gateway.addresses()[0].strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A request with the token and these lines in its head.
    fn request(&self, line: &str, headers: &[&str], body: &str) -> String {
        let more: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let (token, length) = (self.gateway.token(), body.len());
        format!("{line}\r\nhost: x\r\nx-api-key: {token}\r\ncontent-length: {length}\r\n{more}\r\n{body}")
    }

    fn uncountable(&self) -> usize {
        let events = self.events.lock().unwrap();
        events.iter().filter(|event| matches!(event, GatewayEvent::Uncountable(_))).count()
    }
}

const CLOSE: &str = "connection: close";
const BODY: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[]}"#;

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

fn cheap() -> Answer {
    says(whole("200 OK", "text/event-stream", &messages(1000, 100)))
}

#[tokio::test]
async fn what_cannot_be_counted_is_not_forwarded_under_a_budget() {
    let mut service = upstream(vec![cheap(), cheap(), cheap()]).await;
    let running = Running::new(&service.base, Some(Money::dollars(5))).await;
    let mut refused = 0;
    for (line, headers, body) in [
        ("POST /v1/embeddings HTTP/1.1", &[CLOSE][..], BODY),
        ("POST /v1/messages/batches HTTP/1.1", &[CLOSE], BODY),
        ("POST /api/event_logging/../../v1/embeddings HTTP/1.1", &[CLOSE], BODY),
        ("POST /v1/messages/%2e%2e/messages/count_tokens HTTP/1.1", &[CLOSE], BODY),
        ("POST /v1/messages HTTP/1.1", &[CLOSE, "content-encoding: zstd"], BODY),
        ("POST /v1/messages HTTP/1.1", &[CLOSE, "content-encoding: gzip"], BODY),
        ("POST /v1/messages HTTP/1.1", &[CLOSE], "model=claude"),
        ("POST /v1/responses HTTP/1.1", &[CLOSE], r#"{"model":"gpt-5.5","background":true}"#),
        ("PUT /v1/messages HTTP/1.1", &[CLOSE], BODY),
    ] {
        let answer = running.raw(&running.request(line, headers, body)).await;
        assert_eq!(status(&answer), 404, "{line}: {answer}");
        assert!(answer.contains("cannot count"), "{line}: {answer}");
        refused += 1;
    }
    // Services would repeat what they were asked.
    for line in ["TRACE /v1/messages HTTP/1.1", "post /v1/messages HTTP/1.1"] {
        assert_eq!(status(&running.raw(&running.request(line, &[CLOSE], BODY)).await), 404, "{line}");
    }
    assert_eq!(running.uncountable(), refused, "the user is told of each");
    assert!(service.asked.try_recv().is_err(), "nothing was forwarded");
    assert_eq!(running.ask("/v1/messages").await.0, 200, "the run goes on");
    service.asked.recv().await.unwrap();

    let free = Running::new(&service.base, None).await;
    let answer = free.raw(&free.request("POST /v1/embeddings HTTP/1.1", &[CLOSE], BODY)).await;
    assert_eq!(status(&answer), 200, "where nobody counts it passes: {answer}");
    let line = "TRACE /v1/messages HTTP/1.1";
    assert_eq!(status(&free.raw(&free.request(line, &[CLOSE], BODY)).await), 404);
}

/// A service repeats a header that it does not know, or an address.
#[tokio::test]
async fn the_key_goes_nowhere_but_into_the_header_for_keys() {
    let mut service = upstream(vec![cheap(), cheap(), cheap()]).await;
    let running = Running::new(&service.base, Some(Money::dollars(5))).await;
    let token = running.gateway.token().to_owned();
    let betas = format!("anthropic-beta: {token}");
    let answer = running.raw(&running.request("POST /v1/messages HTTP/1.1", &[CLOSE, &betas], BODY)).await;
    assert_eq!(status(&answer), 200, "{answer}");
    let asked = service.asked.recv().await.unwrap();
    assert!(asked.contains(&betas) && asked.contains(&format!("x-api-key: {KEY}")), "{asked}");
    assert_eq!(asked.matches(KEY).count(), 1, "{asked}");
    // In another header the token opens nothing.
    let alone = format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\n{betas}\r\n{CLOSE}\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(status(&running.raw(&alone).await), 401);
    let line = format!("GET /nothing/here?a=b&key={token}&c=d HTTP/1.1");
    running.raw(&running.request(&line, &[CLOSE], "")).await;
    let asked = service.asked.recv().await.unwrap();
    assert!(asked.starts_with("GET /nothing/here?a=b&c=d HTTP/1.1"), "{asked}");
    assert!(asked.contains(&format!("x-goog-api-key: {KEY}")), "{asked}");
}

#[tokio::test]
async fn a_request_is_forwarded_to_its_service_once_and_as_what_it_looks_like() {
    let mut service = upstream((0..8).map(|_| cheap()).collect()).await;
    let running = Running::new(&service.base, Some(Money::dollars(5))).await;
    let send = async |line: &str, headers: &[&str]| running.raw(&running.request(line, headers, BODY)).await;
    // Another host in the line, and headers that make other servers answer something else, or less.
    let rewriting = ["x-http-method-override: DELETE", "x-original-url: /v1/embeddings", "range: bytes=0-1", CLOSE];
    let answer = send("POST http://evil.example/v1/messages HTTP/1.1", &rewriting).await;
    assert_eq!(status(&answer), 200, "{answer}");
    let asked = service.asked.recv().await.unwrap();
    assert!(asked.starts_with("POST /v1/messages HTTP/1.1") && !asked.contains("evil"), "{asked}");
    for name in ["x-http-method", "x-original", "range"] {
        assert!(!asked.contains(name), "{asked}");
    }
    // No connection is handed over.
    let upgrade = ["connection: upgrade", "upgrade: websocket", "sec-websocket-version: 13"];
    let line = "GET /v1/responses HTTP/1.1";
    let mut stream =
        TcpStream::connect(running.gateway.addresses()[0].trim_start_matches("http://").trim_end_matches("/base"))
            .await
            .unwrap();
    stream.write_all(running.request(line, &upgrade, "").as_bytes()).await.unwrap();
    let asked = service.asked.recv().await.unwrap();
    assert!(!asked.contains("upgrade"), "{asked}");
    drop(stream);
    // An old client gets an answer that it can read.
    let answer = send("POST /v1/messages HTTP/1.0", &[]).await;
    assert!(answer.starts_with("HTTP/1.0 200") && !answer.contains("chunked"), "{answer}");
    service.asked.recv().await.unwrap();
    // The body is read before anything is sent, and has one length.
    let answer = send("POST /v1/messages HTTP/1.1", &["expect: 100-continue", CLOSE]).await;
    assert!(answer.contains("200 OK"), "{answer}");
    let asked = service.asked.recv().await.unwrap();
    assert!(!asked.contains("expect") && asked.ends_with(BODY), "{asked}");
    let token = running.gateway.token();
    let chunk = format!("{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len());
    let smuggled =
        format!("POST /v1/embeddings HTTP/1.1\r\nhost: x\r\nx-api-key: {token}\r\ncontent-length: 0\r\n\r\n");
    for lengths in ["transfer-encoding: chunked", "content-length: 4\r\ntransfer-encoding: chunked"] {
        let head =
            format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {token}\r\n{lengths}\r\n{CLOSE}\r\n\r\n");
        let answer = running.raw(&format!("{head}{chunk}{smuggled}")).await;
        if status(&answer) == 200 {
            let asked = service.asked.recv().await.unwrap();
            assert!(asked.ends_with(BODY) && asked.contains(&format!("content-length: {}", BODY.len())), "{asked}");
            assert!(!asked.contains("transfer-encoding"), "{asked}");
        } else {
            assert_eq!(status(&answer), 400, "{answer}");
        }
        assert!(service.asked.try_recv().is_err(), "{lengths}");
    }
    // What follows on the same connection needs the token, too.
    let first = running.request("POST /v1/messages HTTP/1.1", &[], BODY);
    let second =
        format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\n{CLOSE}\r\ncontent-length: {}\r\n\r\n{BODY}", BODY.len());
    let answer = running.raw(&format!("{first}{second}")).await;
    assert!(answer.contains("200 OK") && answer.contains("401 Unauthorized"), "{answer}");
    service.asked.recv().await.unwrap();
    assert!(service.asked.try_recv().is_err());
}

#[tokio::test]
async fn a_body_larger_than_any_service_takes_is_refused_and_not_kept() {
    let mut service = upstream(Vec::new()).await;
    let running = Running::new(&service.base, Some(Money::dollars(5))).await;
    let head = running.request("POST /v1/messages HTTP/1.1", &[CLOSE], "");
    let head = head.replace("content-length: 0", &format!("content-length: {}", MAX_REQUEST + 1));
    let answer = running.raw(&format!("{head}{}", "x".repeat(MAX_REQUEST + 1))).await;
    // One that stops reading may have closed the connection before its answer was read.
    assert!(answer.is_empty() || answer.contains("413"), "{answer}");
    assert!(service.asked.try_recv().is_err());
}

/// Requests that are sent at once hold their money before one of them is answered.
#[tokio::test]
async fn many_requests_at_once_hold_what_they_will_cost() {
    let hang = || -> Answer {
        Box::new(|stream| {
            Box::pin(async move {
                std::future::pending::<()>().await;
                drop(stream)
            })
        })
    };
    let mut service = upstream((0..40).map(|_| hang()).collect()).await;
    // An answer of 2,000 tokens is three cents.
    let running = Running::new(&service.base, Some(Money::from_micros(100_000))).await;
    let body = BODY.replace("10", "4000");
    let request = running.request("POST /v1/messages HTTP/1.1", &[CLOSE], &body);
    let address = running.gateway.addresses()[0].trim_start_matches("http://").trim_end_matches("/base").to_owned();
    let (mut refused, mut open) = (0, Vec::new());
    for _ in 0..40 {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        open.push(stream);
    }
    for mut stream in open {
        let mut answer = [0; 12];
        let read = tokio::time::timeout(
            Duration::from_millis(if refused == 0 { 2000 } else { 50 }),
            stream.read_exact(&mut answer),
        )
        .await;
        refused += u32::from(read.is_ok() && answer.ends_with(b"402"));
    }
    let forwarded = std::iter::from_fn(|| service.asked.try_recv().ok()).count();
    assert_eq!((forwarded, refused), (3, 37));
}

/// An answer without figures costs no less than it was expected to: what is not shown of it is not seen either.
#[tokio::test]
async fn an_answer_without_figures_costs_what_was_reserved_for_it_at_least() {
    let silent = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n";
    let service = upstream(vec![says(whole("200 OK", "text/event-stream", silent))]).await;
    let running = Running::new(&service.base, Some(Money::dollars(5))).await;
    assert_eq!(running.ask("/v1/chat/completions").await.0, 200);
    let record = running.records().pop().unwrap();
    assert!(record.is_estimate && record.cost.unwrap() >= Money::from_micros(15_000), "{record:?}");
}

#[test]
fn a_faster_answer_without_a_price_of_its_own_costs_twice() {
    let account = Account::new(None, Arc::new(PriceList::default()), || Timestamp(0), Arc::new(|_| {}));
    let tokens = Tokens { input: 1_000_000, ..Tokens::default() };
    let cost = |model: &str, is_fast: bool| {
        let seen = UsageSeen { model: Some(model.to_owned()), is_fast, percent: 100, ..UsageSeen::default() };
        account.cost("", &seen, tokens).unwrap()
    };
    assert_eq!(cost("gpt-5.4", true), Money::dollars(5), "the list has a price");
    assert_eq!(cost(MODEL, true), Money::dollars(6));
    assert_eq!(cost(MODEL, false), Money::dollars(3));
}
