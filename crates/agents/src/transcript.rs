//! What a parser has learnt of a run: words, tool calls, usage, faults. Bounded, sanitised, and of no opinion.

mod calls;
mod health;
mod money;

use std::sync::Arc;

use ralph_model::{
    AgentEvent, Cost, Ended, Fault, FaultKind, PriceList, Timestamp, Tokens, ToolEvidence, Trouble, TroubleKind, Usage,
};
use ralph_text::{Redactor, strip_escapes};

use self::calls::{Begun, Calls, Open};
use self::health::Health;
use self::money::{Spending, may_have_sold};
use crate::text::{bounded, is_refused_by_sandbox, one_line, short, tool_name};

/// Bytes of the last message.
const MAX_MESSAGE: usize = 16 * 1024;
/// Characters of a name, and of a line about a call.
const MAX_NAME: usize = 100;
const MAX_SUMMARY: usize = 240;
/// Retries in a row, with nothing in between, after which the next one is not awaited.
const MAX_RETRIES: u32 = 40;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallEnd {
    Done,
    /// It did not, with its own words.
    Failed(String),
    /// It was not permitted, with the reason.
    Denied(String),
}

/// How a program said that it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// In good order.
    Completed,
    TurnLimit,
    /// A budget that it was given was used up.
    BudgetLimit,
    /// It failed, in its own words. A trouble of the service is noted beside it.
    Failed(String),
}

pub(crate) struct Transcript {
    redactor: Arc<Redactor>,
    now: Timestamp,
    began: Timestamp,
    events: Vec<AgentEvent>,
    message: String,
    calls: Calls,
    health: Health,
    spending: Spending,
    /// Counts whatever a parser says: a sign of life.
    pulse: u64,
    /// Ralph's sandbox is around the program.
    confined: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TranscriptSummary {
    pub(crate) evidence: Vec<ToolEvidence>,
    pub(crate) final_message: String,
    pub(crate) faults: Vec<Fault>,
    pub(crate) trouble: Option<Trouble>,
    pub(crate) usage: Usage,
    pub(crate) cost: Cost,
    pub(crate) unpriced: Vec<String>,
}

impl Transcript {
    pub(crate) fn new(redactor: Arc<Redactor>, prices: Arc<PriceList>, model: Option<String>, now: Timestamp) -> Self {
        Self {
            redactor,
            now,
            began: now,
            events: Vec::new(),
            message: String::new(),
            calls: Calls::default(),
            health: Health::default(),
            spending: Spending::new(prices, model),
            pulse: 0,
            confined: false,
        }
    }

    /// The prompt is this long, which says what an answer that was never counted cost at least.
    #[must_use]
    pub(crate) const fn prompted(mut self, bytes: usize) -> Self {
        self.spending.prompt = bytes;
        self
    }

    /// Ralph's sandbox is around the program, so that what the system refuses is refused by it.
    #[must_use]
    pub(crate) const fn confined(mut self, is_confined: bool) -> Self {
        self.confined = is_confined;
        self
    }

    pub(crate) const fn is_confined(&self) -> bool {
        self.confined
    }

    // --- what a parser says ----------------------------------------------------------------------------------------

    /// The time of what is being read.
    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    /// The model that answers, as the program or the service names it.
    pub(crate) fn model(&mut self, model: &str) {
        let model = self.clean(model, MAX_NAME);
        self.spending.meter.model(&model);
    }

    /// A piece of the agent's words, for the live view.
    pub(crate) fn words(&mut self, piece: &str) {
        self.progressed();
        let text = self.redactor.clean(piece).into_owned();
        self.events.push(AgentEvent::Output { text });
    }

    /// A whole message of the agent. The last one is its final message.
    pub(crate) fn message(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.progressed();
        self.message = bounded(self.redactor.clean(text).into_owned(), MAX_MESSAGE);
        self.events.push(AgentEvent::Message { text: self.message.clone() });
    }

