use proptest::prelude::*;

use super::*;
use crate::syntax::MAX_SIZE;

/// A test file as it was, and what may become of it.
struct Table {
    path: &'static str,
    before: &'static str,
}

impl Table {
    fn says(&self, now: &str) -> bool {
        only_adds_tests(self.path, self.before.as_bytes(), now.as_bytes())
    }

    /// With something at the end.
    fn end(&self, more: &str) -> String {
        format!("{}{more}", self.before)
    }

    /// With something at the start.
    fn start(&self, more: &str) -> String {
        format!("{more}{}", self.before)
    }

    /// With one text in the place of another that is there once.
    fn swap(&self, from: &str, to: &str) -> String {
        assert_eq!(self.before.matches(from).count(), 1, "{from}");
        self.before.replace(from, to)
    }

    fn welcome(&self, rows: &[String]) {
        self.all(rows, true);
    }

    fn refused(&self, rows: &[String]) {
        self.all(rows, false);
    }

    fn all(&self, rows: &[String], expected: bool) {
        let wrong = rows.iter().filter(|now| self.says(now) != expected).map(|now| {
            let old: Vec<&str> = self.before.lines().collect();
            now.lines().filter(|line| !old.contains(line)).collect::<Vec<_>>().join("\n")
        });
        let wrong: Vec<String> = wrong.collect();
        assert!(
            wrong.is_empty(),
            "{} should be {}:\n{}",
            wrong.len(),
            if expected { "welcome" } else { "refused" },
            wrong.join("\n--\n")
        );
    }
}

