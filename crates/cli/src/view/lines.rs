//! The lines of a whole loop or race, with what has to be remembered from one to the next. Paints nothing.

use std::collections::{BTreeMap, BTreeSet};

use ralph_engine::{StartPoint, Stop, StopBy, StopWhen};
use ralph_model::{AgentEvent, LoopConfig, Timestamp, Trouble};
use ralph_view::{Delta, Progress, RunState, Update, What};

use crate::screen::dollars;
use crate::style::{PLAIN, QUIET, TITLE, WARN, flat};

use super::line::{self, Said, first_line, lasting, up_to};

#[derive(Debug, Default)]
pub(super) struct Lines {
    /// By the number of a candidate; none where nobody races.
    runs: BTreeMap<Option<u32>, Known>,
    /// What was said of all candidates at once and need not be said of each.
    shared: BTreeSet<String>,
    /// Every line stays to be read, so that none repeats what a service said.
    all_stay: bool,
}

/// What is known of a run, as far as words depend on it.
#[derive(Debug, Clone, Default)]
struct Known {
    in_iteration: bool,
    /// The words of a service that were said in this iteration.
    trouble: Option<String>,
    /// Checks run to see whether they still fail where they have to.
    is_confirming: bool,
    /// The most urgent stop that was said.
    stop: Option<StopWhen>,
}

impl Lines {
    /// The lines of a log, of which every one stays to be read.
    pub(super) fn of_log() -> Self {
        Self { all_stay: true, ..Self::default() }
    }

    /// The lines for one update; none for what a program prints, which has its log.
    pub(super) fn take(&mut self, update: &Update, now: Timestamp) -> Vec<Said> {
        let candidate = update.candidate;
        let lines = match &update.what {
            What::Recorded { state, deltas, .. } => {
                let lines = deltas.iter().flat_map(|delta| self.delta(candidate, delta, state, now)).collect();
                self.runs.entry(candidate).or_default().in_iteration = state.in_iteration;
                lines
            }
            What::Progress { progress: Progress::StopHeard { stop } } => self.stopping(candidate, *stop),
            What::Progress { progress } => {
                let is_confirming = self.runs.get(&candidate).is_some_and(|known| known.is_confirming);
                let mut lines = numbered(candidate, line::of_progress(progress, is_confirming));
                if let Progress::Agent { event: AgentEvent::Limit { trouble } } = progress {
                    lines.iter_mut().for_each(|said| self.say_once(candidate, said, trouble));
                }
                lines
            }
        };
        lines.into_iter().map(|said| Said { text: flat(&said.text), ..said }).collect()
    }

    fn delta(&mut self, candidate: Option<u32>, delta: &Delta, state: &RunState, now: Timestamp) -> Vec<Said> {
        match delta {
            Delta::TripwireStarted => self.runs.entry(candidate).or_default().is_confirming = true,
            Delta::TripwireFinished { .. } | Delta::IterationDecided { .. } => {
                self.runs.entry(candidate).or_default().is_confirming = false;
            }
            _ => {}
        }
        match delta {
            Delta::Opened { config, start } => self.opened(candidate, config, start, state),
            Delta::Stopping { stop } => self.stopping(candidate, *stop),
            delta => {
                let mut lines = numbered(candidate, line::of_delta(delta, state, now));
                let trouble = match delta {
                    Delta::AgentFinished { iteration } => iteration.run.as_ref().and_then(|run| run.trouble.as_ref()),
                    Delta::Waiting { wait } => Some(&wait.trouble),
                    Delta::IterationStarted { .. } => {
                        self.runs.entry(candidate).or_default().trouble = None;
                        None
                    }
                    _ => None,
                };
                if let Some(trouble) = trouble {
                    lines.iter_mut().for_each(|said| self.say_once(candidate, said, trouble));
                }
                lines
            }
        }
    }

    /// Leaves the words of a service out of a line if an earlier one of the same iteration has them.
    fn say_once(&mut self, candidate: Option<u32>, said: &mut Said, trouble: &Trouble) {
        let message = trouble.message.trim_end_matches('.');
        let known = self.runs.entry(candidate).or_default();
        if !self.all_stay || message.is_empty() {
            return;
        }
        if known.trouble.as_deref() == Some(message) {
            said.text = said.text.replace(&format!(": {}", trouble.message), "").replace(&format!(": {message}"), "");
        }
        known.trouble = Some(message.to_owned());
    }

    fn opened(
        &mut self,
        candidate: Option<u32>,
        config: &LoopConfig,
        start: &StartPoint,
        state: &RunState,
    ) -> Vec<Said> {
        let mut lines = Vec::new();
        match candidate {
            None => lines.push((TITLE, line::opened(config, state))),
            // Its number stands for it from here on.
            Some(number) => {
                lines.extend(self.once(race(config)).map(|text| (TITLE, text)));
                lines.push((PLAIN, format!("[{number}] {}, loop {}", config.agent.title(), state.loop_id.short())));
            }
        }
        // One machine, one objective: it is the same for all candidates.
        let rest = [(QUIET, line::precautions(start)), (WARN, line::without_checks(config))];
        for (style, text) in rest.into_iter().filter_map(|(style, text)| Some((style, text?))) {
            let text = if candidate.is_some() { self.once(text) } else { Some(text) };
            lines.extend(text.map(|text| (style, text)));
        }
        lines.into_iter().map(|(style, text)| lasting(style, text)).collect()
    }

    /// A stop is heard before it is recorded, and said once.
    fn stopping(&mut self, candidate: Option<u32>, stop: Stop) -> Vec<Said> {
        let known = self.runs.entry(candidate).or_default();
        if known.stop.is_some_and(|said| said >= stop.when) {
            return Vec::new();
        }
        known.stop = Some(stop.when);
        let text = line::stopping(stop, known.in_iteration).to_owned();
        // One keyboard for all candidates.
        if candidate.is_some() && stop.by == StopBy::Keyboard {
            let text = match stop.when {
                StopWhen::AfterIteration => "stopping after the iterations that run; Ctrl-C once more stops now",
                StopWhen::Now => "stopping now",
            };
            return self.once(text.to_owned()).map(|text| lasting(WARN, text)).into_iter().collect();
        }
        numbered(candidate, Some(lasting(WARN, text)))
    }

    fn once(&mut self, text: String) -> Option<String> {
        self.shared.insert(text.clone()).then_some(text)
    }
}

fn numbered(candidate: Option<u32>, line: Option<Said>) -> Vec<Said> {
    let number = candidate.map(|number| format!("[{number}] ")).unwrap_or_default();
    line.map(|said| Said { text: format!("{number}{}", said.text), ..said }).into_iter().collect()
}

fn race(config: &LoopConfig) -> String {
    let cap = config.race.as_ref().map_or(config.max_cost, |race| race.cap);
    let limits = match config.is_unmetered() {
        true => format!("{} each, not metered", up_to(config.max_iterations)),
        false => format!("{} each and {} together", up_to(config.max_iterations), dollars(cap)),
    };
    format!("race: {} ({limits})", first_line(&config.objective))
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
