//! Tells tests of one name apart, by the file and the class that a report names.

use std::collections::HashMap;

use super::TestFile;
use super::mention::mentions;
use crate::changes::{ChangeableTest, TestClass};

/// For each name the files and classes that define a test by it.
pub(super) struct Namesakes {
    homes: HashMap<String, Vec<Home>>,
}

struct Home {
    path: String,
    class: Option<TestClass>,
}

impl Namesakes {
    pub(super) fn of<'a>(tests: impl Iterator<Item = (String, &'a ChangeableTest)>) -> Self {
        let mut homes: HashMap<String, Vec<Home>> = HashMap::new();
        for (path, test) in tests {
            homes.entry(test.name.clone()).or_default().push(Home { path, class: test.class.clone() });
        }
        Self { homes }
    }

    /// Whether a reported name is that of this test, and not of another one by the same name whose class it says. What no class
    /// of them has is inherited.
    pub(super) fn is_of(&self, reported: &str, file: &TestFile, test: &ChangeableTest) -> bool {
        let Some(homes) = self.homes.get(test.name.as_str()).filter(|homes| homes.len() > 1) else { return true };
        let own = said_by(&file.path, test.class.as_ref(), reported);
        // A class that is run by itself is reported by its own name, unless it is skipped here.
        let is_run = test.class.as_ref().is_some_and(|class| class.is_run) && says_a_class(reported);
        if (is_run || (test.may_be_skipped && test.class.is_some())) && !own.0 {
            return false;
        }
        !homes.iter().map(|home| said_by(&home.path, home.class.as_ref(), reported)).any(|said| said.0 && said > own)
    }
}

/// Whether a name says the class, and the file.
fn said_by(path: &str, class: Option<&TestClass>, reported: &str) -> (bool, bool) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let says = |class: &TestClass| reported.split(|c| !is_word(c)).any(|word| word == class.name);
    (class.is_some_and(says), mentions(path, reported))
}

/// `t.py::ATest::test_a`, `test_a (t.ATest.test_a)`
fn says_a_class(reported: &str) -> bool {
    let parts = reported.split([':', '.', ' ', '(', ')']);
    let mut parts = parts.filter(|part| !part.is_empty());
    parts.any(|part| part.starts_with(|c: char| c.is_ascii_uppercase()))
}
