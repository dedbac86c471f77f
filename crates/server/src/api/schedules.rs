//! Tasks that are created by the clock.

use axum::http::StatusCode;
use ralph_api::{Cron, Problem, SchedulePage, ScheduleRequest, ScheduleView};
use ralph_model::Timestamp;
use ralph_store::{Error, Schedule};
use uuid::Uuid;

use crate::call::{Answer, Call, check_name, created, json, no_content};
use crate::problem::Refusal;

/// The next times that are shown.
const UPCOMING: usize = 5;
const MAX_CRON: usize = 200;

fn view(schedule: Schedule, now: Timestamp) -> ScheduleView {
    let cron = Cron::parse(&schedule.cron, &schedule.time_zone).ok().filter(|_| schedule.enabled);
    let times = cron.map(|cron| cron.upcoming(now, UPCOMING)).unwrap_or_default();
    let shown = times.iter().map(|time| time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string());
    ScheduleView { upcoming: shown.collect(), schedule }
}

/// A schedule as it is asked for, with everything checked.
fn planned(call: &Call, id: String, created_at: Timestamp) -> Result<Schedule, Refusal> {
    let request: ScheduleRequest = call.body()?;
    check_name("name", &request.name)?;
    if request.cron.len() > MAX_CRON {
        return Err(Problem::invalid("cron", format!("cron is longer than {MAX_CRON} bytes")).into());
    }
    let cron = Cron::parse(&request.cron, &request.time_zone)?;
    let next = cron.after(call.now()).ok_or_else(|| Problem::invalid("cron", "cron names a time that never comes"))?;
    request.task.validate(call.app.caps()).map_err(|mut error| {
        // The rules are those of a task, and the field is inside of one here.
        error.problem = format!("{} {}", error.field, error.problem);
        Problem::invalid(format!("task.{}", error.field), error.problem)
    })?;
    Ok(Schedule {
        id,
        name: request.name,
        cron: request.cron,
        time_zone: request.time_zone,
        task: request.task,
        next_at: request.enabled.then_some(next),
        enabled: request.enabled,
        last_at: None,
        last_task_id: None,
        created_at,
    })
}

async fn find(call: &Call) -> Result<Schedule, Refusal> {
    let id = call.uuid()?;
    let found = call.board().schedules().await?.into_iter().find(|schedule| schedule.id == id);
    found.ok_or_else(|| Error::UnknownEntry { what: "schedule", id }.into())
}

pub(crate) async fn create(call: Call) -> Answer {
    let schedule = planned(&call, Uuid::now_v7().to_string(), call.now())?;
    call.board().put_schedule(&schedule).await?;
    created(&format!("/api/schedules/{}", schedule.id), &view(schedule, call.now()))
}

pub(crate) async fn list(call: Call) -> Answer {
    let now = call.now();
    let schedules = call.board().schedules().await?;
    let schedules = schedules.into_iter().map(|schedule| view(schedule, now)).collect();
    json(StatusCode::OK, &SchedulePage { schedules })
}

pub(crate) async fn show(call: Call) -> Answer {
    json(StatusCode::OK, &view(find(&call).await?, call.now()))
}

pub(crate) async fn replace(call: Call) -> Answer {
    let old = find(&call).await?;
    let mut schedule = planned(&call, old.id, old.created_at)?;
    (schedule.last_at, schedule.last_task_id) = (old.last_at, old.last_task_id);
    call.board().put_schedule(&schedule).await?;
    json(StatusCode::OK, &view(schedule, call.now()))
}

pub(crate) async fn remove(call: Call) -> Answer {
    let id = call.uuid()?;
    match call.board().remove_schedule(&id).await? {
        true => no_content(),
        false => Err(Error::UnknownEntry { what: "schedule", id }.into()),
    }
}
