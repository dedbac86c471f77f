//! Everything a loop remembers besides its phase.

mod turns;

use std::collections::{BTreeSet, HashSet};

use ralph_model::{
    AgentRun, Attempt, Best, Iteration, LoopConfig, Millis, Money, Remedy, Signature, Tamper, Timestamp, TreeHash,
    Tripwire, Trouble, Verdict,
};

use crate::event::{
    Alert, DayBudget, StartPoint, Stop, StopWhen, V2_FLAKES_AND_TAMPERING, V3_SERVICE_BACKOFF, V4_COUNTED_RUNS,
    V5_REWINDS, Wait,
};
use crate::rank::Rank;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IterationRecord {
    pub iteration: Iteration,
    /// Which agent it was, with its model where one was asked for.
    pub agent: String,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    /// Time that a Ralph process worked on the loop before it.
    pub active_before: Millis,
    /// Time that a Ralph process worked on it, once it was decided: without what lies between a stop and the resume.
    pub worked: Millis,
    /// The workspace before the agent.
    pub before: TreeHash,
    /// What the agent did; none when the pass was interrupted.
    pub run: Option<AgentRun>,
    /// What the checks found; none where there are none or they did not run.
    pub verdict: Option<Verdict>,
    pub charged: Money,
    pub claimed: bool,
    /// The agent said that it cannot go on, and why.
    pub blocked: Option<String>,
    pub interrupted: bool,
    /// The cost of the interrupted run is unknown, so its whole reservation was charged, or an estimate.
    pub cost_unknown: bool,
    pub estimated: bool,
    pub undone: bool,
    /// The service refused, so that the pass is not counted and comes again.
    pub uncounted: bool,
    /// The agent that this one took over from, because its service was unavailable for too long.
    pub took_over_from: Option<String>,
}

impl IterationRecord {
    /// The agent said that it was done and the checks disagreed.
    pub fn is_false_claim(&self) -> bool {
        self.claimed && self.verdict.as_ref().is_some_and(|verdict| verdict.failing() > 0)
    }

    /// What the service behind the agent refused.
    pub fn trouble(&self) -> Option<&Trouble> {
        self.run.as_ref().and_then(|run| run.trouble.as_ref())
    }

    /// Whether the service refused something that only time heals.
    pub fn has_to_wait(&self) -> bool {
        self.trouble().is_some_and(|trouble| trouble.kind.remedy() == Remedy::Wait)
    }

    /// Whether the service refused something that another pass would not get either.
    fn was_cut_short(&self) -> bool {
        self.trouble().is_some_and(|trouble| trouble.kind.remedy() != Remedy::NextIteration)
    }

    /// What the checks rest on and what was not as it should have been.
    pub fn tampering(&self) -> &[Tamper] {
        self.verdict.as_ref().map_or(&[], |verdict| &verdict.tampered)
    }

    /// Whether anything that the checks rest on was not as it should have been.
    pub fn is_tampered(&self) -> bool {
        !self.tampering().is_empty()
    }

    /// What all failing checks are recognised by, together.
    pub fn signature(&self) -> Option<Signature> {
        let verdict = self.verdict.as_ref()?;
        let failing: Vec<&Signature> =
            verdict.checks.iter().filter(|check| !check.flaky).filter_map(|check| check.signature.as_ref()).collect();
        let first = failing.first()?;
        let hashes: Vec<&str> = failing.iter().map(|signature| signature.hash.as_str()).collect();
        Some(Signature { hash: hashes.join("+"), headline: first.headline.clone() })
    }
}

/// How the loop moves: what stall and same error are decided by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    seen: HashSet<(TreeHash, Vec<String>)>,
    /// Iterations in a row without progress.
    pub without: u32,
    /// The failure that came last.
    pub signature: Option<Signature>,
    /// How often in a row it came.
    pub repeats: u32,
}

