//! The calls of a store as data, for a store on another machine: what is asked, what comes back, and who answers.

use ralph_model::{Attempt, Money, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::artifact::Artifact;
use crate::chain::{Break, NewEvent, Seq};
use crate::error::{Error, Result};
use crate::money::Reserve;
use crate::run::{Append, Epoch, Filter, Lease, LeaseHolder, NewRun, Settlement, StopMode};
use crate::store::Store;

/// One call of [`Store`]. [`Store::subscribe`] and [`Store::close`] concern a process and have none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "call", deny_unknown_fields)]
#[expect(missing_docs, reason = "each is the call of the same name, with its arguments")]
pub enum Call {
    CreateRun { new: Box<NewRun>, first: NewEvent },
    Acquire { run: RunId, holder: Option<LeaseHolder> },
    Renew { lease: Lease, until: Timestamp },
    Append { lease: Lease, after: Seq, append: Append },
    Finish { lease: Lease, certificate: Option<String> },
    Certificate { run: RunId },
    NoteBegan { lease: Lease, attempt: Attempt, at: Option<Timestamp> },
    NoteCost { lease: Lease, attempt: Attempt, cost: Option<Money> },
    Attempts { run: RunId },
    RecordArtifacts { lease: Lease, artifacts: Vec<Artifact> },
    Artifacts { run: RunId },
    Journal { run: RunId },
    EventsAfter { run: RunId, seq: Seq, limit: u32 },
    Verify { run: RunId },
    QuarantineAfter { run: RunId, seq: Seq },
    Runs { filter: Filter },
    RunCounts,
    Run { run: RunId },
    Find { text: String },
    Reserve { lease: Lease, reserve: Reserve },
    Settle { lease: Lease, settlement: Settlement },
    Release { lease: Lease, attempt: Attempt },
    OpenReservations { run: RunId },
    Settlements { run: RunId },
    DayTotals { day: String },
    PoolTotals { pool: String },
    RequestStop { run: RunId, mode: StopMode, at: Timestamp },
    StopRequested { run: RunId },
    ClearStop { lease: Lease },
    Tell { run: RunId, text: String, at: Timestamp },
    HintsAfter { run: RunId, number: u32 },
}

impl Call {
    /// The run that the call writes to. Calls that only read, or that anybody may make, have none.
    pub fn written(&self) -> Option<RunId> {
        match self {
            Self::CreateRun { new, .. } => Some(new.id),
            Self::Acquire { run, .. } | Self::QuarantineAfter { run, .. } => Some(*run),
            Self::Renew { lease, .. }
            | Self::Append { lease, .. }
            | Self::Finish { lease, .. }
            | Self::NoteBegan { lease, .. }
            | Self::NoteCost { lease, .. }
            | Self::RecordArtifacts { lease, .. }
            | Self::Reserve { lease, .. }
            | Self::Settle { lease, .. }
            | Self::Release { lease, .. }
            | Self::ClearStop { lease } => Some(lease.run),
            Self::Certificate { .. }
            | Self::Attempts { .. }
            | Self::Artifacts { .. }
            | Self::Journal { .. }
            | Self::EventsAfter { .. }
            | Self::Verify { .. }
            | Self::Runs { .. }
            | Self::RunCounts
            | Self::Run { .. }
            | Self::Find { .. }
            | Self::OpenReservations { .. }
            | Self::Settlements { .. }
            | Self::DayTotals { .. }
            | Self::PoolTotals { .. }
            | Self::RequestStop { .. }
            | Self::StopRequested { .. }
            | Self::Tell { .. }
            | Self::HintsAfter { .. } => None,
        }
    }
}

/// What comes back for a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// What the call returned, as JSON.
    Done(Value),
    /// Why nothing of it was stored.
    Failed(Refusal),
}

/// An error of a store as it travels: those that a caller acts on are distinguished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "error")]
#[expect(missing_docs, reason = "each is the error of the same name, with its fields")]
pub enum Refusal {
    StaleLease { run: RunId, held: Epoch, newest: Epoch },
    Conflict { run: RunId, expected: Seq, found: Seq },
    Broken { run: RunId, seq: Seq, why: Break },
    UnknownRun { run: RunId },
    RunExists { run: RunId },
    NoReservation { run: RunId, attempt: Attempt },
    AlreadySettled { run: RunId, attempt: Attempt },
    UnknownAttempt { run: RunId, attempt: Attempt },
    Other { detail: String },
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::StaleLease { run, held, newest } => Self::StaleLease { run, held, newest },
            Error::Conflict { run, expected, found } => Self::Conflict { run, expected, found },
            Error::Broken { run, seq, why } => Self::Broken { run, seq, why },
            Error::UnknownRun { run, .. } => Self::UnknownRun { run },
            Error::RunExists { run } => Self::RunExists { run },
            Error::NoReservation { run, attempt } => Self::NoReservation { run, attempt },
            Error::AlreadySettled { run, attempt } => Self::AlreadySettled { run, attempt },
            Error::UnknownAttempt { run, attempt } => Self::UnknownAttempt { run, attempt },
            other => Self::Other { detail: other.to_string() },
        }
    }
}

