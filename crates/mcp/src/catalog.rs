//! The tools as clients list them. All of them together stay small, because clients put them into every prompt.

use std::sync::Arc;

use ralph_model::NewTask;
use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::arguments::{
    CompleteArguments, DecideArguments, ListArguments, LoopArguments, ProgressArguments, StatusArguments, TaskArguments,
};

/// What a call does to the world, as hints for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Reads,
    Adds,
    Changes,
}

pub(crate) const RALPH_LOOP: &str = "ralph_loop";
pub(crate) const RALPH_DECIDE: &str = "ralph-decide";
pub(crate) const RALPH_STATUS: &str = "ralph-status";
pub(crate) const RALPH_COMPLETE: &str = "ralph-complete";
pub(crate) const SEND_TASK: &str = "send-task";
pub(crate) const GET_TASKS: &str = "get-tasks";
pub(crate) const GET_TASK: &str = "get-task";
pub(crate) const CANCEL_TASK: &str = "cancel-task";
pub(crate) const STORE_PROGRESS: &str = "store-progress";

/// Whether the agent of a task may use a tool: what concerns its task. A loop would spend money that the task does not count.
pub(crate) fn is_of_task(name: &str) -> bool {
    [RALPH_COMPLETE, GET_TASK, STORE_PROGRESS].contains(&name)
}

/// All tools, in the order of their use.
pub(crate) fn tools() -> Vec<Tool> {
    vec![
        tool::<LoopArguments>(
            RALPH_LOOP,
            "Run a coding agent in this folder again and again until the verification command passes or a limit is \
             reached. Ralph verifies from outside and feeds failures back. Returns the verdict. Can take long: reports \
             progress, can be cancelled.",
            Effect::Changes,
        ),
        tool::<DecideArguments>(
            RALPH_DECIDE,
            "Decide whether a request is work for ralph_loop here: task type, risk, scope, verification command, skill, and why. \
             Starts nothing.",
            Effect::Reads,
        ),
        tool::<StatusArguments>(
            RALPH_STATUS,
            "Show loops: state, iterations, failing tests, cost, and why they ended.",
            Effect::Reads,
        ),
        tool::<CompleteArguments>(
            RALPH_COMPLETE,
            "Say that the ralph task you work on is done. It is a claim: checks decide. If they fail, the answer says what \
             failed, and the task goes on.",
            Effect::Adds,
        ),
        tool::<NewTask>(SEND_TASK, "Queue a task on the Ralph server, for a worker.", Effect::Adds),
        tool::<ListArguments>(GET_TASKS, "List tasks of the Ralph server, newest first.", Effect::Reads),
        tool::<TaskArguments>(GET_TASK, "Show one task with its output.", Effect::Reads),
        tool::<TaskArguments>(CANCEL_TASK, "Cancel a task; a worker that holds it is asked to stop.", Effect::Changes),
        tool::<ProgressArguments>(
            STORE_PROGRESS,
            "Record how far the task you work on is, for people who watch it.",
            Effect::Adds,
        ),
    ]
}

fn tool<T: JsonSchema>(name: &'static str, description: &'static str, effect: Effect) -> Tool {
    let annotations = match effect {
        Effect::Reads => ToolAnnotations::new().read_only(true),
        Effect::Adds => ToolAnnotations::new().destructive(false),
        Effect::Changes => ToolAnnotations::new().destructive(true),
    };
    Tool::new(name, description, Arc::new(schema::<T>())).with_annotations(annotations)
}

/// The schema of arguments, without what only people read.
fn schema<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
    let object = value.as_object_mut().map(std::mem::take);
    let mut object = object.unwrap_or_default();
    object.remove("title");
    object.remove("description");
    object
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
