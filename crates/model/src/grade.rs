//! How much a verified result is worth.

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
