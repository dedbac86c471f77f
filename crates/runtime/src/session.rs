//! A loop that lives in a session of the user's own. Between two hooks no process belongs to it or holds the lock of its
//! workspace; a record in the workspace's state says that it is there.
//!
//! ```text
//!   begin: lock · LoopStarted · baseline · IterationStarted ──► leave, the agent works
//!   hook:  lock · AgentFinished · checks · decision ──► over, or IterationStarted and leave
//! ```
//!
//! The effects are those of every loop. Only `RunAgent` is not carried out: the session does that, and the next hook answers it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use ralph_agents::Offsets;
use ralph_engine::{Event, Limits, Phase, Stop, StopBy, StopWhen};
use ralph_model::{Cost, Iteration, LoopConfig, LoopId, Timestamp, ValidLoopConfig};
use ralph_store::RunStatus;
use ralph_view::RunResult;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::drive::{Driver, Pause};
use crate::error::Error;
use crate::home::Home;
use crate::known::KnownLoop;
use crate::open::{Found, Look, Opened, Reopened, begin_as, go_on};
use crate::perform::{SessionPass, Task, Turn, WorkspaceState};
use crate::project;
use crate::services::{Services, UserGit};
use crate::site::TakenSite;
use crate::stops::{Stopper, Stops};

/// The loop that lives in a session in a workspace. Hooks read it without opening the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRecord {
    pub loop_id: LoopId,
    pub workspace: PathBuf,
    /// The session that it belongs to; none until a session there reports through a hook.
    pub session: Option<String>,
    pub started_at: Timestamp,
    /// The iteration that is under way; 0 before the first.
    pub iteration: Iteration,
    /// Paths that the agent may not change.
    pub prohibited: Vec<String>,
    /// Stops that were blocked one after the other without a tool call in between.
    #[serde(default)]
    pub blocks: u32,
    /// The commit that was checked out when the iteration began.
    #[serde(default)]
    head: Option<String>,
    /// How far the records of the session were read.
    #[serde(default)]
    offsets: Offsets,
    /// What git knew of the user when the loop began.
    #[serde(default)]
    pub user_git: Option<UserGit>,
}

impl SessionRecord {
    pub(crate) fn new(loop_id: LoopId, config: &LoopConfig, at: Timestamp) -> Self {
        Self {
            loop_id,
            workspace: PathBuf::from(&config.workspace),
            session: None,
            started_at: at,
            iteration: Iteration(0),
            prohibited: config.prohibited_paths.clone(),
            blocks: 0,
            head: None,
            offsets: Offsets::new(),
            user_git: None,
        }
    }

    /// The record of a workspace; none where no loop lives in a session there.
    pub fn read(home: &Home, workspace: &Path) -> Result<Option<Self>, Error> {
        Self::read_file(&home.session_record(workspace))
    }

    fn read_file(path: &Path) -> Result<Option<Self>, Error> {
        let broken = |why: String| Error::SessionRecord { path: path.to_owned(), why };
        let text = match std::fs::symlink_metadata(path) {
            // To open a pipe could take for ever.
            Ok(found) if !found.is_file() => return Err(broken("it is not a file".to_owned())),
            Ok(_) => std::fs::read(path),
            Err(error) => Err(error),
        };
        let text = match text {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            read => read.map_err(Error::file(path))?,
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| broken(error.to_string()))
    }

    /// The records of all loops that live in a session, in whatever folders; and what could not be read.
    pub fn of_session(home: &Home, session: &str) -> (Vec<Self>, Vec<Error>) {
        let (mut records, mut errors) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(home.session_index(session)).into_iter().flatten().flatten() {
            match Self::read_file(&home.session_record_in(&entry.file_name())) {
                Ok(Some(record)) if record.session.as_deref() == Some(session) => records.push(record),
                Ok(_) => drop(std::fs::remove_file(entry.path())),
                Err(error) => errors.push(error),
            }
        }
        records.sort_by_key(|record| record.started_at);
        (records, errors)
    }

    /// Writes it in one step.
    pub fn save(&self, home: &Home) -> Result<(), Error> {
        let path = home.session_record(&self.workspace);
        if let Some(entry) = self.index_entry(home).filter(|entry| !entry.exists()) {
            entry.parent().map_or(Ok(()), Home::make_private)?;
            Home::write_private(&entry, b"")?;
        }
        project::replace(&path, &serde_json::to_string(self)?).map_err(Error::file(&path))
    }

    /// Where hooks of its session find it.
    fn index_entry(&self, home: &Home) -> Option<PathBuf> {
        let state = home.workspace(&self.workspace);
        Some(home.session_index(self.session.as_deref()?).join(state.file_name()?))
    }

