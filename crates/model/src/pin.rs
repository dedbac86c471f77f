//! What a verdict rests on besides the commands, and what became of it.

use std::fmt;

use crate::Millis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Files that a verdict rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// Which files: read like a line of a `.gitignore`. Of several pins that match a path the last one counts.
    pub glob: String,
    /// What may not happen to them.
    pub kind: PinKind,
    /// Why they are pinned, in a few words: `pytest configuration`.
    pub why: String,
}

/// How many patterns protect files; the others say what is free again.
pub fn protected_patterns(pins: &[Pin]) -> usize {
    pins.iter().filter(|pin| !pin.glob.starts_with('!')).count()
}

/// What may not happen to pinned files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PinKind {
    /// What was there at the start stays as it was; new files are welcome: tests, fixtures, snapshots.
    Frozen,
    /// What was there at the start stays as it was, and nothing new appears: files that steer a runner.
    Steering,
    /// What was there at the start is ordinary source, but nothing new appears: names that would shadow a module.
    Absent,
    /// What was there at the start is ordinary source, and new files are welcome unless they hide one that is still there. When the
    /// checks have to show that they can fail, new ones that no source imports are left out: modules that are found by their names.
    Modules,
    /// Made by the checks themselves, such as a test program: what lies there is moved away while they run, and no agent
    /// is blamed for it.
    Built,
    /// Parts of a file stay as they were and the rest is free: the scripts of a `package.json`, the tests inside a Rust
    /// source file.
    Parts,
    /// Watched like an installed runner, but others may change there together with a manifest or a lock file, and new ones may appear:
    /// installed packages. Both are reported.
    Packages,
    /// Watched, but too large to keep: an installed runner. What was there stays as it was; a change cannot be put back.
    Installed,
}

/// Something that a verdict rests on and that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tamper {
    /// The file, relative to the workspace, or what else it is about: `verify`, `PATH`.
    pub path: String,
    /// What happened to it.
    pub kind: TamperKind,
    /// More about it, where there is more: the part of a file, the program that a name leads to now.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What happened to something that a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TamperKind {
    /// A pinned file has other content or is of another kind.
    Changed,
    /// A pinned file is gone, or has another name now.
    Deleted,
    /// A file appeared that steers a runner.
    Appeared,
    /// A pinned file has other permissions.
    Mode,
    /// A pinned part of a file is another.
    Part,
    /// A pinned file is another and cannot be put back.
    Installed,
    /// A program that the checks start is another than at the start.
    Program,
    /// A pinned file changed while the checks ran.
    DuringCheck,
    /// The checks passed with a failing test planted.
    Tripwire,
}

impl Tamper {
    /// Something without more to say about it.
    pub fn new(path: impl Into<String>, kind: TamperKind) -> Self {
        Self { path: path.into(), kind, detail: String::new() }
    }

    /// Something with more to say about it.
    pub fn with(path: impl Into<String>, kind: TamperKind, detail: impl Into<String>) -> Self {
        Self { path: path.into(), kind, detail: detail.into() }
    }

    /// Whether the checks could run as if it had not happened. Where they could not, whatever they say is void.
    pub const fn was_undone(&self) -> bool {
        match self.kind {
            TamperKind::Changed | TamperKind::Deleted | TamperKind::Appeared | TamperKind::Mode | TamperKind::Part => {
                true
            }
            TamperKind::Installed | TamperKind::Program | TamperKind::DuringCheck | TamperKind::Tripwire => false,
        }
    }

    /// Whether it says only that changed tests still passed: no file was touched, as far as anybody knows.
    pub fn is_tripwire(&self) -> bool {
        self.kind == TamperKind::Tripwire
    }

    /// What stands behind the path in a line of evidence.
    pub fn sentence(&self) -> String {
        let what = match self.kind {
            TamperKind::Changed => "protected file changed, restored before the check",
            TamperKind::Deleted => "protected file deleted or renamed, restored before the check",
            TamperKind::Appeared => "new file that steers the check, removed before the check",
            TamperKind::Mode => "permissions of a protected file changed, restored before the check",
            TamperKind::Part => "protected part changed, restored before the check",
            TamperKind::Installed => "changed, and Ralph cannot restore it; the check is void until it is restored",
            TamperKind::Program => "program of the check replaced; the check is void",
            TamperKind::DuringCheck => "protected file changed while the check ran; the check is void",
            TamperKind::Tripwire => "passes with a failing test planted",
        };
        if self.detail.is_empty() { what.to_owned() } else { format!("{what} ({})", self.detail) }
    }
}

