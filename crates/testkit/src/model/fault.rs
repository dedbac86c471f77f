//! What can go wrong with an answer, as data. Breaks nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What goes wrong with a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// The service answers with an error, as the service of that format would.
    Refuse(Trouble),
    Status(Status),
    /// It begins the reply, and an error of the service takes the place of the rest. An answer that is not streamed is the
    /// error alone.
    Midway {
        /// The events that are sent before it, at most all but the last.
        after_events: usize,
        trouble: Trouble,
    },
    /// It falls silent and keeps the connection until the other side closes it.
    Hang {
        /// How much of the body is sent before: nothing but the head with 0, and not even that without a figure.
        #[serde(default)]
        after_bytes: Option<usize>,
    },
    /// It begins the reply and closes the connection.
    Cut {
        /// The events that are sent before, at most all but the last. An answer that is not streamed is cut in half.
        after_events: usize,
    },
    /// It begins the reply and ends the response in good order, as some gateways do when they lose the service behind them. An
    /// answer that is not streamed is sent whole.
    Truncate {
        /// The events that are sent before, at most all but the last.
        after_events: usize,
    },
    /// It sends the whole reply, slowly.
    Slow {
        delay_ms: u64,
    },
    /// It closes the connection without an answer.
    Drop,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    pub code: u16,
    /// The body; without one, what the service says with that status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// An error of a service. Status, headers and words are those that the real service uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Trouble {
    /// 500.
    ServerError,
    /// 529 from Anthropic, 503 from the others.
    Overloaded,
    /// 429: too much in a short time.
    RateLimited {
        /// The seconds to wait: `retry-after`, and `retryDelay` from Gemini. Without them only the kind of limit is said.
        #[serde(default)]
        retry_after: Option<u64>,
    },
    /// 429: what a subscription or a day allows is used up. Anthropic says it in `anthropic-ratelimit-unified-*` headers, the
    /// OpenAI formats as `usage_limit_reached`, Gemini as a quota per day.
    UsageLimit {
        /// The seconds until there is more.
        resets_in: u64,
    },
    /// 401: signed in no longer.
    Unauthorized,
    /// What the service says to a key that does not exist: 401, and 400 from Gemini.
    InvalidKey,
    /// 403.
    Forbidden,
    /// 404 for the model that was asked for.
    ModelNotFound,
    /// 400: more tokens than the model can read.
    ContextOverflow,
    /// Nothing left to pay with: 400 from Anthropic, 429 from the others.
    OutOfCredit,
}

impl Fault {
    /// An answer by its status, in the words of the service.
    pub const fn status(code: u16) -> Self {
        Self::Status(Status { code, body: None, headers: BTreeMap::new() })
    }

    pub const fn hang() -> Self {
        Self::Hang { after_bytes: None }
    }
}