    /// Removes the record of a loop that is over. The store shows that a record that stayed belongs to a loop that is over.
    pub fn remove(home: &Home, workspace: &Path, loop_id: LoopId) {
        let known = Self::read(home, workspace).ok().flatten();
        if let Some(record) = known.filter(|record| record.loop_id == loop_id) {
            let _ = std::fs::remove_file(home.session_record(workspace));
            if let Some(entry) = record.index_entry(home) {
                let _ = std::fs::remove_file(&entry);
                // Only the last one leaves an empty folder.
                let _ = entry.parent().map(std::fs::remove_dir);
            }
        }
    }

    /// The prompt that the agent was given last, redacted; none where it cannot be read.
    pub fn prompt(&self, home: &Home) -> Option<String> {
        std::fs::read_to_string(home.loop_folder(self.loop_id).prompt(self.iteration)).ok()
    }

    /// Refuses a second loop in a session: its stops are those of the first.
    async fn refuse_second(services: &Services, session: &str) -> Result<(), Error> {
        let (records, errors) = Self::of_session(&services.home, session);
        if let Some(error) = errors.into_iter().next() {
            return Err(error);
        }
        for record in records {
            match services.store.run(record.loop_id).await {
                Ok(entry) if entry.status == RunStatus::Running => {
                    return Err(Error::InSession { loop_id: record.loop_id, workspace: entry.workspace });
                }
                Ok(_) | Err(ralph_store::Error::UnknownRun { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Refuses to work in a workspace where another loop lives in a session.
    pub(crate) async fn refuse_other(services: &Services, loop_id: LoopId, root: &Path) -> Result<(), Error> {
        let Some(record) = Self::read(&services.home, root)?.filter(|record| record.loop_id != loop_id) else {
            return Ok(());
        };
        match services.store.run(record.loop_id).await {
            Ok(entry) if entry.status == RunStatus::Running => {
                Err(Error::InSession { loop_id: record.loop_id, workspace: entry.workspace })
            }
            // Its process died before it began, or after it ended.
            Ok(_) | Err(ralph_store::Error::UnknownRun { .. }) => {
                Self::remove(&services.home, root, record.loop_id);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What a hook says of a turn that is over.
#[derive(Debug, Clone, Default)]
pub struct TurnReport {
    pub transcript: Option<PathBuf>,
    /// The agent's last message.
    pub final_message: String,
}

/// What comes after a turn.
#[derive(Debug)]
pub enum SessionStep {
    Next(NextTurn),
    Over {
        result: Box<RunResult>,
        unknown: usize,
    },
    /// The loop was over before.
    Gone,
}

/// The agent's next instructions.
#[derive(Debug)]
pub struct NextTurn {
    pub iteration: Iteration,
    pub prompt: String,
    /// Stops that were blocked one after the other without a tool call in between, this one included.
    pub blocks: u32,
}

/// Begins a loop in a session: everything up to the point where its agent has to work.
///
/// # Errors
/// When another loop works there, or the state cannot be written.
pub async fn begin_session(
    services: Services,
    config: ValidLoopConfig,
    session: Option<String>,
    stops: Stops,
) -> Result<(LoopId, SessionStep), Error> {
    let loop_id = LoopId::from_uuid(Uuid::now_v7());
    let config = config.into_inner();
    if let Some(session) = &session {
        SessionRecord::refuse_second(&services, session).await?;
    }
    let user_git = Some(services.user_git.clone());
    let record = SessionRecord { session, user_git, ..SessionRecord::new(loop_id, &config, (services.now)()) };
    let opened = begin_as(loop_id, services, config, stops).await?;
    record.save(&opened.driver.context.services.home)?;
    Ok((loop_id, advance(opened, record).await?))
}

/// Continues a loop in a session whose agent stopped: checks the work and decides.
///
/// # Errors
/// When the loop cannot be opened or its journal cannot be written; the next hook continues it.
pub async fn continue_session(
    services: Services,
    (known, site): (KnownLoop, TakenSite),
    record: SessionRecord,
    report: TurnReport,
    stops: Stops,
) -> Result<SessionStep, Error> {
    let found = Found::at(services.of_run(record.loop_id), record.loop_id, None, Some(known), site).await?;
    if found.run.outcome().is_some() && found.is_certified().await? {
        SessionRecord::remove(&found.services.home, &record.workspace, record.loop_id);
        return Ok(SessionStep::Gone);
    }
    // Everything that is older was told with the turn before.
    let ended = found.recorded.iter().rev().find(|record| record.kind == "agentFinished").map(|record| record.at);
    let TurnReport { transcript, final_message } = report;
    let since = ended.unwrap_or(record.started_at);
    let turn = Turn::Stopped { transcript, offsets: record.offsets.clone(), since, final_message };
    let opened = answer(found, &record, turn, stops).await?;
    advance(opened, record).await
}

pub async fn cancel_session(
    services: Services,
    (known, site): (KnownLoop, TakenSite),
    record: SessionRecord,
    stopper: &Stopper,
    stops: Stops,
) -> Result<SessionStep, Error> {
    let found = Found::at(services.of_run(record.loop_id), record.loop_id, None, Some(known), site).await?;
    if found.run.outcome().is_none() && !matches!(found.run.phase(), Phase::Working(_)) {
        // A hook died on the way: whatever it was about is begun again and cut short.
        stopper.stop(StopWhen::Now, StopBy::Request);
    }
    let opened = answer(found, &record, Turn::Cancelled, stops).await?;
    advance(opened, record).await
}

/// Answers the agent's run that is under way. Where none is, a hook died on its way to the next one, and the loop goes on from
/// there: what the agent did since is checked with the rest.
async fn answer(found: Found, record: &SessionRecord, turn: Turn, stops: Stops) -> Result<Opened, Error> {
    let look = if matches!(found.run.phase(), Phase::Working(_)) { Look::Later } else { Look::Now };
    let Reopened { context, mut live, as_found, lock } = found.reopen(look).await?;
    let facts = live.run.facts();
    let (attempt, reserved, unmetered) = match live.run.phase() {
        Phase::Working(working) => (working.attempt, working.reserved, working.unmetered),
        Phase::Done(done) => {
            let effects = vec![ralph_engine::Effect::Finish { outcome: done.outcome.clone() }];
            return Ok(Opened { driver: Driver::new(context, live, stops), effects, _lock: lock });
        }
        _ => {
            let effects = go_on(&context, &mut live, as_found, Limits::default()).await?;
            return Ok(Opened { driver: Driver::new(context, live, stops), effects, _lock: lock });
        }
    };
    let pass = SessionPass {
        iteration: facts.last_iteration().map_or(Iteration(1), |record| record.iteration),
        attempt,
        agent: facts.config.agent.clone(),
        before: facts.last_iteration().map_or_else(|| facts.start.tree.clone(), |record| record.before.clone()),
        head: record.head.clone(),
        budget: (!unmetered).then_some(reserved),
        turn,
    };
    let mut driver = Driver::new(context, live, stops);
    if matches!(pass.turn, Turn::Cancelled) {
        let stop = Stop { when: StopWhen::Now, by: StopBy::Request };
        driver.live.record(&driver.context.services, Event::StopRequested { stop }).await?;
    }
    let effects = driver.carry_out(Task::Turn(pass)).await?;
    Ok(Opened { driver, effects, _lock: lock })
}

/// Drives a loop until it is over or its agent has to work, and leaves it so that the next hook finds it.
async fn advance(opened: Opened, mut record: SessionRecord) -> Result<SessionStep, Error> {
    let Opened { mut driver, effects, _lock } = opened;
    let home = driver.context.services.home.clone();
    match driver.advance(effects).await? {
        Pause::Over { outcome } => {
            let runs = driver.live.run.facts().iterations.iter().filter_map(|record| record.run.as_ref());
            let unknown = runs.filter(|run| run.cost == Cost::Unknown).count();
            let result = Box::new(driver.finish(outcome).await?);
            SessionRecord::remove(&home, &record.workspace, record.loop_id);
            Ok(SessionStep::Over { result, unknown })
        }
        Pause::Session { iteration, attempt, prompt } => {
            let context = &driver.context;
            let safe = context.services.redactor.text(&prompt);
            Home::write_private(&context.folder.prompt(iteration), safe.as_bytes())?;
            Home::write_private(&context.folder.marker(attempt), b"")?;
            let pins = context.folder.pins();
            let keep =
                move |ground: &mut WorkspaceState| ground.pinned.as_mut().map_or(Ok(()), |pinned| pinned.keep(&pins));
            context.with_workspace(keep).await?;
            let head = context.on_repository(|repository| repository.head().ok()).await?.flatten();
            let runs = driver.live.run.facts().iterations.iter().rev().find_map(|record| record.run.as_ref());
            let has_called = runs.is_some_and(|run| !run.evidence.is_empty());
            let offsets = std::mem::take(&mut *context.read_until.lock().unwrap_or_else(PoisonError::into_inner));
            record.offsets.extend(offsets);
            record.iteration = iteration;
            record.head = head.and_then(|head| head.commit).map(|commit| commit.to_string());
            record.blocks = if has_called { 1 } else { record.blocks.saturating_add(1) };
            record.save(&home)?;
            Ok(SessionStep::Next(NextTurn { iteration, prompt, blocks: record.blocks }))
        }
    }
}
