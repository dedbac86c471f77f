//! What Ralph asks of a database. One set of calls for every kind of database; each is one transaction.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use ralph_model::{Attempt, Money, RunId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::artifact::Artifact;
use crate::attempt::AttemptEntry;
use crate::chain::{Broken, Head, NewEvent, Recorded, Seq};
use crate::changes::Changes;
use crate::error::Result;
use crate::money::{DayTotals, OpenReservation, Reservation, Reserve};
use crate::run::{Append, Filter, Hint, Lease, LeaseHolder, Lookup, NewRun, RunEntry, RunStatus, Settlement, StopMode};

/// What following a journal's chain showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainReport {
    /// How many events are as they were written, from the first on.
    pub events: u64,
    pub head: Head,
    /// The first event that is not as it was written.
    pub broken: Option<Broken>,
}

/// What was set aside, and where the journal ends now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    /// Which quarantine of this run's events it was, counted from 1. Rows of table `quarantined` carry it.
    pub batch: u32,
    pub events: u64,
    /// Where the journal ends now.
    pub head: Head,
}

/// Content that the user approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trusted {
    /// The hash of exactly that content.
    pub hash: String,
    pub path: String,
    pub at: Timestamp,
}

/// A store of whatever kind. Clones share their connections.
pub type StoreHandle = Arc<dyn Store>;

/// Ralph's durable state.
///
/// A call that writes returns when its transaction is durable, or an error after which nothing of it is stored. A caller that
/// drops the future while it waits does not know whether the transaction happened and has to read again. Writes to a run carry
/// its lease, and fail with [`crate::Error::StaleLease`] once another process acquired the run. Every call fails with
/// [`crate::Error::UnknownRun`] for a run that does not exist.
///
/// `renew`, `note_began` and `note_cost` are written often and are worth no wait for the disk: in SQLite they survive the death
/// of the process, and a loss of power may take them back.
#[async_trait]
pub trait Store: Debug + Send + Sync {
    /// Where the data is, for messages. Holds no password.
    fn place(&self) -> &str;

    /// Closes all connections of this store and its clones. Without it nothing is lost.
    async fn close(&self) -> Result<()>;

    /// Records a run with its first event, and acquires it.
    ///
    /// # Errors
    /// [`crate::Error::RunExists`] for an id that was used before.
    async fn create_run(&self, new: NewRun, first: NewEvent) -> Result<(Lease, Head)>;

    /// Takes a run over: leases that were given out before become stale.
    async fn acquire(&self, run: RunId, holder: Option<LeaseHolder>) -> Result<Lease>;

    /// Tells other machines that the holder of a lease lives.
    async fn renew(&self, lease: Lease, until: Timestamp) -> Result<()>;

    /// Appends to a journal that ends at `after`, together with what listings show, a settlement, an attempt that
    /// starts and artifacts.
    ///
    /// # Errors
    /// [`crate::Error::Conflict`] when the journal does not end at `after`, [`crate::Error::NoReservation`].
    async fn append(&self, lease: Lease, after: Seq, append: Append) -> Result<Head>;

    /// Clears what a finished run leaves behind: its pid, a request to stop, and reservations of attempts that never began.
    /// Keeps its certificate.
    async fn finish(&self, lease: Lease, certificate: Option<&str>) -> Result<()>;

    /// What the end of a run is based on, as [`crate::Store::finish`] got it.
    async fn certificate(&self, run: RunId) -> Result<Option<String>>;

    /// Records that the agent of an attempt is about to start; none where it could not start after all.
    ///
    /// # Errors
    /// [`crate::Error::UnknownAttempt`].
    async fn note_began(&self, lease: Lease, attempt: Attempt, at: Option<Timestamp>) -> Result<()>;

    /// Records what an attempt cost so far; none where that is not known.
    ///
    /// # Errors
    /// [`crate::Error::UnknownAttempt`].
    async fn note_cost(&self, lease: Lease, attempt: Attempt, cost: Option<Money>) -> Result<()>;

    /// The attempts of a run whose start is recorded, also those whose events were set aside.
    async fn attempts(&self, run: RunId) -> Result<Vec<AttemptEntry>>;

    async fn record_artifacts(&self, lease: Lease, artifacts: &[Artifact]) -> Result<()>;

    /// The files of a run, by name.
    async fn artifacts(&self, run: RunId) -> Result<Vec<Artifact>>;

    /// The whole journal of a run, proven to be the one that was written.
    ///
    /// # Errors
    /// [`crate::Error::Broken`] with the first event that is not as it was written.
    async fn journal(&self, run: RunId) -> Result<Vec<Recorded>>;