impl fmt::Display for Tamper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.sentence())
    }
}

/// Whether the checks showed that they can still fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Tripwire {
    /// Tests were changed so that they must fail, and the checks reported them.
    TestsFail {
        /// How many were reported.
        changed: u32,
        /// How many of those failed before the first iteration, too.
        failed_before: u32,
        /// Tests that no change could make fail: they prove nothing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unproven: Vec<String>,
    },
    /// Tests were changed so that they must fail, and the checks let them pass: they show nothing.
    TestsPass {
        /// Which.
        tests: Vec<String>,
    },
    /// The checks did not end in time.
    TimedOut {
        /// The limit.
        after: Millis,
    },
    /// Failing tests were planted and the checks reported them.
    Reported {
        /// The files that they were planted in.
        planted: Vec<String>,
    },
    /// No form of test is known for these checks; they fail on the tree of the loop's start, as they did then.
    BaselineFails,
    /// The checks passed with it: they show nothing.
    Passed {
        /// The files that the failing tests were planted in; empty when the tree of the loop's start was tried.
        planted: Vec<String>,
        /// What was not reported, in words.
        detail: String,
    },
    /// With the failing tests planted, and with nothing kept from earlier builds, other tests fail too.
    OthersFail {
        /// Which, as far as they are named.
        failing: Vec<String>,
    },
    /// With failing tests planted the checks broke before they reported any test.
    Broken {
        /// The files that the failing tests were planted in.
        planted: Vec<String>,
    },
    /// It could not be tried.
    NotPossible {
        /// Why not.
        why: String,
    },
    /// The user turned it off.
    Off,
}

impl Tripwire {
    /// Whether a verdict stands with it.
    pub const fn holds(&self) -> bool {
        match self {
            Self::TestsFail { .. }
            | Self::TimedOut { .. }
            | Self::Reported { .. }
            | Self::BaselineFails
            | Self::NotPossible { .. }
            | Self::Off => true,
            Self::TestsPass { .. } | Self::Passed { .. } | Self::OthersFail { .. } | Self::Broken { .. } => false,
        }
    }
}

impl fmt::Display for Tripwire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TestsFail { changed, unproven, .. } => {
                let all = usize::try_from(*changed).unwrap_or(usize::MAX).saturating_add(unproven.len());
                write!(f, "{changed} of {all} changed tests failed as required")?;
                if unproven.is_empty() {
                    Ok(())
                } else {
                    write!(f, "; no change makes these fail: {}", unproven.join(", "))
                }
            }
            Self::TestsPass { tests } => {
                write!(f, "tests that were changed so that they must fail still pass{}", more(&tests.join(", ")))
            }
            Self::TimedOut { after } => write!(f, "ran out of time after {} s", after.0 / 1000),
            Self::Reported { planted } => {
                write!(f, "the checks reported failing tests planted in {}", files(planted.len()))
            }
            Self::BaselineFails => f.write_str("the checks still fail on the original code"),
            Self::Passed { planted, detail } if planted.is_empty() => {
                write!(f, "the checks pass on the original code, where they failed before{}", more(detail))
            }
            Self::Passed { planted, detail } => {
                write!(f, "the checks did not report failing tests planted in {}{}", files(planted.len()), more(detail))
            }
            Self::OthersFail { failing } => {
                write!(f, "in a second run, built from scratch, other tests fail{}", more(&failing.join(", ")))
            }
            Self::Broken { planted } => write!(
                f,
                "with tests changed in {}, the checks break before they report any test; if the changed tests break them, use \
                 --no-tripwire",
                files(planted.len())
            ),
            Self::NotPossible { why } => write!(f, "not tried: {why}"),
            Self::Off => f.write_str("turned off"),
        }
    }
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

fn more(detail: &str) -> String {
    if detail.is_empty() { String::new() } else { format!(": {detail}") }
}

#[cfg(test)]
#[path = "pin_tests.rs"]
mod tests;
