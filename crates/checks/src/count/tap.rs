//! TAP 12 to 14, and what `node --test` and tape print beside it.

use super::names::{Names, Ran, without_time};
use super::sums::{Counted, Gathered, Outcome, Recogniser, Sums, indentation};

/// Counts test points, each subtest once, or takes the totals at the end where the producer prints some.
#[derive(Debug, Default)]
pub(super) struct Tap {
    points: Gathered,
    /// A version or a plan was seen: without one, `ok` is just a word.
    declared: bool,
    bailed_out: bool,
    planned: u32,
    outermost: u32,
    /// Tests that are expected to fail, and do: AVA counts them among the failing.
    todo: u32,
    closing: u32,
    /// For each depth, the points below it since its last point.
    below: Vec<Below>,
    path: Vec<String>,
    /// What tape calls the test that the next points are assertions of, and how many points there were below such a name.
    heading: Option<String>,
    headed: u32,
    /// A point that failed: what follows says whether it was a test.
    last_failed: Option<String>,
    /// What the diagnostic block holds: where it happened, and what says that it is a test or an assertion.
    has_stack: bool,
    is_test: bool,
    /// How far the diagnostic block is indented that the lines belong to.
    block: Option<usize>,
    totals: Totals,
    tree: Tree,
}

#[derive(Debug, Default, Clone, Copy)]
struct Below {
    points: u32,
    failed: u32,
    /// Subtests of tap: only they have a time.
    timed: u32,
}

/// Subtests that are nested deeper are not looked at; the point above them counts.
const MAX_DEPTH: usize = 8;