    /// The events after `seq`, at most `limit`, proven to continue the event at `seq`.
    ///
    /// # Errors
    /// [`crate::Error::Broken`]; [`crate::Error::Conflict`] when the journal no longer reaches `seq`.
    async fn events_after(&self, run: RunId, seq: Seq, limit: u32) -> Result<Vec<Recorded>>;

    /// Notifies of every change from now on, by whichever process or machine, as long as the answer is kept. Needs a Tokio
    /// runtime. [`crate::Store::events_after`] reads what changed.
    fn subscribe(&self) -> Changes;

    /// How much of a journal is as it was written. A broken one is a finding here, not an error.
    async fn verify(&self, run: RunId) -> Result<ChainReport>;

    /// Moves the events after `seq` aside, so that a run with a broken journal can continue from its intact part. They stay
    /// in the table `quarantined`. Leases that were given out before become stale.
    ///
    /// # Errors
    /// [`crate::Error::Broken`] when the events up to `seq` are not intact themselves.
    async fn quarantine_after(&self, run: RunId, seq: Seq) -> Result<Quarantine>;

    /// Lists runs, newest first.
    async fn runs(&self, filter: &Filter) -> Result<Vec<RunEntry>>;

    /// How many loops have each status. One that has none may be left out.
    async fn run_counts(&self) -> Result<Vec<(RunStatus, u64)>>;

    async fn run(&self, run: RunId) -> Result<RunEntry>;

    /// The run that a person means: by any start of its short id or its whole id, or by at least four
    /// characters of the end.
    async fn find(&self, text: &str) -> Result<Lookup>;

    /// Reserves up to `want` for an attempt. Over all runs, processes and machines, what is settled and reserved on the day
    /// never exceeds its cap because of this call, and the same holds for the pool. An older reservation of the same attempt
    /// is replaced. Too little money is no error.
    ///
    /// # Errors
    /// [`crate::Error::AlreadySettled`].
    async fn reserve(&self, lease: Lease, reserve: Reserve) -> Result<Reservation>;

    /// Turns the reservation of an attempt into what it cost, more than was reserved where that is the truth. Settling again
    /// replaces the amount.
    ///
    /// # Errors
    /// [`crate::Error::NoReservation`].
    async fn settle(&self, lease: Lease, settlement: Settlement) -> Result<()>;

    /// Gives the reservation of an attempt back that cost nothing. A settled one stays, and none is no error.
    async fn release(&self, lease: Lease, attempt: Attempt) -> Result<()>;

    /// What a run reserved and never settled: after a crash, the attempts whose cost is not known.
    async fn open_reservations(&self, run: RunId) -> Result<Vec<OpenReservation>>;

    /// What a run was charged for its attempts that ended, also those whose events were set aside.
    async fn settlements(&self, run: RunId) -> Result<Vec<Settlement>>;

    /// The money of a day over all runs.
    async fn day_totals(&self, day: &str) -> Result<DayTotals>;

    /// The money of a pool over all its runs.
    async fn pool_totals(&self, pool: &str) -> Result<DayTotals>;

    /// Asks a run to end. A request to end now is not weakened by a later, milder one. Needs no lease: any process may ask.
    async fn request_stop(&self, run: RunId, mode: StopMode, at: Timestamp) -> Result<()>;

    /// Whether and how a run was asked to end.
    async fn stop_requested(&self, run: RunId) -> Result<Option<StopMode>>;

    /// Forgets a request to stop, once it was followed or the run is resumed.
    async fn clear_stop(&self, lease: Lease) -> Result<()>;

    /// Tells a run something for its next prompt. Needs no lease: any process may.
    async fn tell(&self, run: RunId, text: &str, at: Timestamp) -> Result<()>;

    /// What a run was told after the hint with this number, in order.
    async fn hints_after(&self, run: RunId, number: u32) -> Result<Vec<Hint>>;

    /// Removes a run with everything that the store has of it. Its money of the day is forgotten, too: only old runs are
    /// removed.
    async fn remove_run(&self, run: RunId) -> Result<()>;

    /// Remembers that the user approved this content at this path.
    async fn trust(&self, hash: &str, path: &str, at: Timestamp) -> Result<()>;

    /// Whether the user approved this content at this path.
    async fn is_trusted(&self, hash: &str, path: &str) -> Result<bool>;

    /// All content that the user approved, newest first.
    async fn trusted(&self) -> Result<Vec<Trusted>>;

    /// Revokes the approval of a content at every path, and returns at how many.
    async fn revoke(&self, hash: &str) -> Result<u64>;
}

/// The most that one attempt can weigh: with more, the sum of a day would not fit into the database's numbers, and one absurd
/// figure would keep every run of that day from starting.
pub(crate) const MAX_AMOUNT: Money = Money::dollars(1_000_000_000);
