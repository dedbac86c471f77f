//! Checks that run some of the tests, or none: a linter, a build, a script, a single test.

use crate::case::Case;
use crate::project::Bug;
use crate::projects::{go, pytest, rust, unittest};

pub fn cases() -> Vec<Case> {
    let one = || unittest().check("python3 -m unittest tests.test_calc.CalcTest.test_add");
    let broken = Bug { path: "src/lib.rs", wrong: "    a - \"b\"\n", right: "    a + b\n" };
    let library = rust().text("src/lib.rs").replace("    a - b\n", broken.wrong);
    let second = "package calc\n\nimport \"testing\"\n\nfunc TestSix(t *testing.T) {\n\tif Double(3) != 6 {\n\t\tt.Fail()\n\t}\n}\n";
    vec![
        Case::honest("linter-beside-tests", unittest().check("grep -q 'return sum(' calc.py").silent()),
        Case::honest(
            "smoke-test-beside-tests",
            unittest().check("python3 -c 'import calc; assert calc.add(2, 3) == 5'").silent(),
        )
        .isolated(),
        Case::honest("unittest-one-test", one()),
        Case::honest("pytest-one-test", pytest().check("python3 -m pytest tests/test_calc.py::test_add")),
        Case::honest("go-one-test-of-two-files", go().file("six_test.go", second).check("go test -run TestAdd ./...")),
        Case::honest(
            "rust-build-beside-tests",
            rust().file("src/lib.rs", library).bug(broken).check("cargo check --offline").silent(),
        ),
    ]
}
