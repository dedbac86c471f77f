//! Streams of what happens to a task, and of what changes at all.

use axum::body::Bytes;
use ralph_api::Problem;
use ralph_model::TaskId;
use ralph_store::{Change, Changes};
use serde_json::json;
use tokio::time::sleep;

use crate::app::App;
use crate::call::{Answer, Call, no_content};
use crate::problem::Refusal;
use crate::sse::{HEARTBEAT, Source, event, permit, stream};

/// Events that are read from the store at once.
const PAGE: u32 = 100;

/// The events of a task after the one that the client saw last, until the task ends.
pub(crate) async fn task(call: Call) -> Answer {
    let (id, seq) = (call.task_id()?, last_event_id(&call)?);
    let changes = call.app.store().subscribe();
    let task = call.board().task(id).await?;
    if task.status.is_final() && call.board().task_events(id, seq, 1).await?.is_empty() {
        // Tells a browser not to come back.
        return no_content();
    }
    let (permit, app) = (permit(&call)?, call.app.clone());
    stream(call, permit, TaskSource { app, changes, id, seq, is_over: false, is_new: true })
}

fn last_event_id(call: &Call) -> Result<u64, Refusal> {
    let Some(value) = call.headers.get("last-event-id") else { return Ok(0) };
    let number = value.to_str().ok().and_then(|value| value.trim().parse().ok());
    number.filter(|seq| *seq <= i64::MAX.unsigned_abs()).ok_or_else(|| {
        Problem::invalid("Last-Event-ID", "Last-Event-ID must be the id of an event of this task").into()
    })
}

struct TaskSource {
    app: App,
    changes: Changes,
    id: TaskId,
    seq: u64,
    is_over: bool,
    is_new: bool,
}

impl Source for TaskSource {
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        loop {
            if let Some(bytes) = self.read().await {
                return Some(bytes);
            }
            if std::mem::take(&mut self.is_new) {
                // The client learns at once that it is connected.
                return Some(HEARTBEAT);
            }
            tokio::select! {
                () = self.app.stopping() => return None,
                () = sleep(self.app.options.limits.heartbeat) => return Some(HEARTBEAT),
                is_open = announced(&mut self.changes, self.id) => if !is_open { return None },
            }
        }
    }
}

/// Waits until something may have happened to the task; false when the store is closed.
async fn announced(changes: &mut Changes, id: TaskId) -> bool {
    while let Some(change) = changes.next().await {
        match change {
            Change::Any => return true,
            Change::Task { task, .. } if task == id => return true,
            _ => {}
        }
    }
    false
}

impl TaskSource {
    /// The next page of events; none when all were sent.
    async fn read(&mut self) -> Option<Bytes> {
        let events = match self.app.board().task_events(self.id, self.seq, PAGE).await {
            Ok(events) => events,
            // The client comes back with the last event that it saw.
            Err(error) => {
                self.app.log(&format!("a stream of task {} ended: {error}", self.id));
                self.is_over = true;
                return Some(HEARTBEAT);
            }
        };
        if let Some(last) = events.last() {
            self.seq = last.seq;
            let text: String = events.iter().map(|one| event(Some(one.seq), &one.kind, one)).collect();
            return Some(Bytes::from(text));
        }
        let task = self.app.board().task(self.id).await.ok()?;
        // Nothing follows the event of the end, and that one was sent: it is written together with the status.
        let is_complete =
            task.status.is_final() && self.app.board().task_events(self.id, self.seq, 1).await.ok()?.is_empty();
        if !is_complete {
            return None;
        }
        self.is_over = true;
        Some(Bytes::from(event(None, "end", &json!({ "status": task.status }))))
    }
}

/// What changes, without what it changed to. Not resumable: a client reads what it shows when it connects.
pub(crate) async fn all(call: Call) -> Answer {
    let changes = call.app.store().subscribe();
    let (permit, app) = (permit(&call)?, call.app.clone());
    stream(call, permit, AllSource { app, changes, is_new: true })
}

struct AllSource {
    app: App,
    changes: Changes,
    is_new: bool,
}

impl Source for AllSource {
    async fn next(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.is_new) {
            return Some(HEARTBEAT);
        }
        tokio::select! {
            () = self.app.stopping() => None,
            () = sleep(self.app.options.limits.heartbeat) => Some(HEARTBEAT),
            change = self.changes.next() => {
                let (name, data) = match change? {
                    Change::Events { run, head } => ("loop", json!({ "loopId": run, "events": head.0 })),
                    Change::Stop { run } => ("stop", json!({ "loopId": run })),
                    Change::Task { task, status } => ("task", json!({ "taskId": task, "status": status })),
                    Change::Approvals => ("approvals", json!({})),
                    Change::Schedules => ("schedules", json!({})),
                    Change::Any => ("any", json!({})),
                };
                Some(Bytes::from(event(None, name, &data)))
            }
        }
    }
}
