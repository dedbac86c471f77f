//! Sends the spans of runs to a collector of OpenTelemetry traces: OTLP over HTTP, encoded as JSON.
//!
//! Spans are folded from what a run records ([`ralph_view::spans`]), so this is the last step alone and needs no tracing library.
//! A collector that is away costs a warning and never delays a run.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use ralph_http::header::CONTENT_TYPE;
use ralph_http::{Bytes, Call, HeaderName, HeaderValue, Http, Method, StatusCode, Uri};
use ralph_view::Span;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// Updates that wait to be sent; more than that are dropped.
const QUEUE: usize = 256;
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// The wait before spans are sent again to a collector that is busy.
const RETRY_DELAY: Duration = Duration::from_millis(500);
const MAX_ANSWER: usize = 64 * 1024;
/// A span that is part of no other process's work.
const INTERNAL: u8 = 1;
const STATUS_OK: u8 = 1;
const STATUS_ERROR: u8 = 2;

/// Where traces go, as the variables of OpenTelemetry say.
#[derive(Clone, PartialEq, Eq)]
pub struct TraceTarget {
    url: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    resource: Vec<(String, String)>,
}

impl fmt::Debug for TraceTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers hold keys.
        f.debug_struct("TraceTarget").field("url", &self.url).finish_non_exhaustive()
    }
}

impl TraceTarget {
    /// What `OTEL_EXPORTER_OTLP_ENDPOINT` and its companions say; none where no endpoint is set.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let set = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let specific = set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let general =
            || set("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| format!("{}/v1/traces", base.trim_end_matches('/')));
        let Some(address) = specific.or_else(general) else { return Ok(None) };
        let is_off = set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || set("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        if is_off {
            return Ok(None);
        }
        let protocol = set("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL").or_else(|| set("OTEL_EXPORTER_OTLP_PROTOCOL"));
        if protocol.as_deref() == Some("grpc") {
            return Err("traces are sent over HTTP only: set OTEL_EXPORTER_OTLP_TRACES_ENDPOINT to the collector's address for \
                        HTTP, and OTEL_EXPORTER_OTLP_TRACES_PROTOCOL to http/json"
                .to_owned());
        }
        let url = address.parse::<Uri>().ok().filter(ralph_http::is_address);
        let url = url
            .ok_or_else(|| format!("`{address}` is no address of a collector: write it like http://127.0.0.1:4318"))?;
        let headers = set("OTEL_EXPORTER_OTLP_TRACES_HEADERS").or_else(|| set("OTEL_EXPORTER_OTLP_HEADERS"));
        let headers = pairs(&headers.unwrap_or_default())
            .map(|(name, value)| {
                let mut value = HeaderValue::from_str(&value).map_err(|_| wrong_header(&name))?;
                value.set_sensitive(true);
                Ok((name.parse::<HeaderName>().map_err(|_| wrong_header(&name))?, value))
            })
            .collect::<Result<_, String>>()?;
        let mut resource: Vec<_> = pairs(&set("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default()).collect();
        if let Some(name) = set("OTEL_SERVICE_NAME") {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".to_owned(), name));
        } else if resource.iter().all(|(key, _)| key != "service.name") {
            resource.push(("service.name".to_owned(), "ralph".to_owned()));
        }
        Ok(Some(Self { url, headers, resource }))
    }
}

fn wrong_header(name: &str) -> String {
    format!("OTEL_EXPORTER_OTLP_HEADERS: the header `{name}` cannot be sent")
}

/// `name=value,name=value`, with percent-encoded values.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split(',').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), percent_decode_str(value.trim()).decode_utf8_lossy().into_owned()))
    })
}

/// Called once, with the reason, when spans cannot be sent.
pub type OnFailure = Arc<dyn Fn(String) + Send + Sync>;

enum Message {
    Spans(Vec<Span>),
    Flush(oneshot::Sender<()>),
}

