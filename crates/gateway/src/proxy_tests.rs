use std::io::Write as _;
use std::sync::Mutex;

use hyper::{Method, StatusCode};
use ralph_model::Tokens;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::*;
use crate::record::{GatewayEvent, RequestOutcome, RequestRecord};

#[path = "proxy_attacks_tests.rs"]
mod attacks;

const KEY: &str = "sk-canary-0123456789";
const MODEL: &str = "claude-sonnet-4-5";
const PATIENCE: Duration = Duration::from_secs(60);

/// Answers each connection with the next of these, and reports what it was asked.
struct Service1 {
    base: String,
    asked: mpsc::UnboundedReceiver<String>,
}

/// What an upstream does with a connection after it has read a request.
type Answer = Box<dyn FnOnce(TcpStream) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

fn says(text: impl Into<Vec<u8>>) -> Answer {
    let bytes = text.into();
    Box::new(move |mut stream| {
        Box::pin(async move {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        })
    })
}

async fn upstream(answers: Vec<Answer>) -> Service1 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/base", listener.local_addr().unwrap());
    let (tell, asked) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            let tell = tell.clone();
            tokio::spawn(async move {
                let _ = tell.send(request(&mut stream).await);
                answer(stream).await;
            });
        }
    });
    Service1 { base, asked }
}

/// One request, head and body.
async fn request(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return text.into_owned();
            }
        }
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return String::from_utf8_lossy(&read).into_owned(),
            Ok(count) => read.extend_from_slice(&buffer[..count]),
        }
    }
}

struct Running {
    gateway: Gateway,
    events: Arc<Mutex<Vec<GatewayEvent>>>,
    http: Http,
}

impl Running {
    async fn new(base: &str, budget: Option<Money>) -> Self {
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&events);
        let gateway = Gateway::start(GatewayOptions {
            upstreams: vec![Upstream { base: base.to_owned(), key: KEY.to_owned() }],
            budget,
            prices: Arc::new(PriceList::default()),
            egress: Egress::default(),
            now: || Timestamp(0),
            sink: Arc::new(move |event| sink.lock().unwrap().push(event)),
            recorder: None,
        });
        Self { gateway: gateway.await.unwrap(), events, http: Http::new(false).unwrap() }
    }

    async fn send(&self, path: &str, token: &str) -> Result<Response<Incoming>, ralph_http::Error> {
        let headers = vec![
            (HeaderName::from_static("x-api-key"), HeaderValue::from_str(token).unwrap()),
            (header::USER_AGENT, HeaderValue::from_static("agent/1")),
        ];
        let body = format!(r#"{{"model":"{MODEL}","max_tokens":1000,"messages":[]}}"#);
        let url = format!("{}{path}", self.gateway.addresses()[0]);
        self.http.send(Call { method: Method::POST, url, headers, body: body.into() }, PATIENCE).await
    }

    async fn ask(&self, path: &str) -> (StatusCode, HeaderMap, Option<Bytes>) {
        let answer = self.send(path, self.gateway.token()).await.unwrap();
        let (head, body) = answer.into_parts();
        let body = body.collect().await.ok().map(http_body_util::Collected::to_bytes);
        (head.status, head.headers, body)
    }

    fn records(&self) -> Vec<RequestRecord> {
        let events = self.events.lock().unwrap();
        let records = events.iter().filter_map(|event| match event {
            GatewayEvent::Request { record, .. } => Some((**record).clone()),
            GatewayEvent::Limit(_) | GatewayEvent::Uncountable(_) => None,
        });
        records.collect()
    }
}