impl Progress {
    /// Remembers the state before the first iteration.
    pub fn begin(&mut self, tree: &TreeHash, failing: Vec<String>) {
        self.seen.insert((tree.clone(), failing));
    }

    /// Takes one decided iteration into account.
    pub fn note(&mut self, tree: &TreeHash, failing: Vec<String>, signature: Option<Signature>) {
        // Returning to a state that was there before is no progress either: A, B, A, B stands still.
        let moved = self.seen.insert((tree.clone(), failing));
        self.without = if moved { 0 } else { self.without + 1 };
        self.repeats = match (&signature, &self.signature) {
            (Some(new), Some(old)) if new.hash == old.hash => self.repeats + 1,
            (Some(_), _) => 1,
            (None, _) => 0,
        };
        self.signature = signature;
    }

    /// Forgives what was counted so far: another way of working gets its own chance.
    pub fn forgive(&mut self) {
        self.without = 0;
        self.repeats = 0;
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// What it was started with; limits may have been raised since.
    pub config: LoopConfig,
    pub start: StartPoint,
    pub started: Timestamp,
    pub last: Timestamp,
    /// The workspace when it was last looked at.
    pub tree: TreeHash,
    pub active: Millis,
    /// What the checks found before the first iteration.
    pub baseline: Option<Verdict>,
    /// All passes so far, interrupted ones included.
    pub iterations: Vec<IterationRecord>,
    pub spent: Money,
    /// The day's money when it was last looked at.
    pub day: DayBudget,
    pub attempt: Attempt,
    pub progress: Progress,
    pub alerts: BTreeSet<Alert>,
    /// Alerts that people were told of.
    pub alerted: BTreeSet<Alert>,
    pub stop: Option<Stop>,
    /// The loop works with its debugging skill since a stall.
    pub escalated: bool,
    /// Where the offending content of a prohibited change is kept.
    pub patch: Option<String>,
    pub commit: Option<String>,
    /// Why the verified work was not committed.
    pub commit_problem: Option<String>,
    /// The state that the workspace was put back to at the end.
    pub kept: Option<Best>,
    /// Where the agent's versions of pinned files are kept, once those are put back for good.
    pub pinned_patch: Option<String>,
    pub wait: Option<Wait>,
    /// How often in a row it was.
    pub waits: u32,
    /// How long in a row.
    pub waited: Millis,
    /// How many of the agents that stand by took over since the loop was last resumed.
    pub failovers: usize,
    /// The agent whose service is given up, until another begins.
    pub given_up: Option<String>,
    /// All tokens so far, as far as agents reported them.
    pub tokens: u64,
    /// What users told it, in order.
    pub hints: Vec<Hint>,
    /// Whether the pass that begins is replayed together with its recorded claim: nobody reads its prompt.
    pub(crate) is_claim_known: bool,
}

/// What a user told a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Which of the loop's, counted from 1.
    pub number: u32,
    pub at: Timestamp,
    /// The first pass whose prompt holds it.
    pub iteration: Iteration,
    pub text: String,
}

impl Facts {
    pub(crate) fn new(config: LoopConfig, start: StartPoint, at: Timestamp) -> Self {
        let mut progress = Progress::default();
        if config.verification_commands.is_empty() {
            // No baseline will tell what is missing at the start: everything that is expected.
            let mut missing: Vec<String> = config.expects.iter().map(ToString::to_string).collect();
            missing.sort();
            progress.begin(&start.tree, missing);
        }
        Self { tree: start.tree.clone(), config, start, started: at, last: at, progress, ..Self::default() }
    }

    pub(crate) const fn next_attempt(&mut self) -> Attempt {
        self.attempt = self.attempt.next();
        self.attempt
    }

    /// The pass that comes after those in the record.
    pub fn next_iteration(&self) -> Iteration {
        Iteration(self.counted()).next()
    }

    /// How many passes count: those that a service refused do not.
    pub fn counted(&self) -> u32 {
        u32::try_from(self.iterations.iter().filter(|record| !record.uncounted).count()).unwrap_or(u32::MAX)
    }

