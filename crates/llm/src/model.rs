//! A model that can be asked.

use std::fmt;
use std::time::Duration;

use ralph_agents::{classify, reset_time};
use ralph_http::header::{CONTENT_TYPE, HeaderMap};
use ralph_http::{Bytes, Call, Egress, Events, Http, Incoming, Method, Response};
use ralph_model::{Remedy, Timestamp, Trouble, TroubleKind};
use serde_json::Value;

use crate::conversation::{Answer, Delta, Request};
use crate::provider::Endpoint;
use crate::retry;
use crate::wire::{self, Assembler, WireError};

/// How long a server may take to begin its answer. One that does not stream begins when it is done.
const HEAD_TIMEOUT: Duration = Duration::from_secs(300);
/// How long nothing may come of an answer that began.
const SILENCE: Duration = Duration::from_secs(120);
/// The most that is read of one answer, its format included.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// The most that is read of a refusal.
const MAX_REFUSAL: usize = 64 * 1024;
/// How much of a refusal without words of its own is shown.
const MAX_SHOWN: usize = 500;

#[derive(Clone)]
pub struct Model {
    endpoint: Endpoint,
    /// Its name there.
    pub name: String,
    http: Http,
    now: fn() -> Timestamp,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("name", &self.name).field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// What a model answered, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub answer: Answer,
    /// Answers that began and broke off. What they cost is not known.
    pub lost: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{trouble}")]
pub struct Failed {
    /// What went wrong with the last one that was asked.
    pub trouble: Trouble,
    /// Answers that began and broke off. What they cost is not known.
    pub lost: u32,
}

/// What happens while a model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watch {
    Delta(Delta),
    /// The answer broke off or was refused, and comes again from its beginning after a wait.
    Again {
        trouble: Trouble,
        wait: Duration,
    },
    /// Another model is asked.
    Fallback {
        trouble: Trouble,
        model: String,
    },
}

/// Why one try has no answer.
struct Fault {
    trouble: Trouble,
    has_begun: bool,
}

impl Model {
    /// A model. Needs a Tokio runtime once it is asked.
    pub fn new(
        endpoint: Endpoint,
        name: &str,
        egress: &Egress,
        now: fn() -> Timestamp,
    ) -> Result<Self, ralph_http::Error> {
        let http = Http::through(&endpoint.url, egress)?;
        Ok(Self { endpoint, name: name.to_owned(), http, now })
    }

