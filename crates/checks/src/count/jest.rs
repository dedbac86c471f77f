//! jest.

use super::names::{Names, without_time};
use super::sums::{Counted, Gathered, Outcome, Recogniser, Sums, counted, indentation};

/// `Tests:       2 failed, 1 skipped, 1 todo, 2 passed, 6 total`
#[derive(Debug, Default)]
pub(super) struct Jest {
    all: Gathered,
    file: String,
    /// Files of which no test could run; their summary counts them among no tests.
    broken: Names,
    tree: Tree,
}

impl Recogniser for Jest {
    fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("Tests:") {
            self.summary(rest);
        } else if let Some(file) = result(line, "FAIL") {
            self.file.clear();
            self.file.push_str(file);
            self.all.ran.once(file);
            self.tree.begin(file);
        } else if let Some(file) = result(line, "PASS") {
            self.all.ran.once(file);
            self.tree.begin(file);
        } else if let Some(name) = line.strip_prefix("  ● ")
            && !self.file.is_empty()
        {
            match name {
                "Test suite failed to run" => self.broken.insert(&self.file),
                "Console" => {}
                _ => self.all.failing.insert(name),
            }
        } else {
            self.tree.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        let Self { mut all, broken, tree, .. } = *self;
        if tree.ran.taken() == all.sums.ran() {
            all.ran.extend(tree.ran);
        }
        all.sums.count(Outcome::Failed, broken.len());
        all.failing.extend(broken);
        all.counted()
    }
}

impl Jest {
    fn summary(&mut self, rest: &str) {
        let Some(counts) = rest.trim_end().strip_suffix(" total") else { return };
        let mut sums = Sums::default();
        for part in counts.split(',') {
            match counted(part) {
                Some((number, "passed")) => sums.passed = number,
                Some((number, "failed")) => sums.failed = number,
                Some((number, "skipped" | "todo" | "pending")) => sums.count(Outcome::Skipped, number),
                Some(_) | None => {}
            }
        }
        self.all.result(sums);
    }
}

/// The file of `PASS cart.test.js (5.1 s)`. With colours on, the word stands in a box of its own.
fn result<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(' ').unwrap_or(line).strip_prefix(word)?;
    let file = rest.strip_prefix(if line.starts_with(' ') { "  " } else { " " })?;
    Some(file.split(" (").next().unwrap_or(file).trim())
}

/// The tests under a file, which are shown when there is but one file or when it is asked for.
#[derive(Debug, Default)]
struct Tree {
    ran: super::names::Ran,
    file: String,
    is_open: bool,
    suites: Vec<String>,
}

impl Tree {
    /// Suites that are nested deeper are not looked at.
    const MAX_DEPTH: usize = 30;

    fn begin(&mut self, file: &str) {
        self.file.clear();
        self.file.push_str(file);
        self.is_open = true;
        self.suites.clear();
    }

    fn line(&mut self, line: &str) {
        // The tree is printed in one go: what tests print comes before it, or after the empty line at its end.
        self.is_open &= line.starts_with("  ");
        let depth = indentation(line) / 2;
        if !self.is_open || depth > Self::MAX_DEPTH {
            return;
        }
        let text = line.trim();
        self.suites.truncate(depth - 1);
        if let Some(name) = ["✓ ", "✕ ", "√ ", "× "].iter().find_map(|mark| text.strip_prefix(mark)) {
            let titles: Vec<&str> = self.suites.iter().map(String::as_str).chain([without_time(name)]).collect();
            self.ran.again(&format!("{} > {}", self.file, titles.join(" › ")));
        } else if !text.starts_with("○ ") && !text.starts_with("✎ ") {
            self.suites.push(text.to_owned());
        }
    }
}
