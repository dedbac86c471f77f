//! Where tests go in files of Python, and how they look there.

use super::*;

fn planted(path: &str, text: &str, runners: &[Runner]) -> Option<(String, Planted)> {
    let planted = plant(path, text.as_bytes(), runners, &Project::default(), "", &mut Names::new(1))?;
    let text = String::from_utf8(planted.content.clone()).unwrap();
    for mark in &planted.marks {
        assert_eq!(text.matches(&format!("def test_{mark}(")).count(), 1, "{text}");
        assert!(!text.contains(&crate::tripwire::names::message(mark)), "{text}");
    }
    Some((text, planted))
}

const CLASS: &str =
    "import unittest\n\n\nclass CartTest(unittest.TestCase):\n    def test_a(self):\n        self.assertIn(1, [1])\n";
const FUNCTION: &str = "def test_a():\n    assert True\n";

#[test]
fn pytest_gets_functions_and_unittest_a_class() {
    let (functions, _) = planted("test_a.py", FUNCTION, &[Runner::Pytest]).unwrap();
    assert!(functions.starts_with("def test_a():\n    assert True\n\n\ndef test_"), "{functions}");
    assert!(!functions.contains("class "), "{functions}");
    for way in ["assert count == 7", ".fail(", "raise AssertionError("] {
        assert_eq!(functions.matches(way).count(), 1, "{way} in {functions}");
    }
    let (class, _) = planted("test_a.py", CLASS, &[Runner::Unittest]).unwrap();
    assert_eq!(class.matches("(unittest.TestCase):").count(), 2, "{class}");
    assert!(!class.contains("\ndef test_"), "{class}");
    for way in ["assertEqual(", "assertTrue(", "self.fail(", "raise AssertionError(", "assertIn(count"] {
        assert_eq!(class.matches(way).count(), 1, "{way} in {class}");
    }
}

#[test]
fn a_file_with_both_gets_both_and_two_runners_what_both_find() {
    let both = format!("{CLASS}\n\n{FUNCTION}");
    let (text, _) = planted("test_a.py", &both, &[Runner::Pytest]).unwrap();
    assert!(text.contains("\ndef test_") && text.matches("TestCase):").count() == 2, "{text}");
    let (text, _) = planted("test_a.py", FUNCTION, &[Runner::Pytest, Runner::Unittest]).unwrap();
    assert_eq!(text.matches("\ndef test_").count(), 0, "{text}");
    assert!(text.contains("(__import__(\"unittest\").TestCase):"), "{text}");
}

#[test]
fn tests_stand_before_what_runs_the_file() {
    for end in ["if __name__ == '__main__':\n    unittest.main()\n", "unittest.main()\n", "sys.exit(unittest.main())"] {
        let (text, _) = planted("test_a.py", &format!("{CLASS}\n\n{end}"), &[Runner::Unittest]).unwrap();
        assert!(text.ends_with(&format!("\n\n\n{end}")), "{text}");
        assert!(text.contains("[1])\n\n\nclass "), "{text}");
    }
}

#[test]
fn what_looks_like_code_in_a_string_is_none() {
    let text = format!("PROGRAM = '''\nif __name__ == 0:\n    pass\n'''\n\n\n{CLASS}");
    let (text, _) = planted("test_a.py", &text, &[Runner::Unittest]).unwrap();
    assert!(text.contains("PROGRAM = '''\nif __name__ == 0:\n    pass\n'''\n"), "{text}");
}

#[test]
fn indentation_and_ends_of_lines_are_kept() {
    let (text, _) = planted("test_a.py", &CLASS.replace("    ", "  "), &[Runner::Unittest]).unwrap();
    assert!(text.lines().filter(|line| line.starts_with("    ")).all(|line| line.trim_start().len() < 80));
    assert!(text.contains("\n  def test_") && text.contains("\n    count = "), "{text}");
    let (text, _) = planted("test_a.py", &CLASS.replace('\n', "\r\n"), &[Runner::Unittest]).unwrap();
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    let (text, _) = planted("test_a.py", CLASS.trim_end(), &[Runner::Unittest]).unwrap();
    assert!(text.contains("[1])\n\n\nclass "), "{text}");
}

#[test]
fn lines_are_short_enough_for_linters() {
    let all: String =
        ["assertRaises", "assertAlmostEqual", "assertDictEqual", "assertCountEqual", "assertGreaterEqual"]
            .map(|name| format!("        self.{name}()\n"))
            .concat();
    for seed in 0..200 {
        let text = format!("{CLASS}{all}");
        let runners = [Runner::Unittest];
        let planted =
            plant("test_a.py", text.as_bytes(), &runners, &Project::default(), "", &mut Names::new(seed)).unwrap();
        let text = String::from_utf8(planted.content).unwrap();
        assert_eq!(text.lines().find(|line| line.len() > 79), None);
    }
}

#[test]
fn files_that_may_be_left_out_are_conditional() {
    for line in [
        "pytestmark = pytest.mark.skip\n",
        "np = pytest.importorskip('numpy')\n",
        "def load_tests(a, b, c):\n    pass\n",
    ] {
        let (_, planted) = planted("test_a.py", &format!("{line}{FUNCTION}"), &[Runner::Pytest]).unwrap();
        assert_eq!(planted.presence, Presence::Conditional, "{line}");
    }
    let (_, planted) = planted("test_a.py", FUNCTION, &[Runner::Pytest]).unwrap();
    assert_eq!(planted.presence, Presence::Sure);
}

#[test]
fn helpers_and_data_are_left_alone() {
    for path in ["conftest.py", "tests/__init__.py", "tests/fixtures/test_a.py"] {
        assert!(planted(path, FUNCTION, &[Runner::Pytest]).is_none(), "{path}");
    }
    assert!(planted("tests/helpers.py", "def help():\n    pass\n", &[Runner::Pytest]).is_none());
    assert!(planted("test_a.py", "x = '''open", &[Runner::Pytest]).is_none());
}
