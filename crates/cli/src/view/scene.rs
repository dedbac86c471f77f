//! What is painted: one loop, or the candidates of a race. Pure, like the views that it is made of.

use std::collections::BTreeMap;

use ralph_model::{Money, Timestamp};
use ralph_runtime::Notice;

use crate::screen::dollars;

use super::render::{Colours, Style, cost, head, painted, phase, render};
use super::state::{Phase, View};
use super::text::{columns, fit, flat, spread};

/// One loop, or several that race.
#[derive(Debug, Clone, Default)]
pub(super) struct Scene {
    single: View,
    candidates: BTreeMap<usize, View>,
}

impl Scene {
    /// Takes one notice in.
    pub(super) fn take(&mut self, notice: &Notice, now: Timestamp) {
        match notice {
            Notice::OfCandidate { number, agent, notice } => {
                let view = self.candidates.entry(*number).or_default();
                view.take(notice, now);
                if matches!(**notice, Notice::LoopOpened { .. }) {
                    view.agent = flat(agent);
                }
            }
            notice => self.single.take(notice, now),
        }
    }

    /// Whether there is anything to show yet.
    pub(super) fn is_open(&self) -> bool {
        self.candidates.values().chain([&self.single]).any(|view| view.opened_at.is_some())
    }

    /// The lines, none wider than `width` columns.
    pub(super) fn lines(&self, width: usize, now: Timestamp, colours: Colours) -> Vec<String> {
        if self.candidates.is_empty() {
            render(&self.single, width, now, colours)
        } else {
            self.race(width, now, colours)
        }
    }

    /// A head, a line for each candidate, and their money together.
    fn race(&self, width: usize, now: Timestamp, colours: Colours) -> Vec<String> {
        let views = || self.candidates.values();
        let opened = views().filter_map(|view| view.opened_at).min();
        let ended =
            views().map(|view| view.ended_at).collect::<Option<Vec<_>>>().and_then(|times| times.into_iter().max());
        let objective = views().next().map_or("", |view| view.objective.as_str());
        let mut lines = vec![head(&format!("ralph race  {objective}"), opened, ended.unwrap_or(now), width, colours)];
        // A long name of a model must not push away what happens.
        let names = views().map(|view| columns(&view.agent)).max().unwrap_or(0).min((width / 4).max(8));
        lines.extend(self.candidates.iter().map(|(number, view)| candidate(*number, view, names, width, now, colours)));
        let spent = views().map(|view| view.spent + view.running).sum();
        let cap = views().map(|view| view.max_cost).max().unwrap_or(Money::ZERO);
        lines.push(cost(spent, cap, width, colours));
        lines
    }
}

/// `2  codex:gpt-5  1/10  check 3.2s: npm test     4 failing     $0.41`
fn candidate(number: usize, view: &View, names: usize, width: usize, now: Timestamp, colours: Colours) -> String {
    let agent = fit(&view.agent, names);
    let gap = " ".repeat(names.saturating_sub(columns(&agent)));
    let what = match &view.phase {
        Phase::Agent { .. } if !view.activity.is_empty() => format!("{}: {}", phase(view, now), view.activity),
        Phase::Ended => view.ended_as.clone(),
        _ => phase(view, now),
    };
    let stopping = if view.stopping && view.phase != Phase::Ended { "stopping, " } else { "" };
    let left = format!("{number}  {agent}{gap}  {}/{}  {stopping}{what}", view.iteration, view.max_iterations);
    let failing = match view.failing.last() {
        // What it does says more than a column that most of the line would go to.
        _ if width < 60 => String::new(),
        Some(Some(failing)) => format!("{:>10}  ", format!("{failing} failing")),
        Some(None) | None => " ".repeat(12),
    };
    let cost = dollars(view.spent + view.running);
    let line = spread(&left, &format!("{failing}{cost:>7}"), width);
    match (&view.phase, view.ended_as.as_str()) {
        (Phase::Ended, "verified") => painted(Style::Green, line, colours),
        (Phase::Ended, _) => painted(Style::Dim, line, colours),
        _ => line,
    }
}

#[cfg(test)]
#[path = "scene_tests.rs"]
mod tests;
