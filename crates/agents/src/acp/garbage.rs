//! What a server prints that is no message: some of it is usual, and of a program that is no server it is all there is.

use crate::text::short;

/// Lines after which a program that never answered is no server.
pub(super) const MAX: u32 = 10_000;
const MAX_LINE: usize = 200;

/// What was printed beside the messages.
#[derive(Debug, Default)]
pub(super) struct Garbage {
    lines: u32,
    first: String,
    /// The last line of standard error that says something.
    complaint: String,
}

impl Garbage {
    /// Takes a line of standard output that is no message, and says whether there were too many.
    pub(super) fn is_flood_with(&mut self, line: &str) -> bool {
        self.lines = self.lines.saturating_add(1);
        if self.first.is_empty() {
            self.first = short(line.trim().to_owned(), MAX_LINE);
        }
        self.lines >= MAX
    }

    /// A line of standard error.
    pub(super) fn complained(&mut self, line: &str) {
        if !line.trim().is_empty() {
            self.complaint = short(line.trim().to_owned(), MAX_LINE);
        }
    }

    /// What is wrong with a program, with what it printed instead of messages.
    pub(super) fn instead(&self, what: &str) -> String {
        let Self { lines, first, complaint } = self;
        match (lines, complaint.as_str()) {
            (0, "") => what.to_owned(),
            (0, complaint) => format!("{what}: {complaint}"),
            (lines, "") => format!("{what}, and printed {lines} lines that are not messages: {first}"),
            (lines, complaint) => {
                format!("{what}, and printed {lines} lines that are not messages: {first}; {complaint}")
            }
        }
    }
}