fn whole(status: &str, content_type: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\nretry-after: 7\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

fn messages(input: u64, output: u64) -> String {
    let usage = format!(r#"{{"input_tokens":{input},"cache_read_input_tokens":200,"output_tokens":1}}"#);
    format!(
        "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"model\":\"{MODEL}\",\"usage\":{usage}}}}}\n\n\
         data: {{\"type\":\"content_block_delta\",\"delta\":{{\"text\":\"hello\"}}}}\n\n\
         data: {{\"type\":\"message_delta\",\"usage\":{{\"output_tokens\":{output}}}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"
    )
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    let body = encoder.finish().unwrap();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip";
    let mut answer = format!("{head}\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend(body);
    answer
}

/// What is sent, the path, the status, whether the body arrives whole, how it is recorded, and the cost.
type Case = (Vec<u8>, &'static str, u16, bool, RequestOutcome, Option<Money>);

/// Whatever a service answers reaches the agent as it is, and what it used is counted.
#[tokio::test]
async fn answers_pass_unchanged_and_are_counted() {
    let exact = Money::from_micros(1000 * 3 + 60 + 100 * 15);
    let event_stream = |body: &str| whole("200 OK", "text/event-stream", body);
    let chunked = |body: &str, end: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n{end}"
        )
    };
    let one = messages(1000, 100);
    let cut = one.split("data: {\"type\":\"message_delta\"").next().unwrap();
    let json = format!(
        r#"{{"model":"{MODEL}","usage":{{"input_tokens":1000,"cache_read_input_tokens":200,"output_tokens":100}}}}"#
    );
    let chat = format!(
        "data: {{\"model\":\"{MODEL}\",\"choices\":[{{\"delta\":{{\"content\":\"Hi\"}},\"finish_reason\":null}}]}}\n\ndata: [DONE]\n\n"
    );
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    use RequestOutcome::{Answered, Cut, Failed};
    let cases: Vec<Case> = vec![
        (event_stream(&one).into(), "/v1/messages", 200, true, Answered, Some(exact)),
        (chunked(&one, "0\r\n\r\n").into(), "/v1/messages", 200, true, Answered, Some(exact)),
        (gzip(&one), "/v1/messages", 200, true, Answered, Some(exact)),
        (whole("200 OK", "application/json", &json).into(), "/v1/messages", 200, true, Answered, Some(exact)),
        (chunked(cut, "").into(), "/v1/messages", 200, false, Cut, None),
        (event_stream(&chat).into(), "/v1/chat/completions", 200, true, Answered, None),
        (
            whole("200 OK", "text/html", "<html>log in</html>").into(),
            "/v1/messages",
            200,
            true,
            Failed,
            Some(Money::ZERO),
        ),
        (
            whole("401 Unauthorized", "application/json", error).into(),
            "/v1/messages",
            401,
            true,
            Failed,
            Some(Money::ZERO),
        ),
        (whole("429 Too Many", "application/json", error).into(), "/v1/messages", 429, true, Failed, Some(Money::ZERO)),
        (whole("500 Oops", "application/json", error).into(), "/v1/messages", 500, true, Failed, Some(Money::ZERO)),
        (
            whole("529 Overloaded", "application/json", error).into(),
            "/v1/messages",
            529,
            true,
            Failed,
            Some(Money::ZERO),
        ),
    ];
    let answers = cases.iter().map(|(bytes, ..)| says(bytes.clone())).collect();
    let mut service = upstream(answers).await;
    let running = Running::new(&service.base, Some(Money::dollars(10))).await;
    for (sent, path, status, is_whole, outcome, cost) in &cases {
        let (seen, headers, body) = running.ask(path).await;
        let case = String::from_utf8_lossy(sent).into_owned();
        assert_eq!(seen.as_u16(), *status, "{case}");
        assert_eq!(body.is_some(), *is_whole, "{case}");
        if let Some(body) = body.filter(|_| !case.contains("chunked")) {
            assert!(sent.ends_with(&body) && !body.is_empty(), "{case}");
            let is_kept = case.contains("gzip") || headers.get("retry-after").is_some_and(|value| value == "7");
            assert!(
                is_kept || case.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding"),
                "{case}"
            );
        }
        let asked = service.asked.recv().await.unwrap();
        assert!(asked.starts_with(&format!("POST /base{path} HTTP/1.1")), "{asked}");
        assert!(asked.contains(KEY) && !asked.contains(running.gateway.token()), "{asked}");
        assert!(asked.contains("user-agent: agent/1") && asked.contains("accept-encoding: identity"), "{asked}");
        let record = running.records().last().cloned().unwrap();
        assert_eq!((record.outcome, record.status), (*outcome, Some(*status)), "{case}");
        match cost {
            Some(cost) => assert_eq!((record.cost, record.is_estimate), (Some(*cost), false), "{case}"),
            None => assert!(record.is_estimate && record.cost.unwrap() > Money::ZERO, "{record:?}"),
        }
    }
    let records = running.records();
    assert_eq!(records.len(), cases.len());
    // The same body failed before.
    assert!(records.last().unwrap().retries > 0, "{:?}", records.last());
    assert_eq!(records[0].context.unwrap().percent(), 0);
    let totals = running.gateway.stop().await;
    assert_eq!(totals.requests, u64::try_from(cases.len()).unwrap());
    assert_eq!(totals.cost, records.iter().filter_map(|record| record.cost).sum());
    // The last one said so in a header.
    assert!(totals.problem.as_ref().is_some_and(|problem| problem.until.is_some()), "{totals:?}");
}

#[tokio::test]
async fn only_the_token_of_the_run_opens_the_gateway() {
    let service = upstream(Vec::new()).await;
    let running = Running::new(&service.base, None).await;
    for (path, member) in [("/v1/messages", "authentication_error"), ("/v1/responses", "invalid_api_key")] {
        let (head, body) = running.send(path, "sk-other").await.unwrap().into_parts();
        assert_eq!(head.status, StatusCode::UNAUTHORIZED);
        let body = body.collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&body).contains(member), "{body:?}");
    }
    assert_eq!(running.records(), []);
    let headers = HeaderMap::new();
    let service = Service {
        origin: String::new(),
        key: KEY.to_owned(),
        token: "t0ken".to_owned(),
        http: Http::new(false).unwrap(),
        account: Account::new(None, Arc::new(PriceList::default()), || Timestamp(0), Arc::new(|_| {})),
        recorder: None,
    };
    let uri: Uri = "/v1beta/models/g:generateContent?alt=sse&key=t0ken".parse().unwrap();
    let (headers_sent, target) = service.authorised(&headers, &uri).unwrap();
    assert_eq!(target, "/v1beta/models/g:generateContent?alt=sse");
    assert!(headers_sent.iter().any(|(name, value)| name == GOOGLE_KEY && value == KEY));
    assert!(service.authorised(&headers, &"/v1/models?key=other".parse().unwrap()).is_none());
    let mut bearer = HeaderMap::new();
    bearer.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer t0ken"));
    let (headers, _) = service.authorised(&bearer, &"/v1/models".parse().unwrap()).unwrap();
    assert_eq!(headers[0].1, format!("Bearer {KEY}"));
}

