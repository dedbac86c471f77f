//! Tasks that are created by the clock.

use axum::http::StatusCode;
use ralph_api::{Cron, SchedulePage, ScheduleRequest, ScheduleView};
use ralph_model::Timestamp;
use ralph_store::{Error, Schedule};
use uuid::Uuid;

use super::tasks::missing_dependency;
use crate::call::{Answer, Call, created, json, no_content};
use crate::problem::Refusal;

const UPCOMING: usize = 5;

fn view(schedule: Schedule, now: Timestamp) -> ScheduleView {
    let cron = Cron::parse(&schedule.cron, &schedule.time_zone).ok().filter(|_| schedule.enabled);
    let times = cron.map(|cron| cron.upcoming(now, UPCOMING)).unwrap_or_default();
    let shown = times.iter().map(|time| time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string());
    ScheduleView { upcoming: shown.collect(), schedule }
}

/// A schedule as it is asked for, with everything checked.
fn planned(call: &Call, id: String, created_at: Timestamp) -> Result<Schedule, Refusal> {
    let request: ScheduleRequest = call.body()?;
    Ok(request.plan(id, created_at, call.now(), call.app.caps())?)
}

async fn put(call: &Call, schedule: &Schedule) -> Result<(), Refusal> {
    // It could never create its task. Tasks are not removed: what is there now is there when it is due.
    for needed in &schedule.task.depends_on {
        call.board().task(*needed).await.map_err(|error| missing_dependency(error, "task.dependsOn"))?;
    }
    Ok(call.board().put_schedule(schedule).await?)
}

async fn find(call: &Call) -> Result<Schedule, Refusal> {
    let id = call.uuid()?;
    let found = call.board().schedules().await?.into_iter().find(|schedule| schedule.id == id);
    found.ok_or_else(|| Error::UnknownEntry { what: "schedule", id }.into())
}

pub(crate) async fn create(call: Call) -> Answer {
    let schedule = planned(&call, Uuid::now_v7().to_string(), call.now())?;
    put(&call, &schedule).await?;
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
    put(&call, &schedule).await?;
    json(StatusCode::OK, &view(schedule, call.now()))
}

pub(crate) async fn remove(call: Call) -> Answer {
    let id = call.uuid()?;
    match call.board().remove_schedule(&id).await? {
        true => no_content(),
        false => Err(Error::UnknownEntry { what: "schedule", id }.into()),
    }
}
