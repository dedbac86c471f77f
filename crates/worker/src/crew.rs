//! A task of type `crew`: its request goes to a crew in the files of the task, and questions for persons go to the server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ralph_api::{ApprovalRequest, Client, ProgressReport};
use ralph_config::trust::Asking;
use ralph_config::{Layer, OneOrMore};
use ralph_crew::{Approve, CrewResult, Decision, Question, StreamEvent};
use ralph_engine::{StopBy, StopWhen};
use ralph_host::{CrewEdges, CrewRequest, RunRequest};
use ralph_model::{RunId, TaskId};
use ralph_runtime::{AskPerson, CrewLimits, PushFiles, Stops, Unpushed, read_crew, stops};
use ralph_store::{ApprovalStatus, Database};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, mpsc};
use tokio::time::Instant;
use uuid::Uuid;

use crate::commit;
use crate::error::Error;
use crate::job::{Ended, Job, LAST_PUSH_TIMEOUT, LOCK_TIMEOUT, PUSH_TIMEOUT, RETRY_INTERVAL, next};
use crate::lease::Interruption;
use crate::place::Place;
use crate::report::WorkerEvent;

/// How often a question that waits is looked at.
const ANSWER_INTERVAL: Duration = Duration::from_secs(1);
/// How long it waits.
const EXPIRY_SECONDS: u32 = 24 * 3600;
/// Characters of a question.
const MAX_QUESTION: usize = 1000;
/// Characters of an event that others see.
const MAX_LINE: usize = 200;

