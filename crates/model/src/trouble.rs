//! What can be wrong with the service behind an agent, and what of it time heals.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Something that the service behind an agent refused, as the agent told it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    /// What kind of trouble.
    pub kind: TroubleKind,
    /// When it will be over, where somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The service's or the agent's own words, one line.
    pub message: String,
    /// What a person can do about it, where only a person can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// Kinds of trouble with a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TroubleKind {
    /// Too many requests, or a plan's allowance is used up for now.
    RateLimit,
    /// The service has too much to do, or failed by itself.
    Overload,
    /// Nothing answered.
    Unreachable,
    /// The program cannot begin as it is set up: a setting, an argument, a missing permission.
    Setup,
    /// The key or the login is missing, wrong or not allowed to do this.
    Authentication,
    /// The account has no money left.
    OutOfCredit,
    /// The model does not exist, or not for this account.
    ModelNotFound,
    /// The conversation became longer than the model can read.
    ContextOverflow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Wait, and try the same again.
    Wait,
    /// Only a person can help.
    Person,
    /// A fresh context helps: the next iteration has one.
    NextIteration,
}

impl TroubleKind {
    pub const fn remedy(self) -> Remedy {
        match self {
            Self::RateLimit | Self::Overload | Self::Unreachable => Remedy::Wait,
            Self::Setup | Self::Authentication | Self::OutOfCredit | Self::ModelNotFound => Remedy::Person,
            Self::ContextOverflow => Remedy::NextIteration,
        }
    }

    pub const fn words(self) -> &'static str {
        match self {
            Self::RateLimit => "rate or usage limit",
            Self::Overload => "the service is overloaded or failed",
            Self::Unreachable => "the service cannot be reached",
            Self::Setup => "not set up",
            Self::Authentication => "not authenticated",
            Self::OutOfCredit => "no credit left",
            Self::ModelNotFound => "model not found",
            Self::ContextOverflow => "the context is full",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.words())?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        if let Some(until) = self.until {
            write!(f, " (until {})", until.rfc3339())?;
        }
        Ok(())
    }
}
