use proptest::prelude::*;

use super::*;

/// A test file as it was, and what may become of it.
pub(super) struct Table {
    pub(super) path: &'static str,
    pub(super) before: &'static str,
}

impl Table {
    pub(super) fn says(&self, now: &str) -> bool {
        only_adds_tests(self.path, self.before.as_bytes(), now.as_bytes())
    }

    /// With something at the end.
    pub(super) fn end(&self, more: &str) -> String {
        format!("{}{more}", self.before)
    }

    /// With something at the start.
    pub(super) fn start(&self, more: &str) -> String {
        format!("{more}{}", self.before)
    }

    /// With one text in the place of another that is there once.
    pub(super) fn swap(&self, from: &str, to: &str) -> String {
        assert_eq!(self.before.matches(from).count(), 1, "{from}");
        self.before.replace(from, to)
    }

    pub(super) fn welcome(&self, rows: &[String]) {
        for now in rows {
            assert!(self.says(now), "should be welcome:\n{now}");
        }
    }

    pub(super) fn refused(&self, rows: &[String]) {
        for now in rows {
            assert!(!self.says(now), "should be refused:\n{now}");
        }
    }
}

#[test]
fn other_languages_are_refused_even_unchanged() {
    assert!(!only_adds_tests("tests/a.rs", b"fn a() {}", b"fn a() {}"));
    assert!(!only_adds_tests("a.yml", b"a: 1", b"a: 1"));
    assert!(only_adds_tests("test_a.py", b"a = 1\n", b"a = 1\n"));
}

#[test]
fn large_files_are_refused() {
    let before = "def test_a():\n    assert add(1, 2) == 3\n";
    let long = |length: usize| format!("{before}#{}\n", "x".repeat(length - before.len() - 2));
    assert!(only_adds_tests("test_a.py", before.as_bytes(), long(MAX_SIZE).as_bytes()));
    assert!(!only_adds_tests("test_a.py", before.as_bytes(), long(MAX_SIZE + 1).as_bytes()));
    assert!(!only_adds_tests("test_a.py", long(MAX_SIZE + 1).as_bytes(), before.as_bytes()));
}

#[test]
fn what_ends_a_line_in_some_languages_only_is_refused() {
    for (path, before) in [("a.test.js", "f()\n"), ("test_a.py", "f()\n"), ("a_test.go", "package a\n")] {
        assert!(only_adds_tests(
            path,
            before.as_bytes(),
            format!("{before}// x\n").replace("//", comment(path)).as_bytes()
        ));
        assert!(only_adds_tests(path, before.as_bytes(), before.replace('\n', "\r\n").as_bytes()));
        for end in ["\r", "\u{2028}", "\u{2029}", "\u{85}", "\u{b}", "\u{c}", "\0"] {
            let now = format!("{before}{} x{end}g()\n", comment(path));
            assert!(!only_adds_tests(path, before.as_bytes(), now.as_bytes()), "{path} {end:?}");
        }
        assert!(!only_adds_tests(path, before.as_bytes(), b"\xff"));
    }
}

fn comment(path: &str) -> &'static str {
    if path.ends_with(".py") { "#" } else { "//" }
}

#[test]
fn deep_nesting_and_long_lists_take_no_time() {
    for (path, open, name) in
        [("test_a.py", "x = ", "a"), ("a.test.js", "test('a', () => ", "a"), ("a_test.go", "var x = ", "a")]
    {
        for text in
            ["(", "[", "{", "a(", "a[", "a = (", "class A:\n ", "describe('a', () => {", "if (a) ", "f\"{", "`${"]
        {
            let deep = format!("{open}{}", text.repeat(200_000 / text.len()));
            assert!(!only_adds_tests(path, name.as_bytes(), deep.as_bytes()));
        }
        let closed = format!("{open}{}{}", "a(".repeat(100_000), ")".repeat(100_001));
        let _ = only_adds_tests(path, name.as_bytes(), closed.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic(
        before in r#"(?s)([a-z]{1,3}|['"`$(){}\[\]\\/*#;,<>=:!+.@ \n\t]|test|def |class |describe|const |import |from |func |type |=> |async |é|f"\{|\u{2028}){0,40}"#,
        more in r#"(?s)([a-z]{1,3}|['"`$(){}\[\]\\/*#;,<>=:!+.@ \n\t]|test|def |class |describe|const |import |from |func |type |=> |async |Output:){0,40}"#,
    ) {
        for path in ["a.py", "a.ts", "a.go"] {
            for now in [more.clone(), format!("{before}{more}"), format!("{more}{before}"), format!("{before}\n{more}")] {
                let _ = only_adds_tests(path, before.as_bytes(), now.as_bytes());
            }
        }
    }

    #[test]
    fn new_tests_are_welcome_anywhere_and_no_test_may_go(count in 1..6_usize, place in 0..6_usize, gone in 0..6_usize) {
        let python = |name: &str| format!("def test_{name}():\n    assert {name}() == 1\n");
        let javascript = |name: &str| format!("test('{name}', () => {{\n  expect({name}()).toBe(1)\n}})\n");
        let go = |name: &str| format!("func Test{name}(t *testing.T) {{\n\tcheck(t, {name}())\n}}\n");
        let forms: [&dyn Fn(&str) -> String; 3] = [&python, &javascript, &go];
        for (path, test) in ["a.py", "a.js", "a.go"].into_iter().zip(forms) {
            let head = if path == "a.go" { "package a\n" } else { "" };
            let old: Vec<String> = (0..count).map(|at| test(&format!("old{at}"))).collect();
            let mut new = old.clone();
            new.insert(place.min(count), test("fresh"));
            let text = |tests: &[String]| format!("{head}{}", tests.concat());
            prop_assert!(only_adds_tests(path, text(&old).as_bytes(), text(&new).as_bytes()), "{path}");
            let lost = (0..new.len()).filter(|at| *at != place.min(count)).nth(gone % count).unwrap();
            new.remove(lost);
            prop_assert!(!only_adds_tests(path, text(&old).as_bytes(), text(&new).as_bytes()), "{path}");
        }
    }
}