impl Recogniser for Tap {
    fn line(&mut self, line: &str) {
        self.totals.line(line);
        self.tree.line(line);
        let text = line.trim_start_matches(' ');
        let indented = indentation(line);
        if let Some(block) = self.block {
            if indented >= block {
                if indented == block {
                    self.has_stack |= text.starts_with("stack:") || text.starts_with("tapCaught:");
                    self.is_test |=
                        ["found:", "wanted:", "compare:", "duration_ms:"].iter().any(|key| text.starts_with(key));
                }
                if text == "..." {
                    self.block = None;
                    self.judge_failed();
                }
                return;
            }
            self.block = None;
            self.judge_failed();
        }
        if text == "---" && indented >= 2 {
            self.block = Some(indented);
            return;
        }
        self.keep_failed();
        let depth = indented / 4;
        if !indented.is_multiple_of(4) || depth > MAX_DEPTH {
            return;
        }
        if let Some(name) = text.strip_prefix("# Subtest: ") {
            self.path.truncate(depth);
            self.path.resize(depth, String::new());
            self.path.push(name.to_owned());
        } else if text == "}" {
            self.path.truncate(depth);
            if let Some(below) = self.below.get_mut(depth) {
                *below = Below::default();
            }
        } else if let Some(opening) = text.strip_suffix(" {").and_then(Point::read) {
            self.open(depth, opening);
        } else if let Some(point) = Point::read(text) {
            self.point(depth, point);
        } else if depth == 0 {
            self.outer(text);
            // Others say how many points there will be before the first one, and comment on what was before.
            if let Some(heading) = text.strip_prefix("# ").filter(|_| self.declared && self.planned == 0) {
                self.heading = Some(heading.to_owned());
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Counted {
        self.keep_failed();
        let mut all = self.points;
        let points = all.sums;
        let Some(mut sums) = self.totals.sums else {
            // Tests that were announced and never reported: the program broke off.
            let unreported = self.planned.saturating_sub(self.outermost).max(u32::from(self.bailed_out));
            all.sums.count(Outcome::Failed, unreported);
            return self.declared.then_some(all);
        };
        if !self.totals.skips_counted {
            sums.skipped = points.skipped;
        }
        if self.todo > 0 && sums.failed == points.failed.saturating_add(self.todo) {
            sums = points;
        }
        all.sums = sums;
        all.failing.extend(self.tree.names);
        for (ran, closing) in [(std::mem::take(&mut all.ran), self.closing), (self.tree.ran, self.tree.closing)] {
            // A test with subtests is among the totals and a suite is not. More than these was printed by tests.
            let least = ran.taken().saturating_add(self.headed);
            if (least..=least.saturating_add(closing)).contains(&sums.ran()) {
                all.ran.extend(ran);
            }
        }
        Some(all)
    }
}

impl Tap {
    /// Names of the subtests around a point: some announce one at its own depth, some at the depth of its points.
    fn parents<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.path.iter().map(String::as_str).filter(move |parent| !parent.is_empty() && *parent != name)
    }

    /// What tap prints of an exception that ended a subtest is called by its message: no test that could run again.
    fn judge_failed(&mut self) {
        let (has_stack, is_test) = (std::mem::take(&mut self.has_stack), std::mem::take(&mut self.is_test));
        if has_stack
            && !is_test
            && let Some(name) = self.last_failed.take()
        {
            self.points.failing.insert(&name);
        }
    }

    fn keep_failed(&mut self) {
        if let Some(name) = self.last_failed.take() {
            self.points.ran.again(&name);
            self.points.failing.insert(&name);
        }
    }

    /// `not ok 1 - cart.test.mjs # time=11.12ms {`: some print the result of a subtest before its points.
    fn open(&mut self, depth: usize, point: Point<'_>) {
        self.outermost = self.outermost.saturating_add(u32::from(depth == 0));
        self.path.truncate(depth);
        self.path.resize(depth, String::new());
        self.path.push(point.name.to_owned());
    }

    fn outer(&mut self, text: &str) {
        if text.starts_with("TAP version ") {
            self.declared = true;
        } else if text.starts_with("Bail out!") {
            self.bailed_out = true;
        } else if let Some(plan) = text.strip_prefix("1..")
            && let Ok(planned) = plan.split([' ', '#']).next().unwrap_or(plan).parse::<u32>()
        {
            self.declared = true;
            self.planned = self.planned.saturating_add(planned);
        }
    }

    fn point(&mut self, depth: usize, point: Point<'_>) {
        self.below.resize(self.below.len().max(depth + 1), Below::default());
        self.outermost = self.outermost.saturating_add(u32::from(depth == 0));
        let below = std::mem::take(&mut self.below[depth]);
        self.path.truncate(depth + 1);
        let failed = point.outcome == Outcome::Failed;
        self.todo = self.todo.saturating_add(u32::from(point.is_todo));
        for above in &mut self.below[..depth] {
            above.timed = above.timed.saturating_add(u32::from(point.is_timed));
        }
        // The point that closes a subtest repeats it, unless it fails for a reason of its own.
        if below.points > 0 && !(failed && below.failed == 0) {
            self.closing = self.closing.saturating_add(1);
            // Its points are assertions, and the subtest is what people call a test.
            if failed && point.is_timed && below.timed == 0 {
                self.keep_failed();
                self.points
                    .failing
                    .insert(&self.parents(point.name).chain([point.name]).collect::<Vec<_>>().join(" > "));
            }
            return;
        }
        self.points.sums.count(point.outcome, 1);
        for above in &mut self.below[..depth] {
            above.points = above.points.saturating_add(1);
            above.failed = above.failed.saturating_add(u32::from(failed));
        }
        // A subtest that fails by itself is no test: when it does not, it is not missing.
        let closes = below.points > 0;
        if closes {
            self.closing = self.closing.saturating_add(1);
        }
        if point.outcome != Outcome::Skipped {
            let subtest = self.parents(point.name).collect::<Vec<_>>().join(" > ");
            let name = format!("{subtest}{}{}", if subtest.is_empty() { "" } else { " > " }, point.name);
            // An assertion of tape: what stands above it is the test.
            let heading = self.heading.as_deref().filter(|_| depth == 0 && !point.is_dashed && !closes);
            self.headed = self.headed.saturating_add(u32::from(heading.is_some()));
            if failed && heading.is_none() && !closes && !subtest.is_empty() {
                self.last_failed = Some(name);
                return;
            }
            let name = heading.unwrap_or(&name);
            match heading {
                Some(_) => self.points.ran.once(name),
                None if !closes => self.points.ran.again(name),
                None => {}
            }
            if failed {
                self.points.failing.insert(name);
            }
        }
    }
}

#[derive(Debug)]
struct Point<'a> {
    outcome: Outcome,
    is_todo: bool,
    /// `ok 1 - name`, as most write it.
    is_dashed: bool,
    is_timed: bool,
    name: &'a str,
}

impl<'a> Point<'a> {
    /// `not ok 2 - cart discount # TODO later`
    fn read(text: &'a str) -> Option<Self> {
        let (failed, rest) = match text.strip_prefix("not ok") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix("ok")?),
        };
        let rest = rest.strip_prefix(' ')?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = rest.split_at(digits);
        let dashed = rest.trim_start().strip_prefix("- ");
        if (number.is_empty() && dashed.is_none()) || !(number.is_empty() || rest.is_empty() || rest.starts_with(' ')) {
            return None;
        }
        let is_dashed = dashed.is_some();
        let rest = dashed.unwrap_or(rest).trim();
        let is_timed = rest.contains(" # time=");
        let rest = rest.rsplit_once(" # time=").map_or(rest, |(rest, _)| rest);
        let (name, directive) = rest.rsplit_once("# ").unwrap_or((rest, ""));
        let is = |word: &str| directive.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let (outcome, name) = match failed {
            _ if is("skip") || is("todo") => (Outcome::Skipped, name),
            true => (Outcome::Failed, rest),
            false => (Outcome::Passed, rest),
        };
        let name = name.trim();
        let is_todo = failed && outcome == Outcome::Skipped;
        Some(Self { outcome, is_todo, is_dashed, is_timed, name: if name.is_empty() { number } else { name } })
    }
}

