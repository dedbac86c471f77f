//! Agents that are known.

use axum::http::StatusCode;
use ralph_api::{AgentPage, Register};
use schemars::JsonSchema;
use serde::Deserialize;

use super::tasks::page_size;
use crate::call::{Answer, Call, check_name, json};

/// How many to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitQuery {
    /// At most so many.
    #[schemars(range(min = 1, max = 200))]
    pub(crate) limit: Option<u32>,
}

pub(crate) async fn register(call: Call) -> Answer {
    let register: Register = call.body()?;
    check_name("agentId", &register.agent_id)?;
    json(StatusCode::OK, &call.board().touch_agent(&register.agent_id, call.worker_token(), call.now()).await?)
}

pub(crate) async fn list(call: Call) -> Answer {
    let query: LimitQuery = call.query()?;
    json(StatusCode::OK, &AgentPage { agents: call.board().agents(page_size(query.limit)?).await? })
}
