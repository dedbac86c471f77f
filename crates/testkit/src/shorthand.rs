//! Short ways to write the common steps in a test.

use std::path::PathBuf;
use std::time::Duration;

use crate::step::a_minute;
use crate::{CostReport, FileText, Rhythm, SignalName, Step};

impl Step {
    pub fn write(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self::Write(FileText { path: path.into(), text: text.into() })
    }

    pub fn append(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self::Append(FileText { path: path.into(), text: text.into() })
    }

    pub fn replace(path: impl Into<PathBuf>, from: impl Into<String>, to: impl Into<String>) -> Self {
        Self::Replace { path: path.into(), from: from.into(), to: to.into() }
    }

    pub fn delete(path: impl Into<PathBuf>) -> Self {
        Self::Delete(path.into())
    }

    /// Sets permissions: `Step::chmod("run.sh", 0o755)`.
    pub fn chmod(path: impl Into<PathBuf>, mode: u32) -> Self {
        Self::Chmod { path: path.into(), mode: format!("{mode:o}") }
    }

    pub fn symlink(target: impl Into<PathBuf>, path: impl Into<PathBuf>) -> Self {
        Self::Symlink { target: target.into(), path: path.into() }
    }

    /// Prints a line on standard output.
    pub fn say(line: impl AsRef<str>) -> Self {
        Self::Print(format!("{}\n", line.as_ref()))
    }

    pub fn claim() -> Self {
        Self::Claim("<promise>COMPLETE</promise>".to_owned())
    }

    /// Says that a person is needed, and why.
    pub fn blocked(why: impl Into<String>) -> Self {
        Self::Blocked(why.into())
    }

    /// Reports what the run cost, in micro-dollars, at once.
    pub const fn cost(micros: u64) -> Self {
        Self::ReportCost(CostReport { micros, input_tokens: 0, output_tokens: 0, model: None, rhythm: None })
    }

    /// Reports a cost that grows to `micros` in `reports` equal parts.
    pub fn growing_cost(micros: u64, reports: u32, pause: Duration) -> Self {
        let rhythm = Rhythm { reports, pause_ms: millis(pause) };
        Self::ReportCost(CostReport { micros, input_tokens: 0, output_tokens: 0, model: None, rhythm: Some(rhythm) })
    }

    pub fn run(line: impl Into<String>) -> Self {
        Self::Run(line.into())
    }

    pub fn sleep(time: Duration) -> Self {
        Self::SleepMs(millis(time))
    }

    /// Ignores the signals that ask a process to end.
    pub fn ignore_signals() -> Self {
        Self::IgnoreSignals(vec![SignalName::Term, SignalName::Int, SignalName::Hup])
    }

    pub fn wait_for_file(path: impl Into<PathBuf>) -> Self {
        Self::WaitForFile { path: path.into(), limit_ms: a_minute() }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