    async fn persist(
        &self,
        request: &Request<'_>,
        lost: &mut u32,
        watch: &mut (dyn FnMut(Watch) + Send),
    ) -> Result<Answer, Trouble> {
        let request = Request { model: &self.name, ..request.clone() };
        let body = Bytes::from(wire::body(self.endpoint.protocol, &request, self.endpoint.limit).to_string());
        let mut tries = 0;
        loop {
            let Fault { trouble, has_begun } = match self.attempt(body.clone(), watch).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            tries += 1;
            *lost += u32::from(has_begun);
            let Some(wait) = retry::wait(&trouble, tries, (self.now)(), fastrand::f64()) else { return Err(trouble) };
            watch(Watch::Again { trouble, wait });
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(&self, body: Bytes, watch: &mut (dyn FnMut(Watch) + Send)) -> Result<Answer, Fault> {
        let headers = self.endpoint.headers.clone();
        let call = Call { method: Method::POST, url: self.endpoint.url.to_string(), headers, body };
        let answer = self.http.send(call, HEAD_TIMEOUT).await.map_err(|error| self.unreachable(&error, false))?;
        if !answer.status().is_success() {
            return Err(self.refused(answer).await);
        }
        if content_type(&answer).starts_with("text/event-stream") {
            self.streamed(answer.into_body(), watch).await
        } else {
            let bytes = ralph_http::read(answer.into_body(), MAX_ANSWER, HEAD_TIMEOUT).await;
            let bytes = bytes.map_err(|error| self.unreachable(&error, true))?;
            let whole = serde_json::from_slice::<Value>(&bytes)
                .map_err(|error| WireError::Malformed(error.to_string()))
                .and_then(|body| wire::whole(self.endpoint.protocol, &body));
            whole.map_err(|error| self.misunderstood(&error))
        }
    }

    async fn streamed(&self, body: Incoming, watch: &mut (dyn FnMut(Watch) + Send)) -> Result<Answer, Fault> {
        let mut events = Events::new(body, MAX_ANSWER, Some(SILENCE));
        let mut assembler = Assembler::new(self.endpoint.protocol);
        loop {
            match events.next().await {
                Ok(Some(event)) => {
                    let deltas = assembler.push(&event.data).map_err(|error| self.misunderstood(&error))?;
                    deltas.into_iter().for_each(|delta| watch(Watch::Delta(delta)));
                }
                Ok(None) => return assembler.finish().map_err(|error| self.misunderstood(&error)),
                Err(error) => return Err(self.unreachable(&error, true)),
            }
        }
    }

    fn trouble(&self, kind: TroubleKind, detail: &dyn fmt::Display) -> Trouble {
        let message = format!("{}: {detail}", self.endpoint.url);
        Trouble { kind, until: None, message, advice: None }
    }

    fn unreachable(&self, error: &ralph_http::Error, has_begun: bool) -> Fault {
        Fault { trouble: self.trouble(unanswered(error), error), has_begun }
    }

    /// An answer that is none. A model that was asked the same again may write a better one.
    fn misunderstood(&self, error: &WireError) -> Fault {
        let own = match error {
            WireError::Refused { message } => classify(None, message, (self.now)()),
            _ => None,
        };
        Fault { trouble: own.unwrap_or_else(|| self.trouble(TroubleKind::Overload, error)), has_begun: true }
    }

    async fn refused(&self, answer: Response<Incoming>) -> Fault {
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = ralph_http::read(answer.into_body(), MAX_REFUSAL, SILENCE).await.unwrap_or_default();
        let body = String::from_utf8_lossy(&body);
        let trouble = refusal(status, &headers, &body, (self.now)());
        let trouble = trouble.unwrap_or_else(|| Trouble {
            kind: TroubleKind::Setup,
            until: None,
            message: spoken(&body),
            advice: Some("the request is not accepted as it is".to_owned()),
        });
        let message = format!("{}: status {status}: {}", self.endpoint.url, trouble.message);
        let trouble = Trouble { message, ..trouble };
        Fault { trouble, has_begun: false }
    }
}

/// What it means that a service does not answer.
pub const fn unanswered(error: &ralph_http::Error) -> TroubleKind {
    match error {
        ralph_http::Error::Setup(_) => TroubleKind::Setup,
        _ => TroubleKind::Unreachable,
    }
}

fn content_type(answer: &Response<Incoming>) -> String {
    let value = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_ascii_lowercase()
}

/// What an answer with an error means, in the service's own words, and when the service takes requests again.
pub fn refusal(status: u16, headers: &HeaderMap, body: &str, now: Timestamp) -> Option<Trouble> {
    // Besides its words, the body may have a member that says more.
    let trouble = classify(Some(status), body, now)?;
    let reset = headers.get("anthropic-ratelimit-unified-reset").and_then(|reset| reset.to_str().ok());
    let until = retry_after(headers, now)
        .or_else(|| reset_time(&format!("resets_at: {}", reset?), now))
        .or_else(|| reset_time(body, now))
        .filter(|_| trouble.kind.remedy() == Remedy::Wait);
    Some(Trouble { until, message: spoken(body), ..trouble })
}

/// The words of an answer with an error, for people.
fn spoken(body: &str) -> String {
    match serde_json::from_str::<Value>(body).ok().as_ref().and_then(wire::refusal) {
        Some(WireError::Refused { message }) => message,
        _ => body.trim().chars().take(MAX_SHOWN).collect(),
    }
}

fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Timestamp> {
    let of = |name: &str| headers.get(name)?.to_str().ok();
    if let Some(millis) = of("retry-after-ms").and_then(|millis| millis.trim().parse::<i64>().ok()) {
        return Some(Timestamp(now.0.saturating_add(millis.max(0))));
    }
    reset_time(&format!("retry-after: {}", of("retry-after")?), now)
}

/// Asks the first of the models that can answer. Dropping this cancels the request.
pub async fn ask(
    models: &[Model],
    request: &Request<'_>,
    watch: &mut (dyn FnMut(Watch) + Send),
) -> Result<Asked, Failed> {
    let mut lost = 0;
    let mut failed = None;
    for model in models {
        if let Some(trouble) = failed.take() {
            watch(Watch::Fallback { trouble, model: model.name.clone() });
        }
        match model.persist(request, &mut lost, watch).await {
            Ok(answer) => return Ok(Asked { answer, lost }),
            Err(trouble) => failed = Some(trouble),
        }
    }
    let nothing = || {
        let message = "no model is named".to_owned();
        Trouble { kind: TroubleKind::Setup, until: None, message, advice: None }
    };
    Err(Failed { trouble: failed.unwrap_or_else(nothing), lost })
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
