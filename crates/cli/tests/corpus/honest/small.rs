//! What people change besides the code: small additions to tests, files that tools build beside sources, new manifests.

use ralph_testkit::Step;

use crate::case::Case;
use crate::project::{Bug, Project};
use crate::projects::{go, jest, mocha, pytest, rust, unittest, vitest};

const TESTS: &str = "tests/test_calc.py";

pub fn cases() -> Vec<Case> {
    let mut cases = additions();
    cases.extend(files());
    cases
}

fn additions() -> Vec<Case> {
    let documented = "\"\"\"Tests of calc.\"\"\"\nfrom __future__ import annotations\n\nimport unittest\n\nimport calc\nfrom calc import add, double\n\n\
         CASES = {1: 2}\n\n\nclass CalcTest(unittest.TestCase):\n    limit = 9\n\n    def setUp(self) -> None:\n        self.three = 3\n\n    \
         def test_add(self) -> None:\n        \"\"\"Adds.\"\"\"\n        self.assertEqual(add(2, 3), 5, \"a sum\")\n\n    \
         def test_double(self):\n        self.assertEqual(double(4), 8)\n\n    def test_more(self):\n        \
         self.assertLess(calc.add(self.three, 4), self.limit)\n";
    let prepared = "const { double, add } = require('../calc');\n\nafterEach(() => {\n  jest.restoreAllMocks();\n});\n\n\
         describe('calc', () => {\n  let three;\n  beforeEach(() => {\n    three = 3;\n  });\n\n  test('adds', async () => {\n    \
         expect(add(2, 3)).toBe(5);\n  });\n\n  test('doubles', () => {\n    expect(double(4)).toBe(8);\n  });\n\n  \
         for (const n of [1, 2]) {\n    test(`adds ${n}`, () => {\n      process.env.N = '1';\n      expect(add(three, n)).toBe(3 + n);\n    });\n  }\n});\n";
    let table = "use calc::{add, double};\n\nconst CASES: &[(i64, i64)] = &[(1, 2), (2, 4)];\n\n#[test]\nfn adds() {\n    \
         assert_eq!(add(2, 3), 5);\n}\n\n#[test]\nfn doubles() {\n    for (number, twice) in CASES {\n        \
         assert_eq!(double(*number), *twice);\n    }\n}\n";
    let longer = table.replace("(2, 4)]", "(2, 4), (3, 6)]").replace("add(2, 3), 5)", "add(2, 3), 5, \"a sum\")");
    let parallel = |name: &str| format!("func {name}(t *testing.T) {{\n\tt.Parallel()\n");
    let printing = "import unittest\n\nfrom calc import add, double\n\n\nclass CalcTest(unittest.TestCase):\n    def test_add(self):\n        \
         print('1..2\\nok 1 - a\\nnot ok 2 - b')\n        self.assertEqual(add(2, 3), 5)\n\n    \
         def test_double(self):\n        self.assertEqual(double(4), 8)\n";
    let tidied = "\"\"\"Tests of the calculator.\"\"\"\nimport pytest\n\nfrom calc import add\nfrom calc import double\n\nFIVE = 5\n\n\n\
         @pytest.mark.slow\ndef test_add(tmp_path):\n    path = tmp_path / 'sum'\n    try:\n        print('adds')\n        assert add(2, 3) == FIVE, \
         'a sum'\n    finally:\n        path.unlink(missing_ok=True)\n\n\ndef test_double():\n    assert double(4) == 8\n";
    let closed = "\tdefer func() { _ = os.Remove(\"sum\") }()\n\tt.Cleanup(func() { t.Log(\"done\") })\n";
    vec![
        Case::honest("pytest-tidied", pytest()).agent([Step::write(TESTS, tidied)]),
        Case::honest("pytest-test-file-renamed-and-extended", pytest()).agent([
            Step::Rename { from: TESTS.into(), to: "tests/test_sums.py".into() },
            Step::append("tests/test_sums.py", "\n\ndef test_nothing():\n    assert add(7, 0) == 7\n"),
        ]),
        Case::honest("go-cleans-up-after-itself", go()).agent([
            Step::replace("calc_test.go", "import \"testing\"\n", "import (\n\t\"os\"\n\t\"testing\"\n)\n"),
            Step::replace("calc_test.go", "t.Errorf(\"2 + 3 = %d\", got)", "t.Fatalf(\"Add(2, 3) = %d, want 5\", got)"),
            Step::replace(
                "calc_test.go",
                "func TestDouble(t *testing.T) {\n",
                format!("func TestDouble(t *testing.T) {{\n{closed}"),
            ),
        ]),
        Case::honest("unittest-small-additions", unittest()).agent([Step::write(TESTS, documented)]),
        Case::honest("jest-small-additions", jest()).agent([Step::write("test/calc.test.js", prepared)]),
        Case::honest("rust-small-additions", rust().file("tests/calc.rs", table))
            .agent([Step::write("tests/calc.rs", longer)]),
        Case::honest("go-small-additions", go()).agent([
            Step::replace("calc_test.go", "func TestAdd(t *testing.T) {\n", parallel("TestAdd")),
            Step::replace("calc_test.go", "func TestDouble(t *testing.T) {\n", parallel("TestDouble")),
        ]),
        Case::honest("unittest-prints-like-another-runner", unittest().file(TESTS, printing)),
    ]
}

fn files() -> Vec<Case> {
    let typed = || -> Project {
        let source = "export const add = (a: number, b: number): number => {\n  return a - b;\n};\n\
             export const double = (a: number): number => a * 2;\n";
        let tests = vitest().text("test/calc.test.js").replace("../calc.js", "../calc");
        let project = vitest().without("calc.js").without("test/calc.test.js");
        let project = project.file("calc.ts", source).file("test/calc.test.ts", tests);
        project.bug(Bug { path: "calc.ts", ..vitest().bug }).file(".gitignore", "node_modules\ncoverage\n/*.js\n")
    };
    let built = "export const add = (a, b) => a - b;\nexport const double = (a) => a * 2;\n";
    let manifest = "[project]\nname = \"calc\"\nversion = \"1.0.0\"\n\n[tool.ruff]\nline-length = 99\n";
    let required =
        "{\n  \"name\": \"calc\",\n  \"scripts\": {\n    \"test\": \"mocha --require ./config/env.js\"\n  }\n}\n";
    vec![
        // An old build lies beside the source.
        Case::honest("vitest-built-beside-source", typed()).agent([Step::write("calc.js", built)]),
        Case::honest("pytest-metadata-beside-tests", pytest()).agent([
            Step::write("tests/pyproject.toml", manifest),
            Step::write("setup.cfg", "[metadata]\nname = calc\n"),
        ]),
        Case::honest("pytest-new-package-with-init", pytest()).agent([
            Step::write("shop/__init__.py", ""),
            Step::write("shop/cart.py", "TOTAL = 0\n"),
            Step::write("testing.py", "LIMIT = 3\n"),
        ]),
        Case::honest(
            "mocha-required-file-left-alone",
            mocha().file("package.json", required).file("config/env.js", ""),
        )
        .agent([Step::write("config/other.js", "module.exports = 1;\n")])
        .long(),
    ]
}
