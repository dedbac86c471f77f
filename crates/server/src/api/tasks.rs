//! Tasks, as people see and change them.

use axum::http::header::LINK;
use axum::http::{HeaderValue, StatusCode};
use ralph_api::{Problem, TaskPage};
use ralph_model::{NewTask, TaskId, TaskStatus, TaskType};
use ralph_store::{Error, Role, TaskChange, TaskFilter};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use uuid::Uuid;

use crate::call::{Answer, Call, check_name, created, json};
use crate::problem::Refusal;

/// Entries of a page where the caller names no number.
pub(crate) const PAGE: u32 = 50;
pub(crate) const MAX_PAGE: u32 = 200;

/// Which tasks to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskQuery {
    /// Only tasks with one of these statuses, separated by commas.
    #[serde(default, deserialize_with = "statuses")]
    status: Option<Vec<TaskStatus>>,
    /// Only tasks with this tag.
    tag: Option<String>,
    /// Only tasks of this agent.
    agent: Option<String>,
    /// Only tasks older than this one: `next` of the page before.
    before: Option<TaskId>,
    /// At most so many.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

fn statuses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<TaskStatus>>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let parse = |name: &str| {
        let known = TaskStatus::ALL.map(TaskStatus::name).join(", ");
        TaskStatus::parse(name)
            .ok_or_else(|| serde::de::Error::custom(format!("`{name}` is not a status: expected {known}")))
    };
    text.map(|text| text.split(',').filter(|name| !name.is_empty()).map(parse).collect()).transpose()
}

pub(crate) fn page_size(limit: Option<u32>) -> Result<u32, Refusal> {
    match limit {
        None => Ok(PAGE),
        Some(limit) if (1..=MAX_PAGE).contains(&limit) => Ok(limit),
        Some(_) => Err(Problem::invalid("limit", format!("limit must be between 1 and {MAX_PAGE}")).into()),
    }
}

pub(crate) async fn create(call: Call) -> Answer {
    let new: NewTask = call.body()?;
    new.validate(call.app.caps())?;
    let key = idempotency_key(&call)?;
    let id = TaskId::from_uuid(Uuid::now_v7());
    let stored = call.board().create_task(id, &new, key.as_deref(), call.now()).await;
    let (task, is_new) = stored.map_err(|error| missing_dependency(error, "dependsOn"))?;
    let place = format!("/api/tasks/{}", task.id);
    let mut response = created(&place, &task)?;
    if !is_new {
        *response.status_mut() = StatusCode::OK;
    }
    Ok(response)
}

/// Why a task, or a schedule of one, was not stored.
pub(crate) fn missing_dependency(error: Error, field: &'static str) -> Refusal {
    match error {
        Error::UnknownTask { task, .. } => {
            Problem::invalid(field, format!("dependsOn names task {task}, which does not exist")).into()
        }
        error => error.into(),
    }
}

/// The header by which a repeated request is recognised.
fn idempotency_key(call: &Call) -> Result<Option<String>, Refusal> {
    let Some(value) = call.headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str() {
        Ok(key) if !key.trim().is_empty() && key.len() <= 255 => Ok(Some(key.to_owned())),
        _ => {
            let detail = "Idempotency-Key must have 1 to 255 visible ASCII characters";
            Err(Problem::invalid("Idempotency-Key", detail).into())
        }
    }
}

pub(crate) async fn list(call: Call) -> Answer {
    let query: TaskQuery = call.query()?;
    let limit = page_size(query.limit)?;
    let filter = TaskFilter {
        statuses: query.status.unwrap_or_default(),
        tag: query.tag,
        agent: query.agent,
        before: query.before,
        // One more shows whether there is another page.
        limit: limit + 1,
    };
    let page = TaskPage::new(call.board().tasks(&filter).await?, limit);
    let mut response = json(StatusCode::OK, &page)?;
    if let Some(next) = page.next {
        link_next(response.headers_mut(), "/api/tasks", &call.query, &next.to_string());
    }
    Ok(response)
}

pub(crate) fn link_next(headers: &mut axum::http::HeaderMap, path: &str, query: &str, before: &str) {
    let kept = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("before="));
    let pairs: Vec<String> = kept.map(str::to_owned).chain([format!("before={before}")]).collect();
    if let Ok(link) = HeaderValue::from_str(&format!("<{path}?{}>; rel=\"next\"", pairs.join("&"))) {
        headers.insert(LINK, link);
    }
}

pub(crate) async fn show(call: Call) -> Answer {
    json(StatusCode::OK, &call.board().task(call.task_id()?).await?)
}

pub(crate) async fn change(call: Call) -> Answer {
    let (id, change) = (call.task_id()?, call.body::<TaskChange>()?);
    // The rules are those of a new task.
    let like_new = NewTask {
        task: "changed".to_owned(),
        task_type: TaskType::Single,
        priority: change.priority.unwrap_or_default(),
        tags: change.tags.clone().unwrap_or_default(),
        agent_id: change.agent_id.clone(),
        ..NewTask::default()
    };
    like_new.validate(call.app.caps())?;
    if let Some(agent) = &change.agent_id {
        check_name("agentId", agent)?;
    }
    json(StatusCode::OK, &call.board().change_task(id, &change, call.now()).await?)
}

pub(crate) async fn cancel(call: Call) -> Answer {
    json(StatusCode::OK, &call.board().cancel_task(call.task_id()?, call.now()).await?)
}

/// A caller with the token of one task asks about another.
pub(crate) fn own_task_only(call: &Call, task: Option<TaskId>) -> Result<(), Refusal> {
    match call.role() {
        Some(Role::Task { task_id, .. }) if task != Some(*task_id) => {
            Err(Problem::new(403, "forbidden", "this token is for one task alone, and not for this one").into())
        }
        _ => Ok(()),
    }
}
