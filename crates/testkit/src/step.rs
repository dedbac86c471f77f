//! The steps of a scripted agent, as data. Performs nothing.
//!
//! A step is one JSON value: `{"write": {"path": "a.txt", "text": "x"}}`, `{"exit": 3}`, `"echo_prompt"`. Paths are
//! relative to the folder that the agent was started in. Times are in milliseconds.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Terminal escapes that would do harm if they reached a terminal: clipboard, window title, clear screen, alternate
/// screen, cursor moves, a hidden link, an answer-back request, and an 8-bit control sequence.
pub const HOSTILE_ESCAPES: &str = "\u{1b}]52;c;c3RvbGVu\u{7}\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[H\u{1b}[?1049h\u{1b}[1A\u{1b}[2K\
     \u{1b}]8;;http://example.invalid\u{1b}\\link\u{1b}]8;;\u{1b}\\\u{1b}[6n\u{9b}31mred\u{1b}[0m\u{202e}reversed\u{202c}\rover\n";

/// Bytes that are no UTF-8: a stray continuation byte, an overlong form, a surrogate and a character cut short.
pub const INVALID_UTF8: &[u8] = b"bad \x80 \xc0\xaf \xed\xa0\x80 \xff\xfe \xe2\x82\n";

/// One thing that a scripted agent does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Writes a file, and the folders above it.
    Write(FileText),
    /// Adds to the end of a file.
    Append(FileText),
    /// Replaces the first occurrence of a text in a file; fails when it is not there.
    #[serde(rename_all = "snake_case")]
    Replace {
        path: PathBuf,
        from: String,
        to: String,
    },
    /// Removes a file, a link or a whole folder.
    Delete(PathBuf),
    Chmod {
        path: PathBuf,
        /// In octal, as chmod(1) takes it: `"755"`.
        mode: String,
    },
    Symlink {
        target: PathBuf,
        path: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    /// Prints a text on standard output, as it is.
    Print(String),
    /// Prints a text on standard error, as it is.
    PrintStderr(String),
    /// Prints the promise that the work is done.
    Claim(String),
    Blocked(String),
    EchoPrompt,
    /// Writes the environment to a file, as a JSON object.
    RecordEnv(PathBuf),
    /// Prints many bytes.
    Flood(Flood),
    InvalidUtf8(Channel),
    Escapes(Channel),
    /// Writes what the run cost to the file that `RALPH_RESULT_FILE` names.
    ReportCost(CostReport),
    /// Writes any text to the file that `RALPH_RESULT_FILE` names.
    ReportText(String),
    /// Runs a line with `sh -c`; fails when the line does.
    Run(String),
    /// Plants programs in the repository's configuration that git would start; each adds its name to this file.
    GitCanaries(PathBuf),
    /// Ends the run with this exit code.
    Exit(u8),
    /// Ends the run by sending itself a signal.
    Die(SignalName),
    SleepMs(u64),
    /// Ignores signals. Holds from the start of the run and for everything that the run starts.
    IgnoreSignals(Vec<SignalName>),
    Fork(Child),
    /// Starts a child in a session of its own whose parent ends at once, and goes on.
    DoubleFork(Child),
    /// Leaves behind such a process that keeps standard output open for a while.
    HoldStdout {
        ms: u64,
    },
    /// Sends a signal to the process that started the agent.
    KillParent(SignalName),
    /// Waits until a file exists; fails after `limit_ms`.
    WaitForFile {
        path: PathBuf,
        #[serde(default = "a_minute")]
        limit_ms: u64,
    },
    /// Asks on the terminal and waits for a line; prints `no terminal` where there is none.
    ReadTty {
        question: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileText {
    pub path: PathBuf,
    pub text: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    #[default]
    Stdout,
    Stderr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flood {
    /// How many, exactly.
    pub bytes: u64,
    #[serde(default)]
    pub channel: Channel,
    /// With line breaks or without.
    #[serde(default)]
    pub lines: Lines,
    #[serde(default)]
    pub encoding: Encoding,
}

/// How a flood is divided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lines {
    /// Lines of 80 bytes.
    #[default]
    Many,
    /// No line break at all.
    One,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    #[default]
    Ascii,
    InvalidUtf8,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostReport {
    /// Micro-dollars.
    pub micros: u64,
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// In how many reports; one where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rhythm: Option<Rhythm>,
}

/// A sum that is reported while it grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rhythm {
    pub reports: u32,
    pub pause_ms: u64,
}

/// A process that an agent leaves behind. It first waits `delay_ms`, then writes, then stays for `stay_ms`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Child {
    /// How long it waits before it writes.
    #[serde(default)]
    pub delay_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<FileText>,
    /// How long it stays after that.
    #[serde(default)]
    pub stay_ms: u64,
    /// Gets its process id before the agent goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_file: Option<PathBuf>,
    /// Whether it leaves the agent's session. A double fork always does.
    #[serde(default)]
    pub session: Session,
    #[serde(default)]
    pub stdout: Stdout,
    #[serde(default)]
    pub ignore: Vec<SignalName>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Session {
    #[default]
    Shared,
    /// Its own: a signal to the agent's process group does not reach it.
    Own,
}

/// What a child does with the agent's standard output and error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdout {
    #[default]
    Closed,
    /// It keeps both open as long as it lives.
    Held,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum SignalName {
    Hup,
    Int,
    Kill,
    Usr1,
    Term,
    Segv,
}

pub(crate) const fn a_minute() -> u64 {
    60_000
}