#[test]
fn other_languages_are_refused_even_unchanged() {
    assert!(!only_adds_tests("tests/a.rs", b"fn a() {}", b"fn a() {}\nfn b() {}"));
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

const PYTEST: Table = Table {
    path: "tests/test_calc.py",
    before: r#""""Tests of calc."""
import pytest
from calc import add


@pytest.fixture
def one():
    return 1


def test_add(one):
    total = add(one, 2)
    assert total == 3, f"not {describe(total)}"


@pytest.mark.usefixtures("tmp_db")
def test_negative():
    assert add(-1, 1) == 0
"#,
};
const UNITTEST: Table = Table {
    path: "test_calc.py",
    before: "import unittest\n\nfrom calc import add\nfrom suite import Suite\n\n\nclass AddTest(unittest.TestCase):\n    def setUp(self):\n        self.one = 1\n\n    def test_add(self):\n        self.assertEqual(add(self.one, 2), 3)\n\n\nclass MoreTest(AddTest):\n    pass\n\n\nclass SuiteTest(Suite):\n    pass\n\n\nif __name__ == \"__main__\":\n    unittest.main()\n",
};

#[test]
fn python_new_tests_and_what_they_need_are_welcome() {
    PYTEST.welcome(&[
        PYTEST.before.to_owned(),
        PYTEST.end("\n\ndef test_zero():\n    assert add(0, 0) == 0\n"),
        PYTEST.end("\n\nasync def test_zero():\n    total = await sums()\n    assert total == 0\n"),
        PYTEST.end("\n\n@pytest.mark.parametrize('a', [1, 2])\n@pytest.mark.slow\ndef test_more(a):\n    assert add(a, 0) == a  # noqa: E501\n"),
        PYTEST.end("\n\ndef _helper(a):\n    return a\n\n\nclass TestMore:\n    \"\"\"More.\"\"\"\n    limit = 3\n    maximum: int = limit\n\n    def setup_method(self):\n        self.x = 1\n\n    def test_add(self):\n        assert add(1, 1) == 2\n"),
        PYTEST.end("\n\nclass TestEmpty: pass\n"),
        PYTEST.end("\n\nCASES = [(1, 2, 3), {'a': -1.5e3, 'b': None}]\nLIMIT: int = 3\n"),
        PYTEST.end("\n\n@pytest.fixture(scope=\"module\")\ndef two():\n    return 2\n"),
        PYTEST.swap("import pytest\n", "import json\nimport pytest\nimport os.path as where, sys\n"),
        PYTEST.swap("from calc import add", "from calc import add, subtract"),
        PYTEST.swap("from calc import add", "from calc import (\n    add,\n    divide as div,\n)"),
        PYTEST.swap("def test_add(one):", "def test_first():\n    assert True\n\n\ndef test_add( one ):  # the first"),
        PYTEST.end("\n\ndef test_text():\n    x = {'a': 1}\n    assert f\"{x['a']:>{3}} {{}}\" == '1'\n"),
        PYTEST.end("\n\ndef test_mock(monkeypatch):\n    monkeypatch.setattr('calc.add', None)\n    client = Client()\n    client.timeout = 3\n    kinds: calc.Kind = calc.Kind()\n"),
    ]);
    UNITTEST.welcome(&[
        UNITTEST.swap("        self.assertEqual(add(self.one, 2), 3)\n", "        self.assertEqual(add(self.one, 2), 3)\n\n    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n\n    @unittest.skip('later')\n    def test_huge(self):\n        pass\n"),
        UNITTEST.swap("class MoreTest(AddTest):\n    pass\n", "class MoreTest(AddTest):\n    pass\n\n    def test_more(self):\n        pass\n"),
        UNITTEST.swap("import unittest\n", "import unittest\nimport unittest.mock\nfrom unittest import mock\n"),
        UNITTEST.swap("\n\nif __name__", "\n\nclass NewTest(unittest.TestCase):\n    def test_new(self):\n        pass\n\n\nif __name__"),
    ]);
}

#[test]
fn python_what_was_there_stays_as_and_where_it_was() {
    PYTEST.refused(&[
        PYTEST.swap("    total = add(one, 2)\n", "    return\n    total = add(one, 2)\n"),
        PYTEST.swap("assert total == 3", "assert total == 4"),
        PYTEST.swap("def test_negative():\n    assert add(-1, 1) == 0\n", ""),
        PYTEST.swap("def test_add(one):", "@pytest.mark.skip\ndef test_add(one):"),
        PYTEST.swap("def test_add(one):", "def helper_add(one):"),
        PYTEST.swap("@pytest.mark.usefixtures(\"tmp_db\")\n", ""),
        PYTEST.swap("from calc import add", "from fake import add"),
        PYTEST.swap("from calc import add", "from calc import subtract"),
        PYTEST.swap("from calc import add", "from calc import subtract as add"),
        PYTEST.swap(
            "@pytest.mark.usefixtures(\"tmp_db\")\ndef test_negative():\n    assert add(-1, 1) == 0\n",
            "if False:\n    @pytest.mark.usefixtures(\"tmp_db\")\n    def test_negative():\n        assert add(-1, 1) == 0\n",
        ),
        PYTEST.swap("    total = add(one, 2)\n", "    total = add(one, 2)\n    \"\"\"Adds.\"\"\".join(add)\n"),
        // A comment that a tool obeys, in an old test.
        PYTEST.swap("    return 1\n", "    return 1  # noqa\n"),
    ]);
    UNITTEST.refused(&[
        UNITTEST.swap("    def test_add(self):", "    @unittest.skip('later')\n    def test_add(self):"),
        UNITTEST
            .swap("class AddTest(unittest.TestCase):", "@unittest.skip('later')\nclass AddTest(unittest.TestCase):"),
        UNITTEST.swap("class AddTest(unittest.TestCase):", "class AddTest(Quiet):"),
        // The last test of one class became one of the next.
        UNITTEST
            .swap("    def test_add(self):", "    pass\n\n\nclass Other(unittest.TestCase):\n    def test_add(self):"),
    ]);
}

#[test]
fn python_nothing_comes_between_the_parts_of_a_statement() {
    let table = Table { path: "test_a.py", before: "try:\n    import json\nexcept ImportError:\n    json = None\n" };
    table.welcome(&[table.end("def test_a():\n    pass\n")]);
    table.refused(&[table.swap("except", "def test_a():\n    pass\nexcept")]);
    let table = Table { path: "test_a.py", before: "@slow\ndef test_a():\n    pass\n" };
    table.refused(&[table.swap("def test_a", "def test_b():\n    pass\n\n\ndef test_a")]);
}

#[test]
fn python_names_that_were_used_are_not_defined_anew() {
    PYTEST.refused(&[
        PYTEST.end("\n\ndef test_add():\n    pass\n"),
        PYTEST.end("\n\ndef add(a, b):\n    return 3\n"),
        PYTEST.end("\n\nclass add: pass\n"),
        PYTEST.end("\n\nadd = 3\n"),
        PYTEST.end("\n\nimport fake as add\n"),
        PYTEST.end("\n\nfrom fake import add\n"),
        PYTEST.end("\n\nfrom fake import x, add\n"),
        // A fixture in a string, and a name in a field of one.
        PYTEST.end("\n\n@pytest.fixture\ndef tmp_db():\n    pass\n"),
        PYTEST.end("\n\ndef describe(a):\n    pass\n"),
        PYTEST.end("\n\nimport pytest as one\n"),
        PYTEST.end("\n\nimport pytest.fake as pytest\n"),
        PYTEST.end("\n\n@pytest.fixture(name=\"one\")\ndef two():\n    return 2\n"),
        PYTEST.end("\n\n@pytest.fixture(**{\"name\": \"one\"})\ndef two():\n    return 2\n"),
        // One name to Python, another to the eye.
        PYTEST.end("\n\ndef ａdd(a, b):\n    return 3\n"),
    ]);
    UNITTEST.refused(&[
        UNITTEST.swap(
            "class MoreTest(AddTest):\n    pass\n",
            "class MoreTest(AddTest):\n    pass\n\n    def test_add(self):\n        pass\n",
        ),
        UNITTEST.end("\n\nclass AddTest(unittest.TestCase):\n    pass\n"),
    ]);
}

#[test]
fn python_old_classes_get_tests_only() {
    let method = |text: &str| UNITTEST.swap("        self.one = 1\n", &format!("        self.one = 1\n\n{text}"));
    UNITTEST.welcome(&[
        method("    def test_b(self):\n        pass\n"),
        method("    def tearDown(self):\n        pass\n"),
        method("    def make(self, one):\n        return one + 1\n"),
        method("    limit = 3\n"),
    ]);
    UNITTEST.refused(&[
        method("    def run(self, result=None):\n        pass\n"),
        method("    def assertFine(self):\n        pass\n"),
        method("    def __init__(self, name):\n        pass\n"),
        method("    __test__ = False\n"),
        method("    test_b = None\n"),
        method("    class test_b: pass\n"),
        method("    import json\n"),
    ]);
}

#[test]
fn python_statements_and_what_runners_look_for_are_refused() {
    PYTEST.refused(
        &[
            "pytestmark = []",
            "pytest_plugins = 'evil'",
            "__test__ = False",
            "collect_ignore = ['a']",
            "def setup_module():\n    pass",
            "def setup():\n    pass",
            "def teardown_function():\n    pass",
            "def setUpModule():\n    pass",
            "def load_tests(loader, tests, pattern):\n    return tests",
            "def pytest_collection_modifyitems(items):\n    items.clear()",
            "def pytest_runtest_makereport():\n    pass",
            "from evil import setup_module",
            "from evil import *",
            "from __future__ import division",
            "import evil as pytestmark",
            "@pytest.fixture(autouse=True)\ndef quiet():\n    pass",
            "@fixture(**{'autouse': True})\ndef quiet():\n    pass",
            "@evil\ndef helper():\n    pass",
            "if __name__ == '__main__':\n    pass",
            "if True:\n    def test_b():\n        pass",
            "try:\n    import json\nexcept ImportError:\n    pass",
            "print(1)",
            "assert True",
            "x = 1; add = 2",
            "x.y = 1",
            "x += 1",
            "del test_add",
            "class TestB:\n    print(1)",
            "class TestB: print(1); pass",
            "class TestB:\n    if True:\n        x = 1",
            "class TestB:\n    class Inner:\n        print(1)",
            "class TestB:\n    x = 1; print(1)",
            "# mypy: ignore-errors",
            "def test_b():\n    pass\n# pylint: disable=all",
            "# -*- coding: utf-7 -*-",
        ]
        .map(|text| PYTEST.end(&format!("\n\n{text}\n"))),
    );
    PYTEST.refused(&[PYTEST.start("# type: ignore\n"), PYTEST.start("# -*- coding: rot13 -*-\n")]);
}

#[test]
fn python_new_code_leaves_alone_what_the_old_uses() {
    PYTEST.refused(
        &[
            "global add",
            "globals()['add'] = None",
            "__builtins__['x'] = 1",
            "sys.modules['calc'] = None",
            "setattr(pytest, 'raises', None)",
            "pytest.raises = None",
            "pytest.x.y += 1",
            "x, pytest.raises = 1, 2",
            "x = pytest.raises = None",
            "add.__code__ = None",
            "test_add.x[0] = None",
            "del pytest.raises",
            "for pytest.raises in [1]: pass",
            "with a as pytest.raises: pass",
            "exec('add = 1')",
            "os._exit(0)",
            "pytest.skip('x', allow_module_level=True)",
        ]
        .map(|line| PYTEST.end(&format!("\n\ndef test_b():\n    {line}\n"))),
    );
    PYTEST.refused(&[
        PYTEST.end("\n\nimport calc\n\n\ndef test_b():\n    calc.add = None\n"),
        PYTEST.end("\n\nclass TestB:\n    pytest.raises = None\n"),
    ]);
}

#[test]
fn python_what_versions_read_differently_is_refused() {
    PYTEST.refused(
        &["x = f\"{a[\"#\"]}\"; evil()", "x = f\"{a[\" + evil(\"]}\")", "x = f'{\"\\n\"}'", "x = 1.real"]
            .map(|line| PYTEST.end(&format!("\n\ndef test_b():\n    {line}\n"))),
    );
    PYTEST.refused(&[PYTEST.end("\n\ndef test_b(:\n    pass\n"), PYTEST.end("\n\ndef test_b():\n    x = 'a\n")]);
    PYTEST.welcome(
        &[
            "x = 0xFF + 0b1 + 1_0.5e-3j + 1e5 + 1.",
            "x = f'''{a} \"'''",
            "x = f''",
            "x = rf'\\d{a}'",
            "x = f\"a\\n{a}\"",
        ]
        .map(|line| PYTEST.end(&format!("\n\ndef test_b():\n    {line}\n"))),
    );
}

const JEST: Table = Table {
    path: "src/calc.test.ts",
    before: r#"import { add } from './calc'

let calc
const one = 1

test('adds', () => {
  expect(add(one, 2)).toBe(3)
})

describe('calc', () => {
  beforeEach(() => {
    calc = new Calc()
  })

  it('is empty', () => {
    const result = `${size(calc)}`
    expect(result).toBe('0')
  })
})
"#,
};
const NODE: Table = Table {
    path: "calc.test.js",
    before: "'use strict';\nconst test = require('node:test');\nconst { add } = require('./calc');\n\ntest('adds', () => {\n  assert.equal(add(1, 2), 3);\n});\n",
};

#[test]
fn javascript_new_tests_and_what_they_need_are_welcome() {
    JEST.welcome(&[
        JEST.before.to_owned(),
        JEST.before.replace("'", "\"").replace(")\n", ");\n"),
        JEST.start("import fs, { readFileSync as read } from 'node:fs'\nimport * as path from 'node:path'\nimport type { A } from './a'\n"),
        JEST.swap("import { add }", "import { add, subtract }"),
        JEST.swap("import { add }", "import {\n  add,\n  divide as div,\n}"),
        JEST.swap("    expect(result).toBe('0')\n  })\n", "    expect(result).toBe('0')\n  })\n\n  it('is full', () => {\n    const result = calc.fill()\n    calc = new Calc(3)\n    calc.size = 3\n    expect(result).toBe(1)\n  })\n"),
        JEST.swap("  it('is empty'", "  const limit = 3\n\n  it('is full', function () {\n  })\n\n  it('is empty'"),
        JEST.swap("test('adds'", "test('zero', () => {})\n\n// first\ntest('adds'"),
    ]);
    JEST.welcome(
        &[
            "test('zero', async () => {\n  const half = (add(1, 2) / 2) / 3\n  expect(/a[/]b/.test('a/b')).toBe(true)\n})",
            "it.each([[1, 2], [3, 4]])('adds %i', (a, b) => {\n  expect(add(a, b)).toBeDefined()\n})",
            "test.each`a | b\n${1} | ${2}`('adds $a', ({ a, b }) => {})",
            "describe.each([1])('with %i', (n) => {\n  beforeEach(() => {})\n  it('adds', () => {})\n})",
            "describe('more', () => {\n  let total\n  beforeEach(() => {\n    total = 0\n  })\n  test('adds', () => {\n    total += add(1, 2)\n  })\n})",
            "test.skip('later', () => {})",
            "xit('later', () => {})",
            "test.todo('later')",
            "function helper(a: number): Promise<number> {\n  return a\n}",
            "async function helper() {\n}",
            "const helper = (a: number): number => a + 1",
            "const helper = async a => {\n  return a\n}",
            "const helper = function () {\n}",
            "const helper: (a: number) => number = (a) => a",
            "const helper = () => ({ a: 1 })",
            "const cases = [{ a: 1, b: [-2, 'c', true, null] }] as const",
            "const limit: number = 3;",
            "class Fake {\n  read() {}\n}",
            "interface Shape {\n  a: number\n}",
            "type Pair = { a: number; b: string[] } | null",
            "test('typed', () => {\n  const fake: Calc = new Calc()\n  const list: Calc[] = []\n  fake.x = 1\n})",
            "test('mocked', () => {\n  const spy = jest.fn()\n  // eslint-disable-next-line no-console\n  vi.spyOn(console, 'log')\n})",
        ]
        .map(|text| JEST.end(&format!("\n{text}\n"))),
    );
    NODE.welcome(&[
        NODE.end("const { readFile } = require('fs').promises;\nconst os = require('os');\ntest('b', () => {});\n"),
        NODE.swap("{ add }", "{ add, subtract: minus }"),
        NODE.swap("{ add }", "{ double, add }"),
    ]);
}

#[test]
fn javascript_what_was_there_stays_as_and_where_it_was() {
    JEST.refused(&[
        JEST.swap("  expect(add(one, 2)).toBe(3)", "  return\n  expect(add(one, 2)).toBe(3)"),
        JEST.swap("toBe(3)", "toBe(4)"),
        JEST.swap("test('adds'", "test.skip('adds'"),
        JEST.swap("test('adds'", "test.only('adds'"),
        JEST.swap("it('is empty'", "xit('is empty'"),
        JEST.swap("describe('calc'", "describe.skip('calc'"),
        JEST.swap("import { add }", "import { subtract }"),
        JEST.swap("import { add }", "import { subtract as add }"),
        JEST.swap("'./calc'", "'./fake'"),
        JEST.swap("const one = 1", "const one = 2"),
        JEST.swap("    calc = new Calc()\n", ""),
        JEST.swap("test('adds', () => {\n  expect(add(one, 2)).toBe(3)\n})\n", ""),
        JEST.swap("describe('calc', () => {", "describe('outer', () => { describe('calc', () => {") + "})\n",
        format!("describe.skip('all', () => {{\n{}}})\n", JEST.before),
        format!("if (false) {{\n{}}}\n", JEST.before),
        JEST.swap("test('adds'", "if (false)\ntest('adds'"),
        // Out of one block into another.
        JEST.swap("  it('is empty'", "})\ndescribe.skip('rest', () => {\n  it('is empty'"),
    ]);
    NODE.refused(&[
        NODE.start("const x = 1;\n"),
        NODE.swap("'use strict';\n", ""),
        NODE.swap("{ add }", "{ subtract: add }"),
        NODE.swap("{ add }", "{ add = () => 3 }"),
        NODE.swap("require('./calc')", "require('./fake')"),
    ]);
}

#[test]
fn javascript_names_that_were_used_are_not_defined_anew() {
    JEST.refused(
        &[
            "function add(a, b) {\n  return 3\n}",
            "function expect() {\n}",
            "async function size() {\n}",
            "const expect = () => ({ toBe() {} })",
            "class Calc {\n}",
            "const size = 3",
            "import { expect } from './fake'",
            "import expect from './fake'",
            "import * as expect from './fake'",
            "import { x, y as expect } from './fake'",
            "import expect, * as /* eslint-disable-line */ x from './fake'",
            "import { 'x' as expect } from './fake'",
            "const expect = require('./fake')",
            "const { expect } = require('./fake')",
            "const { x, y: expect } = require('./fake')",
            "const { x, y: [expect] } = require('./fake')",
            "const x = 1, expect = () => 1",
            "const x = () => 1, expect = () => 1",
            "test('adds', () => {})",
            "describe('calc', () => {})",
            "test.each([1])('adds', () => {})",
            "function Promise() {\n}",
            "class __awaiter {\n}",
        ]
        .map(|text| JEST.end(&format!("\n{text}\n"))),
    );
    JEST.refused(&[
        JEST.swap("  it('is empty'", "  const add = () => 3\n  it('is empty'"),
        JEST.swap("  it('is empty'", "  it('is empty', () => {})\n  it('is empty'"),
    ]);
}

#[test]
fn javascript_other_statements_are_refused() {
    let rows = [
        "expect = () => ({ toBe() {} })",
        "beforeEach(evil)",
        "jest.mock('./calc')",
        "vi.mock('./calc')",
        "mock.module('./calc')",
        "expect.extend({})",
        "import './evil'",
        "require('./evil')",
        "import('./evil')",
        "evil()",
        "describe.only('b', () => {})",
        "test.only('b', () => {})",
        "fit('b', () => {})",
        "fdescribe('b', () => {})",
        "describe['only']('b', () => {})",
        "test.concurrent.only('b', () => {})",
        "test('b', { only: true }, () => {})",
        "test('b', () => {}), evil()",
        "test('b', () => {}).then(evil)",
        "test('b', () => {})(evil)",
        "describe('b', () => {\n  it.only('c', () => {})\n})",
        "test.use({})",
        "test.beforeEach(() => {})",
        "if (true) {\n  test('b', () => {})\n}",
        "for (const a of [1]) {\n  test('b', () => {})\n  evil()\n}",
        "[1].forEach((a) => {\n  evil()\n})",
        "const x = () => 1\n{\n  evil()\n}",
        "const x = () => y\n!evil()",
        "const x = () => y\n~evil()",
        "const x = () => y\n++z",
        "function () {\n}",
        "function x() {\n}\n(evil())",
        "function x() {} if (y) { evil() }",
        "class X {\n}\n[evil()]",
        "type X = Y\n(evil())",
        "type X = Y\n[expect] = [z]",
        "type X = Y\n{\n  expect = z\n}",
        "interface X {\n}\n(evil())",
        "export const x = 1",
        "export default 1",
        "'use strict'",
        "module.exports = {}",
        "// @ts-nocheck",
        "test('b', () => {})\n// @ts-nocheck",
        "/* istanbul ignore file */\ntest('b', () => {})",
        "test('b', () => {\n  /* eslint-disable */\n})",
    ];
    JEST.refused(&rows.map(|text| JEST.end(&format!("\n{text}\n"))));
    JEST.refused(&rows.map(|text| JEST.swap("  it('is empty'", &format!("  {text}\n  it('is empty'"))));
}

#[test]
fn javascript_new_code_leaves_alone_what_the_old_uses() {
    JEST.refused(
        &[
            "expect = fake",
            "add = fake",
            "one += 1",
            "add &&= fake",
            "size = fake",
            "[expect] = [fake]",
            "({ add } = fake)",
            "({ x: add } = fake)",
            "for (expect of fakes) {}",
            "c ? a : expect = fake",
            "add.call = fake",
            "expect.prototype.x = fake",
            "Calc.prototype.size = fake",
            "globalThis.expect = fake",
            "global['expect'] = fake",
            "Object.defineProperty(add, 'call', {})",
            "Object.keys = fake",
            "expect.extend({ toBe() {} })",
            "eval('x')",
            "vi.mock('./calc')",
            "jest.doMock('./calc')",
            "jest['mock']('./calc')",
            "test['o' + 'nly']('x', () => {})",
            "\\u0065xpect = fake",
            "еxpect(1)",
        ]
        .map(|line| JEST.end(&format!("\ntest('b', () => {{\n  {line}\n}})\n"))),
    );
    JEST.refused(&[JEST.end("import * as all from './calc'\ntest('b', () => {\n  all.add = fake\n})\n")]);
}

#[test]
fn javascript_what_could_be_text_or_code_is_refused() {
    // Each hides from JavaScript what is code to somebody who takes the slash for the other thing.
    JEST.refused(
        &[
            "const x = () => {} / 2; /*",
            "const f = (x) => { if (x) /`/.test(y); ` }",
            "const f = (x) => { x++ / 2; /1 }",
            "const f = (x) => { x.return / 2; /1 }",
            "const f = (x) => { x! / 2; /1 }",
            "const f = (x) => { 1. / 2; /1 }",
            "const f = (of) => { of / 2; /1 }",
            "const f = () => { a\n} <b>'</b>",
            "const f = () => { 1 <!-- x }",
            "const f = () => { x\n--> y\n}",
        ]
        .map(|line| JEST.end(&format!("\n{line}\n"))),
    );
    JEST.welcome(
        &[
            "const f = (x) => (x + 1) / 2",
            "const f = (x) => x[0] / 2 / 3",
            "const f = (x) => !/[/\\]]x/g.test(x)",
            "const f = (x) => { return /a/ }",
            "const f = (x) => `${x} / ${x ? 'a' : \"b\"}`",
            "const f = (x: Map<string, Array<number>>) => x.y < 3",
        ]
        .map(|line| JEST.end(&format!("\n{line}\n"))),
    );
}

#[test]
fn javascript_nothing_comes_between_a_condition_and_its_statement() {
    for head in ["if (slow)", "for (const a of [1, 2])", "while (more())", "if (a) b()\nelse if (c)"] {
        let before = format!("{head}\n  test('a', () => {{}})\n");
        let now = format!("{head}\n  test('b', () => {{}})\ntest('a', () => {{}})\n");
        assert!(!only_adds_tests("a.test.js", before.as_bytes(), now.as_bytes()), "{now}");
    }
}

#[test]
fn javascript_what_follows_a_block_stays() {
    let table = Table { path: "a.test.js", before: "describe('a', () => {\n  it('b', () => {})\n}, 100)\n" };
    let more = "  it('b', () => {})\n  it('c', () => {})\n";
    table.welcome(&[table.swap("  it('b', () => {})\n", more)]);
    table.refused(&[table.swap("  it('b', () => {})\n", more).replace("100", "0")]);
}

const GO: Table = Table {
    path: "calc_test.go",
    before: "package calc\n\nimport \"testing\"\n\ntype stack struct{ items []int }\n\nfunc TestAdd(t *testing.T) {\n\tgot := Add(1, 2)\n\tif got != 3 {\n\t\tt.Fatal(got)\n\t}\n}\n\nfunc ExampleAdd() {\n\tprint(Add(1, 2))\n\t// Output:\n\t// 3\n}\n",
};

#[test]
fn go_new_tests_and_what_they_need_are_welcome() {
    GO.welcome(&[
        GO.before.to_owned(),
        GO.swap(
            "import \"testing\"\n",
            "import (\n\t\"strings\"\n\t\"testing\"\n\n\tlib \"example.org/lib\" // why\n)\n",
        ),
        GO.swap("import \"testing\"\n", "import \"testing\" // for t\nimport \"os\"\n"),
        GO.swap("func TestAdd", "// TestAdd adds.\nfunc TestAdd"),
    ]);
    GO.welcome(
        &[
            "func TestZero(t *testing.T) {\n\tgot := Add(0, 0) // zero\n\tif got != 0 {\n\t\tt.Skip()\n\t}\n}",
            "func BenchmarkAdd(b *testing.B) {\n}",
            "func FuzzAdd(f *testing.F) {\n}",
            "func ExampleZero() {\n\tfmt.Println(Add(0, 0))\n\t// Output: 0\n}",
            "func helper(a int) int { return a }",
            "func mapped[T any](a []T) []T {\n\treturn a\n}",
            "type queue struct {\n\titems []int\n}\n\nfunc (q *queue) push(a int) {\n\tq.items = append(q.items, a)\n}",
            "type list[T any] struct{}\n\nfunc (l list[T]) size() int { return 0 }",
            "type (\n\tone int\n\ttwo string\n)\n\nfunc (o one) String() string { return \"\" }",
            "const limit = 3",
            "const (\n\tfirst = iota\n\tsecond, third = 1, 2\n)",
            "var cases = []struct{ a, b int }{{1, 2}, {3, 4}}",
            "var _ Adder = &adder{}",
            "func TestText(t *testing.T) {\n\ts := `// Output: 1`\n\tr := '\"'\n}",
            "func TestLint(t *testing.T) {\n\tAdd(1, 2) //nolint:errcheck\n}",
        ]
        .map(|text| GO.end(&format!("\n{text}\n"))),
    );
}

#[test]
fn go_what_was_there_stays_as_it_was() {
    GO.refused(&[
        GO.swap("\tgot := Add(1, 2)\n", "\tt.Skip()\n\tgot := Add(1, 2)\n"),
        GO.swap("\tgot := Add(1, 2)\n", "\treturn\n\tgot := Add(1, 2)\n"),
        GO.swap("got != 3", "got == 3"),
        GO.swap("func TestAdd", "func testAdd"),
        GO.swap("package calc\n", "package calc_test\n"),
        GO.swap("import \"testing\"\n", "import testing \"example.org/testing\"\n"),
        GO.swap("\t// Output:\n\t// 3\n", ""),
        GO.swap("\t// 3\n", "\t// 4\n"),
        GO.swap("\t// Output:\n", "\t// Output:\n\n"),
        GO.swap("\t// 3\n", "\t// 3\n\n\t// done\n"),
        GO.swap("struct{ items []int }", "struct{ items []int; more int }"),
        GO.swap("func ExampleAdd() {\n\tprint(Add(1, 2))\n\t// Output:\n\t// 3\n}\n", ""),
    ]);
}

#[test]
fn go_what_is_new_stands_for_nothing_old_and_runs_by_itself_never() {
    GO.refused(
        &[
            "func TestAdd(t *testing.T) {\n}",
            "func Add(a, b int) int { return 3 }",
            "func TestMain(m *testing.M) {\n}",
            "func init() {\n}",
            "func main() {\n}",
            "func bodiless()",
            "func len(a []int) int { return 3 }",
            "const true = false",
            "const (\n\tfine = 1\n\tfalse = true\n)",
            "type error interface{}",
            "type fine, int = 1",
            "var got = 3",
            "func (s *stack) String() string { return \"\" }",
            "func (Calculator) Equal(o Calculator) bool { return true }",
            "type alias = Calculator\n\nfunc (a alias) Equal(o alias) bool { return true }",
            "//go:noinline\nfunc TestB(t *testing.T) {\n}",
            "//go:linkname Add other.Add\nfunc TestB(t *testing.T) {\n}",
            "//go:embed x\nvar x string",
            "var (\n\t//go:embed x\n\tx string\n)",
            "func TestB(t *testing.T) {\n\t//go:build never\n}",
            "//line other.go:1\nfunc TestB(t *testing.T) {\n}",
            "func TestB(t *testing.T) {\n\tos.Exit(0)\n}",
            "func TestB(t *testing.T) {\n\t_ = unsafe.Pointer(nil)\n}",
            "func Tеst(t *testing.T) {\n}",
            "x := 1",
            "if true {\n}",
        ]
        .map(|text| GO.end(&format!("\n{text}\n"))),
    );
    GO.refused(&[
        GO.start("//go:build never\n\n"),
        GO.start("// +build never\n\n"),
        GO.swap("func TestAdd", "//go:noinline\nfunc TestAdd"),
        GO.swap("import \"testing\"\n", "import \"testing\"\nimport _ \"example.org/evil\"\n"),
        GO.swap("import \"testing\"\n", "import \"testing\"\nimport . \"example.org/evil\"\n"),
        GO.swap("import \"testing\"\n", "import \"testing\"\nimport \"unsafe\"\n"),
        GO.swap("import \"testing\"\n", "import \"testing\"\nimport \"C\"\n"),
        GO.swap("import \"testing\"\n", "import \"testing\"\nimport Add \"example.org/evil\"\n"),
    ]);
}

#[test]
fn go_nothing_comes_between_a_comment_for_tools_and_what_it_is_for() {
    let table = Table { path: "a_test.go", before: "package a\n\n//go:embed x\nvar x string\n" };
    table.welcome(&[table.end("\nfunc TestB(t *testing.T) {\n}\n")]);
    table.refused(&[
        table.swap("//go:embed x\n", "//go:embed x\nvar y string\n"),
        table.swap("//go:embed x\n", "//go:embed y\n"),
        table.swap("//go:embed x\n", ""),
    ]);
}

#[path = "edits_tests.rs"]
mod edits;
#[path = "honest_tests.rs"]
mod honest;

/// Small changes as people make them, one row each: a file, what is in it, and what stands in its place.
#[test]
fn small_additions_are_welcome_and_what_looks_like_them_is_not() {
    let python = "import pytest\nfrom calc import add, double, divide\n\nCASES = {1: 2, 3: 6}\n\n\ndef test_a(one):\n    \
         assert double(4) == 8\n\n\ndef test_b():\n    for value, want in CASES.items():\n        assert double(value) == want\n    \
         assert 'value' != 'x'\n";
    let javascript = "const { double, later, fail } = require('../calc');\n\ntest('a', () => {\n  expect(double(4)).toBe(8);\n});\n\n\
         test.each`\n  a | want\n  ${1} | ${2}\n`('d $a', ({ a, want }) => {\n  expect(double(a)).toBe(want);\n});\n";
    let node =
        "const assert = require('node:assert');\n\ntest('a', () => {\n  assert.strictEqual(double(4), 8);\n});\n";
    let go = "package g\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif Double(4) != 8 {\n\t\tt.Error(\"a\")\n\t}\n}\n";
    let welcome = [
        ("test_a.py", python, "    assert double(4) == 8\n", "    \"\"\"Doubles.\"\"\"\n    assert double(4) == 8\n"),
        (
            "test_a.py",
            python,
            "import pytest\n",
            "\"\"\"Tests.\"\"\"\nfrom __future__ import annotations\n\nimport pytest\n",
        ),
        ("test_a.py", python, "double(4) == 8\n", "double(4) == 8, f'twice {one}'\n"),
        ("test_a.py", python, "def test_a(one):", "def test_a(one: list[int]) -> None:"),
        (
            "test_a.py",
            python,
            "import pytest\nfrom calc import add, double, divide\n",
            "from calc import divide, double\n",
        ),
        ("test_a.py", python, "import pytest\n", "import calc\nimport pytest\n"),
        ("test_a.py", python, "3: 6}", "3: 6, 4: 8}"),
        ("test_a.py", python, "def test_b():", "def x():\n    return {'name': 1}\n\n\ndef test_b():"),
        (
            "test_a.py",
            python,
            "    assert 'value' != 'x'\n",
            "    assert 'value' != 'x'\n\n\nif __name__ == '__main__':\n    pytest.main()\n",
        ),
        (
            "a.test.js",
            javascript,
            "test('a', () => {",
            "beforeEach(() => {\n  jest.restoreAllMocks();\n});\n\ntest('a', () => {",
        ),
        ("a.test.js", javascript, "test('a', () => {", "test('a', async () => {"),
        ("a.test.js", javascript, "${1} | ${2}\n", "${1} | ${2}\n  ${2} | ${4}\n"),
        ("a.test.js", javascript, "{ double, later, fail }", "{ add, double }"),
        (
            "a.test.js",
            javascript,
            "test('a', () => {",
            "for (const n of [1, 2]) {\n  test(`n ${n}`, () => {\n    process.env.N = n;\n    expect(double(n)).toBe(n + n);\n  });\n}\n\n\
             [3].forEach((n) => {\n  test(`m ${n}`, () => {});\n});\n\ntest('a', () => {",
        ),
        ("a.test.js", node, "double(4), 8)", "double(4), 8, 'twice')"),
        ("a_test.go", go, "\tif Double", "\tt.Parallel()\n\tif Double"),
    ];
    for (path, before, old, new) in welcome {
        let now = before.replacen(old, new, 1);
        assert_ne!(before, now, "{old}");
        assert_eq!(refused_addition(path, before.as_bytes(), now.as_bytes()), None, "{path}: {new}");
    }
    let refused = [
        ("test_a.py", python, "double(4) == 8\n", "double(4) == 8, pytest.skip('no')\n"),
        ("test_a.py", python, "def test_a(one):", "def test_a(one) -> evil():"),
        ("test_a.py", python, "import add, double, divide", "import add, divide"),
        ("test_a.py", python, "from calc import add, double", "from fake import add, double"),
        ("test_a.py", python, "3: 6}", "3: 6, 1: 5}"),
        ("test_a.py", python, "3: 6}", "3: 6, **more}"),
        ("test_a.py", python, "import pytest\n", "import pytest\n\nif __name__ == '__main__':\n    add = None\n"),
        ("a.test.js", javascript, "${1} | ${2}\n", "${2} | ${4}\n"),
        ("a.test.js", javascript, "a | want", "want | a"),
        ("a.test.js", javascript, "{ double, later, fail }", "{ later, fail }"),
        ("a.test.js", node, "double(4), 8)", "double(4), 8, evil)"),
        ("a_test.go", go, "\tif Double", "\tt.Skip()\n\tif Double"),
    ];
    for (path, before, old, new) in refused {
        let now = before.replacen(old, new, 1);
        assert_ne!(before, now, "{old}");
        assert!(refused_addition(path, before.as_bytes(), now.as_bytes()).is_some(), "{path}: {new}");
    }
}
