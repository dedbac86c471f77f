//! A run as it is seen: its state in a few figures, and all of it.

use ralph_engine::text::{self, Continuation};
use ralph_engine::{Facts, Graded, Hint, IterationRecord, Loop, StartPoint, Stop};
use ralph_model::{
    AbortCause, AbortReason, AgentRun, Best, CheckOutcome, ErrorCause, Grade, Isolation, Iteration, LoopConfig, LoopId,
    Millis, Missing, Money, Outcome, OutputRef, Status, Tamper, Timestamp, TreeHash, Tripwire, Trouble,
    UntrackedDigest, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::list::RaceView;
use crate::{UsageView, dollars, render, wire};

/// How a run stands, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RunStatus {
    /// It is not over.
    Running,
    /// It is not over, and no process works on it. Only a caller that can look for the process knows.
    Interrupted,
    /// It is not over, and continues once a person decided.
    Waiting,
    /// It ended with success.
    Completed,
    /// A limit or a person ended it.
    Aborted,
    /// Ralph itself or the service behind the agent failed.
    Error,
}

ralph_model::named!(RunStatus {
    Running => "RUNNING", Interrupted => "INTERRUPTED", Waiting => "WAITING", Completed => "COMPLETED",
    Aborted => "ABORTED", Error => "ERROR"
});

/// A service that is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitView {
    /// Until when.
    #[serde(with = "wire::moment")]
    #[schemars(with = "String")]
    pub until: Timestamp,
    /// What it refused.
    pub trouble: Trouble,
}

/// How a run stands, in a few figures: small enough to be sent with every event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunState {
    /// Which run.
    pub loop_id: LoopId,
    /// How it stands.
    pub status: RunStatus,
    /// Why it was aborted, or what failed.
    pub reason: Option<String>,
    /// Whether it completed and checks said so.
    pub verified: bool,
    /// What that is worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// Why it is worth no less and no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grade_reasons: Vec<String>,
    /// What it waits for: `baseline`, `pausing`, `working`, `guarding`, `verifying`, `confirming`, `restoring`, `closing`
    /// or `done`.
    pub phase: String,
    /// Whether an iteration is under way, so that a stop after the iteration has to wait for it.
    pub in_iteration: bool,
    /// The agent that works, or whose turn is next, with its model where one is asked for.
    pub agent: String,
    /// The iteration that is under way or was last.
    pub iteration: Iteration,
    /// How many iterations count: those that a service refused do not.
    pub counted: u32,
    /// How many may count.
    pub max_iterations: u32,
    /// What it cost so far, in dollars.
    #[serde(rename = "costUSD", with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub cost: Money,
    /// What it may cost, in dollars.
    #[serde(rename = "maxCostUSD", with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub max_cost: Money,
    /// Whether its money is counted.
    pub metered: bool,
    /// What it used besides money.
    #[serde(default)]
    pub usage: UsageView,
    /// When it started.
    #[serde(with = "wire::moment")]
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// When its last event happened.
    #[serde(with = "wire::moment")]
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// Time that Ralph worked on it.
    #[serde(rename = "durationSeconds", with = "wire::seconds")]
    #[schemars(with = "f64")]
    pub duration: Millis,
    /// What failed before the first iteration and after each; null where nothing was checked or not all tests ran.
    pub failing: Vec<Option<u32>>,
    /// Passing checks alone will not complete it: the agent has to claim completion, too.
    pub needs_claim: bool,
    /// Claims that the checks contradicted.
    pub false_claims: u32,
    /// Iterations in which what the checks depend on was changed.
    pub tampered: u32,
    /// Iterations in which checks failed and passed on the same files.
    pub flakes: u32,
    /// The state with the fewest failures.
    pub best: Option<Best>,
    /// A request to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopping: Option<Stop>,
    /// A service that is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitView>,
}

