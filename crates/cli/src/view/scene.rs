//! What is painted: one loop, or the candidates of a race. Pure, like the views that it is made of.

use std::collections::BTreeMap;

use ralph_model::{Money, Timestamp};
use ralph_view::{Update, What};

use crate::screen::dollars;
use crate::style::{PLAIN, QUIET, columns, of_status};

use super::state::View;
use super::widgets::{Candidate, Panel, Row, Widths, loop_panel};

/// A long name of a model must not push away what happens.
const LONGEST_NAME: usize = 24;
/// In a narrower terminal what a candidate does says more than a column that most of the line would go to.
const LEAST_FOR_FAILING: usize = 60;

/// One loop, or several that race.
#[derive(Debug, Clone, Default)]
pub(super) struct Scene {
    single: Option<View>,
    candidates: BTreeMap<u32, View>,
}

impl Scene {
    /// Takes one update in. What comes before a run is recorded has no place in the view.
    pub(super) fn take(&mut self, update: &Update, now: Timestamp) {
        let known = match update.candidate {
            Some(number) => self.candidates.get_mut(&number),
            None => self.single.as_mut(),
        };
        match (known, &update.what) {
            (Some(view), what) => view.take(what, now),
            (None, what @ What::Recorded { state, .. }) => {
                let mut view = View::new((**state).clone(), now);
                view.take(what, now);
                match update.candidate {
                    Some(number) => _ = self.candidates.insert(number, view),
                    None => self.single = Some(view),
                }
            }
            (None, What::Progress { .. }) => {}
        }
    }

    /// Whether there is anything to show yet.
    pub(super) fn is_open(&self) -> bool {
        self.single.is_some() || !self.candidates.is_empty()
    }

    /// Its widgets, for a terminal of so many columns.
    pub(super) fn panel(&self, width: usize, now: Timestamp) -> Panel {
        match &self.single {
            Some(view) if self.candidates.is_empty() => loop_panel(view, now),
            Some(_) | None => self.race(width, now),
        }
    }

    /// A head, a row for each candidate, and their money together.
    fn race(&self, width: usize, now: Timestamp) -> Panel {
        let views = || self.candidates.values();
        let opened = views().map(|view| view.opened_at).min().unwrap_or(now);
        let ended =
            views().map(|view| view.ended_at).collect::<Option<Vec<_>>>().and_then(|times| times.into_iter().max());
        let objective = views().next().map_or("", |view| view.objective.as_str());
        let names =
            views().map(|view| columns(&view.run.agent)).max().unwrap_or(0).min((width / 4).clamp(8, LONGEST_NAME));
        let elapsed = ended.unwrap_or(now).since(opened).to_string();
        let mut rows = vec![Row::Head { title: format!("ralph race  {objective}"), elapsed }];
        let mut candidates: Vec<Candidate> =
            self.candidates.iter().map(|(number, view)| candidate(*number, view, now)).collect();
        // Each column is as wide as its widest cell, so that the cells stand below each other.
        let widest =
            |cell: fn(&Candidate) -> &String| candidates.iter().map(|one| columns(cell(one))).max().unwrap_or(0);
        let widths = Widths {
            names,
            iteration: widest(|one| &one.iteration),
            failing: if width < LEAST_FOR_FAILING { 0 } else { widest(|one| &one.failing) },
            cost: widest(|one| &one.cost),
        };
        rows.extend(candidates.drain(..).map(|one| Row::Candidate(one, widths)));
        let most = views().map(|view| view.run.max_cost).max().unwrap_or(Money::ZERO);
        rows.push(match views().any(|view| view.run.metered) {
            true => Row::Cost { spent: views().map(View::spent).sum(), most },
            false => Row::unmetered(),
        });
        Panel { rows, recent: Vec::new() }
    }
}

fn candidate(number: u32, view: &View, now: Timestamp) -> Candidate {
    let failing = view.run.failing.last().copied().flatten();
    Candidate {
        number,
        agent: view.run.agent.clone(),
        iteration: format!("{}/{}", view.run.iteration, view.run.max_iterations),
        what: view.short_words(now),
        failing: failing.map(|failing| format!("{failing} failing")).unwrap_or_default(),
        cost: if view.run.metered { dollars(view.spent()) } else { String::new() },
        style: match (view.is_over(), view.run.verified) {
            (true, true) => of_status(view.run.status, true),
            (true, false) => QUIET,
            (false, _) => PLAIN,
        },
    }
}

#[cfg(test)]
#[path = "scene_tests.rs"]
mod tests;
