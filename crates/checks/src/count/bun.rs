//! bun.

use super::names::without_time;
use super::sums::{Counted, Gathered, Outcome, Recogniser, Sums, counted};

/// ` 2 pass`, ` 1 fail`, then `Ran 3 tests across 1 file.`
#[derive(Debug, Default)]
pub(super) struct Bun {
    all: Gathered,
    pending: Sums,
}

impl Recogniser for Bun {
    fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("(fail) ") {
            self.all.show(true, untimed(name));
        } else if let Some(name) = line.strip_prefix("(pass) ").or_else(|| line.strip_prefix("✓ ")) {
            self.all.show(false, untimed(name));
        } else if line.starts_with("Ran ") && line.contains(" across ") && line.contains(" file") {
            self.all.result(std::mem::take(&mut self.pending));
        } else if line.starts_with(' ') {
            match counted(line) {
                Some((number, "pass")) => self.pending.passed = number,
                Some((number, "fail")) => self.pending.failed = number,
                Some((number, "skip" | "todo")) => self.pending.count(Outcome::Skipped, number),
                Some(_) | None => {}
            }
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        self.all.counted()
    }
}

/// `cart > discount [0.55ms]` without the time.
fn untimed(name: &str) -> &str {
    without_time(name.rsplit_once(" [").filter(|(_, time)| time.ends_with("s]")).map_or(name, |(name, _)| name))
}
