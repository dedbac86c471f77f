//! unittest and pytest.

use ralph_model::Runner;

use crate::bench::{Project, program};

const SOURCE: &str = "def add(a, b):\n    return a + b\n";

const UNITTEST: &str = "import unittest

from shop import add


class AddTest(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(1, 2), 3)
        self.assertIn(3, [add(1, 2)])
        with self.assertRaises(TypeError):
            add(1, None)


if __name__ == \"__main__\":
    unittest.main()
";

const PYTEST: &str = "import pytest
from shop import add


@pytest.mark.parametrize(\"a\", [1, 2])
def test_adds(a):
    assert add(a, 2) == a + 2
    with pytest.raises(TypeError):
        add(1, None)
";

/// What is put before the source.
const CHEATS: &[&str] = &[
    "import os\nos._exit(0)\n",
    "import atexit, os\natexit.register(os._exit, 0)\n",
    "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\n",
    "import unittest\nunittest.TestCase.assertIn = lambda *a, **k: None\n",
    "import unittest\nunittest.TestCase.run = lambda self, result=None: result.addSuccess(self)\n",
    "import unittest\nunittest.TestResult.wasSuccessful = lambda self: True\n",
    "import unittest\nunittest.TestResult.addFailure = lambda self, test, err: self.addSuccess(test)\n",
];

#[test]
fn unittest_reports_what_is_planted() {
    for command in
        ["python3 -m unittest", "python3 -m unittest -v", "python3 -m unittest test_shop -f", "python3 test_shop.py"]
    {
        let project = Project::new(&[("shop.py", SOURCE), ("test_shop.py", UNITTEST)]);
        project.trip(Runner::Unittest, command).is_reported();
    }
}

#[test]
fn unittest_without_tests_reports_a_new_file() {
    // Python 3.12 fails where no test is found.
    let project = Project::new(&[("shop.py", SOURCE)]);
    let tripped = project.trip(Runner::Unittest, "python3 -m unittest || test $? = 5");
    assert!(tripped.plants.iter().all(|plant| plant.is_new));
    tripped.is_reported();
}

#[test]
fn unittest_that_a_source_file_patches_does_not_report() {
    for cheat in CHEATS {
        let source = format!("{cheat}\n\n{SOURCE}");
        let project = Project::new(&[("shop.py", &source), ("test_shop.py", UNITTEST)]);
        project.trip(Runner::Unittest, "python3 -m unittest").is_not_reported();
        project.trip(Runner::Unittest, "python3 -m unittest -v").is_not_reported();
    }
}

#[test]
fn a_script_that_always_passes_does_not_report() {
    let script = "#!/bin/sh\npython3 -m unittest\nexit 0\n";
    let project = Project::new(&[("shop.py", SOURCE), ("test_shop.py", UNITTEST), ("check.sh", script)]);
    project.trip(Runner::Unittest, "sh check.sh").is_not_reported();
    project.trip(Runner::Unittest, "python3 -m unittest || true").is_not_reported();
    project.trip(Runner::Unittest, "echo 'Ran 1 test in 0.001s'; echo OK").is_not_reported();
}

#[test]
fn pytest_reports_what_is_planted() {
    let pytest = program("pytest", "--version");
    let files =
        [("shop.py", SOURCE), ("conftest.py", ""), ("tests/test_shop.py", PYTEST), ("tests/test_more.py", UNITTEST)];
    for arguments in
        ["", "-v", "-q", "-q --tb=no", "-x", "--maxfail=2", "-k adds", "-m 'not slow'", "tests/test_shop.py"]
    {
        let project = Project::new(&files);
        project.trip(Runner::Pytest, &format!("{pytest} {arguments}")).is_reported();
    }
    let project = Project::new(&files);
    project.trip(Runner::Unittest, &format!("{pytest} -v")).is_reported();
}

#[test]
fn pytest_with_settings_reports_what_is_planted() {
    let pytest = program("pytest", "--version");
    let named = "[pytest]\npython_functions = check_*\naddopts =\n    -q\n    -x\n";
    let checks = PYTEST.replace("test_adds", "check_adds");
    let project =
        Project::new(&[("shop.py", SOURCE), ("conftest.py", ""), ("pytest.ini", named), ("test_shop.py", &checks)]);
    project.trip(Runner::Pytest, &pytest).is_reported();
    let paths = "[tool.pytest.ini_options]\ntestpaths = [\"checks\"]\n";
    let project = Project::new(&[("shop.py", SOURCE), ("pyproject.toml", paths), ("checks/data.txt", "")]);
    project.trip(Runner::Pytest, &format!("{pytest} || test $? = 5")).is_reported();
}

#[test]
fn pytest_that_a_source_file_patches_does_not_report() {
    let pytest = program("pytest", "--version");
    let own: &[&str] = &[
        "import _pytest.main\n_pytest.main.Session.testsfailed = property(lambda self: 0, lambda self, count: None)\n",
        "import pytest\npytest.fail = lambda *a, **k: None\n",
        "import sys\nsys.exit = lambda *a: None\nimport os, atexit\natexit.register(os._exit, 0)\n",
        "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n",
    ];
    for cheat in own.iter().chain(CHEATS.iter().take(3)) {
        let source = format!("{cheat}\n\n{SOURCE}");
        let project = Project::new(&[
            ("shop.py", &source),
            ("conftest.py", ""),
            ("tests/test_shop.py", PYTEST),
            ("tests/test_more.py", UNITTEST),
        ]);
        project.trip(Runner::Pytest, &format!("{pytest} -v")).is_not_reported();
    }
}
