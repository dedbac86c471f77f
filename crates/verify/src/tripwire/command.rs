//! Reads from the texts of commands when a run is given up, what filters its tests, and where it looks for them.
//! Runs nothing and finds nothing: a command that it does not understand says nothing.

mod arguments;
mod words;

use crate::tripwire::plant::Stops;
use arguments::{Found, Options};
use ralph_model::Runner;

/// How a runner is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Calls {
    /// When a run is given up.
    pub(crate) stops: Stops,
    /// What a test has to be called in order to run.
    pub(crate) filter: Filter,
    /// Files, folders and patterns that it is told to run.
    pub(crate) places: Vec<String>,
    /// Only tests that are marked with `only` run.
    pub(crate) only_marked: bool,
}

/// Which tests of a file run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Filter {
    /// All of them.
    All,
    /// Those with this in their name.
    Word(String),
    /// Nobody can tell how a planted test would have to be called.
    Unknown,
}

impl Filter {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, other) => other,
            (this, Self::All) => this,
            (Self::Word(one), Self::Word(other)) if one == other => Self::Word(one),
            _ => Self::Unknown,
        }
    }

    /// What stands before the mark in the name of a planted test.
    pub(crate) fn prefix(&self) -> String {
        match self {
            Self::Word(word) => format!("{word}_"),
            Self::All | Self::Unknown => String::new(),
        }
    }
}

impl Calls {
    /// Reads how `runner` is called from all texts.
    pub(crate) fn read(runner: Runner, texts: &[&str], settings: &[&str]) -> Self {
        let commands: Vec<Vec<String>> = texts.iter().flat_map(|text| words::commands(text)).collect();
        let mut calls = Self { stops: Stops::Never, filter: Filter::All, places: vec![], only_marked: false };
        let (mut own, mut all) = (0, 0);
        for command in &commands {
            for other in Runner::ALL {
                if let Some(rest) = arguments::of(other, command) {
                    all += 1;
                    if other == runner {
                        own += 1;
                        calls.add(arguments::read(runner, rest));
                    }
                }
            }
            // What stands behind `npm test --` goes to the runner that the script starts.
            if runner.is_javascript()
                && let Some(rest) = arguments::passed_on(command)
            {
                calls.add(arguments::read(runner, rest));
            }
        }
        for setting in settings {
            calls.add(arguments::read(runner, &words::split(setting)));
        }
        let usual = match runner {
            Runner::CargoTest if !has(&commands, "--no-fail-fast") => Stops::AfterFile,
            Runner::Nextest if !has(&commands, "--no-fail-fast") => Stops::AfterFailure,
            // One of several commands may end the rest; and of a command that is not here nobody knows.
            _ if own != 1 || all != 1 => Stops::AfterFile,
            _ => Stops::Never,
        };
        calls.stops = calls.stops.max(usual);
        if calls.stops == Stops::AfterFirst && texts.iter().chain(settings).any(|text| is_shuffled(text)) {
            calls.stops = Stops::AfterFailure;
        }
        calls
    }

    fn add(&mut self, options: Options) {
        for found in options.0 {
            match found {
                Found::Stop(stops) => self.stops = self.stops.max(stops),
                Found::Filter(filter) => {
                    let before = std::mem::replace(&mut self.filter, Filter::Unknown);
                    self.filter = before.and(filter);
                }
                Found::Place(place) => self.places.push(place),
                Found::OnlyMarked => self.only_marked = true,
            }
        }
    }
}

/// Whether a text speaks of tests that run side by side or in another order than they were written in.
fn is_shuffled(text: &str) -> bool {
    const WORDS: &[&str] = &["random", "shuffle", "xdist", "numprocesses", "parallel", "concurrent"];
    // `-n 4`, `-n4`, `-nauto` of pytest.
    let is_number = |word: &str| {
        word.strip_prefix("-n").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()) || rest == "auto")
    };
    WORDS.iter().any(|word| text.contains(word)) || text.split_whitespace().any(is_number)
}

fn has(commands: &[Vec<String>], word: &str) -> bool {
    commands.iter().flatten().any(|other| other == word)
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
