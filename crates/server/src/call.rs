//! One request, read and checked, as handlers get it.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use ralph_api::Problem;
use ralph_model::{RunId, TaskId, Timestamp};
use ralph_store::{Epoch, Role, SqlStore, TaskHolder, TaskLease};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::app::App;
use crate::auth::Caller;
use crate::problem::{Refusal, answer};
use crate::upload::Upload;

pub(crate) type Answer = Result<Response, Refusal>;

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) app: App,
    /// None on routes that need no token.
    pub(crate) caller: Option<Caller>,
    /// The parts of the path that stand for something, decoded.
    pub(crate) path: Vec<(String, String)>,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// What was sent to a route that takes a file.
    pub(crate) file: Option<Upload>,
}

impl Call {
    pub(crate) fn board(&self) -> &SqlStore {
        self.app.board()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.app.now()
    }

    pub(crate) fn part(&self, name: &str) -> &str {
        self.path.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// A part of the path. Text that is no such value names nothing that exists.
    pub(crate) fn parsed<T: FromStr<Err: Display>>(&self, name: &str) -> Result<T, Refusal> {
        self.part(name).parse().map_err(|error: T::Err| Problem::new(404, "not-found", error.to_string()).into())
    }

    pub(crate) fn task_id(&self) -> Result<TaskId, Refusal> {
        self.parsed("id")
    }

    pub(crate) fn run_id(&self) -> Result<RunId, Refusal> {
        self.parsed("id")
    }

    /// A UUID in the path, in its one spelling.
    pub(crate) fn uuid(&self) -> Result<String, Refusal> {
        self.parsed::<TaskId>("id").map(|id| id.to_string()).map_err(|_| {
            Problem::new(404, "not-found", format!("`{}` is not an id: expected a UUID", self.part("id"))).into()
        })
    }

    pub(crate) fn query<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        let pairs = serde_urlencoded::Deserializer::new(form_pairs(&self.query));
        let parsed: T = serde_path_to_error::deserialize(pairs).map_err(|error| {
            let detail = error.inner().to_string();
            Problem::invalid(field(error.path(), &detail), detail)
        })?;
        match self.query.contains("%00") {
            true => Err(Problem::invalid("query", "a parameter contains a null character").into()),
            false => Ok(parsed),
        }
    }

    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        // Serde also takes the values of the fields in their order, which no document promises.
        if self.body.trim_ascii_start().starts_with(b"[") {
            return Err(Problem::invalid("body", "the body is an array: send a JSON object").into());
        }
        let mut deserializer = serde_json::Deserializer::from_slice(&self.body);
        let parsed: T = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| malformed(&error))?;
        if let Err(error) = deserializer.end() {
            return Err(Problem::new(400, "malformed-json", format!("the body is not JSON: {error}")).into());
        }
        if let Some(field) = null_character(&self.body) {
            return Err(Problem::invalid(field, "the text contains a null character").into());
        }
        Ok(parsed)
    }

    /// The right under which a worker, or the agent inside it, writes to the task of the path.
    pub(crate) async fn lease(&self, epoch: Option<u64>) -> Result<TaskLease, Refusal> {
        let task = self.task_id()?;
        self.check_token(task).await?;
        let own = match self.role() {
            Some(Role::Task { epoch, .. }) => Some(*epoch),
            _ => None,
        };
        if own.is_some() && epoch.is_some() && epoch != own {
            // An agent whose worker lost the task, and which guesses the lease of the next one.
            return Err(Problem::new(403, "forbidden", "this token is for another lease").in_field("epoch").into());
        }
        let epoch =
            epoch.or(own).ok_or_else(|| Problem::invalid("epoch", "epoch is required: send that of the lease"))?;
        if epoch > i64::MAX.unsigned_abs() {
            return Err(Problem::invalid("epoch", "epoch is larger than any lease has").into());
        }
        Ok(TaskLease { task, epoch: Epoch(epoch) })
    }

    /// As [`Call::lease`]; the token of the agent that holds the task needs no epoch.
    pub(crate) async fn held_lease(&self, epoch: Option<u64>) -> Result<TaskLease, Refusal> {
        let agent = self.caller.as_ref().filter(|caller| epoch.is_none() && caller.role == Role::Agent);
        match (agent, self.check_token(self.task_id()?).await?) {
            (Some(agent), Some(holder)) if holder.agent == agent.name => Ok(holder.lease),
            _ => self.lease(epoch).await,
        }
    }

    /// Refuses the token of a worker for a task that another token claimed: epochs can be guessed. Gives who holds the task, for
    /// a worker.
    pub(crate) async fn check_token(&self, task: TaskId) -> Result<Option<TaskHolder>, Refusal> {
        let Some(worker) = self.caller.as_ref().filter(|caller| caller.role == Role::Agent) else { return Ok(None) };
        let holder = self.board().task_holder(task).await?;
        let claimed_with = holder.as_ref().and_then(|holder| holder.token.as_ref());
        if claimed_with.is_some_and(|token| *token != worker.name) {
            let detail = format!("task {task} was claimed with another token than `{}`", worker.name);
            return Err(Problem::new(403, "forbidden", detail).into());
        }
        Ok(holder)
    }

    /// The name of the caller's token, where it is that of a worker.
    pub(crate) fn worker_token(&self) -> Option<&str> {
        self.caller.as_ref().filter(|caller| caller.role == Role::Agent).map(|caller| caller.name.as_str())
    }

    pub(crate) fn role(&self) -> Option<&Role> {
        self.caller.as_ref().map(|caller| &caller.role)
    }

    /// Whether the caller is the agent inside a worker.
    pub(crate) fn is_task_agent(&self) -> bool {
        matches!(self.role(), Some(Role::Task { .. }))
    }
}

