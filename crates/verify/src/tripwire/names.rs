//! Draws names for planted tests from a seed. Knows no language.

use std::collections::BTreeSet;

const FIRST: &[&str] = &[
    "amber", "autumn", "birch", "bright", "calm", "cedar", "clear", "copper", "coral", "crisp", "dusty", "early",
    "fern", "frosty", "gentle", "golden", "hazel", "hollow", "ivory", "jolly", "late", "lemon", "lilac", "linen",
    "lunar", "maple", "mellow", "misty", "mossy", "narrow", "noble", "oaken", "olive", "pale", "pearl", "plain",
    "quiet", "rapid", "russet", "sandy", "silver", "snowy", "soft", "solar", "spruce", "still", "sunny", "tidal",
    "umber", "velvet", "violet", "warm", "willow", "windy",
];

const SECOND: &[&str] = &[
    "anchor", "arch", "basin", "bay", "beacon", "bell", "bridge", "brook", "canyon", "cliff", "cloud", "cove", "creek",
    "dune", "field", "fjord", "forest", "garden", "glade", "grove", "harbor", "hill", "island", "kettle", "lagoon",
    "lake", "lantern", "ledge", "marsh", "meadow", "mill", "orchard", "pasture", "path", "pebble", "pier", "plateau",
    "pond", "prairie", "quarry", "reef", "ridge", "river", "shore", "slope", "spring", "stream", "summit", "terrace",
    "tower", "trail", "valley", "window", "wharf",
];

/// The name of a planted test, and what its failure says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    words: String,
    /// Stands apart in the planted code, so that no source line holds the whole message.
    pub(crate) number: u32,
}

impl Mark {
    /// `hazel_river_4071`
    pub(crate) fn name(&self) -> String {
        format!("{}_{}", self.words, self.number)
    }

    /// `hazel river`: with a blank and the number behind it, the message.
    pub(crate) fn spoken(&self) -> String {
        self.words.replace('_', " ")
    }
}

/// `hazel river 4071`, which a run shows only of a test that failed.
pub(crate) fn message(name: &str) -> String {
    name.replace('_', " ")
}

/// Draws names, none of them twice.
#[derive(Debug)]
pub(crate) struct Names {
    state: u64,
    used: BTreeSet<String>,
}

impl Names {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed, used: BTreeSet::new() }
    }

    /// Names in alphabetical order, because unittest runs tests in that order and others as they stand in the file.
    pub(crate) fn marks(&mut self, count: usize) -> Vec<Mark> {
        let mut marks: Vec<Mark> = (0..count).map(|_| self.mark()).collect();
        marks.sort_by_key(Mark::name);
        marks
    }

    fn mark(&mut self) -> Mark {
        loop {
            let mut words = self.words();
            if self.below(3) == 0 {
                let third = pick(SECOND, self.next());
                words = format!("{words}_{third}");
            }
            // Four digits: Rust's linters want separators in longer numbers.
            let number = 1000 + u32::try_from(self.below(9000)).unwrap_or(0);
            let mark = Mark { words, number };
            if self.used.insert(mark.name()) {
                return mark;
            }
        }
    }

    /// `hazel_river`, for files.
    pub(crate) fn file(&mut self) -> String {
        loop {
            let words = self.words();
            if self.used.insert(words.clone()) {
                return words;
            }
        }
    }

    /// `HazelRiver`, for classes.
    pub(crate) fn class(&mut self) -> String {
        self.file().split('_').map(capital).collect()
    }

    /// `hazelRiver`, for variables of JavaScript.
    pub(crate) fn variable(&mut self) -> String {
        let class = self.class();
        let mut letters = class.chars();
        letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
    }

    fn words(&mut self) -> String {
        let (first, second) = (pick(FIRST, self.next()), pick(SECOND, self.next()));
        format!("{first}_{second}")
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// SplitMix64: the names have to differ from loop to loop, and nothing more.
    const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

fn pick(words: &[&'static str], number: u64) -> &'static str {
    let count = u64::try_from(words.len()).unwrap_or(u64::MAX).max(1);
    let at = usize::try_from(number % count).unwrap_or(0);
    words.get(at).copied().unwrap_or("plain")
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
