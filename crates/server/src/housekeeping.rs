//! What happens by the clock: leases expire, schedules create tasks, reminders are sent, and old events are forgotten. Every server does it; the store lets one of them win.

use std::time::Duration;

use ralph_api::Cron;
use ralph_model::{Millis, TaskId, Timestamp};
use ralph_store::{Result, Schedule};
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

use crate::app::App;

/// How often the clock is looked at.
const PERIOD: Duration = Duration::from_secs(1);
/// How often leases are looked at: a claim does so, too.
const LEASES: u32 = 5;
/// How often old events are looked for.
const EVENTS: u32 = 3600;
/// How long the events of a task are kept after its end, and files in a shared database.
const EVENTS_KEPT: Millis = Millis::secs(30 * 24 * 60 * 60);

pub(crate) async fn run(app: App) {
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut count, mut failing) = (0_u32, false);
    loop {
        ticks.tick().await;
        let outcome = tick(&app, count).await;
        count = count.wrapping_add(1);
        // A database that is away for an hour is worth one message.
        match outcome {
            Err(error) if !failing => {
                app.log(&format!("schedules and leases cannot be looked at: {error}"));
                failing = true;
            }
            Err(_) => {}
            Ok(()) => failing = false,
        }
    }
}

async fn tick(app: &App, count: u32) -> Result<()> {
    if count.is_multiple_of(LEASES) {
        app.board().expire_leases(app.now()).await?;
    }
    // Not at once: a server that starts has better things to do.
    if count % EVENTS == EVENTS / 60 {
        let before = Timestamp(app.now().0.saturating_sub_unsigned(EVENTS_KEPT.0));
        app.board().forget_events(before).await?;
        app.board().forget_parts(before).await?;
    }
    // One that cannot create its task does not keep the others from theirs.
    let mut outcome = Ok(());
    for schedule in app.board().schedules().await? {
        outcome = outcome.and(fire(app, &schedule, app.now()).await);
    }
    if let Some(notifier) = app.options.notifier.clone().filter(|_| count.is_multiple_of(LEASES)) {
        // Beside the clock: a mail server that hangs keeps no lease from expiring.
        let app = app.clone();
        tokio::spawn(async move {
            match ralph_tools::send_reminders(app.board(), &notifier, app.now()).await {
                Ok(failures) => failures.iter().for_each(|why| app.log(&format!("a reminder was not sent by {why}"))),
                Err(error) => app.log(&format!("reminders cannot be looked at: {error}")),
            }
        });
    }
    outcome
}

/// Creates the task of a schedule that is due. Times that passed while no server ran create one task, not many.
async fn fire(app: &App, schedule: &Schedule, now: Timestamp) -> Result<()> {
    let Some(due) = schedule.next_at.filter(|due| schedule.enabled && *due <= now) else { return Ok(()) };
    let next = Cron::parse(&schedule.cron, &schedule.time_zone).ok().and_then(|cron| cron.after(now));
    let task = TaskId::from_uuid(Uuid::now_v7());
    app.board().fire_schedule(&schedule.id, due, next, task, now).await.map(drop)
}
