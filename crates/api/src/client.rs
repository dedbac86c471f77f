//! The client: typed calls, problem documents as errors, and retries where a call may be repeated.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use ralph_model::{Checkpoint, NewTask, Task, TaskId, TaskStatus};
use ralph_store::{AgentEntry, TaskEvent};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::wire::{
    CheckpointReport, Completion, Heartbeat, Kept, Poll, ProgressReport, Register, Release, TaskPage, Work,
};

/// Longer than any call takes besides the time that it waits for a task.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The waits between the tries of a call that may be repeated.
const RETRY_DELAYS: [u64; 4] = [100, 250, 600, 1500];
/// The largest answer that is read at once.
const MAX_ANSWER: usize = 80 * 1024 * 1024;

/// Whether a call that got no answer may be sent again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    Yes,
    No,
}

/// Connections to servers, which clones share.
pub(crate) type Http = hyper_util::client::legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A server and a token for it. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    server: String,
    authorization: HeaderValue,
    http: Http,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Client {
    /// A client for `http://…` or `https://…`. Needs a Tokio runtime once it is used.
    ///
    /// # Errors
    /// When the address or the token cannot be used, or no certificate authorities are found for `https`.
    pub fn new(server: &str, token: &str) -> Result<Self> {
        let address = || Error::Address { server: server.to_owned() };
        let base = server.trim().trim_end_matches('/');
        let uri: Uri = base.parse().map_err(|_| address())?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(address()),
        };
        if uri.authority().is_none_or(|authority| authority.host().is_empty()) || uri.query().is_some() {
            return Err(address());
        }
        let mut authorization = HeaderValue::from_str(&format!("Bearer {}", token.trim())).map_err(|_| Error::Token)?;
        authorization.set_sensitive(true);
        let http = http(base, is_secure)?;
        Ok(Self { server: base.to_owned(), authorization, http })
    }

    /// The server, as messages name it.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Creates a task. A second call with the same key and content returns the task of the first one.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn create_task(&self, new: &NewTask, key: &str) -> Result<Task> {
        let key = HeaderValue::from_str(key).map_err(|_| Error::Token)?;
        let headers = [(HeaderName::from_static("idempotency-key"), key)];
        let body = Some(self.encode(new)?);
        self.json(self.answer(Method::POST, "/api/tasks", &headers, body, Repeat::Yes, CALL_TIMEOUT).await?).await
    }

    /// One task.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn task(&self, id: TaskId) -> Result<Task> {
        self.get(&format!("/api/tasks/{id}")).await
    }

    /// A page of tasks, newest first.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn tasks(&self, statuses: &[TaskStatus], before: Option<TaskId>, limit: u32) -> Result<TaskPage> {
        let mut path = format!("/api/tasks?limit={limit}");
        if !statuses.is_empty() {
            let names: Vec<&str> = statuses.iter().map(|status| status.name()).collect();
            path.push_str(&format!("&status={}", names.join(",")));
        }
        if let Some(before) = before {
            path.push_str(&format!("&before={before}"));
        }
        self.get(&path).await
    }

    /// Cancels a task.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn cancel_task(&self, id: TaskId) -> Result<Task> {
        self.post(&format!("/api/tasks/{id}/cancel"), &serde_json::json!({}), Repeat::No, CALL_TIMEOUT).await
    }

    /// Makes an agent known.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn register(&self, agent_id: &str) -> Result<AgentEntry> {
        let register = Register { agent_id: agent_id.to_owned() };
        self.post("/api/agents", &register, Repeat::Yes, CALL_TIMEOUT).await
    }

    /// Claims a task, waiting for one as long as the request says.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn poll(&self, poll: &Poll) -> Result<Option<Work>> {
        let body = Some(self.encode(poll)?);
        let timeout = CALL_TIMEOUT + Duration::from_secs(poll.wait_seconds.into());
        let answer = self.answer(Method::POST, "/api/poll", &[], body, Repeat::No, timeout).await?;
        if answer.status() == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        self.json(answer).await.map(Some)
    }

    /// Renews the lease on a task.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn heartbeat(&self, task: TaskId, heartbeat: &Heartbeat) -> Result<Kept> {
        self.post(&format!("/api/leases/{task}/heartbeat"), heartbeat, Repeat::Yes, CALL_TIMEOUT).await
    }

    /// Reports how far the work is.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn progress(&self, task: TaskId, report: &ProgressReport) -> Result<Task> {
        self.post(&format!("/api/tasks/{task}/progress"), report, Repeat::Yes, CALL_TIMEOUT).await
    }

    /// Ends the work. A token for the task alone only claims completion: the task is returned as it was.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn complete(&self, task: TaskId, completion: &Completion) -> Result<Task> {
        self.post(&format!("/api/tasks/{task}/complete"), completion, Repeat::Yes, CALL_TIMEOUT).await
    }

    /// Gives a task back unfinished.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn release(&self, task: TaskId, epoch: u64) -> Result<Task> {
        let release = Release { epoch: Some(epoch) };
        self.post(&format!("/api/tasks/{task}/release"), &release, Repeat::Yes, CALL_TIMEOUT).await
    }

    /// Records a checkpoint.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn set_checkpoint(&self, task: TaskId, report: &CheckpointReport) -> Result<Task> {
        self.post(&format!("/api/tasks/{task}/checkpoint"), report, Repeat::Yes, CALL_TIMEOUT).await
    }

    /// The newest checkpoint of a task, if there is one.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn checkpoint(&self, task: TaskId) -> Result<Option<Checkpoint>> {
        self.task(task).await.map(|task| task.ralph_last_checkpoint)
    }

    /// Clears the checkpoint of a task.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn clear_checkpoint(&self, task: TaskId, epoch: Option<u64>) -> Result<()> {
        let epoch = epoch.map(|epoch| format!("?epoch={epoch}")).unwrap_or_default();
        let path = format!("/api/tasks/{task}/checkpoint{epoch}");
        self.answer(Method::DELETE, &path, &[], None, Repeat::Yes, CALL_TIMEOUT).await.map(drop)
    }

    /// The events of a task after `seq`, as they happen, until the task ends.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn events(&self, task: TaskId, seq: u64) -> Result<TaskEvents> {
        let headers = [(HeaderName::from_static("last-event-id"), HeaderValue::from(seq))];
        let path = format!("/api/tasks/{task}/events");
        let answer = self.answer(Method::GET, &path, &headers, None, Repeat::Yes, CALL_TIMEOUT).await?;
        let is_over = answer.status() == StatusCode::NO_CONTENT;
        Ok(TaskEvents { server: self.server.clone(), body: (!is_over).then(|| answer.into_body()), unread: Vec::new() })
    }

    /// Any other resource, as JSON.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.json(self.answer(Method::GET, path, &[], None, Repeat::Yes, CALL_TIMEOUT).await?).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
        repeat: Repeat,
        timeout: Duration,
    ) -> Result<T> {
        let body = Some(self.encode(body)?);
        self.json(self.answer(Method::POST, path, &[], body, repeat, timeout).await?).await
    }

    fn encode(&self, body: &impl Serialize) -> Result<Bytes> {
        serde_json::to_vec(body).map(Bytes::from).map_err(|error| self.misunderstood(&error))
    }

    fn misunderstood(&self, error: &dyn fmt::Display) -> Error {
        Error::Answer { server: self.server.clone(), detail: error.to_string() }
    }

    async fn json<T: DeserializeOwned>(&self, answer: Response<Incoming>) -> Result<T> {
        let bytes = self.read(answer.into_body()).await?;
        serde_json::from_slice(&bytes).map_err(|error| self.misunderstood(&error))
    }

    pub(crate) async fn read(&self, body: Incoming) -> Result<Bytes> {
        let read = tokio::time::timeout(CALL_TIMEOUT, Limited::new(body, MAX_ANSWER).collect()).await;
        match read {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) => Err(unreachable(&self.server, &*error)),
            Err(_) => Err(unreachable(&self.server, &"the answer stopped coming")),
        }
    }

    /// Sends a request, again where it may be repeated, and makes an error of a refusal.
    pub(crate) async fn answer(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
        body: Option<Bytes>,
        repeat: Repeat,
        timeout: Duration,
    ) -> Result<Response<Incoming>> {
        let mut delays = RETRY_DELAYS.iter().filter(|_| repeat == Repeat::Yes);
        loop {
            let answer = self.send(&method, path, headers, body.clone(), timeout).await;
            let is_worth_repeating = match &answer {
                Ok(answer) => answer.status() == StatusCode::SERVICE_UNAVAILABLE,
                Err(error) => matches!(error, Error::Unreachable { .. }),
            };
            match delays.next().filter(|_| is_worth_repeating) {
                Some(delay) => tokio::time::sleep(Duration::from_millis(*delay)).await,
                None => return self.accepted(answer?).await,
            }
        }
    }

    async fn send(
        &self,
        method: &Method,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
        body: Option<Bytes>,
        timeout: Duration,
    ) -> Result<Response<Incoming>> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.server))
            .header(AUTHORIZATION, self.authorization.clone())
            .header(USER_AGENT, concat!("ralph/", env!("CARGO_PKG_VERSION")));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if body.is_some() && !headers.iter().any(|(name, _)| name == CONTENT_TYPE) {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::new(body.unwrap_or_default()));
        let request = request.map_err(|error| self.misunderstood(&error))?;
        match tokio::time::timeout(timeout, self.http.request(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(unreachable(&self.server, &root_cause(&error))),
            Err(_) => Err(unreachable(&self.server, &format!("nothing for {} s", timeout.as_secs()))),
        }
    }

    async fn accepted(&self, answer: Response<Incoming>) -> Result<Response<Incoming>> {
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let bytes = self.read(answer.into_body()).await.unwrap_or_default();
        let problem = serde_json::from_slice::<Problem>(&bytes).unwrap_or_else(|_| {
            let reason = status.canonical_reason().unwrap_or("no reason given");
            Problem::new(status.as_u16(), "refused", format!("{} answered {} {reason}", self.server, status.as_u16()))
        });
        Err(Error::Refused(problem))
    }
}

