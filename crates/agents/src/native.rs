//! The native agent: a model agent of Ralph's own, without a process. The crate that has models builds it; this one only knows
//! what can be seen of it.

use ralph_model::AgentSpec;

use crate::agent::{Capabilities, ReportsCost};
use crate::registry::{Behind, Kind, Needs, Start};

pub(crate) static KIND: Kind = Kind {
    name: AgentSpec::NATIVE,
    needs: Needs::Nothing,
    capabilities: Capabilities {
        reports_cost: ReportsCost::Sometimes,
        reports_usage_while_working: true,
        asks_permission: true,
        ..Capabilities::STREAMING
    },
    program: Behind::Unknown,
    start: Start::Nothing,
    log_parser: None,
};
