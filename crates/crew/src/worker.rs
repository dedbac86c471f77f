//! Asks models and calls tools for a crew. Decides nothing: what came of it goes back as an event.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ralph_llm::{Answer, Asked, Delta, Failed, Message, Request, Tool, ToolCall, Watch};
use ralph_model::{Attempt, Money, PriceList, Tokens};

use crate::agent_file::AgentFile;
use crate::conversation::estimate;
use crate::event::{CrewEvent, FrameId};
use crate::frame::cut;
use crate::machine::{CallId, Crew};
use crate::meta;
use crate::stream::StreamEvent;
use ralph_tools::{Effect as ToolEffect, Outcome as ToolOutcome};

/// Tokens that a model may write in one answer.
const MAX_TOKENS: u32 = 8192;
/// Tokens of a summary or of a self-check.
const MAX_SHORT: u32 = 2048;
/// How long a tool may take, whatever it is.
const TOOL_TIMEOUT: Duration = Duration::from_secs(1200);
/// Doubts that are shown.
const MAX_DOUBTS: usize = 10;

const SUMMARISE: &str = "Summarise the conversation below for the agent that continues it: what was decided and why, what was done \
and what it showed, what failed, names of files, ids and figures that are still needed, and what is left to do. Write plain text. Do \
not repeat the user's request: it is kept beside your summary.";
const REVIEW: &str = "Compare an answer with the request and with the evidence. Write one line starting with `- ` for each thing that \
the answer claims and no evidence shows, and for each part of the request that the evidence shows to be missing or failed. Write \
NONE if there is nothing to doubt. Write nothing else.";

#[derive(Debug, Clone)]
pub struct ModelAsk {
    pub agent: AgentFile,
    pub is_fast: bool,
    pub system: String,
    pub messages: Vec<Message>,
    pub tools: Vec<Tool>,
    /// The most that it may write.
    pub max_tokens: u32,
}

impl ModelAsk {
    /// The request in the form that providers take.
    pub fn request(&self) -> Request<'_> {
        Request {
            model: "",
            system: &self.system,
            messages: &self.messages,
            tools: &self.tools,
            max_tokens: self.max_tokens,
            thinking_tokens: None,
            cache_key: Some(&self.agent.name),
        }
    }
}

pub type WatchAnswer = Arc<dyn Fn(Watch) + Send + Sync>;

pub type AskModel = Arc<dyn Fn(ModelAsk, WatchAnswer) -> BoxFuture<'static, Result<Asked, Failed>> + Send + Sync>;

/// The name of the model that an agent asks; the fast one if that is wanted.
pub type ModelName = Arc<dyn Fn(&AgentFile, bool) -> String + Send + Sync>;

pub type Tell = Arc<dyn Fn(StreamEvent) + Send + Sync>;

#[derive(Debug, Clone, PartialEq)]
pub struct ToolRun {
    pub name: String,
    pub arguments: serde_json::Value,
    /// The same for the same call, also after a crash.
    pub key: String,
    /// The folder of the agent, where it is not that of the crew.
    pub folder: Option<String>,
}

/// What a model is told about a tool, and what a call of it can change.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub tool: Tool,
    pub effect: ToolEffect,
}

impl From<&ralph_tools::Spec> for ToolSpec {
    fn from(spec: &ralph_tools::Spec) -> Self {
        let ralph_tools::Spec { name, description, schema, effect } = spec.clone();
        Self { tool: Tool { name, description, schema }, effect }
    }
}

/// Calls a tool. Dropping the answer ends it.
pub type CallTool = Arc<dyn Fn(ToolRun) -> BoxFuture<'static, ToolOutcome> + Send + Sync>;

/// Asks models and calls tools for one crew.
#[derive(Clone)]
pub struct Worker {
    pub ask: AskModel,
    /// The name of the model that an agent asks, for its price.
    pub model_name: ModelName,
    pub call: CallTool,
    pub specs: Arc<Vec<ToolSpec>>,
    pub prices: Arc<PriceList>,
    pub tell: Tell,
    /// What stands before the key of each call: the run.
    pub key: String,
}