/// Two dollars for each call, under a budget of three.
#[tokio::test]
async fn a_request_that_the_budget_does_not_cover_is_refused_and_so_is_all_that_follows() {
    let dear = messages(666_646, 0);
    let service = upstream((0..3).map(|_| says(whole("200 OK", "text/event-stream", &dear))).collect()).await;
    let running = Running::new(&service.base, Some(Money::dollars(3))).await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(running.ask("/v1/messages").await.0.as_u16());
    }
    assert_eq!(statuses, [200, 402, 402, 402], "the second would cost as much as the first");
    let (_, headers, body) = running.ask("/v1/chat/completions").await;
    assert_eq!(headers["x-should-retry"], "false");
    assert!(String::from_utf8_lossy(&body.unwrap()).contains("insufficient_quota"));
    let limits = running.events.lock().unwrap().iter().filter(|event| matches!(event, GatewayEvent::Limit(_))).count();
    assert_eq!(limits, 1);
    let totals = running.gateway.stop().await;
    assert!(totals.cost > Money::dollars(1) && totals.cost <= Money::dollars(3), "{totals:?}");
    assert!(totals.refused.is_some());
}

/// The agent has each event before the service sends the next, and what it does not wait for is charged as far as it came.
#[tokio::test]
async fn events_pass_at_once_and_an_answer_that_nobody_waits_for_is_estimated() {
    let (go, gone) = tokio::sync::oneshot::channel::<()>();
    let (ended, has_ended) = tokio::sync::oneshot::channel::<()>();
    let answer: Answer = Box::new(move |mut stream| {
        Box::pin(async move {
            let body = messages(1000, 100);
            let (first, _) = body.split_at(body.find("\n\n").unwrap() + 2);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(format!("{head}{:x}\r\n{first}\r\n", first.len()).as_bytes()).await.unwrap();
            gone.await.unwrap();
            let delta = "data: {\"type\":\"content_block_delta\"}\n\n";
            stream.write_all(format!("{:x}\r\n{delta}\r\n", delta.len()).as_bytes()).await.unwrap();
            // Ends when the gateway does.
            let mut rest = [0; 64];
            while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
            let _ = ended.send(());
        })
    });
    let service = upstream(vec![answer]).await;
    let running = Running::new(&service.base, None).await;
    let mut body = running.send("/v1/messages", running.gateway.token()).await.unwrap().into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(String::from_utf8_lossy(&first).contains("message_start"));
    go.send(()).unwrap();
    let second = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(String::from_utf8_lossy(&second).contains("content_block_delta"));
    drop(body);
    tokio::time::timeout(PATIENCE, has_ended).await.expect("the service sees that nobody waits").unwrap();
    let totals = running.gateway.stop().await;
    let tokens = Tokens { input: 1000, cache_read: 200, output: 1, ..Tokens::default() };
    assert_eq!(totals.tokens, tokens);
    assert_eq!(totals.cost, Money::from_micros(3000 + 60 + 15));
}