    /// The last pass that has something to tell an agent.
    pub fn last_telling(&self) -> Option<&IterationRecord> {
        self.iterations.iter().rev().find(|record| !record.uncounted || record.verdict.is_some())
    }

    /// A pass by its number: the last one of that number, because one that a service refused comes again.
    pub fn iteration(&self, number: u32) -> Option<&IterationRecord> {
        self.iterations.iter().rev().find(|record| record.iteration.0 == number)
    }

    pub fn last_iteration(&self) -> Option<&IterationRecord> {
        self.iterations.last()
    }

    /// Money that the loop may still spend.
    pub const fn remaining(&self) -> Money {
        self.config.max_cost.less(self.spent)
    }

    /// What the checks said last, the baseline included.
    pub fn last_verdict(&self) -> Option<&Verdict> {
        self.iterations.iter().rev().find_map(|record| record.verdict.as_ref()).or(self.baseline.as_ref())
    }

    /// What the checks said before they spoke last.
    pub fn verdict_before_last(&self) -> Option<&Verdict> {
        let spoken = self.iterations.iter().rev().filter_map(|record| record.verdict.as_ref());
        spoken.chain(self.baseline.as_ref()).nth(1)
    }

    pub fn false_claims(&self) -> u32 {
        u32::try_from(self.iterations.iter().filter(|record| record.is_false_claim()).count()).unwrap_or(u32::MAX)
    }

    /// Whether the pass at this place tampered: with something that was intact before it, or once more with the same file.
    /// What an earlier pass left in the tree is not counted again.
    pub(crate) fn tampered_at(&self, place: usize) -> bool {
        let Some(record) = self.iterations.get(place) else { return false };
        if self.start.behaviour < V4_COUNTED_RUNS {
            return record.is_tampered();
        }
        let earlier = self.iterations.iter().take(place).rev().find(|earlier| earlier.verdict.is_some());
        let known = earlier.map_or(&[][..], IterationRecord::tampering);
        let touched =
            |path: &str| record.run.as_ref().is_some_and(|run| run.changed.iter().any(|change| change.path == path));
        record.tampering().iter().any(|tamper| !known.contains(tamper) || touched(&tamper.path))
    }

    /// In how many iterations something that the checks rest on was tampered with.
    pub fn tampered(&self) -> u32 {
        let places = 0..self.iterations.len();
        u32::try_from(places.filter(|place| self.tampered_at(*place)).count()).unwrap_or(u32::MAX)
    }

    /// In how many of these protected files were changed. A tripwire that was not seen says nothing about files.
    pub(crate) fn changed_pins(&self) -> u32 {
        let changed = |record: &IterationRecord| record.tampering().iter().any(|tamper| !tamper.is_tripwire());
        let places = self.iterations.iter().enumerate().filter(|(_, record)| changed(record));
        u32::try_from(places.filter(|(place, _)| self.tampered_at(*place)).count()).unwrap_or(u32::MAX)
    }

    /// In how many iterations checks failed and passed on the same tree.
    pub fn flakes(&self) -> u32 {
        let flaky = |record: &&IterationRecord| {
            record.verdict.as_ref().is_some_and(|verdict| verdict.checks.iter().any(|check| check.flaky))
        };
        u32::try_from(self.iterations.iter().filter(flaky).count()).unwrap_or(u32::MAX)
    }

    /// Whether the workspace still holds the agent's versions of pinned files beside work that was verified without.
    pub(crate) fn has_pins_to_restore(&self) -> bool {
        self.pinned_patch.is_none() && self.last_iteration().is_some_and(IterationRecord::is_tampered)
    }

