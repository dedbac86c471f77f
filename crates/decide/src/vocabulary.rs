//! The words that requests are classified by, from `words.txt`.

use std::sync::LazyLock;

use crate::TaskType;
use crate::words::is_slip;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Category {
    /// It speaks for a kind of work.
    Work(TaskType),
    /// It speaks for a high risk, of this kind.
    High(&'static str),
    Medium,
    /// It is about what is only seen.
    Surface,
    /// It takes the words out of what other entries see.
    Neutral,
    Generic,
    Stop,
    /// It may come before the request itself.
    Polite,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) category: Category,
    pub(crate) weight: u32,
    pub(crate) is_subject: bool,
    pub(crate) words: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pattern {
    Whole(&'static str),
    Beginning(&'static str),
    End(&'static str),
}

impl Pattern {
    fn parse(text: &'static str) -> Self {
        match (text.strip_suffix('*'), text.strip_prefix('*')) {
            (Some(stem), _) => Self::Beginning(stem),
            (None, Some(end)) => Self::End(end),
            (None, None) => Self::Whole(text),
        }
    }

    pub(crate) fn matches(&self, word: &str) -> bool {
        match self {
            Self::Whole(whole) => word == *whole,
            Self::Beginning(stem) => word.starts_with(stem),
            Self::End(end) => word.len() > end.len() && word.ends_with(end),
        }
    }

    /// The word that was meant, where this was a slip of the finger.
    fn meant(&self, typed: &str) -> Option<&'static str> {
        match self {
            Self::Whole(whole) => is_slip(typed, whole).then_some(*whole),
            Self::Beginning(stem) => {
                let most = typed.char_indices().map(|(at, _)| at).chain([typed.len()]);
                let near = most.filter(|at| at.abs_diff(stem.len()) <= 1 && stem.len() >= 5);
                near.into_iter().any(|at| is_slip(&typed[..at], stem)).then_some(*stem)
            }
            Self::End(_) => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Vocabulary {
    pub(crate) entries: Vec<Entry>,
}

pub(crate) static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::parse(include_str!("words.txt")));

impl Vocabulary {
    #[expect(clippy::expect_used, reason = "the text is part of the program, and tested")]
    fn parse(text: &'static str) -> Self {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let entries = lines.flat_map(|line| {
            let (head, list) = line.split_once(": ").expect("CATEGORY WEIGHT: ENTRIES");
            let mut head = head.split(' ');
            let category = category(head.next().unwrap_or_default()).expect("a known category");
            let weight = head.next().and_then(|weight| weight.parse().ok()).expect("a weight");
            let is_subject = head.next() == Some("names");
            list.split(", ").map(move |entry| Entry {
                category,
                weight,
                is_subject,
                words: entry.split(' ').map(Pattern::parse).collect(),
            })
        });
        Self { entries: entries.collect() }
    }

    /// Whether any entry knows the word.
    pub(crate) fn knows(&self, word: &str) -> bool {
        self.entries.iter().any(|entry| entry.words.iter().any(|pattern| pattern.matches(word)))
    }

    /// The word that was meant by one that nothing knows; the word itself where no slip explains it.
    pub(crate) fn corrected(&self, word: &str) -> String {
        if self.knows(word) || word.chars().any(|c| c.is_ascii_digit()) {
            return word.to_owned();
        }
        // Grammar and words without a subject are too short to be distinguished from correct ones.
        let is_worth =
            |entry: &&Entry| !matches!(entry.category, Category::Stop | Category::Generic | Category::Polite);
        let entries = self.entries.iter().filter(is_worth);
        let meant = entries.flat_map(|entry| &entry.words).find_map(|pattern| pattern.meant(word));
        meant.unwrap_or(word).to_owned()
    }
}

fn category(name: &'static str) -> Option<Category> {
    if let Some(kind) = name.strip_prefix("high-") {
        return Some(Category::High(kind));
    }
    Some(match name {
        "medium" => Category::Medium,
        "surface" => Category::Surface,
        "neutral" => Category::Neutral,
        "generic" => Category::Generic,
        "stop" => Category::Stop,
        "polite" => Category::Polite,
        name => Category::Work(TaskType::ALL.into_iter().find(|task_type| task_type.name() == name)?),
    })
}

#[cfg(test)]
#[path = "vocabulary_tests.rs"]
mod tests;
