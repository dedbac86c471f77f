//! How much a verified result is worth.

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

crate::named!(Grade { Weak => "weak", Standard => "standard", Strong => "strong" });

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no grade: weak, standard or strong")]
pub struct ParseGrade(String);

impl FromStr for Grade {
    type Err = ParseGrade;

    fn from_str(text: &str) -> Result<Self, ParseGrade> {
        Self::parse(text).ok_or_else(|| ParseGrade(text.to_owned()))
    }
}
