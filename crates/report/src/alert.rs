//! What in a summary a person should look at.

use std::fmt;

use crate::summary::{Group, Summary};
use crate::tally::Rate;

/// Hundredths of the loops that should complete, at least one more.
pub const COMPLETION_TARGET: u64 = 70;
/// Hundredths of the loops that may stall, at most one less.
pub const STALL_TARGET: u64 = 20;

/// Fewer loops than this say nothing about a skill or an agent.
const ENOUGH: u64 = 5;

/// One thing that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alert {
    /// Too few loops complete.
    Completion(Rate),
    /// Too many loops stall.
    Stall(Rate),
    Errors(Rate),
    Tampered(Rate),
    /// Agents said that they are done, and the checks failed.
    FalseClaims {
        loops: Rate,
        /// How often in all.
        claims: u64,
    },
    /// Loops completed on the agent's word alone.
    Unverified(Rate),
    Prohibited(Rate),
    /// Loops made more tests fail than they mended.
    Regressions(Rate),
    /// Fewer than half of the loops of a skill complete.
    Skill(String, Rate),
    /// Fewer than half of the loops of an agent complete.
    Agent(String, Rate),
}

/// All that is worth a look, the targets first.
pub(crate) fn alerts(summary: &Summary) -> Vec<Alert> {
    let of_all = |part| Rate { part, whole: summary.loops };
    let mut alerts = Vec::new();
    let completion = summary.completion();
    if completion.whole > 0 && !completion.is_over(COMPLETION_TARGET) {
        alerts.push(Alert::Completion(completion));
    }
    if summary.loops > 0 && !summary.stall().is_under(STALL_TARGET) {
        alerts.push(Alert::Stall(summary.stall()));
    }
    let claims = summary.false_claims;
    let counted = [
        (summary.errors, Alert::Errors(of_all(summary.errors))),
        (summary.tampered_loops, Alert::Tampered(of_all(summary.tampered_loops))),
        (claims, Alert::FalseClaims { loops: of_all(summary.false_claim_loops), claims }),
        (summary.unverified, Alert::Unverified(Rate { part: summary.unverified, whole: summary.completed })),
        (summary.prohibited, Alert::Prohibited(of_all(summary.prohibited))),
        (summary.regressions, Alert::Regressions(of_all(summary.regressions))),
    ];
    alerts.extend(counted.into_iter().filter(|(count, _)| *count > 0).map(|(_, alert)| alert));
    let weak = |group: &&Group| group.completion().whole >= ENOUGH && group.completion().is_under(50);
    // Loops without a skill say nothing about one.
    let skills = summary.by_skill.iter().filter(|skill| !skill.name.is_empty());
    alerts.extend(skills.filter(weak).map(|skill| Alert::Skill(skill.name.clone(), skill.completion())));
    alerts
        .extend(summary.by_agent.iter().filter(weak).map(|agent| Alert::Agent(agent.name.clone(), agent.completion())));
    alerts
}

impl Alert {
    /// In words, with the name of a skill or an agent as `name` shows it: it was given by somebody outside.
    pub fn words(&self, name: impl Fn(&str) -> String) -> String {
        let loops = |rate: &Rate| format!("{} of {} loops", rate.part, rate.whole);
        match self {
            Self::Completion(rate) => {
                format!("Only {rate} of the loops completed; the target is more than {COMPLETION_TARGET} %.")
            }
            Self::Stall(rate) => format!("{rate} of the loops stalled; the target is less than {STALL_TARGET} %."),
            Self::Errors(rate) => format!("{} ended with an error: `ralph show` says why.", loops(rate)),
            Self::Tampered(rate) => format!("The checks were tampered with in {}.", loops(rate)),
            Self::FalseClaims { loops: rate, claims } => {
                let times = if *claims == 1 { "once".to_owned() } else { format!("{claims} times") };
                format!("Agents claimed completion {times} while checks failed, in {}.", loops(rate))
            }
            Self::Unverified(Rate { part, whole }) => {
                format!("{part} of {whole} completed loops are unverified: add a check.")
            }
            Self::Prohibited(rate) => format!("Prohibited files were changed in {}.", loops(rate)),
            Self::Regressions(rate) => format!("More tests failed at the end than at the start in {}.", loops(rate)),
            Self::Skill(skill, rate) => weak("Skill", &name(skill), rate),
            Self::Agent(agent, rate) => weak("Agent", &name(agent), rate),
        }
    }
}

fn weak(what: &str, name: &str, rate: &Rate) -> String {
    format!("{what} {name}: only {rate} of its {} loops completed.", rate.whole)
}

/// In words, with names as they were recorded.
impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(str::to_owned))
    }
}

#[cfg(test)]
#[path = "alert_tests.rs"]
mod tests;
