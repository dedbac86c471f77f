//! Before a pass: rest, look at prohibited paths, record the workspace, reserve money.

use ralph_engine::{DayBudget, Event, Refusal};
use ralph_model::{Attempt, Iteration, Millis, Money};
use ralph_process::Stop;
use tokio::sync::watch;

use super::{Answer, Context};
use crate::clock;
use crate::error::Error;

impl Context {
    pub(super) async fn begin_iteration(
        &self,
        iteration: Iteration,
        attempt: Attempt,
        pause: Millis,
        reserve: Money,
        mut stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Answer, Error> {
        let refused = |refusal| Ok(Answer::from(Event::IterationRefused { attempt, refusal }));
        tokio::select! {
            () = tokio::time::sleep(pause.as_std()) => {}
            _ = stop.wait_for(Option::is_some) => return refused(Refusal::Stopped),
        }
        let loop_id = self.loop_id;
        let (violations, snapshot) = self
            .on_ground(move |ground| {
                let violations = ground.workspace.guard_check(&ground.guard, &ground.baseline)?;
                let label = format!("iteration-{iteration}-before");
                Ok((violations, ground.workspace.snapshot(loop_id, &label)?))
            })
            .await?;
        if !violations.is_empty() {
            return refused(Refusal::Prohibited { violations });
        }
        let (reserved, day) = self.reserve(attempt, reserve).await?;
        if reserve > Money::ZERO && reserved == Money::ZERO {
            return refused(Refusal::DailyBudget { day });
        }
        Ok(Event::IterationStarted { attempt, tree: snapshot.tree, reserved, day }.into())
    }

    async fn reserve(&self, attempt: Attempt, want: Money) -> Result<(Money, DayBudget), Error> {
        let cap = self.machinery.caps.daily_cost;
        if want == Money::ZERO {
            return Ok((Money::ZERO, DayBudget { spent: Money::ZERO, cap }));
        }
        let day = clock::now().utc_date();
        let reservation = self.machinery.store.reserve(&day, self.loop_id, attempt, want, cap).await?;
        if reservation.granted == Money::ZERO {
            self.machinery.store.release(self.loop_id, attempt).await?;
            // What others hold is as good as spent for whoever wants to begin.
            let spent = reservation.day.settled + reservation.day.reserved;
            return Ok((Money::ZERO, DayBudget { spent, cap }));
        }
        Ok((reservation.granted, DayBudget { spent: reservation.day.settled, cap }))
    }
}
