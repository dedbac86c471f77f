//! The spans of a run, as a collector of OpenTelemetry traces gets them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use ralph_testkit::{Repo, Script, Step};
use serde_json::Value;

use crate::harness::{Ended, User, run_words_with};

/// A collector: keeps the head and the body of every request.
struct Collector {
    address: String,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || while read(&stream, &kept).is_some() {});
            }
        });
        Self { address, requests }
    }

    fn spans(&self) -> Vec<Value> {
        let requests = self.requests.lock().unwrap();
        let of = |body: &Value| body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
        requests.iter().flat_map(|(_, body)| of(body)).collect()
    }
}

fn read(stream: &TcpStream, kept: &Mutex<Vec<(String, Value)>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some((_, value)) = line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line.to_lowercase());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    kept.lock().unwrap().push((head, serde_json::from_slice(&body).unwrap()));
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}").ok()
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().unwrap();
    attributes.iter().find(|attribute| attribute["key"] == key).map_or(&Value::Null, |found| &found["value"])
}

fn run(variables: &[(&str, &str)]) -> Ended {
    let (user, repo) = (User::new(), Repo::init());
    let script = Script::new().run([]).otherwise([Step::write("done.txt", "x")]);
    let agent = user.agent(script);
    let words = run_words_with(&agent, 3, &["--unmetered", "--criteria", "test -e done.txt"]);
    let mut ralph = user.command(repo.path(), words);
    ralph.envs(variables.iter().copied());
    Ended::from(ralph.output().unwrap())
}

#[test]
fn a_run_is_one_trace_with_its_iterations_agents_and_checks() {
    let collector = Collector::start();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue"),
        ("OTEL_SERVICE_NAME", "builds"),
    ];
    let ended = run(&variables).ok();
    let loop_id = ended.json()["loopId"].as_str().unwrap().to_owned();
    let spans = collector.spans();
    let named = |name: &str| -> Vec<&Value> {
        spans.iter().filter(|span| span["name"].as_str().unwrap().starts_with(name)).collect()
    };
    let [root] = named("ralph loop")[..] else { panic!("{spans:#?}") };
    assert_eq!(root["traceId"], loop_id.replace('-', ""));
    assert_eq!(root["parentSpanId"], Value::Null);
    assert_eq!(root["status"]["code"], 1, "{root:#}");
    assert_eq!(attribute(root, "ralph.iterations")["intValue"], "2");
    assert_eq!(attribute(root, "ralph.verified")["boolValue"], true);
    let iterations = named("iteration ");
    assert_eq!(iterations.len(), 2);
    for (iteration, agent) in iterations.iter().zip(named("invoke_agent ")) {
        assert_eq!(iteration["parentSpanId"], root["spanId"]);
        assert_eq!(agent["parentSpanId"], iteration["spanId"]);
        assert_eq!(attribute(agent, "gen_ai.operation.name")["stringValue"], "invoke_agent");
        assert_eq!(attribute(agent, "gen_ai.conversation.id")["stringValue"], loop_id);
    }
    let codes: Vec<&Value> = named("check").iter().map(|check| &check["status"]["code"]).collect();
    assert_eq!(codes, [2, 1], "the check failed and then passed: {spans:#?}");
    let moment = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
    for span in &spans {
        assert_eq!(span["traceId"], root["traceId"]);
        assert!(moment(span, "startTimeUnixNano") <= moment(span, "endTimeUnixNano"), "{span:#}");
    }
    let ids: std::collections::HashSet<&str> = spans.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), spans.len(), "ids differ");
    let requests = collector.requests.lock().unwrap();
    assert!(requests.iter().all(|(head, _)| head.starts_with("post /v1/traces ") && head.contains("x-team: blue")));
    assert!(requests[0].1["resourceSpans"][0]["resource"].to_string().contains("builds"));
}

#[test]
fn a_collector_that_is_away_or_cannot_be_used_is_a_warning() {
    // A port that was free a moment ago: nothing listens there.
    let address = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    for (variables, told) in [
        ([("OTEL_EXPORTER_OTLP_ENDPOINT", address.as_str())], "traces could not be sent to http://127.0.0.1:"),
        ([("OTEL_EXPORTER_OTLP_ENDPOINT", "nowhere")], "no traces are sent: `nowhere/v1/traces` is no address"),
    ] {
        let ended = run(&variables).ok();
        assert_eq!(ended.json()["status"], "COMPLETED");
        assert_eq!(ended.stderr.matches(told).count(), 1, "{}", ended.stderr);
    }
}
