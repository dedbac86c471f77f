//! The tools over streamable HTTP, inside a server that has already checked Host, Origin and token.
//!
//! Every request stands for itself, so that any server of a cluster can answer it. Only a call that runs can be cancelled, and
//! it runs in one process: its client is told an id for its session, and a cancellation that comes with the same id, request
//! and token ends the call.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use ralph_server::{Caller, Limits, read_json};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use uuid::Uuid;

use crate::handler::Tools;
use crate::running::{CallKey, Running};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const MAX_BODY: usize = 1024 * 1024;
const MAX_ID: usize = 100;

/// Who may call: values of Host, with or without a port, and origins of web pages.
#[derive(Debug, Clone, Default)]
pub struct HttpNames {
    pub hosts: Vec<String>,
    pub origins: Vec<String>,
}

/// The routes, to be mounted where requests are authenticated: each has a [`Caller`] in its extensions.
pub fn router(tools: Tools, names: HttpNames) -> Router {
    let running = tools.running.clone();
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        // Streams stay open while a loop runs, with or without progress.
        .with_json_response(false)
        .with_sse_retry(None)
        .with_allowed_hosts(names.hosts)
        .with_allowed_origins(names.origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_BODY)
        .with_cancellation_token(running.closing().child_token());
    let service =
        StreamableHttpService::new(move || Ok(tools.clone()), Arc::new(NeverSessionManager::default()), config);
    let cancel = move |request: Request, next: Next| {
        let running = running.clone();
        async move { cancel_or_pass(&running, request, next).await }
    };
    Router::new().fallback_service(service).layer(from_fn(cancel))
}

async fn cancel_or_pass(running: &Running, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = match read_json(&parts.headers, body, MAX_BODY, Limits::default().body_timeout).await {
        Ok(body) => body,
        Err(answer) => return *answer,
    };
    let caller = parts.extensions.get::<Caller>().map(|caller| caller.name.clone());
    let session = session(&parts.headers);
    if let (Some(caller), Some(session), Some(id)) = (&caller, &session, cancelled(&body)) {
        running.cancel(&CallKey { caller: caller.clone(), session: session.clone(), id });
        return empty(StatusCode::ACCEPTED);
    }
    let mut response = next.run(Request::from_parts(parts, Body::from(body))).await;
    if session.is_none()
        && response.status() == StatusCode::OK
        && let Ok(id) = HeaderValue::from_str(&Uuid::now_v7().to_string())
    {
        response.headers_mut().insert(SESSION, id);
    }
    response
}

/// The id that the client received.
pub(crate) fn session(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(SESSION)?.to_str().ok()?;
    (id.len() <= MAX_ID).then(|| id.to_owned())
}

/// The request that a message cancels.
fn cancelled(body: &[u8]) -> Option<String> {
    const METHOD: &str = "notifications/cancelled";
    let message: Value = serde_json::from_slice(body).ok()?;
    (message["method"] == METHOD).then(|| message["params"]["requestId"].to_string())
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
