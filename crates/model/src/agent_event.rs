//! What an agent does while it works, as facts. Each edge (terminal, HTTP, log) renders its own text from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Fault, Money, Trouble};

/// Something that an agent does or says while it works. All text is redacted, sanitised and bounded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AgentEvent {
    /// A piece of text, of any length: of what an opaque agent prints, or of a message that is still being written.
    Output {
        /// The piece.
        text: String,
    },
    /// A whole message, or a whole part of one.
    Message {
        /// The message.
        text: String,
    },
    /// A tool call began.
    ToolStarted {
        /// The agent's own id of the call, unique among those that are under way.
        id: String,
        /// The tool, as the agent calls it.
        tool: String,
        /// What it is called with, on one line; empty when that is unknown.
        summary: String,
    },
    /// A tool call ended. Its beginning may not have been seen.
    ToolFinished {
        /// The agent's own id of the call.
        id: String,
        /// The tool, as the agent calls it.
        tool: String,
        /// Whether it did what it was called for.
        success: bool,
        /// What it was called with and, when it failed, why; on one line.
        summary: String,
    },
    /// What the run used so far, as far as it is known. A later one replaces an earlier one.
    Usage {
        /// Tokens read.
        input_tokens: u64,
        /// Tokens written.
        output_tokens: u64,
        /// What the run has cost so far, at least.
        cost: Money,
    },
    /// About what the first answer costs, before anything is counted.
    Estimate {
        /// The amount.
        cost: Money,
    },
    /// Something was used that cannot be counted: the run has cost more than [`AgentEvent::Usage`] says.
    Uncounted,
    /// The agent tries a request again.
    Retry {
        /// Why, on one line; empty when it does not say.
        reason: String,
    },
    /// The service behind the agent refused.
    Limit {
        /// What it refused, and until when.
        trouble: Trouble,
    },
    /// Something is wrong with the run itself.
    Fault {
        /// What.
        fault: Fault,
    },
}