    /// More of a message, which is `whole` with it.
    pub(crate) fn message_goes_on(&mut self, more: &str, whole: &str) {
        if more.trim().is_empty() {
            return;
        }
        self.progressed();
        self.message = bounded(self.redactor.clean(whole).into_owned(), MAX_MESSAGE);
        let text = bounded(self.redactor.clean(more).into_owned(), MAX_MESSAGE);
        self.events.push(AgentEvent::Message { text });
    }

    /// A tool call began. `input` is what it is called with, for people.
    pub(crate) fn call(&mut self, id: &str, tool: &str, input: &str) {
        self.progressed();
        let (tool, input) = (tool_name(self.clean(tool, MAX_NAME)), self.clean(input, MAX_SUMMARY));
        let id = short(id.to_owned(), MAX_NAME);
        let call = Open { id: id.clone(), tool: tool.clone(), input: input.clone() };
        let Begun::New { forgotten } = self.calls.begin(call) else { return };
        if let Some(Open { id, tool, input }) = forgotten {
            self.finished(id, ToolEvidence::error(tool, joined("no result was seen", &input)));
        }
        self.events.push(AgentEvent::ToolStarted { id, tool, summary: input });
    }

    /// A tool call ended. One whose beginning was not seen is called `tool`.
    pub(crate) fn call_ended(&mut self, id: &str, tool: &str, end: CallEnd) {
        self.progressed();
        let id = short(id.to_owned(), MAX_NAME);
        let open = self.calls.end(&id);
        let open =
            open.unwrap_or_else(|| Open { id, tool: tool_name(self.clean(tool, MAX_NAME)), input: String::new() });
        match end {
            CallEnd::Done => self.finished(open.id, ToolEvidence::ok(open.tool, open.input)),
            CallEnd::Failed(why) => {
                self.failed_with(&why);
                let why = self.clean(&why, MAX_SUMMARY);
                self.finished(open.id, ToolEvidence::error(open.tool, joined(&open.input, &why)));
            }
            CallEnd::Denied(why) => {
                let why = self.clean(&why, MAX_SUMMARY);
                let what = joined(&open.tool, &open.input);
                self.finished(open.id, ToolEvidence::error(open.tool, joined("not permitted", &why)));
                self.fault(FaultKind::Denied, &joined(&what, &why));
            }
        }
    }

    /// What a call printed that failed: it may have met the walls of the sandbox.
    pub(crate) fn failed_with(&mut self, output: &str) {
        if let Some(line) = output.lines().find(|line| self.confined && is_refused_by_sandbox(line)) {
            self.fault(FaultKind::SandboxRefused, line.trim());
        }
    }

    /// What one request used so far; a later figure for the same request replaces an earlier one.
    pub(crate) fn request(&mut self, id: &str, model: Option<&str>, tokens: Tokens) {
        self.pulse += 1;
        if !tokens.is_none() {
            self.health.answered = true;
        }
        self.spending.meter.request(id, model, tokens);
    }

    /// What the program says that this run used in all, of one model.
    pub(crate) fn total(&mut self, model: Option<&str>, tokens: Tokens) {
        self.spending.meter.total(model, tokens);
    }

    /// What the program says that this run, and no earlier one, costs so far, in dollars.
    pub(crate) fn own_cost(&mut self, dollars: f64) {
        self.pulse += 1;
        self.spending.meter.own(dollars);
    }

    /// What the program said that it costs was a guess.
    pub(crate) const fn no_own_cost(&mut self) {
        self.spending.meter.disown();
    }

    /// Something is wrong with the run itself.
    pub(crate) fn fault(&mut self, kind: FaultKind, detail: &str) {
        let fault = Fault { kind, detail: self.clean(detail, MAX_SUMMARY) };
        if self.health.is_news(&fault) {
            self.events.push(AgentEvent::Fault { fault: fault.clone() });
            self.health.faults.push(fault);
        }
    }

