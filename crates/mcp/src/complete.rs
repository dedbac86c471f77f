//! `ralph-complete`: an agent says that a task is done. That is a claim: checks decide.

use ralph_api::Completion;
use ralph_config::Layer;
use ralph_host::RunRequest;
use ralph_model::{Task, TaskStatus, TaskType};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Map, json};

use crate::answer::{Answer, Refused, explained};
use crate::arguments::CompleteArguments;
use crate::handler::Tools;
use crate::ralph_loop::{self, Record};
use crate::tasks::{Standing, Tasks};

pub(crate) async fn run(
    tools: &Tools,
    tasks: &dyn Tasks,
    arguments: &CompleteArguments,
    context: &RequestContext<RoleServer>,
) -> Answer {
    arguments.check()?;
    let task = tasks.get(arguments.task_id).await?;
    refuse_others(&task)?;
    match tasks.standing(task.id).await? {
        Standing::InsideWorker => claim(tools, tasks, arguments).await,
        Standing::Holder => verify(tools, tasks, &task, arguments, context).await,
    }
}

fn refuse_others(task: &Task) -> Result<(), Refused> {
    let id = task.id;
    if task.task_type != TaskType::Ralph {
        return Err(Refused::new(format!("task {id} is no ralph task, so it has no promise to complete")));
    }
    if task.status.is_final() {
        return Err(Refused::new(format!("task {id} has already ended: {}", task.status)));
    }
    if !task.status.is_claimed() {
        return Err(Refused::new(format!("task {id} is not assigned to you: a worker has to claim it first")));
    }
    Ok(())
}

/// Records the claim for the worker, which runs the checks when the agent's turn ends.
async fn claim(tools: &Tools, tasks: &dyn Tasks, arguments: &CompleteArguments) -> Answer {
    let id = arguments.task_id;
    match (tools.claims.as_ref(), tasks.finish(id, completion(arguments)).await) {
        // One of the two is enough: the worker reads both. But a task that the worker lost is not claimed any more.
        (Some(claims), sent) if sent.as_ref().err().is_none_or(Refused::is_unanswered) => {
            if let (Err(_), Err(refused)) = (claims.write(&arguments.claim()), sent) {
                return Err(refused);
            }
        }
        (_, sent) => drop(sent?),
    }
    let text = "Recorded as your claim. The worker runs the checks when your turn ends: if they pass, the task is completed; \
                if not, you get what failed. End your turn now.";
    explained(text, json!({"taskId": id, "accepted": true, "completed": false}))
}

/// Runs the checks here, and completes the task when they pass, as not verified.
async fn verify(
    tools: &Tools,
    tasks: &dyn Tasks,
    task: &Task,
    arguments: &CompleteArguments,
    context: &RequestContext<RoleServer>,
) -> Answer {
    let Some(command) = &task.verification_command else {
        let done = tasks.finish(task.id, completion(arguments)).await?;
        return completed(
            &done,
            "The task has no verification command, so it is completed on your word: NOT verified.",
        );
    };
    if tools.is_shared() {
        return Err(Refused::new(
            "the server's folder is not where you work, so nothing can be checked here: call ralph-complete of `ralph mcp`, started \
             in the folder of the work with the same server and token, or let a `ralph worker` do the task",
        ));
    }
    let objective = format!("Verify task {}", task.id);
    let request = RunRequest { settings: check_only(command)?, objective, ..RunRequest::default() };
    let ended = ralph_loop::start(tools, request, Record::None, context).await?;
    if !ended.checks_pass() {
        let text =
            format!("Not completed: the checks fail. Fix it and call ralph-complete again.\n{}", ended.verdict());
        let mut answer = explained(&text, json!({"taskId": task.id, "accepted": false, "completed": false}))?;
        answer.is_error = Some(true);
        return Ok(answer);
    }
    let done = tasks.finish(task.id, completion(arguments)).await?;
    // The tests are those that the agent left: only what saw them before the work can say that they are the task's.
    completed(
        &done,
        "The checks pass with the tests as they are now. Ralph did not see them before you began, so you may have changed them: \
         NOT verified. A task that a `ralph worker` does is verified.",
    )
}

/// A loop whose agent does nothing: the checks run with the sandbox and the tripwire of every loop.
fn check_only(command: &str) -> Result<Layer, Refused> {
    let object = Map::from_iter([
        ("verificationCommand".to_owned(), json!(command)),
        ("agentCommand".to_owned(), json!("true")),
        ("unmetered".to_owned(), json!(true)),
        ("maxIterations".to_owned(), json!(1)),
    ]);
    Layer::from_json(&object).map_err(|error| Refused::new(format!("the task's command cannot be run: {error}")))
}

fn completed(task: &Task, text: &str) -> Answer {
    let data = json!({
        "taskId": task.id,
        "accepted": true,
        "completed": task.status == TaskStatus::Completed,
        "verified": task.verified,
        "status": task.status,
    });
    explained(&format!("Task {} is {}.\n{text}", task.id, task.status), data)
}

/// What the agent says of the task. It is never verified by its own word.
fn completion(arguments: &CompleteArguments) -> Completion {
    let mut output = json!({"summary": arguments.summary, "promiseEvidence": arguments.promise_evidence});
    if !arguments.artifact_paths.is_empty() {
        output["artifactPaths"] = json!(arguments.artifact_paths);
    }
    let output = Some(output.to_string());
    Completion { epoch: None, output, ..Completion::new(0, TaskStatus::Completed) }
}
