//! What an output file is, read from its name, and what became of it, read from the journal. Opens no file.

use ralph_model::Expectation;
use ralph_view::{RunView, agent_found, check_found};

/// One output, known by its name. The order is that in which outputs come to be: numbers of attempts are never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Output {
    attempt: u32,
    part: Part,
    index: usize,
    retry: u32,
    iteration: u32,
}

/// Which part of an attempt it is, in the order of their turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Agent,
    Check,
    Expectation,
    CheckAgain,
    ExpectationAgain,
    TripwireChanged(u32),
    TripwireAtStart,
}

impl Output {
    /// What the file of this name is; none for a file that says nothing of its place.
    pub(super) fn of(name: &str) -> Option<Self> {
        let words: Vec<&str> = name.strip_suffix(".log")?.split('-').collect();
        let (iteration, attempt, rest) = match words.as_slice() {
            ["iteration", iteration, "agent", attempt] => {
                let (iteration, attempt) = (iteration.parse().ok()?, attempt.parse().ok()?);
                return Some(Self { attempt, part: Part::Agent, index: 0, retry: 0, iteration });
            }
            ["baseline", attempt, rest @ ..] => ("0", attempt, rest),
            ["iteration", iteration, attempt, rest @ ..] => (*iteration, attempt, rest),
            _ => return None,
        };
        let (part, rest) = match rest {
            ["check", rest @ ..] => (Part::Check, rest),
            ["expected", "expectation", rest @ ..] => (Part::Expectation, rest),
            ["again", "check", rest @ ..] => (Part::CheckAgain, rest),
            ["again", "expected", "expectation", rest @ ..] => (Part::ExpectationAgain, rest),
            ["tripwire", "planted", "check", rest @ ..] => (Part::TripwireChanged(0), rest),
            ["tripwire", "changed", run, "check", rest @ ..] => (Part::TripwireChanged(run.parse().ok()?), rest),
            ["tripwire", "baseline", "check", rest @ ..] => (Part::TripwireAtStart, rest),
            _ => return None,
        };
        let (index, retry) = match rest {
            [index] => (index, "0"),
            [index, "retry", retry] => (index, *retry),
            _ => return None,
        };
        Some(Self {
            attempt: attempt.parse().ok()?,
            part,
            index: index.parse().ok()?,
            retry: retry.parse().ok()?,
            iteration: iteration.parse().ok()?,
        })
    }

    pub(super) fn title(self, run: &RunView) -> String {
        let when = match self.iteration {
            0 => "before the first iteration".to_owned(),
            iteration => format!("iteration {iteration}"),
        };
        let place = self.index.checked_sub(1);
        let command = |commands: &[String]| {
            let command = place.and_then(|place| commands.get(place));
            command.map(|command| format!(" ({})", one_line(command))).unwrap_or_default()
        };
        let check = format!("check {}{}", self.index, command(&run.config.verification_commands));
        let expected = || match place.and_then(|place| run.config.expects.get(place)) {
            Some(Expectation::Command(command)) => format!("expected command ({})", one_line(command)),
            Some(_) | None => format!("expectation {}", self.index),
        };
        let what = match self.part {
            Part::Agent => match run.iteration(self.iteration) {
                Some(record) => format!("agent {}", record.agent),
                None => "agent".to_owned(),
            },
            Part::Check => check,
            Part::CheckAgain => format!("{check} once more, because the checks changed files"),
            Part::Expectation => expected(),
            Part::ExpectationAgain => format!("{} once more", expected()),
            Part::TripwireChanged(_) => {
                format!("tripwire: {check} with tests changed so that they must fail")
            }
            Part::TripwireAtStart => {
                format!("tripwire: {check} on the files of the start, where the checks have to fail")
            }
        };
        let retry = if self.retry == 0 { String::new() } else { format!(", retry {}", self.retry) };
        format!("{when}, {what}{retry}")
    }

    /// What became of it, once the journal tells.
    pub(super) fn outcome(self, run: &RunView, name: &str) -> Option<String> {
        let file = format!("logs/{name}");
        match self.part {
            Part::Agent => {
                let mut runs = run.iterations.iter().filter_map(|record| Some((record.run.as_ref()?, record.cost)));
                let (run, cost) = runs.find(|(run, _)| run.output.file == file)?;
                Some(agent_found(run, cost))
            }
            Part::Check | Part::CheckAgain | Part::Expectation | Part::ExpectationAgain => {
                let verdicts = run.iterations.iter().filter_map(|record| record.verdict.as_ref());
                let mut checks = verdicts.chain(&run.baseline).flat_map(|verdict| &verdict.checks);
                checks.find(|check| check.outcome.output.file == file).map(|check| check_found(&check.outcome))
            }
            Part::TripwireChanged(_) | Part::TripwireAtStart => {
                let tripwire = run.iteration(self.iteration)?.verdict.as_ref()?.tripwire.as_ref()?;
                Some(tripwire.to_string())
            }
        }
    }
}

fn one_line(command: &str) -> String {
    command.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
