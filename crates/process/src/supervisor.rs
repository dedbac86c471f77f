//! Owns a run from its start until nothing of it is left. Knows nothing about agents, checks or what an outcome means.

use std::path::PathBuf;
use std::sync::Arc;

use ralph_model::{Ended, Millis};
use rustix::process::Signal;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::error::Error;
use crate::launcher::Launchers;
use crate::live::{Event, Live, stopped};
use crate::log::Log;
use crate::outlet::Read;
use crate::output::{Observer, Output};
use crate::plumbing::{self, PIPE_BYTES};
use crate::sandbox::Need;
use crate::spec::{Finished, ReaperProgram, Spec, Stop, Stream};
use crate::sweep::{self, Mark};
use crate::wire::Report;
use ralph_text::Redactor;

/// As much as is read from a pipe at a time: enough to tell that it is half full.
const PIECE_BYTES: usize = PIPE_BYTES / 2;
/// How much is still read when the tree is gone: more than a pipe can hold, so that only a stranger could write more.
const MAX_AFTER_GONE: usize = 4 << 20;
/// How much of a flood is read at a stretch, before other tasks have a turn, such as a request to stop it.
const STRETCH_BYTES: usize = 1 << 20;
/// Money that is spent has to stop flowing within two seconds, whatever grace the program has otherwise.
const SPENT_GRACE: Millis = Millis(1000);
const ANY_GRACE: Millis = Millis(u64::MAX);

/// Runs programs, each under a reaper of its own. Any number at the same time.
#[derive(Debug, Clone)]
pub struct Supervisor {
    launchers: Arc<Launchers>,
    redactor: Arc<Redactor>,
}

impl Supervisor {
    /// Runs programs under this reaper and takes these secrets out of what they print.
    pub fn new(reaper: ReaperProgram, redactor: Arc<Redactor>) -> Self {
        Self { launchers: Arc::new(Launchers::new(reaper)), redactor }
    }

    /// Starts the process that the first run would start, side by side with what the caller does before that run: probably a check with
    /// a network of its own.
    pub fn prepare(&self) {
        self.launchers.prepare(Need::Network);
    }

    /// Ends that process side by side with what the caller does after its last run.
    pub fn release(&self) {
        self.launchers.release();
    }

    /// Its redactor, for callers that decode an output before they use it.
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// Runs a program to its end, and returns when nothing of its tree is left. `observe` gets the clean text of both
    /// outputs in pieces, as they come. Dropping the future ends the tree, too.
    ///
    /// # Errors
    ///
    /// When supervision itself failed. A program that fails or cannot be started is an outcome, not an error.
    pub async fn run(
        &self,
        spec: Spec,
        mut stop: watch::Receiver<Option<Stop>>,
        observe: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Finished, Error> {
        let log = Log::create(&spec.log, spec.log_limit)
            .map_err(|source| Error::CreateLog { path: spec.log.clone(), source })?;
        let early = *stop.borrow_and_update();
        let mut run = Run {
            stdout: Output::new(Stream::Stdout, &self.redactor, spec.tail).in_pieces(spec.pieces, &self.redactor),
            stderr: Output::new(Stream::Stderr, &self.redactor, spec.tail),
            piece: vec![0; PIECE_BYTES],
            path: spec.log.clone(),
            log,
            observe,
            started: Instant::now(),
            asked: early.map(Ended::from),
            ended: None,
            failure: None,
            swept: 0,
        };
        let need = Need::of(spec.sandbox.as_ref().and_then(|sandbox| sandbox.jail(Vec::new())).as_ref());
        let reaper = match early {
            Some(_) => None,
            None => tokio::select! {
                forked = self.launchers.fork(need) => Some(forked?),
                asked = stopped(&mut stop, None) => {
                    run.asked = Some(asked.into());
                    None
                }
            },
        };
        if let Some(reaper) = reaper {
            let tree = uuid::Uuid::now_v7().to_string();
            tracing::debug!(program = ?spec.program.first(), log = ?spec.log, sandbox = spec.sandbox.is_some(), "starting a process tree");
            tracing::trace!(arguments = ?spec.program, directory = ?spec.directory, "with these arguments");
            let mut plumbing = plumbing::start(reaper, &self.launchers.program.arguments, &spec, &tree).await?;
            // It ends with this run.
            let _bridge = plumbing.bridge.take();
            let mut live = Live::new(plumbing, spec, run.started);
            run.supervise(&mut live, &mut stop, &tree).await?;
        }
        run.finish()
    }
}

/// What is known about a run so far.
struct Run<'a> {
    stdout: Output,
    stderr: Output,
    /// Where output is read into.
    piece: Vec<u8>,
    path: PathBuf,
    log: Log,
    observe: &'a mut Observer<'a>,
    started: Instant,
    /// Why Ralph ended it, if it did.
    asked: Option<Ended>,
    /// How the program ended, and after how long.
    ended: Option<(Ended, Millis)>,
    failure: Option<Error>,
    swept: u32,
}

/// Why there is nothing more to wait for.
enum Over {
    /// The reaper said that nothing is left, or that nothing was started.
    Gone,
    /// The reaper is dead, and its tree may not be.
    ReaperLost,
}

