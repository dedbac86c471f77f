//! What people and programs see of a run: one fold from its events to views, and one vocabulary for what happens while it
//! runs.
//!
//! Decides nothing: whatever the engine knows is projected here once, and every screen, file and `--json` output takes it
//! from here. The types are also what a server sends; `docs/schema/view.json` is their JSON schema.

mod documents;
mod fold;
mod ledger;
mod list;
mod race;
mod render;
mod result;
mod run;
mod spans;
mod update;
mod usage;
pub use ralph_model::wire;

pub use documents::{
    AgentState, AgentView, AgentsView, Capability, CrewsView, GroupView, PriceView, PricesView, ProofFinding,
    ProofView, ReportView, SpreadView,
};
pub use fold::{Folded, RunFold, fold, opened};
pub use ledger::ledger;
pub use list::{ListEntry, RaceView, RacingView};
pub use race::RaceRunView;
pub use render::{agent_found, check_found, counted, delta_line, dollars, failed_over, iteration_found, money};
pub use result::{CandidateView, RaceResult, RunResult, tests_fixed};
pub use run::{
    CauseView, CheckView, HintView, IterationView, OutcomeView, RunState, RunStatus, RunView, VerdictView, WaitView,
};
pub use spans::{Span, spans};
pub use update::{Delta, Progress, Update, What};
pub use usage::UsageView;

/// Everything that is sent or printed, in one type, so that one schema describes it.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Documents {
    /// `ralph show --json`.
    run: RunView,
    /// `ralph show --json` of a race.
    race: RaceRunView,
    /// `ralph list --json`.
    list: Vec<ListEntry>,
    /// `ralph run --json` and `ralph resume --json`.
    result: RaceResult,
    /// What a running loop sends.
    update: Update,
    /// `ralph report --json`.
    report: ReportView,
    /// `ralph agents --json`.
    agents: AgentsView,
    /// `ralph agents --prices --json`.
    prices: PricesView,
    /// `ralph verify-run --json`.
    proof: ProofView,
}

pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Documents)
}