impl RunState {
    pub fn new(loop_id: LoopId, run: &Loop) -> Self {
        let (facts, outcome) = (run.facts(), run.outcome());
        let is_verified = outcome == Some(&Outcome::Completed { verified: true });
        // The end of a journal may be of a version whose verdicts are read otherwise now.
        let nothing = Graded { grade: Grade::Weak, reasons: Vec::new() };
        let graded = is_verified.then(|| ralph_engine::grade(facts).unwrap_or(nothing));
        let agent = match facts.last_iteration() {
            Some(last) if run.has_open_iteration() || outcome.is_some() => last.agent.clone(),
            _ => facts.next_agent().title(),
        };
        Self {
            loop_id,
            status: match outcome {
                None => RunStatus::Running,
                Some(outcome) => status_of(outcome),
            },
            reason: outcome.and_then(|outcome| match outcome {
                Outcome::Completed { .. } => None,
                Outcome::Aborted { cause } => Some(cause.reason().name().to_owned()),
                Outcome::Error { cause } => Some(text::error(cause)),
            }),
            verified: graded.is_some(),
            grade: graded.as_ref().map(|graded| graded.grade),
            grade_reasons: graded.map(|graded| graded.reasons).unwrap_or_default(),
            phase: run.phase().name().to_owned(),
            in_iteration: run.has_open_iteration(),
            agent,
            iteration: facts.last_iteration().map_or(Iteration(0), |last| last.iteration),
            counted: facts.counted(),
            max_iterations: facts.config.max_iterations,
            cost: facts.spent,
            max_cost: facts.config.max_cost,
            metered: !facts.config.is_unmetered(),
            usage: UsageView::new(facts),
            started_at: facts.started,
            updated_at: facts.last,
            duration: facts.active,
            failing: failing(run),
            needs_claim: facts.needs_claim(),
            false_claims: facts.false_claims(),
            tampered: facts.tampered(),
            flakes: facts.flakes(),
            best: facts.best(),
            stopping: facts.stop,
            waiting: facts
                .wait
                .as_ref()
                .filter(|_| outcome.is_none() && !run.has_open_iteration())
                .map(|wait| WaitView { until: wait.until, trouble: wait.trouble.clone() }),
        }
    }

    /// What it cost of what it may cost.
    pub fn money(&self) -> String {
        match (self.metered, self.cost) {
            (true, cost) => format!("{} of {}", dollars(cost), self.max_cost),
            (false, Money::ZERO) => "not metered".to_owned(),
            // Of a session of the user's own.
            (false, cost) => format!("{}, no limit", dollars(cost)),
        }
    }
}

fn status_of(outcome: &Outcome) -> RunStatus {
    match outcome {
        Outcome::Completed { .. } => RunStatus::Completed,
        Outcome::Aborted { .. } => RunStatus::Aborted,
        Outcome::Error { .. } => RunStatus::Error,
    }
}

fn failing(run: &Loop) -> Vec<Option<u32>> {
    // A verdict that did not pass has at least one failure, also where no test counts it.
    let facts = run.facts();
    let score = |verdict: &Verdict| {
        facts.could_be_counted(verdict).then(|| verdict.failing().max(u32::from(!verdict.passed())))
    };
    let decided = facts.iterations.len().saturating_sub(usize::from(run.has_open_iteration()));
    let told = facts.iterations.iter().take(decided).filter(|record| !record.uncounted || record.verdict.is_some());
    facts.baseline.iter().map(score).chain(told.map(|record| record.verdict.as_ref().and_then(score))).collect()
}

/// All of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// How it stands.
    #[serde(flatten)]
    pub state: RunState,
    /// The machine that it runs on, where that is not this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What it is about.
    pub objective: String,
    /// Where it works.
    pub workspace: String,
    /// The branch that its work is on, where it has one of its own or was committed.
    pub branch: Option<String>,
    /// The commit of the verified work.
    pub commit: Option<String>,
    /// Why there is no commit although one was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_problem: Option<String>,
    /// The race that it takes part in.
    pub race: Option<RaceView>,
    /// What it was started with; limits may have been raised since.
    pub config: LoopConfig,
    /// Where it began.
    pub start: StartPoint,
    /// The workspace when it was last looked at.
    pub tree: TreeHash,
    /// How it ended.
    pub outcome: Option<OutcomeView>,
    /// The state that the workspace was put back to at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Best>,
    /// Where the content of a prohibited change is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// Where the agent's versions of protected files are kept that were restored at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// What the checks found before the first iteration.
    pub baseline: Option<VerdictView>,
    /// All iterations, interrupted ones included.
    pub iterations: Vec<IterationView>,
    /// What users told it with `ralph tell`, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<HintView>,
}

/// What a user told a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HintView {
    /// When the run took it.
    #[serde(with = "wire::moment")]
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// The first iteration whose prompt holds it; none where the run has not taken it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<Iteration>,
    /// The text.
    pub text: String,
}

impl From<&Hint> for HintView {
    fn from(hint: &Hint) -> Self {
        Self { at: hint.at, iteration: Some(hint.iteration), text: hint.text.clone() }
    }
}