impl Run<'_> {
    async fn supervise(
        &mut self,
        live: &mut Live,
        stop: &mut watch::Receiver<Option<Stop>>,
        tree: &str,
    ) -> Result<(), Error> {
        let mut stretch = 0;
        let over = loop {
            match live.next(stop).await {
                Event::Printed(stream) => {
                    stretch += self.read(live, stream);
                    if stretch >= STRETCH_BYTES {
                        stretch = 0;
                        tokio::task::yield_now().await;
                    }
                    if self.failure.is_some() && live.is_running() {
                        live.ask_to_end(ANY_GRACE).await;
                    }
                }
                Event::MayFeed => live.feed(),
                Event::StopAsked(stop) => self.ask_to_end(live, stop.into()).await,
                Event::LimitPassed(limit) => self.ask_to_end(live, limit).await,
                Event::Garbled => {
                    tracing::warn!("the reaper sent what is no report");
                    self.failure.get_or_insert(Error::Protocol);
                    live.kill_reaper();
                }
                Event::ReaperHangs => {
                    tracing::warn!("the reaper did not end its process tree in time");
                    live.kill_reaper();
                }
                Event::Reported(report) => {
                    if let Some(over) = self.reported(live, report)? {
                        break over;
                    }
                }
                Event::ReaperGone => break Over::ReaperLost,
            }
        };
        if let Over::ReaperLost = over {
            live.reaped().await.map_err(|error| Error::ReaperLost { how: error.to_string() })?;
            let swept = sweep::end(&Mark { tree, session: live.session() }).await;
            self.swept = swept.map_err(|processes| Error::StillRunning { processes })?;
            tracing::warn!(swept = self.swept, "the reaper is gone; ended its process tree without it");
            // It never ends a run without a report: it was killed, and with it the run. The first request to end it stays the
            // recorded cause.
            self.program_ended(live, Ended::Signalled { signal: Signal::KILL.as_raw() });
        }
        self.drain(live);
        Ok(())
    }

    /// Ends the tree early, or earlier than somebody else wanted, who stays the reason of the end.
    async fn ask_to_end(&mut self, live: &mut Live, why: Ended) {
        if self.ended.is_none() && self.asked.is_none() {
            tracing::debug!(%why, "ending a process tree");
            self.asked = Some(why.clone());
        }
        // A hopeless run may be one whose cost cannot be watched.
        let is_money = matches!(why, Ended::BudgetSpent | Ended::Hopeless);
        live.ask_to_end(if is_money { SPENT_GRACE } else { ANY_GRACE }).await;
    }

    fn reported(&mut self, live: &mut Live, report: Report) -> Result<Option<Over>, Error> {
        match report {
            Report::Started { pid } => {
                tracing::debug!(pid, "process tree started");
                live.started(pid);
            }
            Report::Exited { code } => self.program_ended(live, Ended::Exited { code }),
            Report::Signalled { signal } => self.program_ended(live, Ended::Signalled { signal }),
            Report::NotStarted { why } => {
                self.program_ended(live, Ended::NotStarted { why });
                return Ok(Some(Over::Gone));
            }
            Report::Gone { swept } => {
                self.swept = swept;
                return Ok(Some(Over::Gone));
            }
            // The reaper goes on trying when the socket closes, and holds what it has to hold until it succeeds.
            Report::Stuck { processes } => return Err(Error::StillRunning { processes }),
        }
        Ok(None)
    }

    fn program_ended(&mut self, live: &mut Live, how: Ended) {
        let duration = Millis(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX));
        self.ended.get_or_insert((how, duration));
        live.program_ended();
    }

    /// Reads one piece of what was printed; gives how many bytes that were.
    fn read(&mut self, live: &mut Live, stream: Stream) -> usize {
        match live.read(stream, &mut self.piece) {
            Read::Bytes(count) => {
                self.take(stream, count);
                count
            }
            Read::Nothing => 0,
        }
    }

    /// Reads what is still in the pipes. Their end is not waited for: a stranger may hold them.
    fn drain(&mut self, live: &Live) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let mut all = 0;
            while let Read::Bytes(count) = live.read_rest(stream, &mut self.piece) {
                self.take(stream, count);
                all += count;
                if all > MAX_AFTER_GONE {
                    break;
                }
            }
        }
    }

    /// Passes on what was read last.
    fn take(&mut self, stream: Stream, count: usize) {
        let output = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        if let Err(source) = output.push(&self.piece[..count], &mut self.log, self.observe) {
            self.failure.get_or_insert(Error::Log { path: self.path.clone(), source });
        }
    }

    fn finish(mut self) -> Result<Finished, Error> {
        let failed = |source| Error::Log { path: self.path.clone(), source };
        let stdout = self.stdout.finish(&mut self.log, self.observe);
        let stderr = self.stderr.finish(&mut self.log, self.observe);
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let ((stdout, stdout_bytes), (stderr, stderr_bytes)) = (stdout.map_err(failed)?, stderr.map_err(failed)?);
        let output = self.log.finish(stdout_bytes + stderr_bytes).map_err(failed)?;
        let (ended, duration) = match (self.asked, self.ended) {
            (Some(asked), ended) => (asked, ended.map_or(Millis(0), |(_, duration)| duration)),
            (None, Some(ended)) => ended,
            (None, None) => return Err(Error::Protocol),
        };
        tracing::debug!(%ended, %duration, swept = self.swept, bytes = output.bytes, "process tree ended");
        Ok(Finished { ended, duration, stdout, stderr, output, swept: self.swept })
    }
}
