//! What a parser has learnt of a run: words, tool calls, usage, faults. Bounded, sanitize, and of no opinion.

mod money;

use std::collections::VecDeque;
use std::sync::Arc;

use ralph_model::{
    AgentEvent, Cost, Ended, Fault, FaultKind, Money, PriceList, Timestamp, Tokens, ToolEvidence, Trouble, TroubleKind,
    Usage,
};
use ralph_text::{Redactor, strip_escapes};

use self::money::may_have_sold;
use crate::meter::Meter;
use crate::text::{bounded, is_refused_by_sandbox, one_line, short, tool_name};

/// Bytes of the last message.
const MAX_MESSAGE: usize = 16 * 1024;
/// Characters of a name, and of a line about a call.
const MAX_NAME: usize = 100;
const MAX_SUMMARY: usize = 240;
/// Tool calls that are kept one by one.
const MAX_CALLS: usize = 500;
/// Calls that are under way at once.
const MAX_OPEN: usize = 64;
/// Faults of one kind that are worth telling one by one.
const MAX_FAULTS: usize = 5;
/// Retries in a row, with nothing in between, after which nobody believes in the next one.
const MAX_RETRIES: u32 = 40;

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// It worked.
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
    /// Its turns were used up.
    TurnLimit,
    /// A budget that it was given was used up.
    BudgetLimit,
    /// It failed, in its own words. A trouble of the service is noted beside it.
    Failed(String),
}

/// What is known of a run.
pub(crate) struct Transcript {
    redactor: Arc<Redactor>,
    now: Timestamp,
    began: Timestamp,
    meter: Meter,
    events: Vec<AgentEvent>,
    calls: Vec<ToolEvidence>,
    open: VecDeque<Open>,
    more_calls: u32,
    more_failed: u32,
    message: String,
    /// The model answered at least once.
    answered: bool,
    /// It was ended before it asked a service for anything.
    unheard: bool,
    /// The program ended without a line where it tells what it does: it never began.
    silent: bool,
    terminal: Option<Terminal>,
    faults: Vec<Fault>,
    trouble: Option<Trouble>,
    retries: u32,
    hopeless: Option<String>,
    /// Its cost cannot be watched.
    unwatched: Option<Trouble>,
    session: Option<String>,
    overlong: u32,
    /// The cost in the last [`AgentEvent::Usage`].
    shown: Money,
    /// It is told what is at stake.
    stake_told: bool,
    /// It is told that what is shown is not all.
    uncounted: bool,
    /// Why it cannot be counted any more.
    lost_count: Option<&'static str>,
    /// Counts whatever a parser says: a sign of life.
    pulse: u64,
    /// Bytes of the prompt.
    prompt: usize,
    /// Ralph's sandbox is around the program.
    confined: bool,
}

struct Open {
    id: String,
    tool: String,
    input: String,
}

