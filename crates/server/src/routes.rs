//! The table of routes: the only place where one is added.

use ralph_api::{
    AgentPage, ApprovalAnswer, ApprovalPage, ApprovalRequest, CheckpointReport, Completion, Heartbeat, Kept, LoopPage,
    Poll, ProgressReport, Register, Release, SchedulePage, ScheduleRequest, ScheduleView, Stats, StoreRequest,
    TaskPage, Work,
};
use ralph_model::{Checkpoint, NewTask, Task};
use ralph_store::{AgentEntry, Approval, TaskChange};
use ralph_view::RunView;

use crate::api::agents::LimitQuery;
use crate::api::approvals::ApprovalQuery;
use crate::api::loops::{LogQuery, LoopQuery};
use crate::api::store::LeaseQuery;
use crate::api::tasks::TaskQuery;
use crate::api::work::EpochQuery;
use crate::api::{agents, approvals, follow, info, loops, schedules, stats, store, tasks, work};
use crate::auth::Access;
use crate::route::Route;

const EVENTS: &str = "text/event-stream";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const PATCH: &str = "text/x-diff; charset=utf-8";
const FILE: &str = "application/octet-stream";
const PLAIN: &str = "text/plain; charset=utf-8";

pub(crate) fn table() -> Vec<Route> {
    [about(), of_tasks(), of_workers(), of_loops(), of_people()].into_iter().flatten().collect()
}

fn about() -> Vec<Route> {
    vec![
        Route::new("GET /", "index", Access::Open, "Says where the API is", info::index)
            .text(PLAIN, "A page for people"),
        Route::new("GET /healthz", "health", Access::Open, "Says that the server runs", info::health)
            .text(PLAIN, "It runs"),
        Route::new("GET /api/openapi.json", "openapi", Access::Any, "This document", info::document)
            .json::<serde_json::Value>(200, "An OpenAPI 3.1 document"),
        Route::new("GET /api/events", "followAll", Access::Worker, "Says what changes, as it does", follow::all)
            .text(EVENTS, "Server-sent events `task`, `loop`, `stop`, `approvals`, `schedules` and `any`"),
        Route::new("GET /api/stats", "stats", Access::Worker, "Figures for dashboards", stats::show)
            .json::<Stats>(200, "The figures"),
        Route::new("GET /metrics", "metrics", Access::Worker, "Figures for Prometheus", stats::metrics)
            .text(METRICS, "The text format of Prometheus"),
    ]
}

fn of_tasks() -> Vec<Route> {
    let key = "A text that is new for every task: a second request with it creates nothing and returns the first task.";
    let last = "The id of the last event that was seen; the stream continues after it.";
    vec![
        Route::new("POST /api/tasks", "createTask", Access::Admin, "Create a task", tasks::create)
            .header("Idempotency-Key", key)
            .body::<NewTask>()
            .json::<Task>(201, "The new task")
            .json::<Task>(200, "The task that the same key created before"),
        Route::new("GET /api/tasks", "listTasks", Access::Worker, "List tasks, newest first", tasks::list)
            .query::<TaskQuery>()
            .json::<TaskPage>(200, "A page of tasks; the `Link` header names the next one"),
        Route::new("GET /api/tasks/{id}", "getTask", Access::Task, "Show a task", tasks::show)
            .json::<Task>(200, "The task"),
        Route::new("PATCH /api/tasks/{id}", "changeTask", Access::Admin, "Change a task", tasks::change)
            .body::<TaskChange>()
            .json::<Task>(200, "The changed task")
            .refuses(409),
        Route::new("POST /api/tasks/{id}/cancel", "cancelTask", Access::Admin, "Cancel a task", tasks::cancel)
            .json::<Task>(200, "The task: ended, or still held by the worker that was asked to end it")
            .refuses(409),
        Route::new(
            "GET /api/tasks/{id}/events",
            "followTask",
            Access::Task,
            "Stream what happens to a task",
            follow::task,
        )
        .header("Last-Event-ID", last)
        .text(EVENTS, "Server-sent events; `end` is the last one")
        .empty(204, "The task has ended and all of its events were seen"),
    ]
}

