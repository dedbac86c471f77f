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

/// Makes the calls of a store data, and carries them out: one row a call, with its arguments and the run that it writes to.
/// Calls that only read, or that anybody may make, name none.
macro_rules! calls {
    ($($variant:ident { $($field:ident: $type:ty),* } => $method:ident($($argument:expr),*) $(, writes $written:expr)?;)+) => {
        /// One call of [`Store`]. [`Store::subscribe`] and [`Store::close`] concern a process and have none.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", tag = "call", deny_unknown_fields)]
        pub enum Call {
            $($variant { $($field: $type),* },)+
        }

        impl Call {
            /// The run that the call writes to.
            #[expect(unused_variables, reason = "most calls write to the run of one field")]
            pub fn written(&self) -> Option<RunId> {
                match self {
                    $(Self::$variant { $($field),* } => None$(.or(Some($written)))?,)+
                }
            }
        }

        async fn carry_out(store: &dyn Store, call: Call) -> Result<Value> {
            match call {
                $(Call::$variant { $($field),* } => json(store.$method($($argument),*).await?),)+
            }
        }
    };
}

calls! {
    CreateRun { new: Box<NewRun>, first: NewEvent } => create_run(*new, first), writes new.id;
    Acquire { run: RunId, holder: Option<LeaseHolder> } => acquire(run, holder), writes *run;
    Renew { lease: Lease, until: Timestamp } => renew(lease, until), writes lease.run;
    Append { lease: Lease, after: Seq, append: Append } => append(lease, after, append), writes lease.run;
    Finish { lease: Lease, certificate: Option<String> } => finish(lease, certificate.as_deref()), writes lease.run;
    Certificate { run: RunId } => certificate(run);
    NoteBegan { lease: Lease, attempt: Attempt, at: Option<Timestamp> } => note_began(lease, attempt, at), writes lease.run;
    NoteCost { lease: Lease, attempt: Attempt, cost: Option<Money> } => note_cost(lease, attempt, cost), writes lease.run;
    Attempts { run: RunId } => attempts(run);
    RecordArtifacts { lease: Lease, artifacts: Vec<Artifact> } => record_artifacts(lease, &artifacts), writes lease.run;
    Artifacts { run: RunId } => artifacts(run);
    Journal { run: RunId } => journal(run);
    EventsAfter { run: RunId, seq: Seq, limit: u32 } => events_after(run, seq, limit);
    Verify { run: RunId } => verify(run);
    QuarantineAfter { run: RunId, seq: Seq } => quarantine_after(run, seq), writes *run;
    Runs { filter: Filter } => runs(&filter);
    RunCounts {} => run_counts();
    Run { run: RunId } => run(run);
    Find { text: String } => find(&text);
    Reserve { lease: Lease, reserve: Reserve } => reserve(lease, reserve), writes lease.run;
    Settle { lease: Lease, settlement: Settlement } => settle(lease, settlement), writes lease.run;
    Release { lease: Lease, attempt: Attempt } => release(lease, attempt), writes lease.run;
    OpenReservations { run: RunId } => open_reservations(run);
    Settlements { run: RunId } => settlements(run);
    DayTotals { day: String } => day_totals(&day);
    PoolTotals { pool: String } => pool_totals(&pool);
    RequestStop { run: RunId, mode: StopMode, at: Timestamp } => request_stop(run, mode, at);
    StopRequested { run: RunId } => stop_requested(run);
    ClearStop { lease: Lease } => clear_stop(lease), writes lease.run;
    Tell { run: RunId, text: String, at: Timestamp } => tell(run, &text, at);
    HintsAfter { run: RunId, number: u32 } => hints_after(run, number);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    Done(Value),
    Failed(Refusal),
}

/// An error of a store as it travels: those that a caller acts on are distinguished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "error")]
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

#[expect(clippy::expect_used, reason = "plain structs of numbers and texts, whose keys are texts, are always JSON")]
fn json(value: impl Serialize) -> Result<Value> {
    Ok(serde_json::to_value(value).expect("a value of the store is JSON"))
}
