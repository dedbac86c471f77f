//! The result of a run or a race, as scripts and people see it. The JSON form is a contract.

use ralph_engine::text::{self, Continuation};
use ralph_model::{AbortReason, Best, Grade, LoopId, Millis, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::{CauseView, OutcomeView, RunStatus, RunView, VerdictView};
use crate::{render, wire};

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// `COMPLETED`, `ABORTED` or `ERROR`.
    pub status: RunStatus,
    /// Why it was aborted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<AbortReason>,
    /// Which run.
    pub loop_id: LoopId,
    /// How many iterations count.
    pub iterations: u32,
    /// What they cost, in dollars.
    #[serde(rename = "costUSD", with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub cost: Money,
    /// Time that Ralph worked on it.
    #[serde(rename = "durationSeconds", with = "wire::seconds")]
    #[schemars(with = "f64")]
    pub duration: Millis,
    /// Whether checks passed. A claim alone is never verification.
    pub verified: bool,
    /// What that is worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// Why it is worth no less and no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grade_reasons: Vec<String>,
    /// Why a run that completed is not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
    /// What the checks found last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictView>,
    /// Claims that the checks contradicted.
    pub false_claims: u32,
    /// Iterations in which what the checks depend on was changed.
    pub tampered: u32,
    /// Iterations in which checks failed and passed on the same files.
    pub flakes: u32,
    /// How agent and checks were kept inside.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sandbox: String,
    /// Where the agent's versions of protected files are kept that were restored at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// Why it was aborted or what failed, with its figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CauseView>,
    /// How it ended and what to do next, in words.
    pub details: String,
    /// The agent's last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The same, of a run that did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_output: Option<String>,
    /// What failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The state with the fewest failures, of a run that was not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<Best>,
    /// The state that the workspace was put back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Best>,
    /// The branch that the work is on, where it has one of its own or was committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit of the verified work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Why there is no commit although one was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_problem: Option<String>,
    /// Where the content of a prohibited change is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// Where the work is.
    pub workspace: String,
    /// Where logs and prompts are.
    pub folder: String,
    /// The last hash of the journal: what `ralph verify-run` has to find again.
    pub chain_head: String,
    /// The exit code of the program.
    #[serde(skip)]
    pub exit_code: u8,
    /// The workspace is as it was at the start.
    #[serde(skip)]
    pub is_unchanged: bool,
}

impl RunResult {
    /// The result of a run that ended like this; the folder and the last hash of its journal are the caller's to know.
    pub fn new(view: &RunView, outcome: OutcomeView, folder: String, chain_head: String) -> Self {
        let OutcomeView { status, verified, unverified, reason, cause, details, error, exit_code } = outcome;
        let verified = verified == Some(true);
        let message = view.runs().next_back().map(|run| run.final_message.clone());
        let message = message.filter(|message| !message.trim().is_empty());
        let (output, last_output) = if status == RunStatus::Completed { (message, None) } else { (None, message) };
        Self {
            status,
            reason,
            loop_id: view.state.loop_id,
            iterations: view.state.counted,
            cost: view.state.cost,
            duration: view.state.duration,
            verified,
            grade: view.state.grade.filter(|_| verified),
            grade_reasons: if verified { view.state.grade_reasons.clone() } else { Vec::new() },
            unverified,
            verdict: view.last_verdict().cloned(),
            false_claims: view.state.false_claims,
            tampered: view.state.tampered,
            flakes: view.state.flakes,
            sandbox: view.start.sandbox.clone(),
            replaced: view.replaced.clone(),
            cause,
            details,
            output,
            last_output,
            error,
            best: view.state.best.clone().filter(|_| !verified),
            kept: view.kept.clone(),
            branch: view.branch.clone(),
            commit: view.commit.clone(),
            commit_problem: view.commit_problem.clone(),
            patch: view.patch.clone(),
            workspace: view.workspace.clone(),
            folder,
            chain_head,
            exit_code,
            is_unchanged: view.tree == view.start.tree,
        }
    }

    pub fn headline(&self) -> String {
        render::headline(self.status, self.reason, self.unverified.as_deref(), &self.details)
    }

    /// The same for a person who continues in another way.
    #[must_use]
    pub fn continued_by(self, next: Continuation) -> Self {
        let details = match &self.cause {
            Some(CauseView::Abort(cause)) => text::aborted(cause, next),
            Some(CauseView::Error(cause)) => text::failed(cause, next),
            None => self.details,
        };
        Self { details, ..self }
    }
}

/// What came of a race, or of a run that did not race.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RaceResult {
    /// The result that counts: the winner's, else that of the candidate that came furthest.
    #[serde(flatten)]
    pub result: RunResult,
    /// All candidates, in their order; none where there was no race.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub race: Vec<CandidateView>,
}

/// One candidate of a race.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CandidateView {
    /// Its run.
    pub loop_id: LoopId,
    /// The agent that it began with.
    pub agent: String,
    /// How it ended.
    pub status: RunStatus,
    /// Whether it won.
    pub won: bool,
    /// How many iterations it took.
    pub iterations: u32,
    /// What it cost, in dollars.
    #[serde(rename = "costUSD", with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub cost: Money,
    /// Where its work is; gone for those that lost.
    pub workspace: String,
}

/// How many more tests pass at the end than at the start. Where not all tests ran, only that something failed is known: at the
/// start that makes the figure at least zero, at the end at most.
pub fn tests_fixed(start: Option<&VerdictView>, end: Option<&VerdictView>) -> i64 {
    let failing = |verdict: Option<&VerdictView>| verdict.map_or(0, |verdict| i64::from(verdict.score));
    let is_incomplete = |verdict: Option<&VerdictView>| verdict.is_some_and(|verdict| verdict.incomplete);
    let least = if is_incomplete(start) { 0 } else { i64::MIN };
    let most = if is_incomplete(end) { 0 } else { i64::MAX };
    (failing(start) - failing(end)).clamp(least, most)
}
