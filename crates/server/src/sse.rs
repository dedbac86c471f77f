//! Streams of server-sent events, with flat memory: a stream holds one page at most, and reads the next one from the store
//! when the client took the last.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use futures_util::stream::unfold;
use ralph_api::Problem;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;

use crate::call::{Answer, Call};
use crate::problem::Refusal;

/// What a stream is made of: gives the next bytes, none at the end.
pub(crate) trait Source: Send + Sized + 'static {
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// A line that keeps the connection open.
pub(crate) const HEARTBEAT: Bytes = Bytes::from_static(b": still here\n\n");

/// The right to one of the streams that a server may have open. Agents inside of workers never hold more than half of them.
pub(crate) fn permit(call: &Call) -> Result<OwnedSemaphorePermit, Refusal> {
    let (app, streams) = (&call.app, &call.app.streams);
    let is_kept = call.is_task_agent() && streams.available_permits() <= app.options.limits.streams / 2;
    let permit = if is_kept { None } else { Arc::clone(streams).try_acquire_owned().ok() };
    permit.ok_or_else(|| {
        let detail = "too many streams of events are open; close one or try again later";
        Problem::new(503, "too-many-streams", detail).into()
    })
}

pub(crate) fn event(id: Option<u64>, name: &str, data: &impl Serialize) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    // JSON has no line breaks of its own.
    format!("{id}event: {name}\ndata: {}\n\n", serde_json::to_string(data).unwrap_or_default())
}

/// Sends what a source gives, as long as the token of the call is known.
pub(crate) fn stream(call: Call, permit: OwnedSemaphorePermit, source: impl Source) -> Answer {
    let Call { app, caller, .. } = call;
    let stream = unfold((permit, app, caller, source), |(permit, app, caller, mut source)| async move {
        let bytes = source.next().await?;
        match &caller {
            Some(caller) if !caller.may_follow(&app).await => None,
            _ => Some((Ok::<_, Infallible>(bytes), (permit, app, caller, source))),
        }
    });
    let mut response = Response::new(Body::from_stream(stream));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies must not collect events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}
