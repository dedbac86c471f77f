//! TAP 12 to 14, and what `node --test` and tape print beside it.

use super::sums::{Counted, Names, Sums, indentation};

/// Counts test points, each subtest once, or takes the totals at the end where the producer prints some.
#[derive(Debug, Default)]
pub(super) struct Tap {
    points: Sums,
    names: Names,
    /// A version or a plan was seen: without one, `ok` is just a word.
    declared: bool,
    bailed_out: bool,
    planned: u32,
    outermost: u32,
    /// For each depth, the points below it since its last point.
    below: Vec<Below>,
    /// The subtest that is open at each depth.
    path: Vec<String>,
    /// How far the diagnostic block is indented that the lines belong to.
    block: Option<usize>,
    totals: Totals,
    tree: Tree,
}

#[derive(Debug, Default, Clone, Copy)]
struct Below {
    points: u32,
    failed: u32,
}

impl Tap {
    /// Subtests that are nested deeper are not looked at; the point above them counts.
    const DEEPEST: usize = 8;

    pub(super) fn line(&mut self, line: &str) {
        self.totals.line(line);
        self.tree.line(line);
        let text = line.trim_start_matches(' ');
        let indented = indentation(line);
        if let Some(block) = self.block {
            if indented >= block {
                if text == "..." {
                    self.block = None;
                }
                return;
            }
            self.block = None;
        }
        if text == "---" && indented >= 2 {
            self.block = Some(indented);
            return;
        }
        let depth = indented / 4;
        if !indented.is_multiple_of(4) || depth > Self::DEEPEST {
            return;
        }
        if let Some(name) = text.strip_prefix("# Subtest: ") {
            self.path.truncate(depth);
            self.path.resize(depth, String::new());
            self.path.push(name.to_owned());
        } else if let Some(point) = Point::read(text) {
            self.point(depth, point);
        } else if depth == 0 {
            self.outer(text);
        }
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
        let failed = point.result == Result::Failed;
        // The point that closes a subtest repeats it, unless it fails for a reason of its own.
        if below.points > 0 && !(failed && below.failed == 0) {
            return;
        }
        let sum = match point.result {
            Result::Passed => &mut self.points.passed,
            Result::Failed => &mut self.points.failed,
            Result::Skipped => &mut self.points.skipped,
        };
        *sum = sum.saturating_add(1);
        for above in &mut self.below[..depth] {
            above.points = above.points.saturating_add(1);
            above.failed = above.failed.saturating_add(u32::from(failed));
        }
        if failed {
            // Some announce a subtest at its own depth, some at the depth of its points.
            let parents = self.path.iter().filter(|name| !name.is_empty() && *name != point.name);
            let name: Vec<&str> = parents.map(String::as_str).chain([point.name]).collect();
            self.names.insert(&name.join(" > "));
        }
    }

    pub(super) fn finish(mut self) -> Counted {
        if let Some(mut sums) = self.totals.sums {
            if !self.totals.skips_counted {
                sums.skipped = self.points.skipped;
            }
            self.names.extend(self.tree.names);
            return Some((sums, self.names));
        }
        if !self.declared {
            return None;
        }
        // Tests that were announced and never reported: the program broke off.
        let unreported = self.planned.saturating_sub(self.outermost).max(u32::from(self.bailed_out));
        self.points.failed = self.points.failed.saturating_add(unreported);
        Some((self.points, self.names))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Result {
    Passed,
    Failed,
    Skipped,
}

#[derive(Debug)]
struct Point<'a> {
    result: Result,
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
        if (number.is_empty() && dashed.is_none()) || !(rest.is_empty() || rest.starts_with(' ')) {
            return None;
        }
        let rest = dashed.unwrap_or(rest).trim();
        let (name, directive) = rest.rsplit_once("# ").unwrap_or((rest, ""));
        let is = |word: &str| directive.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let (result, name) = match failed {
            _ if is("skip") || is("todo") => (Result::Skipped, name),
            true => (Result::Failed, rest),
            false => (Result::Passed, rest),
        };
        let name = name.trim();
        Some(Self { result, name: if name.is_empty() { number } else { name } })
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

/// Names of failing tests in the tree that the spec reporter of Node prints.
#[derive(Debug, Default)]
struct Tree {
    names: Names,
    /// Open suites, by depth.
    open: Vec<String>,
    listing: bool,
}

impl Tree {
    fn line(&mut self, line: &str) {
        let text = line.trim_start_matches(' ');
        let depth = (indentation(line) / 2).min(Tap::DEEPEST);
        if let Some(name) = text.strip_prefix("▶ ") {
            self.open.truncate(depth);
            self.open.resize(depth, String::new());
            self.open.push(name.to_owned());
            self.listing = false;
        } else if text == "✖ failing tests:" {
            // The same tests once more, without their suites.
            self.listing = true;
        } else if !self.listing
            && let Some(name) = text.strip_prefix("✖ ").and_then(|rest| rest.rsplit_once(" (")).map(|(name, _)| name)
        {
            if self.open.get(depth).is_some_and(|open| open == name) {
                self.open.truncate(depth);
                return;
            }
            let suites = self.open.iter().take(depth).filter(|name| !name.is_empty());
            let name: Vec<&str> = suites.map(String::as_str).chain([name]).collect();
            self.names.insert(&name.join(" > "));
        }
    }
}