impl RunView {
    /// All of a loop. What only the outside knows (its race, whether a process works on it) is for the caller to add.
    pub fn new(loop_id: LoopId, run: &Loop) -> Self {
        let facts = run.facts();
        let has_branch = facts.config.isolation == Isolation::Worktree || facts.commit.is_some();
        Self {
            state: RunState::new(loop_id, run),
            host: None,
            objective: facts.config.objective.clone(),
            workspace: facts.config.workspace.clone(),
            branch: facts.start.branch.clone().filter(|_| has_branch),
            commit: facts.commit.clone(),
            commit_problem: facts.commit_problem.clone(),
            race: None,
            config: facts.config.clone(),
            start: facts.start.clone(),
            tree: facts.tree.clone(),
            outcome: run.outcome().map(|outcome| OutcomeView::new(loop_id, outcome, run)),
            kept: facts.kept.clone(),
            patch: facts.patch.clone(),
            replaced: facts.pinned_patch.clone(),
            baseline: facts.baseline.as_ref().map(|verdict| VerdictView::new(facts, verdict)),
            iterations: facts.iterations.iter().map(|record| IterationView::new(run, record)).collect(),
            hints: facts.hints.iter().map(HintView::from).collect(),
        }
    }

    /// What the checks said last, the baseline included.
    pub fn last_verdict(&self) -> Option<&VerdictView> {
        self.iterations.iter().rev().find_map(|iteration| iteration.verdict.as_ref()).or(self.baseline.as_ref())
    }

    /// An iteration by its number: the last one of that number, because one that a service refused comes again.
    pub fn iteration(&self, number: u32) -> Option<&IterationView> {
        self.iterations.iter().rev().find(|iteration| iteration.iteration.0 == number)
    }

    /// What the agents did, in order.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = &AgentRun> {
        self.iterations.iter().filter_map(|iteration| iteration.run.as_ref())
    }

    /// The agents that it was given, with their models.
    pub fn agents(&self) -> String {
        self.config.agent_titles()
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeView {
    /// In one word.
    pub status: RunStatus,
    /// Whether checks passed, of a run that completed. A claim alone is never verification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// Why a run that completed is not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
    /// Why it was aborted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<AbortReason>,
    /// Why it was aborted or what failed, with its figures; none in journals from before causes were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CauseView>,
    /// In words, with what to do next.
    pub details: String,
    /// What failed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The exit code of the program.
    pub exit_code: u8,
}

impl OutcomeView {
    /// How it ended, in one line.
    pub fn headline(&self) -> String {
        render::headline(self.status, self.reason, self.unverified.as_deref(), &self.details)
    }

    pub fn new(loop_id: LoopId, outcome: &Outcome, run: &Loop) -> Self {
        let facts = run.facts();
        let by_keyboard = facts.stop.is_some_and(|stop| stop.by == ralph_engine::StopBy::Keyboard);
        let (verified, cause, error) = match outcome {
            Outcome::Completed { verified } => (Some(*verified), None, None),
            Outcome::Aborted { cause } => (None, Some(CauseView::Abort(cause.clone())), None),
            Outcome::Error { cause } => (None, Some(CauseView::Error(cause.clone())), Some(text::error(cause))),
        };
        Self {
            status: status_of(outcome),
            verified,
            unverified: (verified == Some(false)).then(|| {
                let was_checked = facts.last_verdict().is_some_and(|verdict| !verdict.checks.is_empty());
                if was_checked { "no file was changed" } else { "no check ran" }.to_owned()
            }),
            reason: outcome.reason(),
            cause: cause.filter(|cause| !cause.is_sentence()),
            details: text::details(
                outcome,
                facts,
                match facts.config.agent.is_in_session() {
                    true => Continuation::OtherAgent(loop_id),
                    false => Continuation::Resume(loop_id),
                },
            ),
            error,
            exit_code: match outcome.reason() {
                Some(AbortReason::Cancelled) if by_keyboard => ralph_model::exit_code::KEYBOARD,
                _ => outcome.exit_code(),
            },
        }
    }
}

/// Why a run did not complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CauseView {
    /// It was aborted.
    Abort(AbortCause),
    /// Something failed.
    Error(ErrorCause),
}

impl CauseView {
    /// Whether only a sentence was recorded.
    const fn is_sentence(&self) -> bool {
        matches!(self, Self::Abort(AbortCause::Recorded { .. }) | Self::Error(ErrorCause::Recorded { .. }))
    }
}