impl Job<'_> {
    pub(crate) async fn work_as_crew(&mut self) -> Result<Ended, Error> {
        let mut interruption = self.interrupt.subscribe();
        let (place, former) = tokio::select! {
            prepared = self.prepare_crew() => prepared?,
            why = next(&mut interruption) => return Ok(Ended::Interrupted(why)),
        };
        let request = self.crew_request(&place)?;
        let place = Arc::new(Mutex::new(place));
        let (told, mut lines) = mpsc::unbounded_channel();
        let push = self.push_to_branch(Arc::clone(&place));
        let edges = CrewEdges {
            tell: Arc::new(move |event| {
                line(&event).into_iter().for_each(|line| _ = told.send(line));
            }),
            person: Some(ask_over(self.worker.options.client.clone(), self.task().id)),
            loops: false,
            push: Some(push),
        };
        let local = ralph_host::database::open_with_board(&self.host.dirs).await?;
        // The journal is the server's. What the user of this machine approved, and tasks and schedules of its own, are here.
        let database = Database { store: Arc::clone(&self.store), board: local.board };
        let began = Instant::now();
        let (stopper, opened) = loop {
            let (stopper, requests) = stops();
            let (request, edges) = (request.clone(), edges.clone());
            let opened = match former {
                Some((id, true)) => self.host.resume_crew(id, CrewLimits::default(), &database, edges, requests).await,
                Some((id, false)) => self.host.move_crew(id, request, &database, edges, requests).await,
                None => self.host.start_crew(request, &database, Asking::Nobody, edges, requests).await,
            };
            match opened {
                Err(ralph_host::Error::Runtime(ralph_runtime::Error::Lock(_))) if began.elapsed() < LOCK_TIMEOUT => {
                    tokio::select! {
                        () = tokio::time::sleep(RETRY_INTERVAL) => {}
                        why = next(&mut interruption) => return Ok(Ended::Interrupted(why)),
                    }
                }
                opened => break (stopper, opened),
            }
        };
        let mut opened = match opened {
            // It died before it could report the end.
            Err(ralph_host::Error::Runtime(ralph_runtime::Error::AlreadyComplete(id))) => {
                let result = CrewResult::new(id, &read_crew(&self.store, id).await?);
                let gone = "the machine that has the last state of the work is gone";
                let unpushed = place.lock().await.branch().is_none().then(|| gone.to_owned());
                return self.conclude_crew(result, &place, unpushed).await;
            }
            opened => opened?,
        };
        for message in opened.problems() {
            self.worker.tell(WorkerEvent::Warning { task: Some(self.task().id), message });
        }
        self.tell(format!("sandbox: {}", opened.sandbox()));
        let run = opened.run_id();
        self.show(run, None).await;
        let driving = async {
            let mut turn = std::pin::pin!(opened.turn());
            let mut is_stopped = false;
            loop {
                tokio::select! {
                    biased;
                    Some(line) = lines.recv() => self.show(run, Some(line)).await,
                    ended = &mut turn => return ended,
                    _ = next(&mut interruption), if !is_stopped => {
                        is_stopped = true;
                        stopper.stop(StopWhen::Now, StopBy::Request);
                    }
                }
            }
        };
        driving.await?;
        let why = *self.interrupt.borrow();
        match why {
            // The next worker continues, on any machine.
            Some(why @ (Interruption::Stopping | Interruption::Lost)) => {
                let push = async { place.lock().await.push(&opened.tree().await?, &self.commit_message()).await };
                if why == Interruption::Stopping
                    && let Some(Err(error)) = self.unless_stopping(LAST_PUSH_TIMEOUT, push).await
                {
                    self.tell(error.to_string());
                }
                Ok(Ended::Interrupted(why))
            }
            Some(why @ Interruption::Cancelled) => {
                opened.close().await?;
                Ok(Ended::Interrupted(why))
            }
            None => {
                let message = self.commit_message();
                let push = async { place.lock().await.push_with_retries(&opened.tree().await?, &message).await };
                let Some(pushed) = self.unless_stopping(LAST_PUSH_TIMEOUT, push).await else {
                    return Ok(Ended::Interrupted(Interruption::Stopping));
                };
                let result = opened.close().await?;
                self.conclude_crew(result, &place, pushed.err().map(|error| error.to_string())).await
            }
        }
    }

    /// The files of the task, and the crew that a worker before this one began, with whether its files are here.
    async fn prepare_crew(&mut self) -> Result<(Place, Option<(RunId, bool)>), Error> {
        self.clear_leftovers().await?;
        let (source, task) = (self.source().await?, self.task().clone());
        let base = source.base(&self.worker.git, task.base_ref.as_deref()).await?;
        let (git, redactor) = (&self.worker.git, self.worker.redactor.clone());
        let mut place = Place::find(&self.host, git, source, self.lease, &base, redactor).await?;
        let former = match task.run_id {
            Some(id) => match read_crew(&self.store, id).await {
                Ok(crew) => {
                    let machine = self.store.run(id).await?.machine;
                    let was_here = machine.is_none_or(|machine| machine.host == self.host.machine().host);
                    let root = PathBuf::from(&crew.config().workspace);
                    Some((id, was_here && root == place.root && place.is_finished()))
                }
                // It died before the crew was recorded.
                Err(ralph_runtime::Error::Store(ralph_store::Error::UnknownRun { .. })) => None,
                Err(error) => return Err(error.into()),
            },
            None => None,
        };
        if former.is_none_or(|(_, is_here)| !is_here) {
            place.make(place.newest()).await?;
            place.finish().await?;
            place.adopt();
            self.check_plan(&place)?;
        }
        if let Some((id, false)) = former {
            self.tell(format!("continues crew {} from {}", id.short(), place.branch().unwrap_or("its start")));
        }
        Ok((place, former))
    }

    /// Makes the files of a crew the newest commit of the branch.
    fn push_to_branch(&self, place: Arc<Mutex<Place>>) -> PushFiles {
        let (message, interrupt) = (self.commit_message(), self.interrupt.subscribe());
        Arc::new(move |tree| {
            let (place, message, mut interrupt) = (Arc::clone(&place), message.clone(), interrupt.clone());
            Box::pin(async move {
                let mut place = place.lock().await;
                let given_up = async {
                    let why = next(&mut interrupt).await;
                    if why == Interruption::Stopping {
                        tokio::time::sleep(PUSH_TIMEOUT).await;
                    }
                    why
                };
                tokio::select! {
                    pushed = place.push_with_retries(&tree, &message) => pushed.map(drop).map_err(Unpushed::from),
                    why = given_up => match why {
                        // Nobody continues a cancelled task, and a slow remote does not keep it from being cancelled.
                        Interruption::Cancelled => Ok(()),
                        Interruption::Lost | Interruption::Stopping => Err("the worker stopped before it could".into()),
                    },
                }
            })
        })
    }

    fn commit_message(&self) -> String {
        let subject: String = self.task().task.lines().next().unwrap_or_default().chars().take(60).collect();
        commit::message(&subject, self.task().id, None, self.lease.epoch.0)
    }

    fn crew_request(&self, place: &Place) -> Result<CrewRequest, Error> {
        let task = self.task();
        let caps = self.host.caps().map_err(ralph_host::Error::from)?;
        let plan = task.ralph_plan_path.as_ref().map_or_else(String::new, |path| {
            format!("\n\nThe plan for this task is in the file {path}: read it first.")
        });
        let promise = task.ralph_promise.as_ref().map_or_else(String::new, |promise| {
            format!("\n\nThe request is met when this is true: {}", promise.trim())
        });
        Ok(CrewRequest {
            request: Some(format!("{}{plan}{promise}", task.task)),
            workspace: Some(place.root.clone()),
            max_cost: task.max_cost_usd.min(caps.loop_cost),
            models: [self.worker.options.settings.model.clone(), None],
            max_rounds: Some(task.ralph_max_iterations.clamp(1, 200)),
            approve: Approve::Ask,
            settings: Layer::default(),
        })
    }

    /// Runs the checks of the task on what the crew left behind.
    async fn conclude_crew(
        &self,
        result: CrewResult,
        place: &Mutex<Place>,
        unpushed: Option<String>,
    ) -> Result<Ended, Error> {
        let place = place.lock().await;
        let mut interruption = self.interrupt.subscribe();
        let (stopper, requests) = stops();
        let checks = match (&self.task().verification_command, result.answer.is_some()) {
            (Some(command), true) => {
                let mut checking = std::pin::pin!(self.checks_pass(command.clone(), &place, requests));
                tokio::select! {
                    passed = &mut checking => Some(passed?),
                    why = next(&mut interruption) => {
                        stopper.stop(StopWhen::Now, StopBy::Request);
                        // What came of it counts for nothing.
                        let _ = checking.await;
                        return Ok(Ended::Interrupted(why));
                    }
                }
            }
            _ => None,
        };
        Ok(Ended::Crew { branch: place.branch().map(str::to_owned), result: Box::new(result), unpushed, checks })
    }

    /// Whether the checks of the task pass on what the crew left behind.
    async fn checks_pass(&self, command: String, place: &Place, requests: Stops) -> Result<bool, Error> {
        let settings = Layer {
            max_iterations: Some(1),
            verification_command: Some(OneOrMore(vec![command])),
            // The crew has done the work: this agent only lets the checks run.
            agent_command: Some("true".to_owned()),
            unmetered: Some(true),
            ..Layer::default()
        };
        let objective = format!("Verify task {}", self.task().id);
        let request = RunRequest { settings, objective, workspace: Some(place.root.clone()), ..RunRequest::default() };
        let prepared = self.host.prepare(request, Asking::Nobody).await?;
        let trial = self.host.trial()?;
        let opened = trial.start(prepared.resolved, Arc::new(|_| {}), requests).await?;
        Ok(opened.run().await?.result.verdict.is_some_and(|verdict| verdict.passed))
    }

    async fn show(&self, run: RunId, message: Option<String>) {
        let task = self.task().id;
        message.iter().for_each(|message| {
            self.worker.tell(WorkerEvent::Progress { task, message: message.clone() });
        });
        let epoch = Some(self.lease.epoch.0);
        let report = ProgressReport { epoch, run_id: Some(run), message, ..ProgressReport::default() };
        if let Err(error) = self.worker.options.client.progress(task, &report).await {
            tracing::warn!(%error, %task, "progress could not be reported");
        }
    }
}