    /// The service refused. What a person can help with weighs more than what time heals, and the later more than the
    /// earlier.
    pub(crate) fn trouble(&mut self, trouble: Trouble) {
        let trouble = Trouble { message: self.clean(&trouble.message, MAX_SUMMARY), ..trouble };
        if !self.health.weighs_more(&trouble) {
            return;
        }
        let is_same = |known: &Trouble| known.kind == trouble.kind && known.until == trouble.until;
        if !self.health.trouble.as_ref().is_some_and(is_same) {
            // One line says both.
            self.events.pop_if(|last| matches!(last, AgentEvent::Retry { reason } if *reason == trouble.message));
            self.events.push(AgentEvent::Limit { trouble: trouble.clone() });
        }
        self.health.trouble = Some(trouble);
    }

    /// The trouble is over: the model answered after it.
    pub(crate) fn recovered(&mut self) {
        self.health.trouble = None;
    }

    /// The program says that it tries again.
    pub(crate) fn retries(&mut self, why: &str) {
        self.health.retries += 1;
        self.pulse += 1;
        let reason = self.clean(why, MAX_SUMMARY);
        if self.health.retries >= MAX_RETRIES {
            self.hopeless(&joined(&format!("{} times in a row", self.health.retries), &reason));
        }
        self.events.push(AgentEvent::Retry { reason });
    }

    /// There is no sense in letting it go on.
    pub(crate) fn hopeless(&mut self, why: &str) {
        if self.health.hopeless.is_none() {
            let why = self.clean(why, MAX_SUMMARY);
            self.fault(FaultKind::EndlessRetry, &why);
            self.health.hopeless = Some(why);
        }
    }

    pub(crate) fn terminal(&mut self, terminal: Terminal) {
        self.health.terminal = Some(terminal);
    }

    /// How the program said that it ended, if it did.
    pub(crate) const fn said_end(&self) -> Option<&Terminal> {
        self.health.terminal.as_ref()
    }

    /// Whether the model answered at least once: with words, a tool call or tokens.
    pub(crate) const fn has_answer(&self) -> bool {
        self.health.answered
    }

    pub(crate) const fn known_trouble(&self) -> Option<&Trouble> {
        self.health.trouble.as_ref()
    }

    // --- what the driver does --------------------------------------------------------------------------------------

    pub(crate) const fn tick(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// A line was too long to be read.
    pub(crate) const fn overlong(&mut self) {
        self.health.overlong = self.health.overlong.saturating_add(1);
    }

    /// The program was ended before it told that it begins, which it does before it asks anybody.
    pub(crate) const fn asked_nobody(&mut self) {
        self.health.unheard = true;
    }

    /// The program failed before it printed a line where it tells what it does.
    pub(crate) const fn never_began(&mut self) {
        self.health.silent = true;
    }

    /// What happened since the last call, except for usage.
    pub(crate) fn take_events(&mut self) -> Vec<AgentEvent> {
        std::mem::take(&mut self.events)
    }

    /// What was used so far, if it is more than at the last call. What was told is not taken back.
    pub(crate) fn take_usage(&mut self) -> Option<AgentEvent> {
        let Usage { input_tokens, output_tokens, .. } = self.spending.meter.usage();
        let (cost, tokens) = (self.spent(), input_tokens.saturating_add(output_tokens));
        let (shown, counted) = self.spending.shown;
        if cost <= shown && tokens <= counted {
            return None;
        }
        let cost = cost.max(shown);
        self.spending.shown = (cost, tokens.max(counted));
        Some(AgentEvent::Usage { input_tokens, output_tokens, cost })
    }

    /// Changes whenever a parser learns something.
    pub(crate) const fn pulse(&self) -> u64 {
        self.pulse
    }

    /// Whether the service refused what only time can heal, and has not answered since.
    pub(crate) fn is_refused(&self) -> bool {
        self.health.is_refused()
    }

    /// Whether a tool call is under way.
    pub(crate) fn has_open_calls(&self) -> bool {
        self.calls.has_open()
    }

    /// Why there is no sense in letting the program go on.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.health.unwatched.is_some() || self.health.hopeless.is_some()
    }

