//! What the agent of a task is asked: the task, then how the work on a task goes. Pure.

use std::path::{Component, Path};

use ralph_model::{Task, TaskType};

/// Where the agent keeps its notes between two iterations, inside the workspace.
pub(crate) fn progress_file(task: &Task) -> String {
    format!("thoughts/shared/ralph/{}/progress.md", task.id)
}

pub(crate) fn objective(task: &Task, promise_tag: &str) -> Result<String, String> {
    let mut text = task.task.clone();
    if let Some(path) = &task.ralph_plan_path {
        check_plan(path)?;
        text.push_str(&format!("\n\nThe plan for this task is in the file {path}: read it first."));
    }
    if task.task_type == TaskType::Single {
        return Ok(text);
    }
    let (id, progress) = (task.id, progress_file(task));
    let promise = task.ralph_promise.as_deref().unwrap_or("the task is done").trim();
    text.push_str(&format!(
        "\n\n---\n[Ralph task {id}]\n\
         You work in iterations. Your context is empty at the start of each one, while files persist: what you need to know \
         next time has to be in a file.\n\
         - Progress file: {progress} (relative to the workspace). Read it first, if it is there. Keep it short and current: what \
         is done, what is left, what you found out.\n\
         - If you are warned that your context is almost full, write the state of the work to the progress file at once: the \
         iteration ends then, and the next one begins with an empty context.\n\
         - The promise of this task: {promise}\n\
         - When the promise is met, call the tool `ralph-complete` (of the MCP server `ralph`) with the taskId {id} (also in \
         $RALPH_TASK_ID), a summary and the evidence that the promise is met. Without that tool, end your final message with \
         {promise_tag}. Either is a claim: Ralph verifies the work from outside. Do not claim what is not done.\n"
    ));
    Ok(text)
}

/// A plan is read by the agent, so that it has to be where the agent works.
fn check_plan(path: &str) -> Result<(), String> {
    let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let is_plain = !path.trim().is_empty() && !path.chars().any(char::is_control);
    if is_inside && is_plain {
        return Ok(());
    }
    Err(format!("ralphPlanPath `{}` is not a path inside the workspace", path.escape_debug()))
}

/// What the engine looks for in the final message. A promise with angle brackets would be taken for a tag of its own.
pub(crate) fn promise_tag(task: &Task) -> String {
    let words = task.ralph_promise.as_deref().unwrap_or("COMPLETE").replace(['<', '>'], " ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("<promise>{}</promise>", if words.is_empty() { "COMPLETE" } else { &words })
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
pub(crate) mod tests;
