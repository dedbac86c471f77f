//! A run as a trace: one span for the run, one for each iteration, and below it one for its agent and one for its checks.
//!
//! Ids follow from the run's own id, so that a run which another process or machine continues stays one trace. The names of
//! attributes that are not Ralph's own are OpenTelemetry's for generative AI, which are still in development: they are here and
//! nowhere else.

use ralph_model::{AgentRun, Grade, LoopId, Millis, Timestamp};
use serde_json::Value;

use crate::run::{IterationView, OutcomeView, RunState, RunStatus, VerdictView};
use crate::update::{Delta, Update, What};

#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub trace: u128,
    /// Its own id, which no other span of the trace has.
    pub id: u64,
    pub parent: Option<u64>,
    pub name: String,
    pub start: Timestamp,
    pub end: Timestamp,
    /// Why it failed; none where it did not.
    pub failure: Option<String>,
    /// Texts, numbers and flags.
    pub attributes: Vec<(&'static str, Value)>,
}

pub fn spans(update: &Update) -> Vec<Span> {
    let What::Recorded { at, state, deltas, .. } = &update.what else { return Vec::new() };
    let run = Run { id: state.loop_id, candidate: update.candidate };
    deltas
        .iter()
        .flat_map(|delta| match delta {
            Delta::IterationDecided { iteration } => run.iteration(iteration, *at),
            Delta::Finished { outcome } => vec![run.whole(state, outcome, *at)],
            _ => Vec::new(),
        })
        .collect()
}

/// What a span of an iteration is about.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    Agent,
    Checks,
    Check(u64),
}

struct Run {
    id: LoopId,
    candidate: Option<u32>,
}

impl Run {
    /// The low half of the id is random. Counted on from there, ids differ within the trace.
    fn root(&self) -> u64 {
        self.id.uuid().as_u64_pair().1
    }

    /// Room for a few hundred checks in each iteration.
    fn span_id(&self, iteration: u32, part: Part) -> u64 {
        let part = match part {
            Part::Whole => 0,
            Part::Agent => 1,
            Part::Checks => 2,
            Part::Check(index) => 3 + index.min(1020),
        };
        self.root().wrapping_add(u64::from(iteration).saturating_add(1) << 10).wrapping_add(part)
    }

    fn span(&self, id: u64, parent: Option<u64>, name: String, start: Timestamp, end: Timestamp) -> Span {
        let attributes = vec![("gen_ai.conversation.id", self.id.to_string().into())];
        let end = end.max(start);
        Span { trace: self.id.uuid().as_u128(), id, parent, name, start, end, failure: None, attributes }
    }

    fn whole(&self, state: &RunState, outcome: &OutcomeView, at: Timestamp) -> Span {
        let mut span = self.span(self.root(), None, "ralph loop".to_owned(), state.started_at, at);
        span.failure = (outcome.status != RunStatus::Completed).then(|| outcome.headline());
        span.attributes.extend([
            ("ralph.status", outcome.status.name().into()),
            ("ralph.verified", state.verified.into()),
            ("ralph.grade", state.grade.map_or("", Grade::name).into()),
            ("ralph.iterations", state.counted.into()),
            ("ralph.cost_usd", dollars(state.cost)),
            ("ralph.false_claims", state.false_claims.into()),
            ("ralph.tampered", state.tampered.into()),
        ]);
        span.attributes.extend(self.candidate.map(|candidate| ("ralph.candidate", candidate.into())));
        if outcome.status != RunStatus::Completed {
            let reason = state.reason.as_deref().unwrap_or(outcome.status.name());
            span.attributes.push(("error.type", reason.into()));
        }
        span
    }

    fn iteration(&self, view: &IterationView, at: Timestamp) -> Vec<Span> {
        let number = view.iteration.0;
        let id = self.span_id(number, Part::Whole);
        let end = view.ended_at.unwrap_or(at);
        let mut whole = self.span(id, Some(self.root()), format!("iteration {number}"), view.started_at, end);
        whole.attributes.extend([
            ("ralph.iteration", number.into()),
            ("ralph.status", view.status.shout().into()),
            ("ralph.cost_usd", dollars(view.cost)),
            ("ralph.claimed", view.claimed.into()),
            ("ralph.false_claim", view.false_claim.into()),
        ]);
        let mut spans = vec![whole];
        let mut agent_end = view.started_at;
        if let Some(run) = &view.run {
            agent_end = after(view.started_at, run.duration).min(end);
            spans.push(self.agent(view, run, id, agent_end));
        }
        if let Some(verdict) = &view.verdict {
            spans.extend(self.checks(number, verdict, id, agent_end, end));
        }
        spans
    }

    fn agent(&self, view: &IterationView, run: &AgentRun, parent: u64, end: Timestamp) -> Span {
        let id = self.span_id(view.iteration.0, Part::Agent);
        let mut span = self.span(id, Some(parent), format!("invoke_agent {}", run.agent), view.started_at, end);
        span.attributes.extend([
            ("gen_ai.operation.name", "invoke_agent".into()),
            ("gen_ai.agent.name", run.agent.as_str().into()),
            ("gen_ai.usage.input_tokens", run.usage.input_tokens.into()),
            ("gen_ai.usage.output_tokens", run.usage.output_tokens.into()),
            ("gen_ai.usage.cache_read.input_tokens", run.usage.cache_read_tokens.into()),
            ("gen_ai.usage.cache_creation.input_tokens", run.usage.cache_write_tokens.into()),
            ("ralph.tool_calls", u64::try_from(run.evidence.len()).unwrap_or(u64::MAX).into()),
            ("ralph.cost_usd", dollars(view.cost)),
        ]);
        span.attributes.extend(run.usage.model.as_deref().map(|model| ("gen_ai.response.model", model.into())));
        if !run.ended.is_success() {
            span.failure = Some(run.ended.to_string());
            span.attributes.push(("error.type", "agent_failed".into()));
        }
        span
    }

    /// Checks run one after the other. Only how long each took is recorded, so they are placed in a row from where the agent ended.
    fn checks(&self, number: u32, verdict: &VerdictView, parent: u64, start: Timestamp, end: Timestamp) -> Vec<Span> {
        let id = self.span_id(number, Part::Checks);
        let mut whole = self.span(id, Some(parent), "verify".to_owned(), start, end);
        whole.attributes.extend([
            ("ralph.passed", verdict.passed.into()),
            ("ralph.passing", verdict.passing.into()),
            ("ralph.failing", verdict.failing.into()),
        ]);
        let mut spans = vec![whole];
        let mut began = start;
        for (index, check) in (0_u64..).zip(&verdict.checks) {
            let ended = after(began, check.outcome.duration);
            let name = "check".to_owned();
            let mut span = self.span(self.span_id(number, Part::Check(index)), Some(id), name, began, ended);
            span.attributes.extend([
                ("ralph.command", check.outcome.command.as_str().into()),
                ("ralph.passed", check.outcome.passed.into()),
                ("ralph.failing", check.failing.into()),
            ]);
            if !check.outcome.passed {
                span.failure = Some(check.outcome.ended.to_string());
                span.attributes.push(("error.type", "check_failed".into()));
            }
            spans.push(span);
            began = ended;
        }
        spans
    }
}

const fn after(start: Timestamp, duration: Millis) -> Timestamp {
    Timestamp(start.0.saturating_add_unsigned(duration.0))
}

fn dollars(money: ralph_model::Money) -> Value {
    money.to_json_number().into()
}