/// Sends spans in the background. Clones share one queue.
#[derive(Clone)]
pub struct Traces {
    target: Arc<TraceTarget>,
    queue: Arc<OnceLock<mpsc::Sender<Message>>>,
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Traces {
    /// Nothing is sent and no task runs until there are spans.
    pub fn new(target: TraceTarget) -> Self {
        Self { target: Arc::new(target), queue: Arc::default() }
    }

    /// Queues spans. Needs a Tokio runtime.
    pub fn send(&self, spans: Vec<Span>, on_failure: &OnFailure) {
        if spans.is_empty() {
            return;
        }
        let queue = self.queue.get_or_init(|| {
            let (queue, messages) = mpsc::channel(QUEUE);
            tokio::spawn(deliver(Arc::clone(&self.target), messages, Arc::clone(on_failure)));
            queue
        });
        // Full or gone: a trace with a gap is better than a run that waits.
        let _ = queue.try_send(Message::Spans(spans));
    }

    /// Waits until everything that is queued was sent, for so long at most.
    pub async fn flush(&self, at_most: Duration) {
        let Some(queue) = self.queue.get() else { return };
        let (done, wait) = oneshot::channel();
        let flush = async {
            if queue.send(Message::Flush(done)).await.is_ok() {
                let _ = wait.await;
            }
        };
        let _ = tokio::time::timeout(at_most, flush).await;
    }
}

async fn deliver(target: Arc<TraceTarget>, mut messages: mpsc::Receiver<Message>, on_failure: OnFailure) {
    let client = Http::new(target.url.scheme_str() == Some("https")).map_err(|error| error.to_string());
    let mut has_failed = false;
    while let Some(message) = messages.recv().await {
        let spans = match message {
            Message::Spans(spans) => spans,
            Message::Flush(done) => {
                let _ = done.send(());
                continue;
            }
        };
        let sent = match &client {
            Ok(client) => post(client, &target, &spans).await,
            Err(problem) => Err(problem.clone()),
        };
        if let Err(problem) = sent
            && !std::mem::replace(&mut has_failed, true)
        {
            on_failure(format!("traces could not be sent to {}: {problem}", target.url));
        }
    }
}

async fn post(client: &Http, target: &TraceTarget, spans: &[Span]) -> Result<(), String> {
    let body = Bytes::from(document(target, spans).to_string());
    let mut is_retry = false;
    loop {
        let mut headers = vec![(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        headers.extend_from_slice(&target.headers);
        let call = Call { method: Method::POST, url: target.url.to_string(), headers, body: body.clone() };
        let answer = client.send(call, SEND_TIMEOUT).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        // Read, so that the connection can be used again.
        let _ = ralph_http::read(answer.into_body(), MAX_ANSWER, SEND_TIMEOUT).await;
        let is_busy = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        if status.is_success() {
            return Ok(());
        }
        if !is_busy || is_retry {
            return Err(format!("it answered {status}"));
        }
        is_retry = true;
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// The request of the OTLP protocol, in its JSON encoding.
fn document(target: &TraceTarget, spans: &[Span]) -> Value {
    let resource: Vec<Value> =
        target.resource.iter().map(|(key, value)| attribute(key, &Value::from(value.as_str()))).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{
            "scope": { "name": "ralph", "version": env!("CARGO_PKG_VERSION") },
            "spans": spans.iter().map(span).collect::<Vec<_>>(),
        }],
    }] })
}

fn span(span: &Span) -> Value {
    let nanos = |at: ralph_model::Timestamp| (i128::from(at.0) * 1_000_000).to_string();
    let mut value = json!({
        "traceId": format!("{:032x}", span.trace),
        "spanId": format!("{:016x}", span.id),
        "name": span.name,
        "kind": INTERNAL,
        "startTimeUnixNano": nanos(span.start),
        "endTimeUnixNano": nanos(span.end),
        "attributes": span.attributes.iter().map(|(key, value)| attribute(key, value)).collect::<Vec<_>>(),
        "status": match &span.failure {
            Some(why) => json!({ "code": STATUS_ERROR, "message": why }),
            None => json!({ "code": STATUS_OK }),
        },
    });
    if let Some(parent) = span.parent {
        value["parentSpanId"] = format!("{parent:016x}").into();
    }
    value
}

fn attribute(key: &str, value: &Value) -> Value {
    let value = match value {
        Value::Number(number) if number.is_f64() => json!({ "doubleValue": number }),
        // 64-bit integers are strings in this encoding.
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::Bool(flag) => json!({ "boolValue": flag }),
        text => json!({ "stringValue": text }),
    };
    json!({ "key": key, "value": value })
}

#[cfg(test)]
#[path = "otlp_tests.rs"]
mod tests;
