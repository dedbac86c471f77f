//! The store of a server for a worker on another machine: the calls of [`RemoteStore`] over HTTP, and the content of artifacts.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ralph_http::header::CONTENT_TYPE;
use ralph_http::{Bytes, HeaderValue, Method, StatusCode};
use ralph_model::{RunId, TaskId};
use ralph_store::remote::{Call, RemoteStore, Reply, SendError, Transport};
use ralph_store::{StoreHandle, TaskLease};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::client::{CALL_TIMEOUT, Client, Repeat};
use crate::error::{Error, Result};

const UPLOAD_TIMEOUT: Duration = Duration::from_secs(300);

/// A call on the store of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StoreRequest {
    /// The task that the caller works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The epoch of the lease on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// What is asked: an object with the name of the `call` and its arguments. Its form is that of this version of Ralph.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub call: Call,
}

/// Carries the calls of one worker, under the lease on its task.
#[derive(Debug)]
struct HttpTransport {
    client: Client,
    lease: Option<TaskLease>,
}

#[async_trait]
impl Transport for HttpTransport {
    fn place(&self) -> &str {
        self.client.server()
    }

    /// Sends it once: the store itself tries again.
    async fn send(&self, call: &Call) -> Result<Reply, SendError> {
        let request = StoreRequest {
            task_id: self.lease.map(|lease| lease.task),
            epoch: self.lease.map(|lease| lease.epoch.0),
            call: call.clone(),
        };
        let answer = self.client.post("/api/store", &request, Repeat::No, CALL_TIMEOUT).await;
        answer.map_err(
            |error| if error.is_passing() { unreachable(&error) } else { SendError::Rejected(error.to_string()) },
        )
    }
}

fn unreachable(error: &Error) -> SendError {
    SendError::Unreachable(match error {
        Error::Unreachable { detail, .. } => detail.clone(),
        error => error.to_string(),
    })
}

impl Client {
    /// The store of the server. A worker names the lease on its task: it may write to the runs of that task only, and nothing
    /// once the lease is stale. An unreachable server is tried again for `timeout`.
    pub fn store(&self, lease: Option<TaskLease>, timeout: Duration) -> StoreHandle {
        let transport = HttpTransport { client: self.clone(), lease };
        Arc::new(RemoteStore::new(Box::new(transport), timeout))
    }

    /// Sends the content of an artifact that is recorded for a run, by its SHA-256. Sending it again changes nothing.
    ///
    /// # Errors
    /// See [`Error`]. The server refuses what it has no record of, and what has another hash.
    pub async fn upload(&self, run: RunId, lease: Option<TaskLease>, sha256: &str, content: Bytes) -> Result<()> {
        let lease = lease.map(|lease| format!("?taskId={}&epoch={}", lease.task, lease.epoch.0)).unwrap_or_default();
        let path = format!("/api/loops/{run}/artifacts/{sha256}{lease}");
        let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"))];
        self.answer(Method::PUT, &path, &headers, Some(content), Repeat::Yes, UPLOAD_TIMEOUT).await.map(drop)
    }

    /// The content of an artifact of a run; none where the server does not have it.
    pub async fn artifact(&self, run: RunId, sha256: &str) -> Result<Option<Bytes>> {
        let path = format!("/api/loops/{run}/artifacts/{sha256}");
        match self.answer(Method::GET, &path, &[], None, Repeat::Yes, UPLOAD_TIMEOUT).await {
            Ok(answer) => self.read(answer.into_body()).await.map(Some),
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND.as_u16()) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
