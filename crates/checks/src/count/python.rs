//! pytest and unittest.

use super::sums::{Counted, Names, Sums, counted, is_seconds};

/// pytest: the last line of a session, with or without its frame of `=`.
#[derive(Debug, Default)]
pub(super) struct Pytest {
    sums: Sums,
    names: Names,
    seen: bool,
}

impl Pytest {
    pub(super) fn line(&mut self, line: &str) {
        if line.contains(" in ")
            && let Some(sums) = summary(line)
        {
            self.sums.add(sums);
            self.seen = true;
        } else if line.contains("FAILED") || line.contains("ERROR") {
            self.name(line);
        }
    }

    fn name(&mut self, line: &str) {
        // xdist puts the worker and the share of tests done before the status.
        let line = line.strip_prefix("[gw").and_then(|rest| rest.split_once("] ")).map_or(line, |(_, rest)| rest);
        let line = if line.starts_with('[') { line.split_once("] ").map_or(line, |(_, rest)| rest) } else { line };
        if let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
            let node = rest.split(" - ").next().unwrap_or(rest).trim();
            if node.contains("::") || (node.ends_with(".py") && !node.contains(' ')) {
                self.names.insert(node);
            }
        } else if let Some((node, rest)) = line.split_once(" FAILED").or_else(|| line.split_once(" ERROR"))
            && node.contains(".py::")
            && (rest.is_empty() || (rest.trim_start().starts_with('[') && rest.ends_with("%]")))
        {
            self.names.insert(node);
        }
    }

    pub(super) fn finish(self) -> Counted {
        self.seen.then_some((self.sums, self.names))
    }
}

/// `=== 2 failed, 2 passed, 1 skipped, 1 xfailed, 1 error in 0.03s ===`
fn summary(line: &str) -> Option<Sums> {
    let (body, time) = line.trim_matches('=').trim().rsplit_once(" in ")?;
    if !is_seconds(time.split(" (").next()?) {
        return None;
    }
    if body == "no tests ran" {
        return Some(Sums::default());
    }
    let (mut sums, mut tests) = (Sums::default(), false);
    for part in body.split(", ") {
        let (number, word) = counted(part)?;
        let sum = match word {
            "passed" | "xpassed" => &mut sums.passed,
            "failed" | "error" | "errors" | "subtests failed" => &mut sums.failed,
            // A test that is marked to fail shows nothing, so a mark must not make a failure a pass.
            "skipped" | "xfailed" => &mut sums.skipped,
            "deselected" | "warning" | "warnings" | "rerun" | "subtests passed" | "subtests skipped" => continue,
            _ => return None,
        };
        *sum = sum.saturating_add(number);
        tests = true;
    }
    // A session of which everything was deselected still counts, as one without tests.
    (tests || body.contains("deselected")).then_some(sums)
}

/// unittest: `Ran 6 tests in 0.001s` and the verdict after it.
#[derive(Debug, Default)]
pub(super) struct Unittest {
    sums: Sums,
    names: Names,
    seen: bool,
    ran: Option<u32>,
    /// A failure has its name under a line of `=`.
    framed: bool,
}

impl Unittest {
    pub(super) fn line(&mut self, line: &str) {
        let framed = std::mem::take(&mut self.framed);
        if let Some(rest) = line.strip_prefix("Ran ") {
            if let Some((ran, words)) = counted(rest)
                && let Some(time) = words.strip_prefix("tests in ").or_else(|| words.strip_prefix("test in "))
                && is_seconds(time)
            {
                self.ran = Some(ran);
            }
        } else if let Some(ran) = self.ran {
            if !line.is_empty() {
                self.ran = None;
                self.verdict(ran, line);
            }
        } else if line.starts_with("=====") && line.trim_start_matches('=').is_empty() {
            self.framed = true;
        } else if framed && let Some(rest) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
            self.names.insert(&qualified(rest));
        }
    }

    /// `OK`, `OK (skipped=1)`, `FAILED (failures=2, errors=1)`, `NO TESTS RAN`
    fn verdict(&mut self, ran: u32, line: &str) {
        let (word, details) = line.split_once(" (").unwrap_or((line, ""));
        if !matches!(word, "OK" | "FAILED" | "NO TESTS RAN") {
            return;
        }
        let mut sums = Sums::default();
        for detail in details.trim_end_matches(')').split(", ") {
            let Some((name, number)) = detail.split_once('=') else { continue };
            let number: u32 = number.parse().unwrap_or(0);
            match name {
                "failures" | "errors" | "unexpected successes" => sums.failed = sums.failed.saturating_add(number),
                "skipped" | "expected failures" => sums.skipped = sums.skipped.saturating_add(number),
                _ => {}
            }
        }
        sums.passed = ran.saturating_sub(sums.failed).saturating_sub(sums.skipped);
        self.sums.add(sums);
        self.seen = true;
    }

    pub(super) fn finish(self) -> Counted {
        self.seen.then_some((self.sums, self.names))
    }
}

/// `test_sub (shop.Shop.test_sub) (i=1)` as `shop.Shop.test_sub (i=1)`, and `test_sub (shop.Shop)`, as older versions
/// print it, as `shop.Shop.test_sub`.
fn qualified(text: &str) -> String {
    let Some((test, rest)) = text.split_once(" (") else { return text.to_owned() };
    let Some((class, rest)) = rest.split_once(')') else { return text.to_owned() };
    let name = if class == test || class.ends_with(&format!(".{test}")) {
        class.to_owned()
    } else {
        format!("{class}.{test}")
    };
    name + rest
}
