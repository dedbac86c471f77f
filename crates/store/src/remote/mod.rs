//! A store on another machine: the same calls, sent to a server. What carries them is the caller's, so that nothing here knows
//! of HTTP.
//!
//! A call whose answer was lost is sent again: most calls may be repeated, and the two that may not (`create_run` and `append`)
//! look whether the first one arrived.

mod call;

use std::fmt::Debug;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ralph_model::{Attempt, Money, RunId, Timestamp};
use serde::de::DeserializeOwned;
use tokio::sync::broadcast;

pub use call::{Call, Refusal, Reply, answer};

use crate::artifact::Artifact;
use crate::attempt::AttemptEntry;
use crate::chain::{Head, NewEvent, Recorded, Seq};
use crate::changes::{Change, Changes};
use crate::error::{Error, Result};
use crate::money::{DayTotals, OpenReservation, Reservation, Reserve};
use crate::run::{
    Append, Epoch, Filter, Hint, Lease, LeaseHolder, Lookup, NewRun, RunEntry, RunStatus, Settlement, StopMode,
};
use crate::store::{ChainReport, Quarantine, Store, Trusted};

/// The first wait before a call is sent again; each further one is twice as long.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
/// How often subscribers are asked to read again.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendError {
    /// The server could not be reached, or its answer was lost: the call may have been carried out. Worth another try.
    Unreachable(String),
    /// The server does not accept the caller or the call.
    Rejected(String),
}

/// Carries calls to a server and answers back.
#[async_trait]
pub trait Transport: Debug + Send + Sync {
    /// Where the server is, for messages.
    fn place(&self) -> &str;

    async fn send(&self, call: &Call) -> Result<Reply, SendError>;
}

#[derive(Debug)]
pub struct RemoteStore {
    transport: Box<dyn Transport>,
    /// How long an unreachable server is tried again.
    timeout: Duration,
    changes: broadcast::Sender<Change>,
}

impl RemoteStore {
    /// A store that tries an unreachable server for so long.
    pub fn new(transport: Box<dyn Transport>, timeout: Duration) -> Self {
        Self { transport, timeout, changes: broadcast::channel(16).0 }
    }

    async fn call<R: DeserializeOwned>(&self, call: Call) -> Result<R> {
        self.attempt(&call).await.map(|(answer, _)| answer)
    }

    /// The answer, and whether an earlier sending may have been carried out already.
    async fn attempt<R: DeserializeOwned>(&self, call: &Call) -> Result<(R, Sent)> {
        let began = Instant::now();
        let mut backoff = FIRST_BACKOFF;
        let mut sent = Sent::Once;
        loop {
            match self.transport.send(call).await {
                Ok(Reply::Done(value)) => {
                    let answer = serde_json::from_value(value).map_err(|error| self.failed(&error.to_string()))?;
                    return Ok((answer, sent));
                }
                Ok(Reply::Failed(refusal)) => return self.refused(call, refusal, sent).await,
                Err(SendError::Rejected(detail)) => return Err(self.failed(&detail)),
                Err(SendError::Unreachable(detail)) if began.elapsed() + backoff > self.timeout => {
                    return Err(Error::Unreachable { place: self.transport.place().to_owned(), detail });
                }
                Err(SendError::Unreachable(_)) => {
                    tokio::time::sleep(backoff).await;
                    backoff = (backoff * 2).min(MAX_BACKOFF);
                    sent = Sent::Again;
                }
            }
        }
    }

    /// A refusal of a call that was sent again can mean that the first one arrived.
    async fn refused<R: DeserializeOwned>(&self, call: &Call, refusal: Refusal, sent: Sent) -> Result<(R, Sent)> {
        let arrived = match (call, &refusal, sent) {
            (Call::Append { lease, after, append }, Refusal::Conflict { .. }, Sent::Again) => {
                let head = Box::pin(self.appended(*lease, *after, append)).await?;
                head.map(serde_json::to_value)
            }
            (Call::CreateRun { new, first }, Refusal::RunExists { .. }, Sent::Again) => {
                let created = Box::pin(self.created(new.id, first)).await?;
                created.map(serde_json::to_value)
            }
            _ => None,
        };
        match arrived {
            Some(Ok(value)) => {
                let answer = serde_json::from_value(value).map_err(|error| self.failed(&error.to_string()))?;
                Ok((answer, sent))
            }
            Some(Err(error)) => Err(self.failed(&error.to_string())),
            None => Err(refusal.at(self.transport.place())),
        }
    }

