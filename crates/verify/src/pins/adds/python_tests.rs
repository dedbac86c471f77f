use super::super::tests::Table;

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
fn new_tests_and_what_they_need_are_welcome() {
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
fn what_was_there_stays_as_and_where_it_was() {
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
        PYTEST.swap("    return 1\n", "    return 1\n    def test_inner():\n        pass\n"),
        // In another order.
        PYTEST.before.replace("import pytest\nfrom calc import add\n", "from calc import add\nimport pytest\n"),
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
fn nothing_comes_between_the_parts_of_a_statement() {
    let table = Table { path: "test_a.py", before: "try:\n    import json\nexcept ImportError:\n    json = None\n" };
    table.welcome(&[table.end("def test_a():\n    pass\n")]);
    table.refused(&[table.swap("except", "def test_a():\n    pass\nexcept")]);
    let table = Table { path: "test_a.py", before: "@slow\ndef test_a():\n    pass\n" };
    table.refused(&[table.swap("def test_a", "def test_b():\n    pass\n\n\ndef test_a")]);
}

#[test]
fn names_that_were_used_are_not_defined_anew() {
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
fn old_classes_get_tests_only() {
    let method = |text: &str| UNITTEST.swap("        self.one = 1\n", &format!("        self.one = 1\n\n{text}"));
    UNITTEST.welcome(&[method("    def test_b(self):\n        pass\n")]);
    UNITTEST.refused(&[
        method("    def tearDown(self):\n        pass\n"),
        method("    def run(self, result=None):\n        pass\n"),
        method("    def assertFine(self):\n        pass\n"),
        method("    def __init__(self, name):\n        pass\n"),
        method("    __test__ = False\n"),
        method("    limit = 3\n"),
        method("    test_b = None\n"),
        method("    class test_b: pass\n"),
        method("    import json\n"),
        // The base is of another file and may have a test by this name.
        UNITTEST.swap(
            "class SuiteTest(Suite):\n    pass\n",
            "class SuiteTest(Suite):\n    pass\n\n    def test_b(self):\n        pass\n",
        ),
    ]);
}

#[test]
fn statements_and_what_runners_look_for_are_refused() {
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
            "from __future__ import annotations",
            "import evil as pytestmark",
            "@pytest.fixture(autouse=True)\ndef quiet():\n    pass",
            "@fixture(**{'autouse': True})\ndef quiet():\n    pass",
            "@evil\ndef helper():\n    pass",
            "if __name__ == '__main__':\n    pass",
            "if True:\n    def test_b():\n        pass",
            "try:\n    import json\nexcept ImportError:\n    pass",
            "print(1)",
            "assert True",
            "x = evil()",
            "x = 1; add = 2",
            "x = y",
            "x = 0or evil",
            "x = f'{evil()}'",
            "x = [n for n in ()]",
            "x = y = 1",
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
fn new_code_leaves_alone_what_the_old_uses() {
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
            "raise unittest.SkipTest",
            "pytest.importorskip('x')",
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
fn what_versions_read_differently_is_refused() {
    PYTEST.refused(
        &[
            "x = f\"{a[\"#\"]}\"; evil()",
            "x = f\"{a[\" + evil(\"]}\")",
            "x = f'\\N{DASH}'",
            "x = f'{\"\\n\"}'",
            "x = 0xfor evil()",
            "x = 1if evil() else 2",
            "x = 1.real",
        ]
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
