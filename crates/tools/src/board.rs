//! The `task_`, `scheduler_` and `reminder_` tools, and what sends reminders when they are due.

use jiff::Timestamp as Moment;
use ralph_api::ScheduleRequest;
use ralph_model::{Caps, Millis, NewTask, Task, TaskId, TaskStatus, Timestamp};
use ralph_notify::{Message, Notifier};
use ralph_store::{BoardHandle, Reminder, Schedule, TaskChange, TaskFilter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::Effect::{Reads, Writes};
use crate::Outcome;
use crate::arguments::Nothing;
use crate::files::count;
use crate::registry::{Answer, Context, Registry};

const MAX_LIST: u32 = 100;
const MAX_EVENTS: u32 = 50;
/// The longest comment or reminder.
const MAX_MESSAGE: usize = 4096;
/// When a reminder that could not be sent is tried again.
const RETRY: Millis = Millis::secs(300);

/// Tasks, schedules and reminders.
#[derive(Debug, Clone)]
pub struct BoardService {
    pub board: BoardHandle,
    pub caps: Caps,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Only with this status: unassigned, offered, pending, in_progress, completed, failed or cancelled.
    status: Option<String>,
    /// Only with this tag.
    tag: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct One {
    /// Its id.
    id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Move {
    /// Its id.
    id: String,
    /// `cancelled`, to end it. Workers move a task to every other status.
    status: Option<String>,
    /// Higher ones are claimed first, -1000 to 1000.
    priority: Option<i32>,
    /// The only agent that may claim it.
    agent_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Comment {
    /// The id of the task.
    id: String,
    /// For people and agents who look at the task.
    comment: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// Its id.
    id: String,
    /// A new name.
    name: Option<String>,
    /// A new cron expression.
    cron: Option<String>,
    /// A new IANA time zone.
    time_zone: Option<String>,
    /// Whether it creates tasks from now on.
    enabled: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Remind {
    /// What the user is told.
    message: String,
    /// When, as 2026-12-31T17:00:00Z or with an offset.
    at: Option<String>,
    /// Or so many minutes from now.
    in_minutes: Option<u32>,
}

#[derive(Clone)]
struct Tools {
    service: BoardService,
    now: fn() -> Timestamp,
}

pub(crate) fn register(registry: &mut Registry, service: BoardService, now: fn() -> Timestamp) {
    let tools = Tools { service, now };
    registry.add(&tools, "task_create", Writes, "Puts a task on the board, for a worker to claim.", Tools::create);
    registry.add(&tools, "task_list", Reads, "Lists tasks of the board, newest first.", Tools::list);
    registry.add(&tools, "task_get", Reads, "Shows a task with its comments and what happened to it.", Tools::get);
    registry.add(&tools, "task_move", Writes, "Cancels a task, or changes its priority or agent.", Tools::change);
    registry.add(&tools, "task_comment", Writes, "Adds a comment to a task.", Tools::comment);
    registry.add(&tools, "scheduler_create", Writes, "Creates a task again and again, by the clock.", Tools::schedule);
    registry.add(&tools, "scheduler_list", Reads, "Lists schedules.", Tools::schedules);
    registry.add(&tools, "scheduler_update", Writes, "Changes a schedule, or turns it off and on.", Tools::update);
    registry.add(&tools, "scheduler_delete", Writes, "Removes a schedule.", Tools::unschedule);
    registry.add(&tools, "reminder_create", Writes, "Notifies the user at a time.", Tools::remind);
}

impl Tools {
    async fn create(self, new: NewTask, context: Context) -> Answer {
        new.validate(&self.service.caps).map_err(|error| error.to_string())?;
        let id = TaskId::from_uuid(Uuid::now_v7());
        let key = Some(context.key.as_str()).filter(|key| !key.is_empty());
        let (task, _) = self.service.board.create_task(id, &new, key, (self.now)()).await.map_err(failed)?;
        let next = format!("a worker claims it; task_get {} shows how far it is", task.id);
        Ok(Outcome::done(format!("created the task: {}", task.task), json(&task)?).with_id(task.id.to_string(), next))
    }

    async fn list(self, List { status, tag }: List, _: Context) -> Answer {
        let statuses = status.map(|name| status_named(&name)).transpose()?.into_iter().collect();
        let filter = TaskFilter { statuses, tag, limit: MAX_LIST, ..TaskFilter::default() };
        let tasks = self.service.board.tasks(&filter).await.map_err(failed)?;
        let line = |task: &Task| format!("{} {} {}", task.id, task.status.name(), first_line(&task.task));
        let lines: Vec<String> = tasks.iter().map(line).collect();
        let text = if lines.is_empty() { "there are no such tasks".to_owned() } else { lines.join("\n") };
        Ok(Outcome::done(format!("listed {}", count(tasks.len(), "task")), text))
    }

    async fn get(self, One { id }: One, _: Context) -> Answer {
        let id = task_id(&id)?;
        let task = self.service.board.task(id).await.map_err(failed)?;
        let events = self.service.board.task_events(id, 0, MAX_EVENTS).await.map_err(failed)?;
        let text = format!("{}\nevents:\n{}", json(&task)?, json(&events)?);
        Ok(Outcome::done(format!("task {id} is {}", task.status.name()), text))
    }

    async fn change(self, arguments: Move, _: Context) -> Answer {
        let Move { id, status, priority, agent_id } = arguments;
        let (id, board, now) = (task_id(&id)?, &self.service.board, (self.now)());
        let is_cancelled = match status.as_deref().map(status_named).transpose()? {
            None => false,
            Some(TaskStatus::Cancelled) => true,
            Some(status) => return Err(format!("status {} is a worker's to give; it can be cancelled", status.name())),
        };
        if !is_cancelled && priority.is_none() && agent_id.is_none() {
            return Err("name a status, a priority or an agentId".to_owned());
        }
        if priority.is_some_and(|priority| !(-1000..=1000).contains(&priority)) {
            return Err("priority has to be -1000 to 1000".to_owned());
        }
        let task = if is_cancelled {
            board.cancel_task(id, now).await
        } else {
            board.change_task(id, &TaskChange { priority, tags: None, agent_id }, now).await
        };
        let task = task.map_err(failed)?;
        let done = if is_cancelled { "cancelled" } else { "changed" };
        Ok(Outcome::done(format!("{done} the task {id} ({})", task.status.name()), json(&task)?))
    }

    async fn comment(self, Comment { id, comment }: Comment, context: Context) -> Answer {
        let id = task_id(&id)?;
        let comment = bounded("comment", comment)?;
        self.service.board.comment_task(id, &comment, &context.key, (self.now)()).await.map_err(failed)?;
        Ok(Outcome::noted(format!("commented on the task {id}: {}", first_line(&comment))))
    }

    async fn schedule(self, request: ScheduleRequest, context: Context) -> Answer {
        let now = (self.now)();
        let schedule = request.plan(id_of(&context.key), now, now, &self.service.caps);
        self.put(schedule.map_err(|problem| problem.to_string())?).await
    }

    async fn schedules(self, Nothing {}: Nothing, _: Context) -> Answer {
        let schedules = self.service.board.schedules().await.map_err(failed)?;
        Ok(Outcome::done(format!("listed {}", count(schedules.len(), "schedule")), json(&schedules)?))
    }

    async fn update(self, arguments: Update, _: Context) -> Answer {
        let Update { id, name, cron, time_zone, enabled } = arguments;
        let schedules = self.service.board.schedules().await.map_err(failed)?;
        let Some(old) = schedules.into_iter().find(|schedule| schedule.id == id) else {
            return Err(format!("there is no schedule {id}"));
        };
        let request = ScheduleRequest {
            name: name.unwrap_or(old.name),
            cron: cron.unwrap_or(old.cron),
            time_zone: time_zone.unwrap_or(old.time_zone),
            enabled: enabled.unwrap_or(old.enabled),
            task: old.task,
        };
        let schedule = request.plan(old.id, old.created_at, (self.now)(), &self.service.caps);
        self.put(schedule.map_err(|problem| problem.to_string())?).await
    }

    async fn put(self, schedule: Schedule) -> Answer {
        self.service.board.put_schedule(&schedule).await.map_err(failed)?;
        let (summary, next) = match schedule.next_at {
            Some(next) => {
                (format!("schedule {} is on", schedule.name), format!("it creates a task at {}", shown(next)))
            }
            None => (format!("schedule {} is off", schedule.name), "turn it on with scheduler_update".to_owned()),
        };
        Ok(Outcome::done(summary, json(&schedule)?).with_id(schedule.id, format!("{next} while a server runs")))
    }

    async fn unschedule(self, One { id }: One, _: Context) -> Answer {
        match self.service.board.remove_schedule(&id).await.map_err(failed)? {
            true => Ok(Outcome::noted(format!("removed the schedule {id}"))),
            false => Err(format!("there is no schedule {id}")),
        }
    }

    async fn remind(self, Remind { message, at, in_minutes }: Remind, context: Context) -> Answer {
        let now = (self.now)();
        let message = bounded("message", message)?;
        let due_at = match (at, in_minutes) {
            (Some(at), None) => match at.parse::<Moment>() {
                Ok(moment) => Timestamp(moment.as_millisecond()),
                Err(_) => return Err(format!("at is `{at}`: write it like 2026-12-31T17:00:00Z")),
            },
            (None, Some(minutes)) => Timestamp(now.0 + i64::from(minutes) * 60_000),
            _ => return Err("name either at or inMinutes".to_owned()),
        };
        if due_at < now {
            return Err(format!("at is in the past: it is {} now", shown(now)));
        }
        let reminder = Reminder { id: id_of(&context.key), message, due_at, created_at: now };
        self.service.board.put_reminder(&reminder).await.map_err(failed)?;
        let summary = format!("reminder at {}: {}", shown(due_at), first_line(&reminder.message));
        let next = "it is sent when it is due, or as soon as a server runs again";
        Ok(Outcome::noted(summary).with_id(reminder.id, next))
    }
}

/// Sends the reminders that are due, and returns what could not be sent. One that fails is tried again later.
pub async fn send_reminders(
    board: &BoardHandle,
    notifier: &Notifier,
    now: Timestamp,
) -> Result<Vec<String>, ralph_store::Error> {
    let mut failures = Vec::new();
    if notifier.channels().is_empty() {
        return Ok(failures);
    }
    for reminder in board.due_reminders(now).await? {
        let retry_at = Timestamp(now.0.saturating_add_unsigned(RETRY.0));
        if !board.postpone_reminder(&reminder, retry_at).await? {
            continue;
        }
        let title = "Reminder".to_owned();
        let message = Message { title, text: reminder.message.clone(), key: format!("reminder {}", reminder.id) };
        let sent = notifier.notify(&message).await;
        if sent.iter().any(|(_, sent)| sent.is_ok()) {
            board.remove_reminder(&reminder.id).await?;
        }
        let failed = sent.into_iter().filter_map(|(channel, sent)| Some(format!("{channel}: {}", sent.err()?)));
        failures.extend(failed);
    }
    Ok(failures)
}

/// The same for the same key, so that a call that is repeated writes the same entry.
fn id_of(key: &str) -> String {
    if key.is_empty() {
        return Uuid::now_v7().to_string();
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&Sha256::digest(key.as_bytes())[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

fn task_id(id: &str) -> Result<TaskId, String> {
    id.parse().map_err(|_| format!("`{id}` is no id of a task: task_list shows them"))
}

fn status_named(name: &str) -> Result<TaskStatus, String> {
    let known = || TaskStatus::ALL.map(TaskStatus::name).join(", ");
    TaskStatus::parse(name).ok_or_else(|| format!("there is no status `{name}`; there are {}", known()))
}

fn bounded(field: &str, text: String) -> Result<String, String> {
    match text.trim().len() {
        1..=MAX_MESSAGE => Ok(text),
        length => Err(format!("{field} has {length} bytes: it has to be 1 to {MAX_MESSAGE}")),
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

fn shown(at: Timestamp) -> String {
    Moment::from_millisecond(at.0)
        .map_or_else(|_| at.0.to_string(), |moment| moment.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

fn json(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string_pretty(value).map_err(|error| error.to_string())
}

fn failed(error: ralph_store::Error) -> String {
    error.to_string()
}