/// All that came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
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
            meter: Meter::new(prices, model),
            events: Vec::new(),
            calls: Vec::new(),
            open: VecDeque::new(),
            more_calls: 0,
            more_failed: 0,
            message: String::new(),
            answered: false,
            unheard: false,
            silent: false,
            terminal: None,
            faults: Vec::new(),
            trouble: None,
            retries: 0,
            hopeless: None,
            unwatched: None,
            session: None,
            overlong: 0,
            shown: Money::ZERO,
            stake_told: false,
            uncounted: false,
            lost_count: None,
            pulse: 0,
            prompt: 0,
            confined: false,
        }
    }

    /// The prompt is this long, which says what an answer that was never counted cost at least.
    #[must_use]
    pub(crate) const fn prompted(mut self, bytes: usize) -> Self {
        self.prompt = bytes;
        self
    }

    /// Ralph's sandbox is around the program, so that what the system refuses is refused by it.
    #[must_use]
    pub(crate) const fn confined(mut self, is_confined: bool) -> Self {
        self.confined = is_confined;
        self
    }

    // --- what a parser says ----------------------------------------------------------------------------------------

    /// The time of what is being read.
    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    /// The program named its session.
    pub(crate) fn session(&mut self, id: &str) {
        self.session = Some(self.clean(id, MAX_NAME));
    }

    /// The model that answers, as the program or the service names it.
    pub(crate) fn model(&mut self, model: &str) {
        let model = self.clean(model, MAX_NAME);
        self.meter.model(&model);
    }

    /// A piece of the agent's words, for whoever watches.
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
        if let Some(open) = self.open.iter_mut().find(|open| open.id == id) {
            // Some programs tell the input bit by bit.
            if !input.is_empty() {
                open.input = input;
            }
            return;
        }
        if self.open.len() == MAX_OPEN
            && let Some(oldest) = self.open.pop_front()
        {
            let evidence = ToolEvidence::error(oldest.tool, joined("no result was seen", &oldest.input));
            self.finished(oldest.id, evidence);
        }
        self.events.push(AgentEvent::ToolStarted { id: id.clone(), tool: tool.clone(), summary: input.clone() });
        self.open.push_back(Open { id, tool, input });
    }

    /// A tool call ended. One whose beginning was not seen is called `tool`.
    pub(crate) fn call_ended(&mut self, id: &str, tool: &str, end: CallEnd) {
        self.progressed();
        let id = short(id.to_owned(), MAX_NAME);
        let open = match self.open.iter().position(|open| open.id == id) {
            Some(at) => self.open.remove(at),
            None => None,
        };
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
            self.answered = true;
        }
        self.meter.request(id, model, tokens);
    }

    /// What the program says that this run used in all, of one model.
    pub(crate) fn total(&mut self, model: Option<&str>, tokens: Tokens) {
        self.meter.total(model, tokens);
    }

    /// What the program says that this run, and no earlier one, costs so far, in dollars.
    pub(crate) fn own_cost(&mut self, dollars: f64) {
        self.pulse += 1;
        self.meter.own(dollars);
    }

    /// What the program said that it costs was a guess.
    pub(crate) const fn no_own_cost(&mut self) {
        self.meter.disown();
    }

    /// Something is wrong with the run itself.
    pub(crate) fn fault(&mut self, kind: FaultKind, detail: &str) {
        let detail = self.clean(detail, MAX_SUMMARY);
        let alike = self.faults.iter().filter(|fault| fault.kind == kind).count();
        if alike < MAX_FAULTS && !self.faults.iter().any(|fault| fault.kind == kind && fault.detail == detail) {
            let fault = Fault { kind, detail };
            self.events.push(AgentEvent::Fault { fault: fault.clone() });
            self.faults.push(fault);
        }
    }

    /// The service refused. What a person can help with weighs more than what time heals, and the later more than the
    /// earlier.
    pub(crate) fn trouble(&mut self, trouble: Trouble) {
        let trouble = Trouble { message: self.clean(&trouble.message, MAX_SUMMARY), ..trouble };
        let needs_person = |kind: TroubleKind| kind.remedy() == ralph_model::Remedy::Person;
        if let Some(known) = &self.trouble {
            if needs_person(known.kind) && !needs_person(trouble.kind) {
                return;
            }
            if known.kind == trouble.kind && trouble.until.is_none() && known.until.is_some() {
                return;
            }
        }
        self.events.push(AgentEvent::Limit { trouble: trouble.clone() });
        self.trouble = Some(trouble);
    }

    /// The trouble is over: the model answered after it.
    pub(crate) fn recovered(&mut self) {
        self.trouble = None;
    }

    /// The program says that it tries again.
    pub(crate) fn retries(&mut self, why: &str) {
        self.retries += 1;
        self.pulse += 1;
        let reason = self.clean(why, MAX_SUMMARY);
        if self.retries >= MAX_RETRIES {
            self.hopeless(&joined(&format!("{} times in a row", self.retries), &reason));
        }
        self.events.push(AgentEvent::Retry { reason });
    }

    /// There is no sense in letting it go on.
    pub(crate) fn hopeless(&mut self, why: &str) {
        if self.hopeless.is_none() {
            let why = self.clean(why, MAX_SUMMARY);
            self.fault(FaultKind::EndlessRetry, &why);
            self.hopeless = Some(why);
        }
    }

    /// The program said how it ended.
    pub(crate) fn terminal(&mut self, terminal: Terminal) {
        self.terminal = Some(terminal);
    }

    /// How the program said that it ended, if it did.
    pub(crate) const fn said_end(&self) -> Option<&Terminal> {
        self.terminal.as_ref()
    }

    /// Whether the model answered at least once: with words, a tool call or tokens.
    pub(crate) const fn has_answer(&self) -> bool {
        self.answered
    }

    /// Whether a trouble is noted.
    pub(crate) const fn known_trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }

    // --- what the driver does --------------------------------------------------------------------------------------

    pub(crate) const fn tick(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// A line was too long to be read.
    pub(crate) const fn overlong(&mut self) {
        self.overlong = self.overlong.saturating_add(1);
    }

    /// The program was ended before it told that it begins, which it does before it asks anybody.
    pub(crate) const fn asked_nobody(&mut self) {
        self.unheard = true;
    }

    /// The program failed before it printed a line where it tells what it does.
    pub(crate) const fn never_began(&mut self) {
        self.silent = true;
    }

    /// What happened since the last call, except for usage.
    pub(crate) fn take_events(&mut self) -> Vec<AgentEvent> {
        std::mem::take(&mut self.events)
    }

    /// What was used so far, if it costs more than at the last call.
    pub(crate) fn take_usage(&mut self) -> Option<AgentEvent> {
        let cost = self.spent();
        if cost <= self.shown {
            return None;
        }
        self.shown = cost;
        let Usage { input_tokens, output_tokens, .. } = self.meter.usage();
        Some(AgentEvent::Usage { input_tokens, output_tokens, cost })
    }

    /// Changes whenever a parser learns something.
    pub(crate) const fn pulse(&self) -> u64 {
        self.pulse
    }

    /// Whether the service refused what only time can heal, and has not answered since.
    pub(crate) fn is_refused(&self) -> bool {
        self.trouble.as_ref().is_some_and(|trouble| trouble.kind.remedy() == ralph_model::Remedy::Wait)
    }

    /// Whether a tool call is under way.
    pub(crate) fn has_open_calls(&self) -> bool {
        !self.open.is_empty()
    }

    /// Why there is no sense in letting the program go on.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.unwatched.is_some() || self.hopeless.is_some()
    }

    /// Draws the last conclusions that are the same for all programs.
    pub(crate) fn finish(mut self, ended: &Ended, unmetered: bool) -> Told {
        // No answer that came afterwards makes it watched again.
        self.trouble = self.unwatched.take().or(self.trouble);
        let stopped = matches!(ended, Ended::BudgetSpent | Ended::Stopped | Ended::TimedOut { .. } | Ended::Hopeless);
        while let Some(open) = self.open.pop_front() {
            let what = if self.terminal.is_some() { "no result was seen" } else { "cut off" };
            self.keep(ToolEvidence::error(open.tool, joined(what, &open.input)));
        }
        let failed = matches!(self.terminal, Some(Terminal::Failed(_)));
        self.blame_the_setup(ended);
        match self.terminal.take() {
            Some(Terminal::Completed) => {
                if self.message.is_empty() && self.calls.is_empty() && self.trouble.is_none() {
                    self.fault(FaultKind::EmptyAnswer, "it ended normally but said and did nothing");
                }
            }
            Some(Terminal::TurnLimit) => self.fault(FaultKind::TurnLimit, "it reached its turn limit"),
            Some(Terminal::BudgetLimit) => self.fault(FaultKind::BudgetLimit, "it spent the budget that it was given"),
            Some(Terminal::Failed(why)) => {
                if self.trouble.is_none() {
                    self.fault(FaultKind::Failed, &why);
                }
            }
            None if matches!(ended, Ended::Idle { .. }) => self.fault(FaultKind::Hang, &ended.to_string()),
            None if stopped || matches!(ended, Ended::NotStarted { .. }) || self.trouble.is_some() => {}
            None => self.fault(FaultKind::CutStream, &format!("{ended} without reporting completion")),
        }
        if let Some(trouble) = &self.trouble {
            let line = trouble.to_string();
            self.fault(FaultKind::Service, &line);
        }
        if self.overlong > 0 {
            let lines = self.overlong;
            self.calls.push(ToolEvidence::error("stream", format!("{lines} lines were too long to be read")));
        }
        if self.more_calls > 0 {
            let (more, failed) = (self.more_calls, self.more_failed);
            self.calls.push(ToolEvidence::ok("more", format!("{more} more calls, {failed} of them failed")));
        }
        let sold = self.trouble.as_ref().is_some_and(may_have_sold);
        let refused = !self.answered && !sold && (self.trouble.is_some() || failed || self.silent || self.unheard);
        let cost = if unmetered { Cost::Unmetered } else { self.cost(ended, refused) };
        let unpriced = if cost == Cost::Unknown { self.meter.unpriced() } else { Vec::new() };
        Told {
            evidence: self.calls,
            final_message: self.message,
            faults: self.faults,
            trouble: self.trouble,
            usage: self.meter.usage(),
            cost,
            unpriced,
        }
    }

    /// A program that could not even begin will not begin the next time either: somebody has to look at it.
    fn blame_the_setup(&mut self, ended: &Ended) {
        let never = self.silent || matches!(ended, Ended::NotStarted { .. });
        if !never || self.trouble.is_some() {
            return;
        }
        let message = match &self.terminal {
            Some(Terminal::Failed(why)) => why.clone(),
            Some(_) | None => ended.to_string(),
        };
        let advice = Some("check that it starts in that folder".to_owned());
        self.trouble =
            Some(Trouble { kind: TroubleKind::Setup, until: None, message: self.clean(&message, MAX_SUMMARY), advice });
    }

    /// The model answered, so whatever was tried again worked.
    const fn progressed(&mut self) {
        self.pulse += 1;
        self.answered = true;
        self.retries = 0;
    }

    fn keep(&mut self, evidence: ToolEvidence) {
        if self.calls.len() < MAX_CALLS {
            self.calls.push(evidence);
        } else {
            self.more_calls += 1;
            self.more_failed += u32::from(!evidence.success);
        }
    }

    fn finished(&mut self, id: String, evidence: ToolEvidence) {
        let ToolEvidence { tool, success, summary, .. } = evidence.clone();
        self.events.push(AgentEvent::ToolFinished { id, tool, success, summary });
        self.keep(evidence);
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
