//! Errors on the wire: problem documents of RFC 9457.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a request failed, as `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Which problem it is: a name that does not change, such as `urn:ralph:stale-lease`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The same in a few words for people.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong with this request, and what would be right.
    pub detail: String,
    /// The field, parameter or header that has to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl Problem {
    /// A problem from its name, which is also its type.
    pub fn new(status: u16, name: &str, detail: impl Into<String>) -> Self {
        let title = match name.replace('-', " ") {
            title if title.is_empty() => title,
            title => title[..1].to_uppercase() + &title[1..],
        };
        Self { kind: format!("urn:ralph:{name}"), title, status, detail: detail.into(), field: None }
    }

    #[must_use]
    pub fn in_field(self, field: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..self }
    }

    /// A value that cannot be accepted.
    pub fn invalid(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(422, "invalid-value", detail).in_field(field)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.detail.is_empty() { f.write_str(&self.title) } else { f.write_str(&self.detail) }
    }
}