/// What is known of an answer besides.
struct Charged {
    answer: Answer,
    cost: Money,
}

impl Worker {
    /// What a request may cost at most; none where the model has no price.
    pub fn estimate(&self, ask: &ModelAsk) -> Option<Money> {
        let name = (self.model_name)(&ask.agent, ask.is_fast);
        let price = self.prices.of(&name)?;
        let around = ask.system.len() / 4 + ask.tools.len() * 150;
        let said: u64 = ask.messages.iter().map(estimate).sum();
        let input = (said + u64::try_from(around).unwrap_or(0)) * 4 / 3;
        Some(price.request(Tokens { input, output: u64::from(ask.max_tokens), ..Tokens::default() }))
    }

    /// What is reserved for a request that may cost `most`: of a model without a price everything could be spent by one.
    pub fn reservation(&self, ask: &ModelAsk, most: Option<Money>) -> Money {
        let most = most.unwrap_or_default();
        self.estimate(ask).unwrap_or(most).min(most)
    }

    pub fn asks(&self, crew: &Crew, frame: FrameId) -> Option<ModelAsk> {
        let (agent, conversation, delegation) = crew.frame(frame)?;
        let tools = crew.tools_of(agent).into_iter().filter_map(|name| {
            let plain = self.specs.iter().find(|spec| spec.tool.name == name).map(|spec| spec.tool.clone());
            plain.or_else(|| meta::tool(&name, crew.config()))
        });
        let tier = delegation.and_then(|delegation| delegation.model_tier).unwrap_or(agent.tier);
        Some(ModelAsk {
            agent: agent.clone(),
            is_fast: tier == ralph_model::ModelTier::Fast,
            system: agent.prompt.clone(),
            messages: conversation.messages().to_vec(),
            tools: tools.collect(),
            max_tokens: MAX_TOKENS,
        })
    }

    pub fn asks_summary(&self, crew: &Crew, frame: FrameId) -> Option<ModelAsk> {
        let (agent, conversation, _) = crew.frame(frame)?;
        let transcript = conversation.transcript(crew.config().compact_at);
        Some(short(agent, SUMMARISE, transcript))
    }

    pub fn asks_review(&self, crew: &Crew) -> Option<ModelAsk> {
        let (agent, conversation, _) = crew.frame(FrameId::ROOT)?;
        let mut evidence = String::new();
        for record in crew.delegations() {
            let status = record.result.as_ref().map(|result| result.status.shout());
            evidence +=
                &format!("{} {}: {}\n", record.agent, status.unwrap_or("unfinished"), cut(&record.objective, 500));
            for row in crew.evidence_of(record) {
                evidence +=
                    &format!("  {} {}: {}\n", if row.success { "[OK]" } else { "[ERROR]" }, row.tool, row.summary);
            }
            record.unmet.iter().for_each(|unmet| evidence += &format!("  [MISSING] {}: {}\n", unmet.what, unmet.why));
        }
        for row in crew.evidence(FrameId::ROOT) {
            evidence += &format!("{} {}: {}\n", if row.success { "[OK]" } else { "[ERROR]" }, row.tool, row.summary);
        }
        let (request, answer) = (conversation.request(), crew.reviewed_answer()?);
        Some(short(agent, REVIEW, format!("REQUEST:\n{request}\n\nEVIDENCE:\n{evidence}\nANSWER:\n{answer}")))
    }

    /// Asks the model of a frame. `reserved` is charged for what cannot be counted.
    pub async fn ask(&self, frame: FrameId, attempt: Attempt, ask: ModelAsk, reserved: Money) -> CrewEvent {
        match self.charged(ask, reserved, true).await {
            Ok(Charged { answer, cost }) => CrewEvent::ModelAnswered { frame, attempt, answer: Box::new(answer), cost },
            Err((failed, cost)) => CrewEvent::ModelFailed { frame, attempt, trouble: failed.trouble, cost },
        }
    }

