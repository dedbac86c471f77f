//! Questions that wait for a person.

use axum::http::StatusCode;
use ralph_api::{Answer as Reply, ApprovalAnswer, ApprovalPage, ApprovalRequest, Problem};
use ralph_model::{TaskId, Timestamp};
use ralph_notify::Message;
use ralph_store::{Approval, ApprovalStatus};
use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::tasks::{own_task_only, page_size};
use crate::call::{Answer, Call, check_length, created, json};

const MAX_TEXT: usize = 4096;

/// Which approvals to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalQuery {
    /// Only those that wait for an answer.
    pending: Option<bool>,
    /// At most so many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

pub(crate) async fn ask(call: Call) -> Answer {
    let request: ApprovalRequest = call.body()?;
    own_task_only(&call, request.task_id)?;
    if request.action.trim().is_empty() {
        return Err(Problem::invalid("action", "action is empty: say what is to be done").into());
    }
    check_length("action", Some(&request.action), MAX_TEXT)?;
    check_length("why", Some(&request.why), MAX_TEXT)?;
    let id = match &request.id {
        // In its one spelling.
        Some(id) => id.parse::<TaskId>().map_err(|_| Problem::invalid("id", "id must be a UUID"))?.to_string(),
        None => Uuid::now_v7().to_string(),
    };
    let seconds = request.expires_in_seconds;
    if seconds.is_some_and(|seconds| !(1..=31_536_000).contains(&seconds)) {
        let detail = "expiresInSeconds must be between 1 and 31536000";
        return Err(Problem::invalid("expiresInSeconds", detail).into());
    }
    let now = call.now();
    let approval = Approval {
        id,
        run_id: request.run_id,
        task_id: request.task_id,
        action: request.action,
        why: request.why,
        status: ApprovalStatus::Pending,
        comment: None,
        created_at: now,
        answered_at: None,
        expires_at: seconds.map(|seconds| Timestamp(now.0 + i64::from(seconds) * 1000)),
    };
    let asked = call.board().ask_approval(&approval).await?;
    // Asked again it is the same question, of which the user knows.
    if let Some(notifier) = call.app.options.notifier.clone().filter(|_| asked.created_at == now) {
        let (app, text) = (call.app.clone(), format!("{}\n{}", asked.action, asked.why));
        let (title, key) = ("Ralph waits for your approval".to_owned(), format!("approval {}", asked.id));
        tokio::spawn(async move { app.notify(&notifier, &Message { title, text, key }).await });
    }
    created(&format!("/api/approvals/{}", asked.id), &asked)
}

pub(crate) async fn list(call: Call) -> Answer {
    let query: ApprovalQuery = call.query()?;
    let (pending, limit) = (query.pending.unwrap_or(false), page_size(query.limit)?);
    json(StatusCode::OK, &ApprovalPage { approvals: call.board().approvals(pending, limit, call.now()).await? })
}

pub(crate) async fn show(call: Call) -> Answer {
    let approval = call.board().approval(&call.uuid()?, call.now()).await?;
    own_task_only(&call, approval.task_id)?;
    json(StatusCode::OK, &approval)
}

pub(crate) async fn answer(call: Call) -> Answer {
    let (id, answer) = (call.uuid()?, call.body::<ApprovalAnswer>()?);
    let comment = answer.comment.as_deref().map(str::trim).filter(|comment| !comment.is_empty());
    check_length("comment", comment, MAX_TEXT)?;
    let status = match answer.answer {
        Reply::Approved => ApprovalStatus::Approved,
        Reply::Refused => ApprovalStatus::Refused,
    };
    json(StatusCode::OK, &call.board().answer_approval(&id, status, comment, call.now()).await?)
}
