//! How much a verified result is worth.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a verified result is worth. The order is from less to more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// The checks pass, and not much shows that they could have failed.
    Weak,
    /// Tests that were changed so that they must fail were reported as failing, and nothing but the work changed.
    Standard,
    /// The same, and the checks ran where the agent cannot write.
    Strong,
}

impl Grade {
    /// All of them, from less to more.
    pub const ALL: [Self; 3] = [Self::Weak, Self::Standard, Self::Strong];

    /// The name that scripts see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weak => "weak",
            Self::Standard => "standard",
            Self::Strong => "strong",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that is no grade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseGrade(String);

impl fmt::Display for ParseGrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no grade: weak, standard or strong", self.0)
    }
}

impl std::error::Error for ParseGrade {}

impl FromStr for Grade {
    type Err = ParseGrade;

    fn from_str(text: &str) -> Result<Self, ParseGrade> {
        Self::ALL.into_iter().find(|grade| grade.name() == text).ok_or_else(|| ParseGrade(text.to_owned()))
    }
}
