//! Test runners whose form of test is known.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestLanguage {
    Rust,
    Python,
    JavaScript,
    Go,
    Ruby,
    Php,
    Java,
    CSharp,
    C,
    Shell,
}

macro_rules! runners {
    ($($kind:ident $name:literal $language:ident,)*) => {
        /// A test runner whose form of test is known.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub enum Runner {
            $(#[doc = $name] $kind,)*
        }

        impl Runner {
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            pub const fn language(self) -> TestLanguage {
                match self { $(Self::$kind => TestLanguage::$language,)* }
            }
        }
    };
}

runners! {
    CargoTest "cargo test" Rust,
    Nextest "nextest" Rust,
    Pytest "pytest" Python,
    Unittest "unittest" Python,
    Jest "jest" JavaScript,
    Vitest "vitest" JavaScript,
    Mocha "mocha" JavaScript,
    NodeTest "node:test" JavaScript,
    Ava "ava" JavaScript,
    Tape "tape" JavaScript,
    Tap "tap" JavaScript,
    Bun "bun test" JavaScript,
    Deno "deno test" JavaScript,
    GoTest "go test" Go,
    Rspec "rspec" Ruby,
    Minitest "minitest" Ruby,
    Phpunit "phpunit" Php,
    Junit "junit" Java,
    Dotnet "dotnet test" CSharp,
    Ctest "ctest" C,
    Bats "bats" Shell,
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a runner said of its tests before the first iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestListing {
    /// Which runner.
    pub runner: Runner,
    /// The command that asked it.
    pub command: String,
    /// Its test files, relative to the workspace, with the tests in each where it names them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tests: BTreeMap<String, Vec<String>>,
    /// Why it did not say; empty where it did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failed: String,
}

impl TestListing {
    /// Whether it names every test file that the runner reads.
    pub fn is_complete(&self) -> bool {
        // Cargo names targets, and not the modules of which they are made.
        self.runner.language() != TestLanguage::Rust && !self.tests.is_empty()
    }

    pub fn count(&self) -> usize {
        self.tests.values().map(Vec::len).sum()
    }
}