fn of_workers() -> Vec<Route> {
    vec![
        Route::new("POST /api/agents", "registerAgent", Access::Worker, "Register an agent", agents::register)
            .body::<Register>()
            .json::<AgentEntry>(200, "The agent")
            .refuses(409),
        Route::new("GET /api/agents", "listAgents", Access::Worker, "List agents", agents::list)
            .query::<LimitQuery>()
            .json::<AgentPage>(200, "The agents, the last heard of first"),
        Route::new("POST /api/poll", "poll", Access::Worker, "Claim a task, or wait for one", work::poll)
            .body::<Poll>()
            .json::<Work>(200, "A claimed task")
            .empty(204, "No task could be claimed in that time")
            .refuses(409),
        Route::new(
            "POST /api/leases/{id}/heartbeat",
            "heartbeat",
            Access::Worker,
            "Renew the lease on a task",
            work::heartbeat,
        )
        .body::<Heartbeat>()
        .json::<Kept>(200, "The renewed lease, and whether the task was cancelled")
        .refuses(409),
        Route::new(
            "POST /api/tasks/{id}/progress",
            "reportProgress",
            Access::Task,
            "Report how far the work is",
            work::progress,
        )
        .body::<ProgressReport>()
        .json::<Task>(200, "The task")
        .refuses(409),
        Route::new(
            "POST /api/tasks/{id}/complete",
            "completeTask",
            Access::Task,
            "End the work on a task",
            work::complete,
        )
        .body::<Completion>()
        .json::<Task>(200, "The ended task")
        .json::<Task>(202, "The agent's claim is recorded; the worker decides after the checks")
        .refuses(409),
        Route::new(
            "POST /api/tasks/{id}/release",
            "releaseTask",
            Access::Worker,
            "Give a task back unfinished",
            work::release,
        )
        .body::<Release>()
        .json::<Task>(200, "The task, which another worker can claim")
        .refuses(409),
        Route::new(
            "POST /api/tasks/{id}/checkpoint",
            "setCheckpoint",
            Access::Task,
            "Record a checkpoint",
            work::set_checkpoint,
        )
        .body::<CheckpointReport>()
        .json::<Task>(200, "The task with its checkpoint")
        .refuses(409),
        Route::new(
            "GET /api/tasks/{id}/checkpoint",
            "getCheckpoint",
            Access::Task,
            "Show the newest checkpoint",
            work::checkpoint,
        )
        .json::<Checkpoint>(200, "The checkpoint"),
        Route::new(
            "DELETE /api/tasks/{id}/checkpoint",
            "clearCheckpoint",
            Access::Task,
            "Clear the checkpoint",
            work::clear_checkpoint,
        )
        .query::<EpochQuery>()
        .empty(204, "There is none any more")
        .refuses(409),
        Route::new(
            "POST /api/store",
            "store",
            Access::Worker,
            "Read or write journals, as a worker whose loops are recorded on this server does",
            store::call,
        )
        .long_body::<StoreRequest>()
        .json::<serde_json::Value>(200, "What the call returned, or why it changed nothing")
        .refuses(404),
    ]
}

fn of_loops() -> Vec<Route> {
    vec![
        Route::new("GET /api/loops", "listLoops", Access::Worker, "List loops, newest first", loops::list)
            .query::<LoopQuery>()
            .json::<LoopPage>(200, "A page of loops; the `Link` header names the next one"),
        Route::new("GET /api/loops/{id}", "getLoop", Access::Worker, "Show a loop and its iterations", loops::show)
            .json::<RunView>(200, "The loop"),
        Route::new(
            "GET /api/loops/{id}/diff/{n}",
            "getDiff",
            Access::Worker,
            "Show what an iteration changed; 0 is the whole loop",
            loops::diff,
        )
        .text(PATCH, "A patch that `git apply` takes"),
        Route::new(
            "GET /api/loops/{id}/logs/{n}",
            "getLog",
            Access::Worker,
            "Show the output of an iteration; 0 is the baseline",
            loops::logs,
        )
        .query::<LogQuery>()
        .text(PLAIN, "The output"),
        Route::new(
            "PUT /api/loops/{id}/artifacts/{sha256}",
            "putArtifact",
            Access::Worker,
            "Send the content of a file that is recorded for a loop",
            store::put_artifact,
        )
        .query::<LeaseQuery>()
        .file()
        .empty(204, "It is kept")
        .refuses(409),
        Route::new(
            "GET /api/loops/{id}/artifacts/{sha256}",
            "getArtifact",
            Access::Worker,
            "Show the content of a file that is recorded for a loop",
            store::get_artifact,
        )
        .text(FILE, "The content"),
    ]
}

fn of_people() -> Vec<Route> {
    vec![
        Route::new("POST /api/approvals", "askApproval", Access::Any, "Ask a person for permission", approvals::ask)
            .body::<ApprovalRequest>()
            .json::<Approval>(201, "The question, or the one that was asked before with this id")
            .refuses(404)
            .refuses(409),
        Route::new("GET /api/approvals", "listApprovals", Access::Worker, "List approvals", approvals::list)
            .query::<ApprovalQuery>()
            .json::<ApprovalPage>(200, "The approvals, newest first"),
        Route::new("GET /api/approvals/{id}", "getApproval", Access::Any, "Show an approval", approvals::show)
            .json::<Approval>(200, "The approval"),
        Route::new(
            "POST /api/approvals/{id}/answer",
            "answerApproval",
            Access::Admin,
            "Allow or refuse",
            approvals::answer,
        )
        .body::<ApprovalAnswer>()
        .json::<Approval>(200, "The answered approval")
        .refuses(409),
        Route::new("POST /api/schedules", "createSchedule", Access::Admin, "Create a schedule", schedules::create)
            .body::<ScheduleRequest>()
            .json::<ScheduleView>(201, "The new schedule")
            .refuses(409),
        Route::new("GET /api/schedules", "listSchedules", Access::Admin, "List schedules", schedules::list)
            .json::<SchedulePage>(200, "The schedules by name"),
        Route::new("GET /api/schedules/{id}", "getSchedule", Access::Admin, "Show a schedule", schedules::show)
            .json::<ScheduleView>(200, "The schedule"),
        Route::new(
            "PUT /api/schedules/{id}",
            "replaceSchedule",
            Access::Admin,
            "Replace a schedule",
            schedules::replace,
        )
        .body::<ScheduleRequest>()
        .json::<ScheduleView>(200, "The changed schedule")
        .refuses(409),
        Route::new(
            "DELETE /api/schedules/{id}",
            "removeSchedule",
            Access::Admin,
            "Remove a schedule",
            schedules::remove,
        )
        .empty(204, "There is none any more"),
    ]
}

#[cfg(test)]
#[path = "routes_tests.rs"]
mod tests;
