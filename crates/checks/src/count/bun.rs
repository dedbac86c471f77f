//! bun.

use super::names::{Ran, without_time};
use super::sums::{Counted, Gathered, Sums, counted};

/// ` 2 pass`, ` 1 fail`, then `Ran 3 tests across 1 file.`
#[derive(Debug, Default)]
pub(super) struct Bun {
    all: Gathered,
    seen: bool,
    pending: Sums,
    shown: Ran,
}

impl Bun {
    pub(super) fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("(fail) ") {
            let name = untimed(name);
            self.all.failing.insert(name);
            self.shown.again(name);
        } else if let Some(name) = line.strip_prefix("(pass) ").or_else(|| line.strip_prefix("✓ ")) {
            self.shown.again(untimed(name));
        } else if line.starts_with("Ran ") && line.contains(" across ") && line.contains(" file") {
            self.all.sums.add(std::mem::take(&mut self.pending));
            self.seen = true;
        } else if line.starts_with(' ') {
            match counted(line) {
                Some((number, "pass")) => self.pending.passed = number,
                Some((number, "fail")) => self.pending.failed = number,
                Some((number, "skip" | "todo")) => {
                    self.pending.skipped = self.pending.skipped.saturating_add(number);
                }
                Some(_) | None => {}
            }
        }
    }

    pub(super) fn finish(mut self) -> Counted {
        if self.shown.taken() == self.all.sums.ran() {
            self.all.ran.extend(self.shown);
        }
        self.seen.then_some(self.all)
    }
}

/// `cart > discount [0.55ms]` without the time.
fn untimed(name: &str) -> &str {
    without_time(name.rsplit_once(" [").filter(|(_, time)| time.ends_with("s]")).map_or(name, |(name, _)| name))
}
