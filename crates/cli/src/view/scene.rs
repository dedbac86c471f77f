//! What is painted: one loop, or the candidates of a race. Pure, like the views that it is made of.

use std::collections::BTreeMap;

use ralph_model::{Money, Timestamp};
use ralph_view::{Update, What};

use crate::screen::dollars;

use super::render::{Colours, Style, cost, head, painted, phase, render};
use super::state::{Doing, View};
use super::text::{columns, fit_middle, spread};

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

    /// The lines, none wider than `width` columns.
    #[cfg(test)]
    pub(super) fn lines(&self, width: usize, now: Timestamp, colours: Colours) -> Vec<String> {
        self.lines_in(width, usize::MAX, now, colours)
    }

    /// The same for so many rows.
    pub(super) fn lines_in(&self, width: usize, rows: usize, now: Timestamp, colours: Colours) -> Vec<String> {
        match &self.single {
            Some(view) if self.candidates.is_empty() => render(view, width, rows, now, colours),
            Some(_) | None => self.race(width, now, colours),
        }
    }

    /// A head, a line for each candidate, and their money together.
    fn race(&self, width: usize, now: Timestamp, colours: Colours) -> Vec<String> {
        let views = || self.candidates.values();
        let opened = views().map(|view| view.opened_at).min();
        let ended =
            views().map(|view| view.ended_at).collect::<Option<Vec<_>>>().and_then(|times| times.into_iter().max());
        let objective = views().next().map_or("", |view| view.objective.as_str());
        let mut lines = vec![head(&format!("ralph race  {objective}"), opened, ended.unwrap_or(now), width, colours)];
        // A long name of a model must not push away what happens.
        let names = views().map(|view| columns(&view.run.agent)).max().unwrap_or(0).min((width / 4).max(8));
        lines.extend(self.candidates.iter().map(|(number, view)| candidate(*number, view, names, width, now, colours)));
        let spent = views().map(View::spent).sum();
        let cap = views().map(|view| view.run.max_cost).max().unwrap_or(Money::ZERO);
        lines.push(cost(spent, cap, width, colours));
        lines
    }
}

/// `2  codex:gpt-5  1/10  check 3.2s: npm test     4 failing     $0.41`
fn candidate(number: u32, view: &View, names: usize, width: usize, now: Timestamp, colours: Colours) -> String {
    // Names of models differ at their end.
    let agent = fit_middle(&view.run.agent, names);
    let gap = " ".repeat(names.saturating_sub(columns(&agent)));
    let what = match &view.doing {
        _ if view.is_over() => view.ended_as().to_owned(),
        Doing::Agent { .. } if !view.activity.is_empty() => format!("{}: {}", phase(view, now), view.activity),
        _ => phase(view, now),
    };
    let stopping = if view.stopping && !view.is_over() { "stopping, " } else { "" };
    let (iteration, max) = (view.run.iteration, view.run.max_iterations);
    let left = format!("{number}  {agent}{gap}  {iteration}/{max}  {stopping}{what}");
    let failing = match view.run.failing.last() {
        // What it does says more than a column that most of the line would go to.
        _ if width < 60 => String::new(),
        Some(Some(failing)) => format!("{:>10}  ", format!("{failing} failing")),
        Some(None) | None => " ".repeat(12),
    };
    let cost = dollars(view.spent());
    let line = spread(&left, &format!("{failing}{cost:>7}"), width);
    match (view.is_over(), view.run.verified) {
        (true, true) => painted(Style::Green, line, colours),
        (true, false) => painted(Style::Dim, line, colours),
        (false, _) => line,
    }
}

#[cfg(test)]
#[path = "scene_tests.rs"]
mod tests;
