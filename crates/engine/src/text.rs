//! What people read about the end of a loop: the terminal, and `details` and `error` of `--json`. Nothing decides by these
//! sentences, and no journal has them: they may be reworded at any time. What an agent reads is made in `prompt`.

use ralph_model::{
    AbortCause, Best, ErrorCause, Grade, LoopId, Outcome, StopBy, Tamper, UnknownCharge, UnknownCost, Violation,
    WaitLimit, Window,
};

use crate::decide;
use crate::facts::Facts;
use crate::grade::{self, Graded};

/// How a person continues after the end of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continuation {
    Resume(LoopId),
    /// It ran in a session of the user's own, which is over for it: only another agent continues it.
    OtherAgent(LoopId),
    /// Its workspace is gone, so that only a new run helps.
    NewRun,
    /// The same for the run of a task.
    NewTask,
}

impl Continuation {
    /// `to continue: ralph resume 1a2b3c4d --max N`
    fn with(self, flags: &str) -> String {
        match self {
            Self::Resume(id) => format!("to continue: ralph resume {}{flags}", id.short()),
            Self::OtherAgent(id) => {
                format!("to continue with another agent: ralph resume {} --agent NAME{flags}", id.short())
            }
            Self::NewRun => "to try again: ralph run".to_owned(),
            Self::NewTask => format!("to try again: ralph task add{flags}"),
        }
    }

    fn plain(self) -> String {
        self.with("")
    }
}

/// How a loop ended and what to do next, in one line.
pub fn details(outcome: &Outcome, facts: &Facts, next: Continuation) -> String {
    match outcome {
        // Passing checks that do not complete a loop are why it stands still.
        Outcome::Aborted { cause: AbortCause::Stalled { iterations, headline: None } }
            if let Some(why) = why_open(facts) =>
        {
            format!(
                "the checks pass, but {why}, and {iterations} iterations in a row changed no file; {}",
                next.plain()
            )
        }
        Outcome::Aborted { cause } => aborted(cause, next),
        Outcome::Error { cause } => failed(cause, next),
        Outcome::Completed { verified: false } if facts.has_checks() => {
            "the checks pass, but the files are those of the start: nothing was done that they could verify".into()
        }
        Outcome::Completed { verified: false } => "the agent reports completion; nothing checked it".into(),
        Outcome::Completed { verified: true } => verified(facts),
    }
}

fn verified(facts: &Facts) -> String {
    let mut text = format!("all checks passed: {}", facts.config.verification_commands.join("; "));
    if let Some(Graded { grade, .. }) = grade::grade(facts) {
        text.push_str(&format!("; grade {grade}"));
    }
    if let Some(place) = &facts.pinned_patch {
        text.push_str(&format!("; protected files were restored, the agent's versions are in {place}"));
    }
    text
}

/// Why a loop whose last checks passed is not complete, if that is so.
pub fn why_open(facts: &Facts) -> Option<String> {
    let last = facts.last_iteration()?;
    if facts.outcome_is_open(last) && facts.is_baseline_green() && last.is_tampered() {
        return Some(
            "they passed before the first iteration too, so work that changes protected files does not count: restore those \
             files"
                .to_owned(),
        );
    }
    if let Some(short) = decide::worth_too_little(facts) {
        return Some(too_low(short.grade, short.required, &short.reasons));
    }
    let is_open = facts.outcome_is_open(last) && !last.claimed;
    is_open.then(|| format!("the agent's {} is missing", facts.config.promise_tag()))
}