/// Connections to the server at `base`.
///
/// # Errors
/// When no certificate authorities are found for `https`.
pub(crate) fn http(base: &str, is_secure: bool) -> Result<Http> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let connector = if is_secure {
        let roots = HttpsConnectorBuilder::new().with_provider_and_native_roots(ring::default_provider());
        let roots = roots.map_err(|error| unreachable(base, &error))?;
        roots.https_only().enable_http1().wrap_connector(tcp)
    } else {
        // No file of certificates is read for a connection that uses none.
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().map_err(|error| unreachable(base, &error))?;
        let config = config.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().wrap_connector(tcp)
    };
    Ok(hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        // Below the time after which the server closes an idle connection.
        .pool_idle_timeout(Duration::from_secs(20))
        .build(connector))
}

pub(crate) fn unreachable(server: &str, detail: &(impl fmt::Display + ?Sized)) -> Error {
    Error::Unreachable { server: server.to_owned(), detail: detail.to_string() }
}

/// The innermost cause says what happened: `connection refused`, not `client error (Connect)`.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// The events of a task as they happen.
#[derive(Debug)]
pub struct TaskEvents {
    server: String,
    body: Option<Incoming>,
    unread: Vec<u8>,
}

impl TaskEvents {
    /// The next event, or none once the task has ended.
    ///
    /// # Errors
    /// When the connection breaks. Continue with [`Client::events`] after the last event.
    pub async fn next(&mut self) -> Result<Option<TaskEvent>> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.unread.drain(..end + 2).collect();
                let block = String::from_utf8_lossy(&block);
                if block.lines().any(|line| line == "event: end") {
                    self.body = None;
                    return Ok(None);
                }
                if let Some(data) = block.lines().find_map(|line| line.strip_prefix("data: ")) {
                    let event = serde_json::from_str(data);
                    let detail = |error: serde_json::Error| error.to_string();
                    return event
                        .map(Some)
                        .map_err(|error| Error::Answer { server: self.server.clone(), detail: detail(error) });
                }
            }
            let Some(body) = &mut self.body else { return Ok(None) };
            match body.frame().await {
                Some(Ok(frame)) => self.unread.extend_from_slice(frame.data_ref().unwrap_or(&Bytes::new())),
                Some(Err(error)) => return Err(unreachable(&self.server, &root_cause(&error))),
                None => return Err(unreachable(&self.server, &"the stream ended before the task did")),
            }
        }
    }
}