/// A service that never answers, and one that is not there.
#[tokio::test]
async fn a_hang_ends_with_the_gateway_and_a_closed_port_costs_nothing() {
    let hang: Answer = Box::new(|stream| {
        Box::pin(async move {
            std::future::pending::<()>().await;
            drop(stream);
        })
    });
    let mut service = upstream(vec![hang]).await;
    let running = Running::new(&service.base, Some(Money::dollars(5))).await;
    let Running { gateway, http, .. } = running;
    let (url, token) = (format!("{}/v1/messages", gateway.addresses()[0]), gateway.token().to_owned());
    let asking = tokio::spawn(async move {
        let headers = vec![(header::AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap())];
        let body = Bytes::from(format!(r#"{{"model":"{MODEL}","pad":"{}"}}"#, "x".repeat(40_000)));
        http.send(Call { method: Method::POST, url, headers, body }, PATIENCE).await
    });
    service.asked.recv().await.unwrap();
    let totals = gateway.stop().await;
    assert!(asking.await.unwrap().is_err());
    assert!(totals.cost > Money::ZERO, "its input may have been sold: {totals:?}");

    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let running = Running::new(&format!("http://{closed}"), Some(Money::dollars(5))).await;
    assert!(running.send("/v1/messages", running.gateway.token()).await.is_err());
    assert_eq!(running.gateway.stop().await.cost, Money::ZERO);
}

/// A hundred megabytes of answer take no memory.
#[tokio::test]
async fn a_long_stream_passes_in_flat_memory() {
    const EVENT: usize = 64 * 1024;
    const EVENTS: usize = 1600;
    let answer: Answer = Box::new(|mut stream| {
        Box::pin(async move {
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
                .await;
            let event = format!("data: {{\"type\":\"content_block_delta\",\"x\":\"{}\"}}\n\n", "x".repeat(EVENT));
            for _ in 0..EVENTS {
                if stream.write_all(event.as_bytes()).await.is_err() {
                    return;
                }
            }
            let _ = stream.write_all(messages(1000, 100).as_bytes()).await;
            let _ = stream.shutdown().await;
        })
    });
    let service = upstream(vec![answer]).await;
    let running = Running::new(&service.base, None).await;
    let before = memory("VmRSS:");
    let mut body = running.send("/v1/messages", running.gateway.token()).await.unwrap().into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame.unwrap().into_data().map_or(0, |data| data.len());
    }
    assert!(bytes > EVENT * EVENTS);
    assert_eq!(running.records()[0].cost, Some(Money::from_micros(1000 * 3 + 60 + 100 * 15)));
    let grown = memory("VmHWM:").saturating_sub(before);
    assert!(grown < 48 * 1024, "{grown} kB");
}

fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
