//! RSpec.

use super::names::Ran;
use super::sums::{Counted, Gathered, Outcome, Recogniser, Sums, counted, indentation};
use ralph_verify::Pattern;

/// `4 examples, 2 failures, 1 pending`, then `rspec ./cart_spec.rb:3 # cart discount`. The documentation format shows a tree of
/// groups and examples before, in which only what follows tells a group from an example.
#[derive(Debug, Default)]
pub(super) struct Rspec {
    all: Gathered,
    groups: Vec<String>,
    last: Option<(usize, String)>,
    shown: Ran,
    skipped: u32,
    is_over: bool,
    /// The line before was empty, as it is before each group at the top.
    after_gap: bool,
}

impl Recogniser for Rspec {
    fn line(&mut self, line: &str) {
        if let Some((_, name)) = line.strip_prefix("rspec ").and_then(|rest| rest.split_once(" # ")) {
            self.all.failing.insert(name);
        } else if matches!(line, "Failures:") || line.starts_with("Pending: (") || line.starts_with("Finished in ") {
            self.take_last(0);
            self.is_over = true;
        } else if line.contains(" example") {
            self.result(line);
        } else if !self.is_over {
            self.tree(line);
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        self.all.counted()
    }
}

impl Rspec {
    fn result(&mut self, line: &str) {
        let mut parts = line.split(", ").map(counted);
        let Some(Some((total, "examples" | "example"))) = parts.next() else { return };
        let mut sums = Sums::default();
        for (number, word) in parts.flatten() {
            match word.split(' ').next() {
                // `1 error occurred outside of examples`
                Some("failure" | "failures" | "error" | "errors") => sums.count(Outcome::Failed, number),
                Some("pending") => sums.skipped = number,
                _ => {}
            }
        }
        let sums = Sums::of_total(total, sums.failed, sums.skipped);
        let shown = std::mem::take(&mut self.shown);
        if shown.taken() == sums.ran() && std::mem::take(&mut self.skipped) == sums.skipped {
            self.all.ran.extend(shown);
        }
        self.all.result(sums);
        self.groups.clear();
        self.is_over = false;
    }

    fn tree(&mut self, line: &str) {
        let depth = indentation(line);
        if depth == 0 {
            // What tests and Ruby print, in between: it belongs to no tree.
            let is_warning = line.contains(": warning: ");
            let starts = self.after_gap;
            self.after_gap = line.is_empty() || (is_warning && starts);
            if line.is_empty() || is_warning || !starts {
                return;
            }
        }
        self.after_gap = false;
        if depth > 40 || !depth.is_multiple_of(2) {
            return;
        }
        self.take_last(depth);
        self.last = Some((depth, line.trim().to_owned()));
    }

    /// The line before was a group if the next one is deeper, and else an example, unless it is at the top.
    fn take_last(&mut self, next: usize) {
        static RESULT: Pattern = Pattern::new(r" \((FAILED - [0-9]+|PENDING: .*)\)$");
        let Some((depth, text)) = self.last.take() else { return };
        self.groups.truncate(depth / 2);
        self.groups.resize(depth / 2, String::new());
        if next > depth {
            self.groups.push(text);
            return;
        }
        let result = RESULT.find(&text).map_or("", |found| found.as_str());
        if result.starts_with(" (PENDING") {
            self.skipped = self.skipped.saturating_add(1);
        } else if depth > 0 {
            let name = &text[..text.len() - result.len()];
            let groups = self.groups.iter().map(String::as_str).filter(|group| !group.is_empty());
            self.shown.again(&groups.chain([name]).collect::<Vec<_>>().join(" "));
        }
    }
}