/// One iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IterationView {
    /// Which.
    pub iteration: Iteration,
    /// What its evidence allows.
    pub status: Status,
    /// Which agent it was, with its model where one was asked for.
    pub agent: String,
    /// When the agent was allowed to run.
    #[serde(with = "wire::moment")]
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// When it was decided.
    #[serde(with = "wire::optional_moment")]
    #[schemars(with = "Option<String>")]
    pub ended_at: Option<Timestamp>,
    /// Time that Ralph worked on it.
    #[serde(rename = "workedSeconds", with = "wire::seconds")]
    #[schemars(with = "f64")]
    pub worked: Millis,
    /// What was charged, in dollars.
    #[serde(rename = "costUSD", with = "wire::dollars")]
    #[schemars(with = "f64")]
    pub cost: Money,
    /// The agent claimed completion.
    pub claimed: bool,
    /// It did, and the checks disagreed.
    pub false_claim: bool,
    /// The agent said that it cannot continue, and why.
    pub blocked: Option<String>,
    /// Ralph died while the agent ran.
    pub interrupted: bool,
    /// It made things worse and was undone.
    pub undone: bool,
    /// A service refused, so that it does not count and comes again.
    pub uncounted: bool,
    /// The workspace before the agent.
    pub tree_before: TreeHash,
    /// Why it does not complete the run although its checks pass; only known of the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<String>,
    /// What a person should know about it, a few words each.
    pub notes: Vec<String>,
    /// What the agent did; null when it was interrupted.
    pub run: Option<AgentRun>,
    /// What the checks found; null where there are none or they did not run.
    pub verdict: Option<VerdictView>,
}

impl IterationView {
    pub(crate) fn new(run: &Loop, record: &IterationRecord) -> Self {
        let is_last = run.facts().last_iteration().is_some_and(|last| std::ptr::eq(last, record));
        let is_decided = is_last && !run.has_open_iteration();
        Self {
            iteration: record.iteration,
            status: run.status(record),
            agent: record.agent.clone(),
            started_at: record.started,
            ended_at: record.ended,
            worked: record.worked,
            cost: record.charged,
            claimed: record.claimed,
            false_claim: record.is_false_claim(),
            blocked: record.blocked.clone(),
            interrupted: record.interrupted,
            undone: record.undone,
            uncounted: record.uncounted,
            tree_before: record.before.clone(),
            open: text::why_open(run.facts()).filter(|_| is_decided),
            notes: render::notes(record),
            run: record.run.clone(),
            verdict: record.verdict.as_ref().map(|verdict| VerdictView::new(run.facts(), verdict)),
        }
    }
}

/// What the checks found, and what it is worth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictView {
    /// The tree that the checks ran on.
    pub tree: TreeHash,
    /// Whether everything passed.
    pub passed: bool,
    /// Passing tests, counting a command as one test where its tests are not known.
    pub passing: u32,
    /// Failing tests in the same way.
    pub failing: u32,
    /// What iterations are compared by: failing tests and commands and unmet expectations.
    pub score: u32,
    /// A failing check did not run all tests that it is known to have, such as one that did not compile: the figures are less
    /// than what fails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// Why the checks count for nothing although their commands may have passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Every check that ran, in order.
    pub checks: Vec<CheckView>,
    /// Expectations that were not met.
    pub missing: Vec<Missing>,
    /// Protected files and parts that were changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tampered: Vec<Tamper>,
    /// Protected files that were changed with the user's permission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// Installed packages that are not as they were at the start, as far as that is no tampering.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// Places in the work that can behave differently where it is checked, or that lead out of the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<String>,
    /// Files that changed while the checks ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<String>,
    /// Files of the work that the checks themselves write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    /// What lay in the workspace besides its tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<UntrackedDigest>,
    /// Whether the checks showed that they can still fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tripwire: Option<Tripwire>,
    /// What they printed when they were asked to fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tripwire_outputs: Vec<OutputRef>,
}

impl VerdictView {
    /// What the checks found in a run of which this much is known.
    pub fn new(facts: &Facts, verdict: &Verdict) -> Self {
        let (passing, failing) = verdict.tally();
        Self {
            tree: verdict.tree.clone(),
            passed: verdict.passed(),
            passing,
            failing,
            score: verdict.failing(),
            incomplete: !facts.could_be_counted(verdict),
            doubt: verdict.doubt(),
            checks: verdict.checks.iter().map(CheckView::new).collect(),
            missing: verdict.missing.clone(),
            tampered: verdict.tampered.clone(),
            allowed: verdict.allowed.clone(),
            packages: verdict.packages.clone(),
            signs: verdict.signs.clone(),
            moved: verdict.moved.clone(),
            written: verdict.written.clone(),
            beside: Some(verdict.beside.clone()).filter(|beside| *beside != UntrackedDigest::default()),
            tripwire: verdict.tripwire.clone(),
            tripwire_outputs: verdict.tripwire_outputs.clone(),
        }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckView {
    /// What was observed.
    #[serde(flatten)]
    pub outcome: CheckOutcome,
    /// Failing and missing tests, or one for a failing command.
    pub failing: u32,
}

impl CheckView {
    pub fn new(outcome: &CheckOutcome) -> Self {
        Self { failing: outcome.failing(), outcome: outcome.clone() }
    }
}
