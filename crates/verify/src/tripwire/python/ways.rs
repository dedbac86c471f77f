//! The ways in which tests of Python fail: some always, and those that a file uses.

use crate::tripwire::names::Mark;
use crate::tripwire::text::holds;

/// Statements that fail. `MESSAGE` stands for the message, `NUMBER` for its number, `STEP` for one step inward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way(&'static str);

impl Way {
    pub(super) fn body(self, mark: &Mark, inner: &str, step: &str) -> String {
        let text = self.0.replace("MESSAGE", &format!("f\"{} {{count}}\"", mark.spoken())).replace("STEP", step);
        let lines = std::iter::once(format!("count = {}", mark.number)).chain(text.lines().map(str::to_owned));
        lines.map(|line| format!("{inner}{line}\n")).collect()
    }
}

/// A way that a file uses when it holds the word.
type Used = (&'static str, Way);

/// More of them would only make the report longer.
const MAX_USED: usize = 6;

const METHODS: &[Way] = &[
    Way("self.assertEqual(count, 7, MESSAGE)"),
    Way("self.assertTrue(count < 7, MESSAGE)"),
    Way("self.fail(MESSAGE)"),
    Way("raise AssertionError(MESSAGE)"),
];

const USED_METHODS: &[Used] = &[
    ("assertFalse", Way("self.assertFalse(count > 7, MESSAGE)")),
    ("assertIn", Way("self.assertIn(count, [7], MESSAGE)")),
    ("assertNotIn", Way("self.assertNotIn(count, [count], MESSAGE)")),
    ("assertRaises", Way("with self.assertRaises(KeyError, msg=MESSAGE):\nSTEPcount += 1")),
    ("assertIs", Way("self.assertIs(count, None, MESSAGE)")),
    ("assertIsNone", Way("self.assertIsNone(count, MESSAGE)")),
    ("assertIsNotNone", Way("self.assertIsNotNone(None, MESSAGE)")),
    ("assertIsInstance", Way("self.assertIsInstance(count, str, MESSAGE)")),
    ("assertNotEqual", Way("self.assertNotEqual(count, count, MESSAGE)")),
    ("assertAlmostEqual", Way("self.assertAlmostEqual(count, 7, msg=MESSAGE)")),
    ("assertGreater", Way("self.assertGreater(7, count, MESSAGE)")),
    ("assertLess", Way("self.assertLess(count, 7, MESSAGE)")),
    ("assertGreaterEqual", Way("self.assertGreaterEqual(7, count, MESSAGE)")),
    ("assertLessEqual", Way("self.assertLessEqual(count, 7, MESSAGE)")),
    ("assertRegex", Way("self.assertRegex(str(count), \"seven\", MESSAGE)")),
    ("assertCountEqual", Way("self.assertCountEqual([count], [7], MESSAGE)")),
    ("assertListEqual", Way("self.assertListEqual([count], [7], MESSAGE)")),
    ("assertDictEqual", Way("self.assertDictEqual({7: count}, {}, MESSAGE)")),
];

const FUNCTIONS: &[Way] = &[
    Way("assert count == 7, MESSAGE"),
    Way("__import__(\"pytest\").fail(MESSAGE)"),
    Way("raise AssertionError(MESSAGE)"),
];

const USED_FUNCTIONS: &[Used] = &[
    ("pytest.raises", Way("with pytest.raises(KeyError):\nSTEPcount += 1")),
    ("pytest.approx", Way("assert count == pytest.approx(7), MESSAGE")),
];

pub(super) fn methods(masked: &str) -> Vec<Way> {
    chosen(METHODS, USED_METHODS, masked)
}

pub(super) fn functions(masked: &str) -> Vec<Way> {
    chosen(FUNCTIONS, USED_FUNCTIONS, masked)
}

fn chosen(always: &[Way], used: &[Used], masked: &str) -> Vec<Way> {
    let used = used.iter().filter(|(word, _)| holds(masked, word)).map(|(_, way)| *way).take(MAX_USED);
    always.iter().copied().chain(used).collect()
}