/// Why a loop was aborted and what to do next.
pub fn aborted(cause: &AbortCause, next: Continuation) -> String {
    match cause {
        AbortCause::IterationsUsed { max, best, missing_claim, tampered } => {
            let mut text = format!("{max} of {max} iterations used");
            // The last one is what the workspace has.
            if let Some(best) = best.as_ref().filter(|best| best.iteration.0 != *max) {
                text.push_str(&format!("; {}", best_state(best)));
            }
            if let Some(tag) = missing_claim {
                text.push_str(&format!("; the checks pass, but the agent's {tag} is missing"));
            }
            if *tampered > 0 {
                text.push_str(&format!("; protected files were changed in {tampered} of them: {ALLOW}"));
            }
            format!("{text}; {}", next.with(" --max N"))
        }
        AbortCause::BudgetSpent { spent, limit, unknown } => {
            let hint = unknown.as_ref().map(|unknown| format!("; {}", unknown_charge(unknown))).unwrap_or_default();
            format!("{spent} of {limit} spent{hint}; {}", next.with(" --max-cost USD"))
        }
        AbortCause::RaceBudgetSpent { spent, limit } => format!(
            "{spent} of the race's {limit} spent or reserved by its loops; {}",
            match next {
                Continuation::Resume(_) | Continuation::OtherAgent(_) =>
                    next.with(" --max-cost USD, with a budget of its own"),
                Continuation::NewRun | Continuation::NewTask => next.plain(),
            }
        ),
        AbortCause::TokensUsed { used, limit, unreported: None } => {
            format!("{used} of {limit} tokens used; {}", next.with(" --max-tokens N"))
        }
        AbortCause::TokensUsed { limit, unreported: Some(iteration), .. } => format!(
            "the agent did not report the tokens of iteration {iteration}, so the limit of {limit} tokens cannot be kept: start a \
             new loop without --max-tokens, or let the agent write {{\"inputTokens\": 1200, \"outputTokens\": 300}} to \
             $RALPH_RESULT_FILE"
        ),
        AbortCause::WindowUsed { used: Window { percent, resets_at }, limit } => {
            let until = resets_at.map(|at| format!(" until {}", at.rfc3339())).unwrap_or_default();
            format!("{percent} % of the plan's allowance{until} is used, and --max-window is {limit}; {}", next.plain())
        }
        AbortCause::DayBudgetSpent { spent, limit } => {
            format!(
                "{spent} of the day's {limit} spent or reserved by the loops of this UTC day; tomorrow, {}",
                next.plain()
            )
        }
        AbortCause::TimeUp { active, limit } => {
            format!("the loop worked for {active} of {limit}; {}", next.with(" --max-duration DURATION"))
        }
        AbortCause::WaitPastTimeLimit { trouble, wait, limit } => {
            format!("{trouble}; waiting {wait} would pass the time limit of {limit}; later, {}", next.plain())
        }
        AbortCause::Stalled { iterations, headline } => format!(
            "{iterations} iterations in a row changed neither the files nor the failures{}; {}",
            after_colon(headline.as_deref()),
            next.plain()
        ),
        AbortCause::SameError { times, headline } => {
            format!("the same error {times} times in a row{}; {}", after_colon(headline.as_deref()), next.plain())
        }
        AbortCause::Prohibited { violations, patch, start } => prohibited(violations, patch, start.as_deref()),
        AbortCause::Tampered { iterations, tampering } => {
            let named: Vec<String> = tampering.iter().map(ToString::to_string).collect();
            let (what, advice) = match tampering.iter().all(Tamper::is_tripwire) {
                true => ("the checks were tampered with", NOT_RUN),
                false => ("protected files were changed", ALLOW),
            };
            format!("{what} in {iterations} iterations, in the last one: {}; {advice}", named.join("; "))
        }
        AbortCause::GradeTooLow { grade, required, reasons } => {
            format!(
                "the checks pass, but {}; to accept that, start a new loop with less after --require",
                too_low(*grade, *required, reasons)
            )
        }
        AbortCause::Blocked { why } => format!("the agent asks: {why} ({})", next.with(" --answer \"TEXT\"")),
        AbortCause::Cancelled { by: StopBy::Race { winner } } => {
            let winner = winner.short();
            match next {
                Continuation::Resume(id) | Continuation::OtherAgent(id) => format!(
                    "lost the race: loop {winner} was verified first; to see what this one did: ralph diff {}",
                    id.short()
                ),
                Continuation::NewRun | Continuation::NewTask => {
                    format!("lost the race: loop {winner} was verified first")
                }
            }
        }
        AbortCause::Cancelled { by: StopBy::Keyboard } => format!("stopped from the keyboard; {}", next.plain()),
        AbortCause::Cancelled { by: StopBy::Signal } => format!("stopped by a signal; {}", next.plain()),
        AbortCause::Cancelled { by: StopBy::Request } => format!("stopped on request; {}", next.plain()),
        AbortCause::Recorded { text, .. } => text.clone(),
    }
}

/// `the result is weak and --require asks for standard: no tripwire was tried`
fn too_low(grade: Option<Grade>, required: Grade, reasons: &[String]) -> String {
    let is = grade.map_or("not verified", Grade::name);
    format!("the result is {is} and --require asks for {required}: {}", reasons.join("; "))
}

const ALLOW: &str = "to allow such a change, start a new loop with --allow-test-change GLOB";
const NOT_RUN: &str = "if the checks do not run the tests that were changed, start a new loop with --no-tripwire";

