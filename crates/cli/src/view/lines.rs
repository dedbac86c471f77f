//! The lines of a whole loop or race, with what has to be remembered from one to the next. Paints nothing.

use std::collections::{BTreeMap, BTreeSet};

use ralph_engine::{StopBy, StopWhen};
use ralph_model::{LoopConfig, Timestamp};
use ralph_runtime::Notice;

use crate::screen::dollars;

use super::line::{Weight, first_line, line, up_to};
use super::text::flat;

/// Turns notices into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    single: Progress,
    candidates: BTreeMap<usize, Progress>,
    /// What was said of all candidates at once and need not be said of each.
    shared: BTreeSet<String>,
}

/// How far a loop has come, as far as words depend on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Progress {
    /// Nothing of an iteration is under way: a loop that is to stop ends at once.
    #[default]
    Between,
    Iteration,
}

impl Progress {
    const fn take(&mut self, notice: &Notice) {
        match notice {
            Notice::IterationStarted { .. } => *self = Self::Iteration,
            Notice::Waiting { .. } | Notice::IterationDecided { .. } => *self = Self::Between,
            _ => {}
        }
    }
}

impl Lines {
    /// The lines for one notice; none for what a program prints, which has its log.
    pub(super) fn take(&mut self, notice: &Notice, now: Timestamp) -> Vec<(Weight, String)> {
        let lines = match notice {
            Notice::OfCandidate { number, agent, notice } => self.of_candidate(*number, agent, notice, now),
            notice => {
                self.single.take(notice);
                told(notice, self.single, now).into_iter().collect()
            }
        };
        lines.into_iter().map(|(weight, text)| (weight, flat(&text))).collect()
    }

    fn of_candidate(&mut self, number: usize, agent: &str, notice: &Notice, now: Timestamp) -> Vec<(Weight, String)> {
        let progress = self.candidates.entry(number).or_default();
        progress.take(notice);
        let progress = *progress;
        match notice {
            // Its number stands for it from here on.
            Notice::LoopOpened { loop_id, config, .. } => {
                let mut lines: Vec<_> = self.once(race(config)).into_iter().collect();
                lines.push((Weight::Lasting, format!("[{number}] {agent}, loop {}", loop_id.short())));
                lines
            }
            // One machine, one keyboard: it is the same for all of them.
            Notice::Precautions { .. } => {
                told(notice, progress, now).and_then(|(_, text)| self.once(text)).into_iter().collect()
            }
            Notice::Stopping(stop) if stop.by == StopBy::Keyboard => {
                let text = match stop.when {
                    StopWhen::AfterIteration => "stopping after the iterations that run; Ctrl-C once more stops now",
                    StopWhen::Now => "stopping now",
                };
                self.once(text.to_owned()).into_iter().collect()
            }
            notice => {
                let text = told(notice, progress, now);
                text.map(|(weight, text)| (weight, format!("[{number}] {text}"))).into_iter().collect()
            }
        }
    }

    fn once(&mut self, text: String) -> Option<(Weight, String)> {
        self.shared.insert(text.clone()).then_some((Weight::Lasting, text))
    }
}

fn told(notice: &Notice, progress: Progress, now: Timestamp) -> Option<(Weight, String)> {
    match notice {
        Notice::Stopping(stop) if stop.when == StopWhen::AfterIteration && progress == Progress::Between => {
            Some((Weight::Lasting, "stopping now: no iteration is under way".to_owned()))
        }
        notice => line(notice, now),
    }
}

fn race(config: &LoopConfig) -> String {
    let cap = config.race.as_ref().map_or(config.max_cost, |race| race.cap);
    let limits = format!("{} each and {} together", up_to(config.max_iterations), dollars(cap));
    format!("race: {} ({limits})", first_line(&config.objective))
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
