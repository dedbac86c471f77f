//! The server as its callers see it: real connections, both databases.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    unreachable_pub,
    reason = "tests panic with what went wrong"
)]

mod access;
mod conformance;
mod database;
#[allow(dead_code, reason = "the suite of crate `store` uses more of it")]
#[path = "../../../store/tests/suite/database.rs"]
mod direct;
mod harness;
mod limits;
mod people;
mod several;
mod shutdown;
mod store;
mod streams;
mod tasks;
#[allow(dead_code, reason = "the suite of crate `store` uses more of it")]
#[path = "../../../store/tests/suite/values.rs"]
mod values;
mod workers;

use harness::{Place, Running};
use values::{DAY, events, folder, holder, id, machine, new_run, numbered, reserve, started};

/// Every scenario runs on a database of its own: each on SQLite as a test of its own, all of them on one PostgreSQL server.
macro_rules! scenarios {
    ($($module:ident :: $name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $name() {
                let place = super::Place::sqlite();
                super::$module::$name(super::Running::start(&place).await).await;
            })*
        }

        #[tokio::test]
        async fn everything_holds_on_postgres() {
            let cluster = ralph_testkit::postgres::Cluster::start();
            $({
                let place = Place::postgres(cluster.create_database(&stringify!($name)[..stringify!($name).len().min(60)]));
                $module::$name(Running::start(&place).await).await;
            })*
        }
    };
}

scenarios![
    tasks::a_task_is_created_and_read,
    tasks::a_ralph_task_needs_a_promise,
    tasks::fields_are_checked_and_named,
    tasks::an_idempotency_key_creates_one_task,
    tasks::pages_are_walked,
    tasks::tasks_are_changed_and_cancelled,
    workers::a_task_goes_from_poll_to_completion,
    workers::stale_leases_change_nothing,
    workers::checkpoints_are_written_read_and_cleared,
    workers::no_other_worker_writes_under_a_lease,
    workers::the_agent_inside_a_worker_only_claims,
    workers::a_poll_waits_for_a_task,
    workers::a_cancelled_task_reaches_its_worker,
    streams::a_stream_continues_after_the_last_event,
    streams::a_stream_shows_what_happens,
    access::tokens_decide_what_is_allowed,
    people::an_approval_is_asked_answered_and_kept,
    people::an_approval_expires,
    people::a_schedule_creates_tasks,
    people::a_schedule_that_cannot_create_its_task_keeps_no_other_from_it,
    people::schedules_are_checked,
    people::figures_are_shown,
    people::loops_are_listed,
    store::a_worker_writes_to_the_runs_of_its_task,
    store::a_stale_worker_writes_nothing,
    store::files_are_kept_by_their_hash,
];
