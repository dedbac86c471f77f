//! Test runners whose form of test is known.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What tests are written in.
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
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub enum Runner {
            $(#[doc = $name] $kind,)*
        }

        impl Runner {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// What its tests are written in.
            #[must_use]
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
