//! Words a check's outcome as evidence. Decides nothing.

use ralph_model::{CheckOutcome, ToolEvidence};

/// The tool under whose name checks appear among the evidence.
pub const TOOL: &str = "verify";

/// Characters of a command that a line of evidence shows.
const LONGEST_COMMAND: usize = 200;

/// `verify: npm test (exit code 1, 2 failing)`, `verify: cargo test (12 passing)`, `verify: make check (exit code 0)`.
#[must_use]
pub fn evidence(check: &CheckOutcome) -> ToolEvidence {
    let command = one_line(&check.command);
    let failed = check.tests.as_ref().map_or(0, |tests| tests.failed);
    let details = match &check.tests {
        Some(tests) if check.passed => format!("{} passing", tests.passed),
        _ if failed > 0 => format!("{}, {failed} failing", check.ended),
        _ => check.ended.to_string(),
    };
    let summary = format!("{command} ({details})");
    if check.passed { ToolEvidence::ok(TOOL, summary) } else { ToolEvidence::error(TOOL, summary) }
}

fn one_line(command: &str) -> String {
    let mut line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(LONGEST_COMMAND) {
        line.truncate(at);
        line.push('…');
    }
    line
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
