//! The tools around tasks: queue, look, cancel, report.

use ralph_model::{NewTask, Task, TaskStatus};
use serde_json::{Value, json};

use crate::answer::{Answer, bounded, structured};
use crate::arguments::{ListArguments, ProgressArguments, TaskArguments};
use crate::tasks::Tasks;

/// Tasks of a page where the caller names no number.
const PAGE: u32 = 20;
/// The most characters of a request or an output in a listing.
const MAX_LINE: usize = 200;

pub(crate) async fn send(tasks: &dyn Tasks, new: &NewTask) -> Answer {
    let task = tasks.create(new).await?;
    structured(&format!("queued task {}: a worker takes it when it is its turn", task.id), &task)
}

pub(crate) async fn list(tasks: &dyn Tasks, arguments: &ListArguments) -> Answer {
    arguments.check()?;
    let statuses: &[TaskStatus] = arguments.status.as_slice();
    let page = tasks.list(statuses, arguments.before, arguments.limit.unwrap_or(PAGE)).await?;
    let lines: Vec<String> = page.tasks.iter().map(line).collect();
    let text = if lines.is_empty() { "no tasks".to_owned() } else { lines.join("\n") };
    let short: Vec<Value> = page.tasks.iter().map(shortened).collect();
    structured(&text, &json!({"tasks": short, "next": page.next}))
}

pub(crate) async fn get(tasks: &dyn Tasks, arguments: &TaskArguments) -> Answer {
    let task = tasks.get(arguments.task_id).await?;
    let mut text = line(&task);
    for (name, value) in [("promise", &task.ralph_promise), ("failure", &task.failure_reason), ("output", &task.output)]
    {
        text.push_str(&value.as_ref().map(|value| format!("\n{name}: {value}")).unwrap_or_default());
    }
    structured(&text, &task)
}

pub(crate) async fn cancel(tasks: &dyn Tasks, arguments: &TaskArguments) -> Answer {
    let task = tasks.cancel(arguments.task_id).await?;
    let text = match task.status {
        TaskStatus::Cancelled => format!("task {} is cancelled", task.id),
        _ => format!("the worker of task {} is asked to stop", task.id),
    };
    structured(&text, &task)
}

pub(crate) async fn progress(tasks: &dyn Tasks, arguments: ProgressArguments) -> Answer {
    arguments.check()?;
    let task = tasks.note(arguments.task_id, arguments.message).await?;
    structured(&format!("recorded for task {}", task.id), &json!({"taskId": task.id, "status": task.status}))
}

fn line(task: &Task) -> String {
    let request = bounded(task.task.lines().next().unwrap_or_default(), MAX_LINE);
    let agent = task.agent_id.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
    let done =
        if task.ralph_iterations > 0 { format!(", {} iterations", task.ralph_iterations) } else { String::new() };
    format!("{} {}{agent}{done}: {request}", task.id, task.status)
}

/// What a listing shows of a task; get-task shows the rest.
fn shortened(task: &Task) -> Value {
    json!({
        "id": task.id,
        "task": bounded(&task.task, MAX_LINE),
        "taskType": task.task_type,
        "status": task.status,
        "agentId": task.agent_id,
        "ralphIterations": task.ralph_iterations,
        "ralphMaxIterations": task.ralph_max_iterations,
        "verified": task.verified,
    })
}
