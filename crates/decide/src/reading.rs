//! Reads a request: what kind of work it asks for, how risky that is, and whether it says what it is about.

use crate::anchor::names_something;
use crate::vocabulary::{Category, Entry, VOCABULARY};
use crate::words::words;
use crate::{Risk, Scope, TaskType};

/// What is added to a word that the request begins with: it is the verb.
const FIRST: u32 = 2;
/// What a question mark at the end counts.
const QUESTION_MARK: u32 = 3;

/// How many words about the subject make a request specific that has no verb that is known.
const MIN_WORDS: usize = 3;
/// The most words that are read: what a request wants is said at its beginning.
const MAX_WORDS: usize = 200;

#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub task_type: TaskType,
    pub risk: Risk,
    /// The word that speaks for the risk, and what it is about.
    pub risk_reason: Option<RiskReason>,
    pub scope: Scope,
    /// How sure the kind of work is, from 0 to 1.
    pub confidence: f64,
}

/// Why a request is risky.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RiskReason {
    pub words: String,
    /// What they are about: `authentication`, `payments`, `migrations`, `production data`; none for other risks.
    pub about: Option<String>,
}

/// An entry that was found in a request.
struct Match {
    entry: &'static Entry,
    at: usize,
}

impl Match {
    fn range(&self) -> std::ops::Range<usize> {
        self.at..self.at + self.entry.words.len()
    }
}

pub fn read(request: &str) -> Reading {
    let words: Vec<String> = words(request).iter().take(MAX_WORDS).map(|word| VOCABULARY.corrected(word)).collect();
    let matches = matches(&words);
    let first = first_word(&words, &matches);
    let scores = TaskType::ALL.map(|task_type| (task_type, score(task_type, &matches, first, request)));
    // A sentence that begins with its subject and has no verb that is known tells of something that is wrong.
    let is_statement = matches.iter().any(|found| found.at == first && found.entry.category == Category::Stop);
    let usual = if is_statement { TaskType::Bug } else { TaskType::Feature };
    let (task_type, best) = scores.into_iter().fold((usual, 0), |best, next| if next.1 > best.1 { next } else { best });
    let second = scores.into_iter().filter(|(other, _)| *other != task_type).map(|(_, score)| score).max().unwrap_or(0);
    let is_anchored = names_something(request);
    let (risk, risk_reason) = risk(&words, &matches, task_type);
    // Without a verb that is known it takes more words to say something.
    let least = if best > 0 { 1 } else { MIN_WORDS };
    let scope = if is_anchored || subjects(&words, &matches) >= least { Scope::Specific } else { Scope::Vague };
    Reading { task_type, risk, risk_reason, scope, confidence: confidence(best, second, is_anchored) }
}

fn matches(words: &[String]) -> Vec<Match> {
    let starts = |entry: &'static Entry| {
        let length = entry.words.len();
        let ends = (words.len() + 1).saturating_sub(length);
        (0..ends).filter(move |at| entry.words.iter().zip(&words[*at..]).all(|(pattern, word)| pattern.matches(word)))
    };
    let all = VOCABULARY.entries.iter().flat_map(|entry| starts(entry).map(move |at| Match { entry, at }));
    let all: Vec<Match> = all.collect();
    let neutral: Vec<usize> =
        all.iter().filter(|found| found.entry.category == Category::Neutral).flat_map(Match::range).collect();
    let is_risk = |found: &Match| matches!(found.entry.category, Category::High(_) | Category::Medium);
    all.into_iter().filter(|found| !is_risk(found) || !found.range().any(|at| neutral.contains(&at))).collect()
}

fn first_word(words: &[String], matches: &[Match]) -> usize {
    let is_polite = |at: usize| matches.iter().any(|found| found.at == at && found.entry.category == Category::Polite);
    (0..words.len()).find(|at| !is_polite(*at)).unwrap_or(0)
}

fn score(task_type: TaskType, matches: &[Match], first: usize, request: &str) -> u32 {
    let own = matches.iter().filter(|found| found.entry.category == Category::Work(task_type));
    let words: u32 = match task_type {
        // `list` and `comment` are questions at the beginning and things elsewhere.
        TaskType::Question => own.filter(|found| found.at == first).map(|found| found.entry.weight).max().unwrap_or(0),
        _ => own.map(|found| found.entry.weight + if found.at == first { FIRST } else { 0 }).sum(),
    };
    let is_asked = task_type == TaskType::Question && request.trim_end().ends_with('?');
    words + if is_asked { QUESTION_MARK } else { 0 }
}

/// How many words are left of the request once grammar, verbs and words without a subject are gone.
fn subjects(words: &[String], matches: &[Match]) -> usize {
    let named = matches.iter().filter(|found| found.entry.is_subject).count();
    let is_empty = |found: &&Match| {
        matches!(found.entry.category, Category::Work(_) | Category::Generic | Category::Stop | Category::Polite)
    };
    let used: Vec<usize> = matches.iter().filter(is_empty).flat_map(Match::range).collect();
    let is_left = |(at, word): (usize, &String)| !used.contains(&at) && word.chars().any(char::is_alphabetic);
    named + words.iter().enumerate().filter(|word| is_left(*word)).count()
}

fn risk(words: &[String], matches: &[Match], task_type: TaskType) -> (Risk, Option<RiskReason>) {
    if task_type.is_text_only() {
        return (Risk::Low, None);
    }
    let reason = |found: &Match, about: Option<&str>| {
        Some(RiskReason { words: words[found.range()].join(" "), about: about.map(|about| about.replace('-', " ")) })
    };
    let is_surface = matches.iter().any(|found| found.entry.category == Category::Surface);
    let high = matches.iter().find_map(|found| match found.entry.category {
        Category::High(about) => Some((found, about)),
        _ => None,
    });
    if let Some((found, about)) = high {
        return (if is_surface { Risk::Medium } else { Risk::High }, reason(found, Some(about)));
    }
    match matches.iter().find(|found| found.entry.category == Category::Medium) {
        Some(found) if task_type != TaskType::Test => (Risk::Medium, reason(found, None)),
        Some(_) | None => (Risk::Low, None),
    }
}

/// Sure where one kind of work stands out and something is named.
fn confidence(best: u32, second: u32, is_anchored: bool) -> f64 {
    if best == 0 {
        return 0.1;
    }
    let lead = f64::from(best - second) / f64::from(best + 2);
    let sure = 0.4 + 0.5 * lead + if is_anchored { 0.1 } else { 0.0 };
    (sure * 100.0).round() / 100.0
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