/// `# tests 8`, `# pass 2`, `# fail 4`, or the same after `ℹ`.
#[derive(Debug, Default)]
struct Totals {
    announced: bool,
    sums: Option<Sums>,
    skips_counted: bool,
}

impl Totals {
    fn line(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) else { return };
        let Some((word, number)) = rest.split_once(' ') else { return };
        let Ok(number) = number.trim().parse::<u32>() else { return };
        if word == "tests" {
            self.announced = true;
        }
        if !self.announced {
            return;
        }
        let mut sums = Sums::default();
        match word {
            "pass" => sums.passed = number,
            // A cancelled test was not allowed to end, for instance because its parent did.
            "fail" | "cancelled" => sums.failed = number,
            "skipped" | "skip" | "todo" => (sums.skipped, self.skips_counted) = (number, true),
            _ => return,
        }
        self.sums.get_or_insert_default().add(sums);
    }
}

/// Names of tests in the tree that the spec reporter of Node prints.
#[derive(Debug, Default)]
struct Tree {
    names: Names,
    ran: Ran,
    open: Vec<String>,
    closing: u32,
    listing: bool,
}

impl Tree {
    fn line(&mut self, line: &str) {
        let text = line.trim_start_matches(' ');
        let depth = (indentation(line) / 2).min(MAX_DEPTH);
        if let Some(name) = text.strip_prefix("▶ ") {
            self.open.truncate(depth);
            self.open.resize(depth, String::new());
            self.open.push(without_time(name).to_owned());
            self.listing = false;
        } else if text == "✖ failing tests:" {
            // The same tests once more, without their suites.
            self.listing = true;
        } else if !self.listing
            && let Some((mark, rest)) = text.split_once(' ')
            && matches!(mark, "✖" | "✔")
            && let Some((name, time)) = rest.rsplit_once(" (")
        {
            if self.open.get(depth).is_some_and(|open| open == name) {
                self.open.truncate(depth);
                self.closing = self.closing.saturating_add(1);
                return;
            }
            // Behind the time stands why a test does not count.
            if !time.ends_with("ms)") {
                return;
            }
            let suites = self.open.iter().take(depth).filter(|name| !name.is_empty());
            let name = suites.map(String::as_str).chain([name]).collect::<Vec<_>>().join(" > ");
            if mark == "✖" {
                self.names.insert(&name);
            }
            self.ran.again(&name);
        }
    }
}
