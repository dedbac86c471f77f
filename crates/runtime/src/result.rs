//! The result of a loop, as scripts and people see it.

use ralph_engine::Facts;
use ralph_engine::text::{self, Continuation};
use ralph_model::{AbortReason, Best, Isolation, LoopId, Outcome, Verdict};
use serde::Serialize;

use crate::live::Live;
use crate::perform::Context;

/// How a loop ended. The JSON form is a contract.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoopResult {
    /// `COMPLETED`, `ABORTED` or `ERROR`.
    pub status: &'static str,
    /// Why it was aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<AbortReason>,
    /// Which loop.
    pub loop_id: LoopId,
    /// Agent runs, interrupted ones included.
    pub iterations: u32,
    /// What they cost, in dollars.
    #[serde(rename = "costUSD")]
    pub cost_usd: f64,
    /// Time that Ralph worked on it.
    pub duration_seconds: f64,
    /// Whether checks passed. A claim alone is never verification.
    pub verified: bool,
    /// What the checks found last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Claims that the checks contradicted.
    pub false_claims: u32,
    /// Iterations in which what the checks rest on was changed.
    pub tampered: u32,
    /// Iterations in which checks failed and passed on the same files.
    pub flakes: u32,
    /// How agent and checks were kept inside.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sandbox: String,
    /// Where the agent's versions of protected files are kept that were put back in the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// How it ended and what to do next, in words.
    pub details: String,
    /// The agent's last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The same, of a loop that was aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_output: Option<String>,
    /// What failed in Ralph's own machinery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The state with the fewest failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<Best>,
    /// The state that the workspace was put back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<Best>,
    /// The branch that the work is on, where it has one of its own or was committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit of the verified work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Why there is no commit although one was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_problem: Option<String>,
    /// Where the offending content of a prohibited change is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// Where the work is.
    pub workspace: String,
    /// Where logs and prompts are.
    pub folder: String,
    /// The last hash of the journal: what `ralph verify-run` has to find again.
    pub chain_head: String,
    /// Cancelled by Ctrl-C.
    #[serde(skip)]
    pub from_keyboard: bool,
    /// The exit code of the program.
    #[serde(skip)]
    pub exit_code: u8,
    /// The workspace is as it was at the start.
    #[serde(skip)]
    pub is_unchanged: bool,
    /// How it ended, with its cause.
    #[serde(skip)]
    pub outcome: Outcome,
}

/// The branch that a loop's work is on: that of its worktree, or the one that it was committed on.
#[must_use]
pub fn branch_of(facts: &Facts) -> Option<String> {
    let has_one = facts.config.isolation == Isolation::Worktree || facts.commit.is_some();
    facts.start.branch.clone().filter(|_| has_one)
}

impl LoopResult {
    pub(crate) fn of(context: &Context, live: &Live, outcome: Outcome) -> Self {
        let facts = live.run.facts();
        let message = facts
            .iterations
            .iter()
            .rev()
            .find_map(|record| record.run.as_ref())
            .map(|run| run.final_message.clone())
            .filter(|message| !message.trim().is_empty());
        let verified = outcome == Outcome::Completed { verified: true };
        let from_keyboard = outcome.reason() == Some(AbortReason::Cancelled)
            && facts.stop.is_some_and(|stop| stop.by == ralph_engine::StopBy::Keyboard);
        let exit_code = if from_keyboard { ralph_model::exit_code::KEYBOARD } else { outcome.exit_code() };
        let (output, last_output) = match &outcome {
            Outcome::Completed { .. } => (message, None),
            Outcome::Aborted { .. } | Outcome::Error { .. } => (None, message),
        };
        Self {
            status: outcome.status(),
            reason: outcome.reason(),
            loop_id: live.loop_id,
            iterations: facts.counted(),
            cost_usd: facts.spent.to_json_number(),
            duration_seconds: facts.active.as_seconds(),
            verified,
            verdict: facts.last_verdict().cloned(),
            false_claims: facts.false_claims(),
            tampered: facts.tampered(),
            flakes: facts.flakes(),
            sandbox: facts.start.sandbox.clone(),
            replaced: facts.pinned_patch.clone(),
            details: text::details(&outcome, facts, Continuation::Resume(live.loop_id)),
            output,
            last_output,
            error: match &outcome {
                Outcome::Error { cause } => Some(text::error(cause)),
                Outcome::Completed { .. } | Outcome::Aborted { .. } => None,
            },
            best: facts.best().filter(|_| !verified),
            kept: facts.kept.clone(),
            branch: branch_of(facts),
            commit: facts.commit.clone(),
            commit_problem: facts.commit_problem.clone(),
            patch: facts.patch.clone(),
            workspace: facts.config.workspace.clone(),
            folder: context.folder.root().to_string_lossy().into_owned(),
            chain_head: live.head.hash.to_string(),
            from_keyboard,
            exit_code,
            is_unchanged: facts.tree == facts.start.tree,
            outcome,
        }
    }

    /// What the loop cost.
    #[must_use]
    pub fn cost(&self) -> ralph_model::Money {
        ralph_model::Money::from_number(self.cost_usd).unwrap_or_default()
    }

    /// One line for people.
    #[must_use]
    pub fn headline(&self) -> String {
        let reason = self.reason.map(|reason| format!(" {reason}")).unwrap_or_default();
        let verified = match (self.status, self.verified) {
            ("COMPLETED", true) => " (verified)",
            ("COMPLETED", false) if self.verdict.as_ref().is_some_and(|verdict| !verdict.checks.is_empty()) => {
                " (NOT verified: no file was changed)"
            }
            ("COMPLETED", false) => " (NOT verified: no check ran)",
            _ => "",
        };
        format!("{}{reason}{verified}: {}", self.status, self.details)
    }
}