    /// Draws the last conclusions that are the same for all programs.
    pub(crate) fn finish(mut self, ended: &Ended, unmetered: bool) -> TranscriptSummary {
        // No answer that came afterwards makes it watched again.
        self.health.trouble = self.health.unwatched.take().or(self.health.trouble);
        let stopped = matches!(ended, Ended::BudgetSpent | Ended::Stopped | Ended::TimedOut { .. } | Ended::Hopeless);
        self.calls.cut(if self.health.terminal.is_some() { "no result was seen" } else { "cut off" });
        let failed = matches!(self.health.terminal, Some(Terminal::Failed(_)));
        self.blame_the_setup(ended);
        match self.health.terminal.take() {
            Some(Terminal::Completed) => {
                if self.message.is_empty() && self.calls.count() == 0 && self.health.trouble.is_none() {
                    self.fault(FaultKind::EmptyAnswer, "it ended normally but said and did nothing");
                }
            }
            Some(Terminal::TurnLimit) => self.fault(FaultKind::TurnLimit, "it reached its turn limit"),
            Some(Terminal::BudgetLimit) => self.fault(FaultKind::BudgetLimit, "it spent the budget that it was given"),
            Some(Terminal::Failed(why)) => {
                if self.health.trouble.is_none() {
                    self.fault(FaultKind::Failed, &why);
                }
            }
            None if matches!(ended, Ended::Idle { .. }) => self.fault(FaultKind::Hang, &ended.to_string()),
            None if stopped || matches!(ended, Ended::NotStarted { .. }) || self.health.trouble.is_some() => {}
            None => self.fault(FaultKind::CutStream, &format!("{ended} without reporting completion")),
        }
        if let Some(trouble) = &self.health.trouble {
            let line = trouble.to_string();
            self.fault(FaultKind::Service, &line);
        }
        let sold = self.health.trouble.as_ref().is_some_and(may_have_sold);
        let refused = !self.health.answered
            && !sold
            && (self.health.trouble.is_some() || failed || self.health.silent || self.health.unheard);
        let cost = if unmetered { Cost::Unmetered } else { self.cost(ended, refused) };
        let unpriced = if cost == Cost::Unknown { self.spending.meter.unpriced() } else { Vec::new() };
        TranscriptSummary {
            evidence: self.calls.into_evidence(self.health.overlong),
            final_message: self.message,
            faults: self.health.faults,
            trouble: self.health.trouble,
            usage: Usage { window: self.spending.window, ..self.spending.meter.usage() },
            cost,
            unpriced,
        }
    }

    /// A program that could not even begin will not begin the next time either: somebody has to look at it.
    fn blame_the_setup(&mut self, ended: &Ended) {
        let never = self.health.silent || matches!(ended, Ended::NotStarted { .. });
        if !never || self.health.trouble.is_some() {
            return;
        }
        let message = match &self.health.terminal {
            Some(Terminal::Failed(why)) => why.clone(),
            Some(_) | None => ended.to_string(),
        };
        let advice = Some("check that it starts in that folder".to_owned());
        self.health.trouble =
            Some(Trouble { kind: TroubleKind::Setup, until: None, message: self.clean(&message, MAX_SUMMARY), advice });
    }

    /// The model answered, so whatever was tried again worked.
    const fn progressed(&mut self) {
        self.pulse += 1;
        self.health.answered = true;
        self.health.retries = 0;
    }

    fn finished(&mut self, id: String, evidence: ToolEvidence) {
        let ToolEvidence { tool, success, summary, .. } = evidence.clone();
        self.events.push(AgentEvent::ToolFinished { id, tool, success, summary });
        self.calls.keep(evidence);
    }

    fn clean(&self, text: &str, most: usize) -> String {
        one_line(&self.redactor.clean(&short(strip_escapes(text).into_owned(), most * 4)), most)
    }
}

fn joined(left: &str, right: &str) -> String {
    match (left, right) {
        ("", only) | (only, "") => only.to_owned(),
        (left, right) => format!("{left}: {right}"),
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
