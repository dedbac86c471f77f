//! unittest of Python.

use super::names::Ran;
use super::sums::{Counted, Gathered, Outcome, Recogniser, Sums, counted, is_seconds};

/// `Ran 6 tests in 0.001s` and the verdict after it.
#[derive(Debug, Default)]
pub(super) struct Unittest {
    all: Gathered,
    ran: Option<u32>,
    /// A failure has its name under a line of `=`.
    framed: bool,
    /// Tests of this run that failed, and how often one of them failed once more: in another part of it, or when it was
    /// taken down.
    failed: Ran,
    repeats: u32,
    verbose: Verbose,
}

/// What `-v` shows: a line for every test, before it runs, and its result behind that or further down.
#[derive(Debug, Default)]
struct Verbose {
    /// Tests of all runs; nothing when one of the runs cannot be trusted.
    ran: Ran,
    announced: u32,
    /// Announced tests of all runs, and the number that the runs told themselves.
    sums: (u32, u32),
    /// The last one, while it may turn out to be skipped.
    open: Option<String>,
}

impl Recogniser for Unittest {
    fn line(&mut self, line: &str) {
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
            self.verbose.close();
        } else if framed && let Some(rest) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
            self.failure(&qualified(rest));
        } else {
            self.verbose.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Counted {
        let Self { mut all, verbose, .. } = *self;
        if verbose.sums.0 == verbose.sums.1 {
            all.ran.extend(verbose.ran);
        }
        all.counted()
    }
}

impl Unittest {
    fn failure(&mut self, name: &str) {
        // `shop.Shop.test_sub (i=1)` and `shop.Shop.test_sub [part]` are parts of one test.
        let test = name.split(' ').next().unwrap_or(name);
        if self.failed.contains(test) {
            self.repeats = self.repeats.saturating_add(1);
        }
        self.failed.once(test);
        self.all.failing.insert(name);
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
                "failures" | "errors" | "unexpected successes" => sums.count(Outcome::Failed, number),
                "skipped" | "expected failures" => sums.count(Outcome::Skipped, number),
                _ => {}
            }
        }
        // One test that fails in three parts is one test: it will count as one when it passes.
        let failed = sums.failed.saturating_sub(self.repeats).max(u32::from(sums.failed > 0));
        self.all.result(Sums::of_total(ran, failed, sums.skipped));
        self.repeats = 0;
        self.failed = Ran::default();
        self.verbose.finish(ran);
    }
}

impl Verbose {
    fn line(&mut self, line: &str) {
        if let Some((name, result)) = announced(line) {
            self.close();
            self.announced = self.announced.saturating_add(1);
            self.open = Some(name);
            self.result(result);
        } else {
            // A docstring stands on a line of its own, and so does the result of a test that prints something.
            self.result(line.rsplit_once(" ... ").map_or(line, |(_, result)| result));
        }
    }

    fn result(&mut self, result: &str) {
        if result.starts_with("skipped ") || result == "expected failure" {
            self.open = None;
        }
    }

    fn close(&mut self) {
        if let Some(name) = self.open.take() {
            self.ran.again(&name);
        }
    }

    fn finish(&mut self, ran: u32) {
        self.close();
        let announced = std::mem::take(&mut self.announced);
        self.sums = (self.sums.0.saturating_add(announced), self.sums.1.saturating_add(ran));
    }
}

/// The test and what stands behind it in `test_a (shop.Shop.test_a) ... ok`.
fn announced(line: &str) -> Option<(String, &str)> {
    let (head, result) = match line.split_once(" ... ") {
        Some((head, result)) => (head, result),
        None => (line.strip_suffix(" ...").unwrap_or(line), ""),
    };
    let (test, class) = head.split_once(" (")?;
    let class = class.strip_suffix(')')?;
    let is_name = |text: &str, also: char| {
        !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '<' | '>') || c == also)
    };
    let is_test = is_name(test, '_')
        && is_name(class, '.')
        && class.contains('.')
        && !matches!(test, "setUpClass" | "tearDownClass" | "setUpModule" | "tearDownModule");
    // What another test printed without ending its line stands right before the name, which is whole behind it.
    let last = class.rsplit('.').next().unwrap_or(class);
    let torn = last.starts_with("test") && test.ends_with(last);
    is_test.then(|| (if torn { class.to_owned() } else { qualified(head) }, result))
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