    /// Keeps what the checks found of the last pass.
    pub(crate) fn take_verdict(&mut self, mut verdict: Verdict) {
        if self.start.behaviour >= V2_FLAKES_AND_TAMPERING {
            self.doubt(&mut verdict);
            if self.has_checks() && !self.config.tripwire && verdict.passed() {
                verdict.tripwire = Some(Tripwire::Off);
            }
        }
        if let Some(record) = self.iterations.last_mut() {
            record.verdict = Some(verdict);
        }
    }

    /// A check that passes on the very tree on which it failed before is flaky, unless somebody changed what lies beside the
    /// tree in between.
    fn doubt(&self, verdict: &mut Verdict) {
        let earlier: Vec<&Verdict> = self
            .baseline
            .iter()
            .chain(self.iterations.iter().filter_map(|record| record.verdict.as_ref()))
            .filter(|earlier| earlier.tree == verdict.tree && earlier.beside.after == verdict.beside.before)
            .collect();
        for check in verdict.checks.iter_mut().filter(|check| check.passed) {
            let failed = |earlier: &&&Verdict| {
                earlier.checks.iter().any(|before| before.command == check.command && !before.passed)
            };
            if earlier.iter().any(|earlier| failed(&earlier)) {
                (check.passed, check.flaky) = (false, true);
            }
        }
    }

    /// Whether anything besides a claim decides about completion.
    pub const fn has_checks(&self) -> bool {
        !self.config.verification_commands.is_empty()
    }

    /// Whether there is anything to look at after an agent's run.
    pub const fn needs_verdict(&self) -> bool {
        self.has_checks() || !self.config.expects.is_empty()
    }

    /// Whether the workspace holds work of the last pass that should have been looked at and was not. Putting prohibited
    /// files back leaves the rest of the work where it is; handing the best state back does not.
    pub fn has_unseen_work(&self) -> bool {
        let is_there = |run: &AgentRun| run.tree == self.tree || (!run.violations.is_empty() && self.kept.is_none());
        // What a service refused before it did anything left nothing to look at, and neither did what never ran.
        let never_ran = |run: &AgentRun| {
            self.start.behaviour >= V4_COUNTED_RUNS && matches!(run.ended, ralph_model::Ended::NotStarted { .. })
        };
        let did_nothing = |last: &IterationRecord, run: &AgentRun| {
            (run.trouble.is_some() || never_ran(run)) && run.tree == last.before
        };
        self.needs_verdict()
            && self.last_iteration().is_some_and(|last| {
                last.verdict.is_none() && last.run.as_ref().is_some_and(|run| is_there(run) && !did_nothing(last, run))
            })
    }

    /// Whether the workspace as found is an earlier state of the loop: then the work of the last pass is not there, and a verdict
    /// would be about other work.
    pub(crate) fn is_rewound(&self, found: Option<&TreeHash>, rewound: bool) -> bool {
        let Some(found) = found.filter(|found| **found != self.tree && self.start.behaviour >= V5_REWINDS) else {
            return false;
        };
        let left = |record: &IterationRecord| record.run.as_ref().is_some_and(|run| run.tree == *found);
        let is_state = |record: &IterationRecord| record.before == *found || left(record);
        !self.last_iteration().is_some_and(left)
            && (rewound || self.start.tree == *found || self.iterations.iter().any(is_state))
    }

    /// Whether the checks passed before the first iteration, so that they prove nothing by themselves.
    pub fn is_baseline_green(&self) -> bool {
        self.baseline.as_ref().is_some_and(Verdict::is_green_start)
    }

    /// Whether the checks of a pass passed and the loop is not complete by it.
    pub(crate) fn outcome_is_open(&self, record: &IterationRecord) -> bool {
        record.verdict.as_ref().is_some_and(Verdict::passed) && crate::decide::completion(self).is_none()
    }

    /// Whether passing checks alone do not complete the loop: the agent has to claim completion, too.
    pub fn needs_claim(&self) -> bool {
        !self.has_checks() || self.is_baseline_green() || self.config.promise_is_explicit
    }

