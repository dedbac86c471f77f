//! The client: typed calls, problem documents as errors, and retries where a call may be repeated.

use std::fmt;
use std::time::Duration;

use ralph_http::header::{AUTHORIZATION, CONTENT_TYPE};
use ralph_http::{Bytes, Call, Events, HeaderName, HeaderValue, Http, Incoming, Method, Response, StatusCode, Uri};
use ralph_model::{Checkpoint, NewTask, Task, TaskId, TaskStatus};
use ralph_store::{AgentEntry, Approval, TaskEvent};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::wire::{
    ApprovalRequest, CheckpointReport, Completion, Heartbeat, Kept, Poll, ProgressReport, Register, Release, TaskPage,
    Work,
};

/// Longer than any call takes besides the time that it waits for a task.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The waits between the tries of a call that may be repeated, in milliseconds.
const RETRY_DELAYS: &[u64] = &[100, 250, 600, 1500];
const MAX_ANSWER: usize = 80 * 1024 * 1024;

/// Whether a call that got no answer may be sent again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    Yes,
    No,
}

/// A server and a token for it. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    server: String,
    authorization: HeaderValue,
    http: Http,
    retry_delays: &'static [u64],
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
        if !ralph_http::is_address(&uri) || uri.query().is_some() {
            return Err(address());
        }
        let mut authorization = HeaderValue::from_str(&format!("Bearer {}", token.trim())).map_err(|_| Error::Token)?;
        authorization.set_sensitive(true);
        let http = Http::new(uri.scheme_str() == Some("https")).map_err(|error| unreachable(base, &error))?;
        Ok(Self { server: base.to_owned(), authorization, http, retry_delays: RETRY_DELAYS })
    }

    /// The same client, which sends every call once: its caller cannot wait.
    #[must_use]
    pub fn without_retries(self) -> Self {
        Self { retry_delays: &[], ..self }
    }

    /// The server, as messages name it.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Creates a task. A second call with the same key and content returns the task of the first one.
    pub async fn create_task(&self, new: &NewTask, key: &str) -> Result<Task> {
        let key = HeaderValue::from_str(key).map_err(|_| Error::Token)?;
        let headers = [(HeaderName::from_static("idempotency-key"), key)];
        let body = Some(self.encode(new)?);
        self.json(self.answer(Method::POST, "/api/tasks", &headers, body, Repeat::Yes, CALL_TIMEOUT).await?).await
    }

    pub async fn task(&self, id: TaskId) -> Result<Task> {
        self.get(&format!("/api/tasks/{id}")).await
    }

    /// A page of tasks, newest first.
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

    pub async fn cancel_task(&self, id: TaskId) -> Result<Task> {
        self.post(&format!("/api/tasks/{id}/cancel"), &serde_json::json!({}), Repeat::No, CALL_TIMEOUT).await
    }

    pub async fn register(&self, agent_id: &str) -> Result<AgentEntry> {
        let register = Register { agent_id: agent_id.to_owned() };
        self.post("/api/agents", &register, Repeat::Yes, CALL_TIMEOUT).await
    }

    /// Claims a task, waiting for one as long as the request says.
    pub async fn poll(&self, poll: &Poll) -> Result<Option<Work>> {
        let body = Some(self.encode(poll)?);
        let timeout = CALL_TIMEOUT + Duration::from_secs(poll.wait_seconds.into());
        let answer = self.answer(Method::POST, "/api/poll", &[], body, Repeat::No, timeout).await?;
        if answer.status() == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        self.json(answer).await.map(Some)
    }

    /// Asks a person, or reads the answer: asking again with the same id changes nothing.
    pub async fn ask_approval(&self, request: &ApprovalRequest) -> Result<Approval> {
        self.post("/api/approvals", request, Repeat::Yes, CALL_TIMEOUT).await
    }

    pub async fn heartbeat(&self, task: TaskId, heartbeat: &Heartbeat) -> Result<Kept> {
        self.post(&format!("/api/leases/{task}/heartbeat"), heartbeat, Repeat::Yes, CALL_TIMEOUT).await
    }

    pub async fn progress(&self, task: TaskId, report: &ProgressReport) -> Result<Task> {
        self.post(&format!("/api/tasks/{task}/progress"), report, Repeat::Yes, CALL_TIMEOUT).await
    }

    /// Ends the work. A token for the task alone only claims completion: the task is returned as it was.
    pub async fn complete(&self, task: TaskId, completion: &Completion) -> Result<Task> {
        self.post(&format!("/api/tasks/{task}/complete"), completion, Repeat::Yes, CALL_TIMEOUT).await
    }

    /// Gives a task back unfinished.
    pub async fn release(&self, task: TaskId, epoch: u64) -> Result<Task> {
        let release = Release { epoch: Some(epoch) };
        self.post(&format!("/api/tasks/{task}/release"), &release, Repeat::Yes, CALL_TIMEOUT).await
    }

    pub async fn set_checkpoint(&self, task: TaskId, report: &CheckpointReport) -> Result<()> {
        let (path, body) = (format!("/api/tasks/{task}/checkpoint"), Some(self.encode(report)?));
        self.answer(Method::POST, &path, &[], body, Repeat::Yes, CALL_TIMEOUT).await.map(drop)
    }

    pub async fn checkpoint(&self, task: TaskId) -> Result<Option<Checkpoint>> {
        self.task(task).await.map(|task| task.ralph_last_checkpoint)
    }

    pub async fn clear_checkpoint(&self, task: TaskId, epoch: Option<u64>) -> Result<()> {
        let epoch = epoch.map(|epoch| format!("?epoch={epoch}")).unwrap_or_default();
        let path = format!("/api/tasks/{task}/checkpoint{epoch}");
        self.answer(Method::DELETE, &path, &[], None, Repeat::Yes, CALL_TIMEOUT).await.map(drop)
    }

    /// The events of a task after `seq`, as they happen, until the task ends.
    pub async fn events(&self, task: TaskId, seq: u64) -> Result<TaskEvents> {
        let headers = [(HeaderName::from_static("last-event-id"), HeaderValue::from(seq))];
        let path = format!("/api/tasks/{task}/events");
        let answer = self.answer(Method::GET, &path, &headers, None, Repeat::Yes, CALL_TIMEOUT).await?;
        let is_over = answer.status() == StatusCode::NO_CONTENT;
        let events = (!is_over).then(|| Events::new(answer.into_body(), usize::MAX, None));
        Ok(TaskEvents { server: self.server.clone(), events })
    }

    /// Any other resource, as JSON.
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
        let read = ralph_http::read(body, MAX_ANSWER, CALL_TIMEOUT).await;
        read.map_err(|error| unreachable(&self.server, &error))
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
        let mut delays = self.retry_delays.iter().filter(|_| repeat == Repeat::Yes);
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
        let mut all = vec![(AUTHORIZATION, self.authorization.clone())];
        all.extend_from_slice(headers);
        if body.is_some() && !headers.iter().any(|(name, _)| name == CONTENT_TYPE) {
            all.push((CONTENT_TYPE, HeaderValue::from_static("application/json")));
        }
        let url = format!("{}{path}", self.server);
        let call = Call { method: method.clone(), url, headers: all, body: body.unwrap_or_default() };
        self.http.send(call, timeout).await.map_err(|error| match error {
            ralph_http::Error::Request(detail) => self.misunderstood(&detail),
            error @ (ralph_http::Error::UnknownHost(_) | ralph_http::Error::Setup(_)) => {
                Error::NoWay { server: self.server.clone(), detail: error.to_string() }
            }
            error => unreachable(&self.server, &error),
        })
    }

    async fn accepted(&self, answer: Response<Incoming>) -> Result<Response<Incoming>> {
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let bytes = self.read(answer.into_body()).await.unwrap_or_default();
        let problem = serde_json::from_slice::<Problem>(&bytes).unwrap_or_else(|_| {
            let reason = status.canonical_reason().unwrap_or("no reason given");
            let detail = format!("{} answered {} {reason}, as no Ralph server does", self.server, status.as_u16());
            Problem::new(status.as_u16(), "refused", detail)
        });
        Err(Error::Refused(problem))
    }
}

fn unreachable(server: &str, detail: &(impl fmt::Display + ?Sized)) -> Error {
    Error::Unreachable { server: server.to_owned(), detail: detail.to_string() }
}

#[derive(Debug)]
pub struct TaskEvents {
    server: String,
    events: Option<Events>,
}

impl TaskEvents {
    /// The next event, or none once the task has ended.
    ///
    /// # Errors
    /// When the connection breaks. Continue with [`Client::events`] after the last event.
    pub async fn next(&mut self) -> Result<Option<TaskEvent>> {
        let Some(events) = &mut self.events else { return Ok(None) };
        match events.next().await {
            Ok(Some(event)) if event.name == "end" => {
                self.events = None;
                Ok(None)
            }
            Ok(Some(event)) => serde_json::from_str(&event.data)
                .map(Some)
                .map_err(|error| Error::Answer { server: self.server.clone(), detail: error.to_string() }),
            Ok(None) => Err(unreachable(&self.server, &"the stream ended before the task did")),
            Err(error) => Err(unreachable(&self.server, &error)),
        }
    }
}