    /// Where the journal ended after these events, if they are in it under this lease.
    async fn appended(&self, lease: Lease, after: Seq, append: &Append) -> Result<Option<Head>> {
        let entry = self.run(lease.run).await?;
        let count = u32::try_from(append.events.len()).unwrap_or(u32::MAX);
        if entry.epoch != lease.epoch || count == 0 {
            return Ok(None);
        }
        let found = self.events_after(lease.run, after, count).await?;
        let same = found.len() == append.events.len()
            && found.iter().zip(&append.events).all(|(found, event)| found.is(event));
        Ok(found.last().filter(|_| same).map(|last| Head { seq: last.seq, hash: last.hash }))
    }

    /// The lease and the head of a run that begins with this event and that no other process has taken over.
    async fn created(&self, run: RunId, first: &NewEvent) -> Result<Option<(Lease, Head)>> {
        let entry = self.run(run).await?;
        let found = self.events_after(run, Seq(0), 1).await?;
        let same = entry.head.seq == Seq(1) && entry.epoch == Epoch::FIRST && found.iter().all(|found| found.is(first));
        Ok(same.then_some((Lease { run, epoch: entry.epoch }, entry.head)))
    }

    fn failed(&self, detail: &str) -> Error {
        Refusal::Other { detail: detail.to_owned() }.at(self.transport.place())
    }

    /// Approval of content concerns the machine whose user gave it.
    fn local(&self) -> Error {
        self.failed("approvals of content are kept on the machine of the user who gives them")
    }
}

/// Whether a call was sent more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    Once,
    Again,
}

#[async_trait]
impl Store for RemoteStore {
    fn place(&self) -> &str {
        self.transport.place()
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }

    async fn create_run(&self, new: NewRun, first: NewEvent) -> Result<(Lease, Head)> {
        self.call(Call::CreateRun { new: Box::new(new), first }).await
    }

    async fn acquire(&self, run: RunId, holder: Option<LeaseHolder>) -> Result<Lease> {
        self.call(Call::Acquire { run, holder }).await
    }

    async fn renew(&self, lease: Lease, until: Timestamp) -> Result<()> {
        self.call(Call::Renew { lease, until }).await
    }

    async fn append(&self, lease: Lease, after: Seq, append: Append) -> Result<Head> {
        self.call(Call::Append { lease, after, append }).await
    }

    async fn finish(&self, lease: Lease, certificate: Option<&str>) -> Result<()> {
        self.call(Call::Finish { lease, certificate: certificate.map(str::to_owned) }).await
    }

    async fn certificate(&self, run: RunId) -> Result<Option<String>> {
        self.call(Call::Certificate { run }).await
    }

    async fn note_began(&self, lease: Lease, attempt: Attempt, at: Option<Timestamp>) -> Result<()> {
        self.call(Call::NoteBegan { lease, attempt, at }).await
    }

    async fn note_cost(&self, lease: Lease, attempt: Attempt, cost: Option<Money>) -> Result<()> {
        self.call(Call::NoteCost { lease, attempt, cost }).await
    }

    async fn attempts(&self, run: RunId) -> Result<Vec<AttemptEntry>> {
        self.call(Call::Attempts { run }).await
    }

    async fn record_artifacts(&self, lease: Lease, artifacts: &[Artifact]) -> Result<()> {
        self.call(Call::RecordArtifacts { lease, artifacts: artifacts.to_vec() }).await
    }

    async fn artifacts(&self, run: RunId) -> Result<Vec<Artifact>> {
        self.call(Call::Artifacts { run }).await
    }