    /// Summarises the conversation of a frame. Without a model that answers, the beginning of its transcript has to do.
    pub async fn compact(&self, frame: FrameId, attempt: Attempt, ask: ModelAsk, reserved: Money) -> CrewEvent {
        let transcript = ask.messages.first().map(|message| match message {
            Message::User(text) => cut(text, 64 * 1024).to_owned(),
            _ => String::new(),
        });
        let (summary, cost) = match self.charged(ask, reserved, false).await {
            Ok(Charged { answer, cost }) if !answer.text().trim().is_empty() => (answer.text(), cost),
            Ok(Charged { cost, .. }) | Err((_, cost)) => (transcript.unwrap_or_default(), cost),
        };
        CrewEvent::Compacted { frame, attempt, summary, cost }
    }

    /// Compares the answer with the evidence. It advises: a check that cannot be made is said and stops nothing.
    pub async fn review(&self, attempt: Attempt, ask: ModelAsk, reserved: Money) -> CrewEvent {
        let (doubts, cost) = match self.charged(ask, reserved, false).await {
            Ok(Charged { answer, cost }) => (doubts(&answer.text()), cost),
            Err((failed, cost)) => {
                (vec![format!("the self-check could not be made: {}", failed.trouble.message)], cost)
            }
        };
        CrewEvent::Reviewed { attempt, doubts, cost }
    }

    pub async fn call(&self, crew_folder: Option<String>, call: CallId, tool: ToolCall) -> CrewEvent {
        let run = ToolRun {
            name: tool.name.clone(),
            arguments: tool.arguments.to_value(),
            key: format!("{}-call-{}", self.key, call.0),
            folder: crew_folder,
        };
        let outcome = match tokio::time::timeout(TOOL_TIMEOUT, (self.call)(run)).await {
            Ok(outcome) => outcome,
            Err(_) => ToolOutcome::failed(format!("did not finish within {} minutes", TOOL_TIMEOUT.as_secs() / 60)),
        };
        CrewEvent::tool_finished(call, outcome)
    }

    async fn charged(&self, ask: ModelAsk, reserved: Money, is_shown: bool) -> Result<Charged, (Failed, Money)> {
        let (agent, tell) = (ask.agent.name.clone(), Arc::clone(&self.tell));
        let asked_for = (self.model_name)(&ask.agent, ask.is_fast);
        let watch: WatchAnswer = Arc::new(move |watch| match watch {
            Watch::Delta(Delta::Text(text)) if is_shown => tell(StreamEvent::Delta { agent: agent.clone(), text }),
            Watch::Delta(_) => {}
            Watch::Again { trouble, wait } => {
                let text = format!("{}; again in {} s", trouble.message, wait.as_secs().max(1));
                tell(StreamEvent::Warning { text });
            }
            Watch::Fallback { trouble, model } => {
                tell(StreamEvent::Warning { text: format!("{}; asking {model} instead", trouble.message) });
            }
        });
        let estimate = self.estimate(&ask);
        match (self.ask)(ask, watch).await {
            Ok(Asked { answer, lost }) => {
                let price = self.prices.of(&answer.model).or_else(|| self.prices.of(&asked_for));
                let known = price.zip(answer.tokens.filter(|tokens| !tokens.is_none()));
                // What is not known is never taken for free.
                let cost = known.map_or(reserved, |(price, tokens)| price.request(tokens));
                Ok(Charged { cost: cost + lost_cost(estimate, lost, reserved), answer })
            }
            Err(failed) => {
                let cost = lost_cost(estimate, failed.lost, reserved);
                Err((failed, cost))
            }
        }
    }
}

/// What answers that broke off may have cost.
fn lost_cost(estimate: Option<Money>, lost: u32, reserved: Money) -> Money {
    let one = estimate.unwrap_or(reserved);
    (0..lost).map(|_| one).sum()
}

fn short(agent: &AgentFile, system: &str, text: String) -> ModelAsk {
    ModelAsk {
        agent: agent.clone(),
        is_fast: true,
        system: system.to_owned(),
        messages: vec![Message::User(text)],
        tools: Vec::new(),
        max_tokens: MAX_SHORT,
    }
}

fn doubts(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("- ")).map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty() && line != "NONE").take(MAX_DOUBTS).collect()
}
