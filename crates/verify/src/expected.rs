//! Tests that have to run: those that ran before the first iteration, and at least one.

use ralph_model::{CheckOutcome, Shrunk, TestTally};

use crate::pattern::Pattern;
use crate::test_names;

/// What changed of the files that hold tests.
#[derive(Debug, Clone, Copy)]
pub struct TestChanges<'a> {
    pub allowed: &'a [String],
    /// Tests that have another name because their file has: old and new start of the names.
    pub renamed: &'a [(String, String)],
    /// The tests that pinned files define, by their files.
    pub defined: &'a [DefinedTests],
}

/// Tests that a file of the start defines and that run whenever it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinedTests {
    pub path: String,
    pub names: Vec<String>,
    /// Whether a runner said that it runs them.
    pub is_listed: bool,
}

/// Whether the names of tests in the sources are needed: at the start no test, or not every file, could be loaded, or fewer tests
/// ran than the runners listed.
#[must_use]
pub fn needs_defined(check: &CheckOutcome, earlier: Option<&TestTally>, listed: usize) -> bool {
    let was_not_loaded = |tests: &TestTally| {
        test_names::ran_nothing(tests)
            || tests.failing.iter().any(|name| test_names::is_whole(name) || name.contains('.'))
            || test_names::is_cut_short(tests, listed)
    };
    check.passed && check.tests.is_some() && earlier.is_none_or(was_not_loaded)
}

/// Judges a check of the baseline: a run without a test shows nothing.
pub fn judge_baseline(check: &mut CheckOutcome) {
    if check.passed && check.tests.as_ref().is_some_and(test_names::ran_nothing) {
        fail_without_tests(check);
    }
}

/// Judges a check by the tests that ran in the baseline: those have to run now.
pub fn compare_with_baseline(check: &mut CheckOutcome, earlier: Option<&TestTally>, changes: TestChanges<'_>) {
    // A run that fails anyway may have stopped early.
    if let (true, Some(earlier)) = (check.passed, earlier) {
        let excused = excused(&earlier.names, changes.allowed);
        let shrunk = if excused.len() == earlier.names.len() && !changes.allowed.is_empty() {
            // Which tests are in the files that may change is not known: they may have other names and be fewer, but not none.
            let none = check.tests.as_ref().is_none_or(test_names::ran_nothing) && !test_names::ran_nothing(earlier);
            none.then(|| test_names::nothing_left(earlier))
        } else {
            test_names::compare(earlier, check.tests.as_ref(), &excused, changes.renamed)
        };
        if let Some(shrunk) = shrunk {
            fail_shrunk(check, shrunk);
        }
    }
    if let (true, Some(now)) = (check.passed && changes.allowed.is_empty(), &check.tests)
        && let Some(shrunk) = test_names::compare_defined(earlier, now, changes.defined)
    {
        fail_shrunk(check, shrunk);
    }
    judge_baseline(check);
    test_names::forget_names(check);
}

/// Whether commands or settings choose among the tests of a file, so that not all that are defined run.
#[must_use]
pub fn chooses_tests(text: &str) -> bool {
    static CHOOSES: Pattern = Pattern::new(concat!(
        r"(?:pytest|addopts)[^\n]*\s['\x22]?-m\b|\s-k\b|\s-t\b|\s-g\b|\s-E\b|\s-n\s?/|\s-i\b|\s-?-run\b|--(?:grep|fgrep|filter|tests?|only|tag|",
        r"exclude|deselect|ignore|skip|example|lf|last-failed|ff|sw|test-name-pattern|testNamePattern|group)\b|::"
    ));
    CHOOSES.is_match(text)
}

fn fail_shrunk(check: &mut CheckOutcome, shrunk: Shrunk) {
    check.passed = false;
    check.excerpt = format!("{shrunk}\n");
    check.shrunk = Some(shrunk);
}

/// A runner that ran no test shows nothing, whatever its exit code.
fn fail_without_tests(check: &mut CheckOutcome) {
    check.passed = false;
    check.excerpt = "no test ran\n".to_owned();
    check.shrunk = Some(Shrunk::default());
}

/// Tests that may be missing because somebody allowed their files to change. A snapshot or other data holds no test.
fn excused(names: &[String], allowed: &[String]) -> Vec<String> {
    let code = ["rs", "py", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "go", "sh", "bats", "rb", "c", "cpp"];
    let files: Vec<(&str, &str)> = allowed.iter().filter_map(|path| path.rsplit_once('.')).collect();
    let files: Vec<(&str, &str)> = files.into_iter().filter(|(_, ending)| code.contains(ending)).collect();
    let is_in = |name: &str, (stem, ending): &(&str, &str)| {
        let file = stem.rsplit('/').next().unwrap_or(stem);
        let says_where = name.contains(['/', '>']) || name.contains(".py") || name.contains('(');
        match *ending {
            // Names of Rust tests say the module, and that of a whole program nothing.
            "rs" => {
                let module = module_of(&format!("{stem}.rs"));
                stem.contains("tests/") || module.is_empty() || name.starts_with(&module)
            }
            _ => name.contains(file) || !says_where,
        }
    };
    names.iter().filter(|name| files.iter().any(|file| is_in(name, file))).cloned().collect()
}

/// What the names of tests start with that are in another file now: by its path, and by its module in Python.
#[must_use]
pub fn renamed(old: &str, new: &str) -> Vec<(String, String)> {
    let module = |path: &str| path.strip_suffix(".py").map(|path| format!("{}.", path.replace('/', ".")));
    let mut pairs = vec![(old.to_owned(), new.to_owned())];
    pairs.extend(module(old).zip(module(new)));
    pairs
}

/// Whether a file lies below the same folder of the workspace as another, and has its name or one that says in the same way that it
/// holds tests: `test_a.py` and `test_b.py`.
#[must_use]
pub fn is_named_alike(old: &str, new: &str) -> bool {
    let top = |path: &str| path.split_once('/').map_or(String::new(), |(top, _)| top.to_owned());
    let is_near = top(old) == top(new);
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let (old, new) = (name(old), name(new));
    let ending = |name: &str| name.split_once('.').map_or(String::new(), |(_, ending)| ending.to_owned());
    let affixes = |name: &str| {
        let stem = name.split('.').next().unwrap_or_default();
        (stem.starts_with("test_"), stem.ends_with("_test") || stem.ends_with("_spec"))
    };
    let says_so =
        affixes(&old) != (false, false) || ["test.", "spec."].iter().any(|word| ending(&old).starts_with(word));
    is_near && (old == new || (says_so && affixes(&old) == affixes(&new) && ending(&old) == ending(&new)))
}

/// What the names of tests in a Rust source file start with: `src/cart/price.rs` makes `cart::price::`.
pub fn module_of(path: &str) -> String {
    let inside = path.rsplit_once("src/").map_or(path, |(_, inside)| inside);
    let module = inside.strip_suffix(".rs").unwrap_or(inside);
    let module = module.strip_suffix("/mod").unwrap_or(module);
    if matches!(module, "lib" | "main") { String::new() } else { format!("{}::", module.replace('/', "::")) }
}

#[cfg(test)]
#[path = "expected_tests.rs"]
mod tests;
