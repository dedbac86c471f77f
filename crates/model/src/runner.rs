//! Test runners whose form of test is known.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A test runner whose form of test is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Runner {
    /// `cargo test`
    CargoTest,
    /// `cargo nextest`
    Nextest,
    /// pytest
    Pytest,
    /// Python's own `unittest`
    Unittest,
    /// Jest
    Jest,
    /// Vitest
    Vitest,
    /// Mocha
    Mocha,
    /// Node's own `node --test`
    NodeTest,
    /// `go test`
    GoTest,
}

impl Runner {
    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CargoTest => "cargo test",
            Self::Nextest => "nextest",
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Jest => "jest",
            Self::Vitest => "vitest",
            Self::Mocha => "mocha",
            Self::NodeTest => "node:test",
            Self::GoTest => "go test",
        }
    }

    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::CargoTest,
        Self::Nextest,
        Self::Pytest,
        Self::Unittest,
        Self::Jest,
        Self::Vitest,
        Self::Mocha,
        Self::NodeTest,
        Self::GoTest,
    ];

    /// Whether its tests are JavaScript or TypeScript.
    #[must_use]
    pub const fn is_javascript(self) -> bool {
        matches!(self, Self::Jest | Self::Vitest | Self::Mocha | Self::NodeTest)
    }

    /// Whether its tests are Rust.
    #[must_use]
    pub const fn is_rust(self) -> bool {
        matches!(self, Self::CargoTest | Self::Nextest)
    }

    /// Whether its tests are Python.
    #[must_use]
    pub const fn is_python(self) -> bool {
        matches!(self, Self::Pytest | Self::Unittest)
    }
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
