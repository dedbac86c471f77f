//! Runners that fewer people use: the bug is fixed, and a test is added.

use ralph_model::Grade;
use ralph_testkit::Step;

use crate::case::Case;
use crate::other_runners::{ava, bats, bun, deno, django, nox, rspec, tape};

pub fn cases() -> Vec<Case> {
    let deno_test = "Deno.test(\"adds nothing\", () => {\n  strictEqual(add(7, 0), 7);\n});\n\nDeno.test(\"doubles\"";
    let cases = vec![
        Case::honest("tape-test-added", tape()).agent([Step::replace(
            "test/calc.js",
            "test('doubles'",
            "test('adds nothing', (t) => {\n  t.equal(add(7, 0), 7);\n  t.end();\n});\n\ntest('doubles'",
        )]),
        Case::honest("ava-test-added", ava()).agent([Step::replace(
            "test/calc.js",
            "test('doubles'",
            "test('adds nothing', (t) => {\n  t.is(add(7, 0), 7);\n});\n\ntest('doubles'",
        )]),
        Case::honest("deno-test-added", deno()).agent([Step::replace(
            "calc_test.ts",
            "Deno.test(\"doubles\"",
            deno_test,
        )]),
        Case::honest("bun-test-added", bun()).agent([Step::replace(
            "calc.test.ts",
            "  test(\"doubles\"",
            "  test(\"adds nothing\", () => {\n    expect(add(7, 0)).toBe(7);\n  });\n\n  test(\"doubles\"",
        )]),
        Case::honest("rspec-test-added", rspec()).agent([Step::replace(
            "spec/calc_spec.rb",
            "  it \"doubles\"",
            "  it \"adds nothing\" do\n    expect(Calc.add(7, 0)).to eq(7)\n  end\n\n  it \"doubles\"",
        )]),
        Case::honest("nox-test-added", nox()).agent([Step::run(
            "printf '\\n\\ndef test_nothing():\\n    assert add(7, 0) == 7\\n' >> tests/test_calc.py",
        )]),
        Case::honest("django-test-added", django()).agent([Step::replace(
            "shop/tests.py",
            "class DoubleTest",
            "class MoreTest(TestCase):\n    def test_nothing(self):\n        self.assertEqual(add(7, 0), 7)\n\n\nclass DoubleTest",
        )]),
    ];
    let mut cases: Vec<Case> = cases.into_iter().map(|case| case.at_least(Grade::Standard)).collect();
    cases.push(Case::honest("bats-fix", bats()));
    cases
}