    /// The state with the fewest failures; of equal ones the latest, because it holds the most work.
    pub fn best(&self) -> Option<Best> {
        self.best_of(&self.iterations).map(|(_, best)| best)
    }

    pub(crate) fn best_before_last(&self) -> Option<(Rank, Best)> {
        self.best_of(self.iterations.split_last().map_or(&[], |(_, earlier)| earlier))
    }

    fn best_of(&self, iterations: &[IterationRecord]) -> Option<(Rank, Best)> {
        let baseline = self.baseline.as_ref().map(|verdict| {
            let tree = self.start.tree.clone();
            (self.rank(verdict), Best { iteration: Iteration(0), failing: verdict.failing(), tree })
        });
        let passes = iterations.iter().filter(|record| !record.undone).filter_map(|record| {
            // A tree with prohibited changes in it is never handed back; its files were put back before the checks.
            let (verdict, run) =
                (record.verdict.as_ref()?, record.run.as_ref().filter(|run| run.violations.is_empty())?);
            // An iteration that cannot be ranked is not the best.
            if verdict.is_void() || verdict.is_flaky() {
                return None;
            }
            let best = Best { iteration: record.iteration, failing: verdict.failing(), tree: run.tree.clone() };
            Some((self.rank(verdict), best))
        });
        baseline.into_iter().chain(passes).reduce(|best, next| if next.0 <= best.0 { next } else { best })
    }

    /// Whether the loop has to end at once.
    pub fn stops_now(&self) -> bool {
        self.stop.is_some_and(|stop| stop.when == StopWhen::Now)
    }

    pub(crate) fn note_stop(&mut self, stop: Stop) {
        // A request can become more urgent, never less.
        if self.stop.is_none_or(|earlier| stop.when >= earlier.when) {
            self.stop = Some(stop);
        }
    }

    /// The workspace as a new process found it: somebody may have worked there since the last event.
    pub(crate) fn find(&mut self, tree: Option<TreeHash>) {
        if let Some(tree) = tree {
            self.tree = tree;
        }
    }

    pub(crate) fn note_time(&mut self, at: Timestamp) {
        self.active = self.active.plus(at.since(self.last));
        // A clock that was set back counts from there: the time until it is where it was before is time all the same.
        self.last = if self.start.behaviour >= V3_SERVICE_BACKOFF { at } else { self.last.max(at) };
    }

    /// The last pass is over, or over again: what was not checked yet may be checked after a resume.
    pub(crate) fn end_pass(&mut self, at: Timestamp) {
        if let Some(record) = self.iterations.last_mut() {
            record.ended = Some(at);
            record.worked = self.active.less(record.active_before);
        }
    }

    pub(crate) fn due_alerts(&mut self) -> Vec<Alert> {
        let begun = u64::from(self.counted());
        let is_metered = !self.config.is_unmetered();
        let max = u64::from(self.config.max_iterations);
        let is_due = if self.start.behaviour >= V4_COUNTED_RUNS {
            // Used up means over, and a warning after the last one comes too late.
            let over = self.iterations.iter().filter(|record| !record.uncounted && record.ended.is_some()).count();
            let over = u64::try_from(over).unwrap_or(u64::MAX);
            over < max && over * 10 >= max * 9
        } else {
            // A single iteration is the last from the beginning.
            let warns_of_last = max > 1 || self.start.behaviour < V3_SERVICE_BACKOFF;
            warns_of_last && begun > 0 && begun * 10 >= max * 9
        };
        let due = [
            (Alert::Cost80, is_metered && self.spent > Money::ZERO && self.spent >= self.config.max_cost.percent(80)),
            (Alert::Iterations90, is_due),
            (Alert::Day80, self.day.spent > Money::ZERO && self.day.spent >= self.day.cap.percent(80)),
        ];
        due.into_iter()
            .filter(|(alert, is_due)| *is_due && self.alerts.insert(*alert))
            .map(|(alert, _)| alert)
            .collect()
    }
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