/// Asks persons over the server. The id follows from task, call and text: the same question is asked once, also after a crash, and
/// the answer to another question is not taken for it.
fn ask_over(client: Client, task: TaskId) -> AskPerson {
    Arc::new(move |question: Question| {
        let client = client.clone();
        Box::pin(async move {
            let agent = question.agent.to_uppercase();
            let options = if question.options.is_empty() { String::new() } else { question.options.join(" | ") };
            let mut request = ApprovalRequest {
                id: None,
                run_id: None,
                task_id: Some(task),
                action: bounded(&format!("{agent}: {}", question.text)),
                why: bounded(if question.is_approval { &question.why } else { &options }),
                expires_in_seconds: Some(EXPIRY_SECONDS),
            };
            request.id = Some(question_id(task, question.call.0, &request).to_string());
            let mut asked = client.ask_approval(&request).await;
            loop {
                match asked {
                    Ok(approval) => match approval.status {
                        ApprovalStatus::Pending => {}
                        ApprovalStatus::Approved => return Some(Decision::Approved { comment: approval.comment }),
                        ApprovalStatus::Refused => return Some(Decision::Refused { comment: approval.comment }),
                        ApprovalStatus::Expired => return Some(Decision::Expired),
                    },
                    // It will not be asked, however often it is tried.
                    Err(ralph_api::Error::Refused(problem)) if problem.status == 409 => {
                        return Some(Decision::Refused { comment: Some(problem.to_string()) });
                    }
                    Err(error) => tracing::debug!(%error, %task, "the answer to a question could not be read"),
                }
                tokio::time::sleep(ANSWER_INTERVAL).await;
                asked = client.ask_approval(&request).await;
            }
        })
    })
}

fn question_id(task: TaskId, call: u32, request: &ApprovalRequest) -> Uuid {
    let text = serde_json::json!([task, call, request.action, request.why]).to_string();
    let mut id = [0; 16];
    id.copy_from_slice(&Sha256::digest(text)[..16]);
    uuid::Builder::from_random_bytes(id).into_uuid()
}

/// What others see of an event.
fn line(event: &StreamEvent) -> Option<String> {
    let text = match event {
        StreamEvent::Delegation { delegation } => {
            format!("{}: {}", delegation.target.to_uppercase(), delegation.objective)
        }
        StreamEvent::AgentComplete { agent, status } => {
            format!("{}: {}", agent.to_uppercase(), status.shout().to_lowercase())
        }
        StreamEvent::Question { question } | StreamEvent::Approval { question } => {
            format!("{} asks: {}", question.agent.to_uppercase(), question.text)
        }
        StreamEvent::Warning { text } => text.clone(),
        StreamEvent::AgentSwitch { .. }
        | StreamEvent::ToolCall { .. }
        | StreamEvent::ToolResult { .. }
        | StreamEvent::Delta { .. }
        | StreamEvent::Answer { .. } => return None,
    };
    Some(text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_LINE).collect())
}

/// As much of a text as a question may have.
fn bounded(text: &str) -> String {
    text.chars().take(MAX_QUESTION).collect()
}
