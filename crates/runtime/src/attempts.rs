//! Attempts of agents in the store: what is recorded of one while it runs, and what a resume makes of one without an answer.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ralph_agents::read_report;
use ralph_model::{Attempt, Cost, Money, PriceList};
use ralph_store::{AttemptEntry, Lease, Machine, Metering, StoreHandle};
use tokio::sync::watch;

use crate::error::Error;
use crate::home::LoopFolder;
use crate::services::Services;

/// The shortest time between two records of the cost so far.
const COST_INTERVAL: Duration = Duration::from_secs(2);

/// The attempts of a loop, to decide what happened to one without an answer.
pub(crate) struct Attempts {
    entries: Vec<AttemptEntry>,
    machine: Machine,
    folder: LoopFolder,
    prices: Arc<PriceList>,
}

impl Attempts {
    pub(crate) async fn read(services: &Services, lease: Lease) -> Result<Self, Error> {
        Ok(Self {
            entries: services.store.attempts(lease.run).await?,
            machine: services.machine.clone(),
            folder: services.home.loop_folder(lease.run),
            prices: Arc::clone(&services.prices),
        })
    }

    pub(crate) fn prices(&self) -> &PriceList {
        &self.prices
    }

    /// Whether its agent may have run. That it began is recorded without a wait for the disk, so the lack of that record counts
    /// only on the machine that would have written it, and only until that machine is started again.
    pub(crate) fn may_have_run(&self, attempt: Attempt) -> bool {
        match self.entry(attempt) {
            Some(entry) => entry.began_at.is_some() || entry.machine.boot != self.machine.boot,
            // An earlier version recorded it in a file.
            None => self.folder.marker(attempt).exists(),
        }
    }

    pub(crate) fn cost(&self, attempt: Attempt) -> Cost {
        let known = |amount| Cost::Known { amount };
        let reported = || {
            let report = read_report(&self.folder.attempt(attempt).join("result.json")).ok().flatten();
            report.and_then(|report| report.cost).map_or(Cost::Unknown, known)
        };
        match self.entry(attempt) {
            Some(AttemptEntry { metering: Metering::Watched, cost, .. }) => cost.map_or(Cost::Unknown, known),
            // What passed the gateway was recorded, and a report says no less.
            Some(AttemptEntry { metering: Metering::Reported, cost, .. }) => match (cost, reported()) {
                (Some(counted), Cost::Known { amount }) => known((*counted).max(amount)),
                (Some(counted), Cost::Unknown | Cost::Unmetered) => known(*counted),
                (None, reported) => reported,
            },
            None => noted(&self.folder.so_far(attempt)).unwrap_or_else(reported),
        }
    }

    /// The highest attempt of an agent that left a trace.
    pub(crate) fn highest(&self) -> Attempt {
        let recorded = self.entries.iter().map(|entry| entry.attempt).max().unwrap_or_default();
        recorded.max(self.folder.highest_attempt())
    }

    fn entry(&self, attempt: Attempt) -> Option<&AttemptEntry> {
        self.entries.iter().find(|entry| entry.attempt == attempt)
    }
}

/// What an earlier version recorded of the cost so far in a file, if it watched the agent.
fn noted(path: &Path) -> Option<Cost> {
    let text = std::fs::read_to_string(path).ok()?;
    let amount = text.trim().parse().ok().filter(|micros| *micros >= 0).map(Money::from_micros);
    Some(amount.map_or(Cost::Unknown, |amount| Cost::Known { amount }))
}

/// The cost so far of a watched agent, as it is to be recorded.
pub(crate) struct CostSoFar {
    newest: watch::Sender<Option<Money>>,
    /// Nothing was used that has no figure.
    is_complete: bool,
    usual: Money,
}

impl CostSoFar {
    pub(crate) fn new(usual: Money) -> Self {
        Self { newest: watch::Sender::new(None), is_complete: true, usual }
    }

    /// What is counted so far. A sum with something missing gets a request of a usual size on top.
    pub(crate) fn spent(&self, amount: Money) {
        self.set(Some(if self.is_complete { amount } else { amount + self.usual }));
    }

    /// Something was used that is not counted.
    pub(crate) fn incomplete(&mut self) {
        if std::mem::replace(&mut self.is_complete, false) {
            let known = *self.newest.borrow();
            self.set(known.map(|known| known + self.usual));
        }
    }

    /// The run is over, and this is what it cost.
    pub(crate) fn settled(&self, cost: Cost) {
        self.set(match cost {
            Cost::Known { amount } => Some(amount),
            Cost::Unknown | Cost::Unmetered => None,
        });
    }

    fn set(&self, cost: Option<Money>) {
        self.newest.send_if_modified(|newest| std::mem::replace(newest, cost) != cost);
    }

    /// Records every new figure in the store, the last one included, until this is dropped. A record that fails keeps the older
    /// figure, or that nothing is known.
    pub(crate) fn record(
        &self,
        store: StoreHandle,
        lease: Lease,
        attempt: Attempt,
    ) -> impl Future<Output = ()> + use<> {
        let mut newest = self.newest.subscribe();
        async move {
            while newest.changed().await.is_ok() {
                let cost = *newest.borrow_and_update();
                if let Err(error) = store.note_cost(lease, attempt, cost).await {
                    tracing::warn!(%error, %attempt, "the cost so far could not be recorded");
                }
                let mut until_dropped = newest.clone();
                tokio::select! {
                    () = tokio::time::sleep(COST_INTERVAL) => {}
                    _ = until_dropped.wait_for(|_| false) => {}
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "attempts_tests.rs"]
mod tests;