fn after_colon(headline: Option<&str>) -> String {
    headline.map(|headline| format!(": {headline}")).unwrap_or_default()
}

fn best_state(best: &Best) -> String {
    match best.iteration.0 {
        0 => format!("best state: {} failing, before the first iteration", best.failing),
        number => format!("best state: {} failing, after iteration {number}", best.failing),
    }
}

fn unknown_charge(unknown: &UnknownCharge) -> String {
    let UnknownCharge { iteration, charged, why } = unknown;
    match why {
        UnknownCost::NotReported => format!(
            "the agent did not report the cost of iteration {iteration}, so its whole reservation of {charged} was charged: let \
             it write {{\"costUSD\": 0.12}} to $RALPH_RESULT_FILE, or use --unmetered"
        ),
        UnknownCost::NotCounted => format!(
            "the cost of iteration {iteration} is not known, so its whole reservation of {charged} was charged: its model has \
             no price (`ralph agents --prices`; add yours as [prices.\"MODEL\"]), or the service reported no usage; --unmetered \
             runs without a budget"
        ),
        UnknownCost::Estimated => format!(
            "iteration {iteration} was interrupted before the agent reported its cost, so an estimate of {charged} was charged: \
             the highest cost of an earlier iteration, or one request of a usual size"
        ),
        UnknownCost::Interrupted => format!(
            "iteration {iteration} was interrupted before the agent reported its cost, so its whole reservation of {charged} \
             was charged"
        ),
    }
}

fn prohibited(violations: &[Violation], patch: &str, start: Option<&str>) -> String {
    let named: Vec<String> = violations
        .iter()
        .map(|Violation { path, glob, kind, commit }| {
            let letter = kind.letter();
            match commit {
                None => format!("{letter} {path} (prohibited by {glob})"),
                Some(commit) => format!("{letter} {path} (prohibited by {glob}, in commit {})", short(commit)),
            }
        })
        .collect();
    let mut text = format!("{}; restored, and the offending content is kept in {patch}", named.join(", "));
    if let Some(commit) = violations.iter().find_map(|violation| violation.commit.as_deref()) {
        let commit = short(commit);
        text.push_str(&format!("; commit {commit} still has it, and a push would publish it: {}", undo_commits(start)));
    }
    text
}

/// How a person takes commits out of the history of their branch. Ralph does not: the history is theirs.
pub fn undo_commits(start: Option<&str>) -> String {
    match start.map(short) {
        Some(start) => format!(
            "`git reset {start}` undoes the commits since the loop's start and leaves the files as they are, `git rebase -i \
             {start}` lets you choose"
        ),
        None => "`git update-ref -d HEAD` undoes the commits and leaves the files as they are".to_owned(),
    }
}

/// As much of a commit's id as people read.
fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

/// What failed, in one line: `error` of `--json` and the listing.
pub fn error(cause: &ErrorCause) -> String {
    match cause {
        ErrorCause::ServiceRefused { agent, trouble } => {
            let advice = trouble.advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default();
            format!("{agent}: {trouble}{advice}")
        }
        ErrorCause::WaitTooLong { agent, trouble, limit } => {
            let limit = match limit {
                WaitLimit::Refusals { times } => format!("gave up after {times} waits in a row"),
                WaitLimit::TooLong { limit: ralph_model::Millis(0), .. } => {
                    "not waiting because of --max-wait 0".to_owned()
                }
                WaitLimit::TooLong { wait, limit } => format!("waiting {wait} is longer than --max-wait {limit}"),
            };
            format!("{agent}: {trouble}; {limit}")
        }
        ErrorCause::AgentNotStarted { agent, why } => format!("{agent} could not be started: {why}"),
        ErrorCause::Faulted { error } => error.clone(),
        ErrorCause::Idle => "the loop has nothing to do; this is a bug in Ralph".to_owned(),
        ErrorCause::Recorded { text } => text.clone(),
    }
}

pub fn failed(cause: &ErrorCause, next: Continuation) -> String {
    let text = error(cause);
    match cause {
        ErrorCause::ServiceRefused { .. } | ErrorCause::AgentNotStarted { .. } | ErrorCause::Faulted { .. } => {
            format!("{text}; when fixed, {}", next.plain())
        }
        ErrorCause::WaitTooLong { .. } => format!("{text}; later, {}", next.plain()),
        ErrorCause::Idle | ErrorCause::Recorded { .. } => text,
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