fn form_pairs(query: &str) -> form_urlencoded::Parse<'_> {
    form_urlencoded::parse(query.as_bytes())
}

fn malformed(error: &serde_path_to_error::Error<serde_json::Error>) -> Problem {
    let detail = error.inner().to_string();
    match error.inner().classify() {
        serde_json::error::Category::Data => {
            let name = field(error.path(), &detail);
            let shown = if detail.contains(&name) { detail } else { format!("{name}: {detail}") };
            Problem::invalid(name, shown)
        }
        _ => Problem::new(400, "malformed-json", format!("the body is not JSON: {detail}")),
    }
}

/// The field that an error is about: where it happened, and the name in the message for fields that are missing or unknown.
fn field(path: &serde_path_to_error::Path, detail: &str) -> String {
    let place = path.to_string();
    let place = if place == "." || place == "?" { String::new() } else { place };
    let names = ["missing field `", "unknown field `", "duplicate field `"];
    let named = names.iter().find_map(|start| detail.split_once(start)?.1.split('`').next());
    match named {
        Some(name) if place.is_empty() || place.ends_with(name) => name.to_owned(),
        Some(name) => format!("{place}.{name}"),
        None if place.is_empty() => "body".to_owned(),
        None => place,
    }
}

/// The field with a text that no database takes.
fn null_character(body: &[u8]) -> Option<String> {
    // Seldom there, so that the body is seldom read twice.
    if !body.windows(6).any(|window| window == b"\\u0000") {
        return None;
    }
    fn find(value: &Value, place: &str) -> Option<String> {
        let below = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
        match value {
            Value::String(text) => text.contains('\0').then(|| place.to_owned()),
            Value::Array(values) => values.iter().find_map(|value| find(value, place)),
            Value::Object(entries) => {
                entries.iter().find_map(
                    |(name, value)| if name.contains('\0') { Some(below("?")) } else { find(value, &below(name)) },
                )
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }
    find(&serde_json::from_slice(body).ok()?, "")
}

pub(crate) async fn read_body(headers: &HeaderMap, body: Body, limit: usize, time: Duration) -> Result<Bytes, Refusal> {
    check_head(headers, "application/json", limit)?;
    match tokio::time::timeout(time, Limited::new(body, limit).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) => Err(unread(&*error, limit)),
        Err(_) => Err(Problem::new(408, "timeout", "the body took too long to arrive").into()),
    }
}

/// Reads a body of JSON within the limits, for routes beside the API; else the problem as an answer.
///
/// # Errors
/// When it is too large or too slow, or is not JSON.
pub async fn read_json(headers: &HeaderMap, body: Body, limit: usize, time: Duration) -> Result<Bytes, Box<Response>> {
    let body = read_body(headers, body, limit, time).await.map_err(|refusal| Box::new(answer(&refusal.problem)))?;
    match serde_json::from_slice::<serde::de::IgnoredAny>(&body) {
        Ok(_) => Ok(body),
        Err(error) => {
            Err(Box::new(answer(&Problem::new(400, "malformed-json", format!("the body is not JSON: {error}")))))
        }
    }
}

/// What the headers say of the body is acceptable.
pub(crate) fn check_head(headers: &HeaderMap, wanted: &str, limit: usize) -> Result<(), Refusal> {
    let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case(wanted) {
        let detail = format!("send the body as {wanted}");
        return Err(Problem::new(415, "unsupported-media-type", detail).into());
    }
    let length = headers.get("content-length").and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        return Err(too_large(limit));
    }
    Ok(())
}

fn too_large(limit: usize) -> Refusal {
    Problem::new(413, "too-large", format!("the body is larger than {limit} bytes")).into()
}

/// Why a body was not read to its end.
pub(crate) fn unread(error: &(dyn std::error::Error + 'static), limit: usize) -> Refusal {
    if error.is::<LengthLimitError>() {
        return too_large(limit);
    }
    Problem::new(400, "malformed-body", "the body could not be read").into()
}

pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    let body = serde_json::to_vec(value)
        .map_err(|error| Refusal::internal(format!("an answer cannot be written: {error}")))?;
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

pub(crate) fn created(place: &str, value: &impl Serialize) -> Answer {
    let mut response = json(StatusCode::CREATED, value)?;
    if let Ok(place) = HeaderValue::from_str(place) {
        response.headers_mut().insert(LOCATION, place);
    }
    Ok(response)
}

pub(crate) fn no_content() -> Answer {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

pub(crate) fn text(media: &'static str, body: impl Into<Body>) -> Answer {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    Ok(response)
}

/// A text of people or workers: not empty, not too long, no control characters that would break a line.
pub(crate) fn check_name(field: &'static str, text: &str) -> Result<(), Refusal> {
    Ok(ralph_api::check_name(field, text)?)
}

pub(crate) fn check_length(field: &'static str, text: Option<&str>, max: usize) -> Result<(), Refusal> {
    match text {
        Some(text) if text.len() > max => {
            Err(Problem::invalid(field, format!("{field} is longer than {max} bytes")).into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