impl Refusal {
    /// The error for the caller of a store at `place`.
    pub(super) fn at(self, place: &str) -> Error {
        match self {
            Self::StaleLease { run, held, newest } => Error::StaleLease { run, held, newest },
            Self::Conflict { run, expected, found } => Error::Conflict { run, expected, found },
            Self::Broken { run, seq, why } => Error::Broken { run, seq, why },
            Self::UnknownRun { run } => Error::UnknownRun { run, place: place.to_owned() },
            Self::RunExists { run } => Error::RunExists { run },
            Self::NoReservation { run, attempt } => Error::NoReservation { run, attempt },
            Self::AlreadySettled { run, attempt } => Error::AlreadySettled { run, attempt },
            Self::UnknownAttempt { run, attempt } => Error::UnknownAttempt { run, attempt },
            Self::Other { detail } => {
                Error::Database { place: place.to_owned(), doing: "use the server's store", detail }
            }
        }
    }
}

/// Carries out a call that came from another machine.
///
/// # Errors
/// When the database cannot be used at the moment, so that the call may or may not have been carried out. The transport says
/// [`super::SendError::Unreachable`] then, and the caller tries again.
pub async fn answer(store: &dyn Store, call: Call) -> Result<Reply> {
    match carry_out(store, call).await {
        Ok(value) => Ok(Reply::Done(value)),
        Err(error @ (Error::Busy { .. } | Error::Unreachable { .. } | Error::Full { .. })) => Err(error),
        Err(error) => Ok(Reply::Failed(error.into())),
    }
}

async fn carry_out(store: &dyn Store, call: Call) -> Result<Value> {
    match call {
        Call::CreateRun { new, first } => json(store.create_run(*new, first).await?),
        Call::Acquire { run, holder } => json(store.acquire(run, holder).await?),
        Call::Renew { lease, until } => json(store.renew(lease, until).await?),
        Call::Append { lease, after, append } => json(store.append(lease, after, append).await?),
        Call::Finish { lease, certificate } => json(store.finish(lease, certificate.as_deref()).await?),
        Call::Certificate { run } => json(store.certificate(run).await?),
        Call::NoteBegan { lease, attempt, at } => json(store.note_began(lease, attempt, at).await?),
        Call::NoteCost { lease, attempt, cost } => json(store.note_cost(lease, attempt, cost).await?),
        Call::Attempts { run } => json(store.attempts(run).await?),
        Call::RecordArtifacts { lease, artifacts } => json(store.record_artifacts(lease, &artifacts).await?),
        Call::Artifacts { run } => json(store.artifacts(run).await?),
        Call::Journal { run } => json(store.journal(run).await?),
        Call::EventsAfter { run, seq, limit } => json(store.events_after(run, seq, limit).await?),
        Call::Verify { run } => json(store.verify(run).await?),
        Call::QuarantineAfter { run, seq } => json(store.quarantine_after(run, seq).await?),
        Call::Runs { filter } => json(store.runs(&filter).await?),
        Call::RunCounts => json(store.run_counts().await?),
        Call::Run { run } => json(store.run(run).await?),
        Call::Find { text } => json(store.find(&text).await?),
        Call::Reserve { lease, reserve } => json(store.reserve(lease, reserve).await?),
        Call::Settle { lease, settlement } => json(store.settle(lease, settlement).await?),
        Call::Release { lease, attempt } => json(store.release(lease, attempt).await?),
        Call::OpenReservations { run } => json(store.open_reservations(run).await?),
        Call::Settlements { run } => json(store.settlements(run).await?),
        Call::DayTotals { day } => json(store.day_totals(&day).await?),
        Call::PoolTotals { pool } => json(store.pool_totals(&pool).await?),
        Call::RequestStop { run, mode, at } => json(store.request_stop(run, mode, at).await?),
        Call::StopRequested { run } => json(store.stop_requested(run).await?),
        Call::ClearStop { lease } => json(store.clear_stop(lease).await?),
        Call::Tell { run, text, at } => json(store.tell(run, &text, at).await?),
        Call::HintsAfter { run, number } => json(store.hints_after(run, number).await?),
    }
}

/// What a call returned, as JSON.
#[expect(clippy::expect_used, reason = "plain structs of numbers and texts, whose keys are texts, are always JSON")]
fn json(value: impl Serialize) -> Result<Value> {
    Ok(serde_json::to_value(value).expect("a value of the store is JSON"))
}
