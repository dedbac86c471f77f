//! What a run used besides money, and what it may use.

use ralph_engine::Facts;
use ralph_model::Window;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run used besides money, and what it may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageView {
    /// Tokens read and written, those from caches included, as far as agents reported them.
    pub tokens: u64,
    /// How many it may use, where that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// How much of a plan's allowance is used, as the last agent reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// How much of it may be used, in percent, where that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_window: Option<u32>,
}

impl UsageView {
    /// What a loop used so far.
    #[must_use]
    pub fn new(facts: &Facts) -> Self {
        let runs = facts.iterations.iter().rev().filter_map(|record| record.run.as_ref());
        Self {
            tokens: facts.tokens,
            max_tokens: facts.config.max_tokens,
            window: runs.into_iter().find_map(|run| run.usage.window),
            max_window: facts.config.max_window,
        }
    }

    /// `120000 of 2000000 tokens, 40 % of the plan's allowance (at most 80 %)`; none where nothing is limited.
    pub fn limits(&self) -> Option<String> {
        let tokens = self.max_tokens.map(|max| format!("{} of {max} tokens", self.tokens));
        let window = self.max_window.map(|max| match self.window {
            Some(Window { percent, .. }) => format!("{percent} % of the plan's allowance (at most {max} %)"),
            None => format!("at most {max} % of the plan's allowance"),
        });
        let parts: Vec<String> = tokens.into_iter().chain(window).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}
