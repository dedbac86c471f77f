//! Errors of the store as problem documents, and problem documents as answers.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use ralph_api::Problem;
use ralph_model::TaskError;
use ralph_store::Error;

pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) problem: Box<Problem>,
    /// What the person who runs the server has to see, and the caller does not.
    pub(crate) cause: Option<String>,
}

impl Refusal {
    /// A failure of the server itself.
    pub(crate) fn internal(cause: impl ToString) -> Self {
        let problem = Problem::new(500, "internal-error", "the server failed; its own output says why");
        Self { problem: Box::new(problem), cause: Some(cause.to_string()) }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self { problem: Box::new(problem), cause: None }
    }
}

impl From<TaskError> for Refusal {
    fn from(error: TaskError) -> Self {
        Problem::invalid(error.field, error.to_string()).into()
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        let problem = match &error {
            Error::UnknownTask { task, .. } => Problem::new(404, "not-found", format!("there is no task {task}")),
            Error::UnknownRun { run, .. } => Problem::new(404, "not-found", format!("there is no loop {run}")),
            Error::UnknownEntry { .. } => Problem::new(404, "not-found", detail),
            Error::StaleTaskLease { .. } | Error::StaleLease { .. } => Problem::new(409, "stale-lease", detail),
            Error::TaskConflict { .. } | Error::EntryConflict { .. } | Error::Conflict { .. } => {
                Problem::new(409, "conflict", detail)
            }
            Error::KeyReused { .. } => Problem::new(422, "key-reused", detail).in_field("Idempotency-Key"),
            Error::Busy { .. } | Error::Unreachable { .. } | Error::Full { .. } => {
                let problem = Problem::new(503, "unavailable", "the database cannot be used at the moment; try again");
                return Self { problem: Box::new(problem), cause: Some(detail) };
            }
            _ => return Self::internal(detail),
        };
        problem.into()
    }
}

pub(crate) fn answer(problem: &Problem) -> Response {
    let body = serde_json::to_vec(problem).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
    match problem.status {
        401 => drop(headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
        503 => drop(headers.insert(RETRY_AFTER, HeaderValue::from_static("1"))),
        _ => {}
    }
    response
}