    async fn journal(&self, run: RunId) -> Result<Vec<Recorded>> {
        self.call(Call::Journal { run }).await
    }

    async fn events_after(&self, run: RunId, seq: Seq, limit: u32) -> Result<Vec<Recorded>> {
        self.call(Call::EventsAfter { run, seq, limit }).await
    }

    /// Asks to read again every second, as long as there are subscribers.
    fn subscribe(&self) -> Changes {
        if self.changes.receiver_count() == 0 {
            let sender = self.changes.clone();
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(POLL_INTERVAL).await;
                    if sender.send(Change::Any).is_err() {
                        break;
                    }
                }
            });
        }
        Changes::new(self.changes.subscribe())
    }

    async fn verify(&self, run: RunId) -> Result<ChainReport> {
        self.call(Call::Verify { run }).await
    }

    async fn quarantine_after(&self, run: RunId, seq: Seq) -> Result<Quarantine> {
        self.call(Call::QuarantineAfter { run, seq }).await
    }

    async fn runs(&self, filter: &Filter) -> Result<Vec<RunEntry>> {
        self.call(Call::Runs { filter: filter.clone() }).await
    }

    async fn run_counts(&self) -> Result<Vec<(RunStatus, u64)>> {
        self.call(Call::RunCounts {}).await
    }

    async fn run(&self, run: RunId) -> Result<RunEntry> {
        self.call(Call::Run { run }).await
    }

    async fn find(&self, text: &str) -> Result<Lookup> {
        self.call(Call::Find { text: text.to_owned() }).await
    }

    async fn reserve(&self, lease: Lease, reserve: Reserve) -> Result<Reservation> {
        self.call(Call::Reserve { lease, reserve }).await
    }

    async fn settle(&self, lease: Lease, settlement: Settlement) -> Result<()> {
        self.call(Call::Settle { lease, settlement }).await
    }

    async fn release(&self, lease: Lease, attempt: Attempt) -> Result<()> {
        self.call(Call::Release { lease, attempt }).await
    }

    async fn open_reservations(&self, run: RunId) -> Result<Vec<OpenReservation>> {
        self.call(Call::OpenReservations { run }).await
    }

    async fn settlements(&self, run: RunId) -> Result<Vec<Settlement>> {
        self.call(Call::Settlements { run }).await
    }

    async fn day_totals(&self, day: &str) -> Result<DayTotals> {
        self.call(Call::DayTotals { day: day.to_owned() }).await
    }

    async fn pool_totals(&self, pool: &str) -> Result<DayTotals> {
        self.call(Call::PoolTotals { pool: pool.to_owned() }).await
    }

    async fn request_stop(&self, run: RunId, mode: StopMode, at: Timestamp) -> Result<()> {
        self.call(Call::RequestStop { run, mode, at }).await
    }

    async fn stop_requested(&self, run: RunId) -> Result<Option<StopMode>> {
        self.call(Call::StopRequested { run }).await
    }

    async fn clear_stop(&self, lease: Lease) -> Result<()> {
        self.call(Call::ClearStop { lease }).await
    }

    async fn tell(&self, run: RunId, text: &str, at: Timestamp) -> Result<()> {
        self.call(Call::Tell { run, text: text.to_owned(), at }).await
    }

    async fn hints_after(&self, run: RunId, number: u32) -> Result<Vec<Hint>> {
        self.call(Call::HintsAfter { run, number }).await
    }

    async fn remove_run(&self, _run: RunId) -> Result<()> {
        Err(self.local())
    }

    async fn trust(&self, _hash: &str, _path: &str, _at: Timestamp) -> Result<()> {
        Err(self.local())
    }

    /// A server knows nothing of what a user approved elsewhere: headless means refuse.
    async fn is_trusted(&self, _hash: &str, _path: &str) -> Result<bool> {
        Ok(false)
    }

    async fn trusted(&self) -> Result<Vec<Trusted>> {
        Ok(Vec::new())
    }

    async fn revoke(&self, _hash: &str) -> Result<u64> {
        Err(self.local())
    }
}
