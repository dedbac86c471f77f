//! test-unit, which older projects of Ruby use. Its sums are counted with those of minitest.

use ralph_verify::Pattern;

use super::sums::Gathered;

/// `Failure: test_discount(CartTest)`, and with `-v` a line for each class and each of its tests.
#[derive(Debug, Default)]
pub(super) struct TestUnit {
    classes: Vec<String>,
    /// Between two rulers stands what a test said.
    is_report: bool,
}

impl TestUnit {
    pub(super) fn line(&mut self, line: &str, all: &mut Gathered) {
        static FAILED: Pattern = Pattern::new(r"^(?:Failure|Error): (.+?)\(([A-Z][\w:]*)\)(?::.*)?$");
        static CLASS: Pattern = Pattern::new(r"^((?:  )*)(\w[\w:]*):$");
        static TEST: Pattern = Pattern::new(r"^ +(.+?):\t+([.FEPON])(?:: \([0-9.]+\))?$");
        if line.len() > 70 && line.bytes().all(|byte| byte == b'=') {
            self.is_report = !self.is_report;
        } else if line.starts_with("Failure: ") || line.starts_with("Error: ") {
            if let Some(found) = FAILED.captures(line) {
                all.failing.insert(&named(&found[2], &found[1]));
            }
        } else if !self.is_report && line.contains(":\t") {
            if let Some(found) = TEST.captures(line).filter(|found| [".", "F", "E"].contains(&&found[2])) {
                all.show(&found[2] != ".", &named(&self.classes.join("::"), &found[1]));
            }
        } else if !self.is_report
            && line.ends_with(':')
            && let Some(found) = CLASS.captures(line)
        {
            self.classes.truncate(found[1].len() / 2);
            self.classes.push(found[2].to_owned());
        }
    }
}

/// The name of a test as minitest prints it; one that was defined with words has a prefix.
fn named(class: &str, test: &str) -> String {
    format!("{class}#{}", test.strip_prefix("test: ").unwrap_or(test))
}
