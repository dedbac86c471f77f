//! Before a pass: rest, look at prohibited paths, record the workspace, reserve money.

use std::time::Duration;

use ralph_engine::{DayBudget, Event, Refusal, Wait};
use ralph_model::{Attempt, Iteration, Millis, Money, Timestamp};
use ralph_process::Stop;
use ralph_store::{DayTotals, Pool, Reserve};
use tokio::sync::watch;
use tokio::time::Instant;

use super::restore::with_committed;
use super::{Answer, Context, WorkspaceState};
use crate::error::Error;
use crate::pinned::Pinned;

#[derive(Debug, Clone)]
pub(crate) struct Beginning {
    pub(super) iteration: Iteration,
    pub(super) attempt: Attempt,
    pub(super) pause: Millis,
    pub(super) wait: Option<Wait>,
    pub(super) reserve: Money,
}

/// The clock on the wall is looked at this often while a service is waited for: a computer that slept is not late.
const CLOCK_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Where nothing ran in between, a look at the workspace that ended this recently is as good as a new one: the one after the checks where
/// there is no pause, and the one of a hook that just took the workspace. Long enough for a slow machine to record the verdict meanwhile.
pub(super) const RECENT: Duration = Duration::from_secs(1);

impl Context {
    pub(super) async fn begin_iteration(
        &self,
        beginning: Beginning,
        mut stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Answer, Error> {
        let Beginning { iteration, attempt, pause, wait, reserve } = beginning;
        let refused = |refusal| Ok(Answer::from(Event::IterationRefused { attempt, refusal }));
        if wait.is_some() || pause.as_std() > RECENT {
            self.release_repository().await;
        }
        let rest = async {
            // A timer that is over at once still waits for the next millisecond.
            if pause > Millis(0) {
                tokio::time::sleep(pause.as_std()).await;
            }
            if let Some(Wait { until, most, .. }) = wait {
                wait_until(until, most, self.services.now).await;
            }
        };
        tokio::select! {
            () = rest => {}
            _ = stop.wait_for(Option::is_some) => return refused(Refusal::Stopped),
        }
        let recent = if pause == Millis(0) && wait.is_none() { RECENT } else { Duration::ZERO };
        let (loop_id, services, repository) = (self.loop_id, self.services.clone(), self.repository.clone());
        let (snapshot, violations) = self
            .with_workspace(move |ground| {
                let committed = ground.committed(&services, repository.as_ref())?;
                let label = format!("iteration-{iteration}-before");
                let WorkspaceState { workspace, guard, baseline, pinned, .. } = ground;
                let pinned = pinned.as_ref().map(Pinned::watched);
                let (snapshot, violations) =
                    workspace.snapshot_guarded((loop_id, &label), recent, guard, baseline, pinned)?;
                Ok((snapshot, with_committed(violations, committed)))
            })
            .await?;
        if !violations.is_empty() {
            return refused(Refusal::Prohibited { violations });
        }
        match self.reserve(attempt, reserve).await? {
            Reserved::Some { amount, day } => {
                Ok(Event::IterationStarted { attempt, tree: snapshot.tree, reserved: amount, day }.into())
            }
            Reserved::None(refusal) => refused(refusal),
        }
    }

    async fn reserve(&self, attempt: Attempt, want: Money) -> Result<Reserved, Error> {
        let cap = self.services.caps.daily_cost;
        if want == Money::ZERO {
            return Ok(Reserved::Some { amount: want, day: DayBudget { spent: Money::ZERO, cap } });
        }
        let day = (self.services.now)().utc_date();
        let race = self.config.race.as_ref();
        let pool = race.map(|race| Pool { id: race.id.clone(), cap: race.cap });
        // One loop of a race does not take what the others need to begin.
        let want = race.map_or(want, |race| want.min(race.share()));
        let store = &self.services.store;
        let reserve = Reserve { day, attempt, want, day_cap: cap, pool: pool.clone() };
        let reservation = store.reserve(self.lease, reserve).await?;
        if reservation.granted == Money::ZERO {
            store.release(self.lease, attempt).await?;
            // What others hold counts as spent for a pass that begins.
            let held = |totals: DayTotals| totals.settled + totals.reserved;
            let spent = held(reservation.day);
            let refusal = match pool.filter(|_| spent < cap) {
                Some(pool) => Refusal::Race { spent: held(reservation.pool), cap: pool.cap },
                None => Refusal::DailyBudget { day: DayBudget { spent, cap } },
            };
            return Ok(Reserved::None(refusal));
        }
        let day = DayBudget { spent: reservation.day.settled, cap };
        Ok(Reserved::Some { amount: reservation.granted, day })
    }
}

/// What came of a wish for money.
enum Reserved {
    Some { amount: Money, day: DayBudget },
    None(Refusal),
}

/// Waits until the clock on the wall says so, and no longer than was decided: somebody may set it back.
async fn wait_until(until: Timestamp, most: Millis, now: fn() -> Timestamp) {
    let begun = Instant::now();
    loop {
        let waited = Millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        let left = until.since(now()).min(most.less(waited));
        if left == Millis(0) {
            return;
        }
        tokio::time::sleep(left.as_std().min(CLOCK_POLL_INTERVAL)).await;
    }
}

#[cfg(test)]
#[path = "begin_tests.rs"]
mod tests;
