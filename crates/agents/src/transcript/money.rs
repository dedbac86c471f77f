//! What a run costs, as far as its transcript knows, and whether anybody can watch it. Reads nothing.

use std::sync::Arc;

use ralph_model::{AgentEvent, Cost, Ended, Millis, Money, PriceList, Tokens, Trouble, TroubleKind, Window};

use super::Transcript;
use crate::meter::Meter;

/// About as many bytes of a prompt are one token.
const BYTES_OF_A_TOKEN: usize = 3;

/// So many calls in so many milliseconds without a token of the model that made them: nobody counts.
const MANY_UNSEEN: usize = 20;
const LONG_UNSEEN: Millis = Millis(30_000);

/// What to do where a program names no model but only its own choice of one.
const NAME_A_MODEL: &str =
    "name a model with a price: --agent NAME:MODEL (`ralph agents --prices` lists them), or pass --unmetered";

/// What a run used and costs, and what of that was told.
pub(super) struct Spending {
    pub(super) meter: Meter,
    /// The cost and the tokens in the last [`AgentEvent::Usage`].
    pub(super) shown: (Money, u64),
    stake_told: bool,
    /// It is told that what is shown is not all.
    uncounted: bool,
    lost_count: Option<&'static str>,
    /// Bytes of the prompt.
    pub(super) prompt: usize,
    /// How much of a plan's allowance is used, at most.
    pub(super) window: Option<Window>,
}

impl Spending {
    pub(super) fn new(prices: Arc<PriceList>, model: Option<String>) -> Self {
        let meter = Meter::new(prices, model);
        Self {
            meter,
            shown: (Money::ZERO, 0),
            stake_told: false,
            uncounted: false,
            lost_count: None,
            prompt: 0,
            window: None,
        }
    }
}

impl Transcript {
    /// Something was used that cannot be counted: what the run costs is unknown, and nobody can watch it any more.
    pub(crate) fn lost_count(&mut self, why: &'static str) {
        self.spending.meter.lose_count();
        self.spending.lost_count.get_or_insert(why);
    }

    pub(crate) fn has_price(&self, model: &str) -> bool {
        self.spending.meter.has_price(model)
    }

    /// The service says how much of a plan's allowance is used. Of several spans the fullest counts.
    pub(crate) fn window(&mut self, window: Window) {
        self.spending.window = self.spending.window.filter(|known| known.percent >= window.percent).or(Some(window));
    }

    /// A request is under way that nobody will tell the tokens of any more: it is charged as one of a usual size.
    pub(crate) fn broke_off_request(&mut self) {
        let usual = self.usual();
        self.spending.meter.guess(usual);
    }

    /// What is known to be spent so far, at least.
    pub(crate) fn spent(&self) -> Money {
        self.spending.meter.so_far()
    }

    /// Says that nobody can watch what a model costs, and gives up.
    pub(crate) fn has_no_price(&mut self, model: &str) {
        if self.health.unwatched.is_some() {
            return;
        }
        let message = format!("there is no price for {model}, so its cost cannot be tracked");
        let advice = format!(
            "add [prices.\"{model}\"] with `input` and `output` in dollars per million tokens to your configuration, choose \
             another with --model (`ralph agents --prices` lists them), or pass --unmetered"
        );
        // What a program calls its own choice is no model that a price could be for.
        let is_choice = ["auto", "default"].iter().any(|word| model.eq_ignore_ascii_case(word));
        let advice = if is_choice { NAME_A_MODEL.to_owned() } else { advice };
        self.give_up(message, advice);
    }

    fn give_up(&mut self, message: String, advice: String) {
        self.trouble(Trouble { kind: TroubleKind::Setup, until: None, message, advice: Some(advice) });
        self.health.unwatched.clone_from(&self.health.trouble);
    }

    /// Whether it has worked for a while and nobody has seen what it uses.
    pub(crate) fn shows_no_usage(&self) -> bool {
        let is_long = self.now.since(self.began) >= LONG_UNSEEN;
        is_long && self.calls.count() >= MANY_UNSEEN && self.spending.meter.has_seen_nothing()
    }

    /// Why nobody can watch any more what it costs, if so.
    pub(crate) const fn why_lost_count(&self) -> Option<&'static str> {
        self.spending.lost_count
    }

    /// Says that nobody sees what it uses, and gives up.
    pub(crate) fn cannot_be_watched(&mut self, why: &str) {
        if self.health.unwatched.is_some() {
            return;
        }
        let message = format!("{why}, so its cost cannot be tracked");
        self.give_up(message, "find out why, or pass --unmetered to count no cost at all".to_owned());
    }

    /// A model that is used, has no price, and whose cost nobody else tells.
    pub(crate) fn blind(&self) -> Option<String> {
        self.spending.meter.blind()
    }

    /// The model that was named last, if it has no price.
    pub(crate) fn unpriced_model(&self) -> Option<String> {
        self.spending.meter.unpriced_model().map(str::to_owned)
    }

    /// Tells, once, what is at stake before anything is counted.
    pub(crate) fn tell_stake(&mut self) {
        if !self.spending.stake_told
            && self.spent() == Money::ZERO
            && let Some(cost) = self.spending.meter.estimate(self.usual())
        {
            self.spending.stake_told = true;
            self.events.push(AgentEvent::Estimate { cost });
        }
    }

    /// Tells, once, that something was used that has no figure.
    pub(crate) fn admit_uncounted(&mut self) {
        if !self.spending.uncounted && self.spending.meter.is_incomplete() {
            self.spending.uncounted = true;
            self.events.push(AgentEvent::Uncounted);
        }
    }

    /// What the run cost. A first answer that broke off, or that nobody waited for, before anybody counted it is charged as one
    /// of a usual size: neither for nothing, nor with all that there is. Where calls were made there were more answers than that.
    pub(super) fn cost(&self, ended: &Ended, refused: bool) -> Cost {
        let cost = self.spending.meter.cost(ended, refused);
        let broke_off = self.health.trouble.as_ref().is_some_and(may_have_sold) || was_cut_short(ended);
        if cost != Cost::Unknown || !broke_off || self.calls.count() > 0 || self.spending.meter.is_incomplete() {
            return cost;
        }
        self.spending.meter.estimate(self.usual()).map_or(Cost::Unknown, |amount| Cost::Known { amount })
    }

    /// A request of a usual size.
    fn usual(&self) -> Tokens {
        let read = u64::try_from(self.spending.prompt / BYTES_OF_A_TOKEN).unwrap_or(u64::MAX);
        Tokens { input: read.saturating_add(Tokens::USUAL.input), ..Tokens::USUAL }
    }
}

/// Whether a service may have begun to answer before this trouble came: a connection that broke off is told from one that was
/// never made.
pub(super) fn may_have_sold(trouble: &Trouble) -> bool {
    const NEVER_MADE: [&str; 11] = [
        "refused",
        "unreach",
        "no route",
        "eai_again",
        "fetch failed",
        "enotfound",
        "unable to connect",
        "failed to connect",
        "dns",
        "getaddrinfo",
        "error sending request",
    ];
    let words = trouble.message.to_ascii_lowercase();
    trouble.kind == TroubleKind::Unreachable && !NEVER_MADE.iter().any(|sign| words.contains(sign))
}

/// Whether a run was ended from outside.
const fn was_cut_short(ended: &Ended) -> bool {
    matches!(ended, Ended::Stopped | Ended::TimedOut { .. } | Ended::Idle { .. } | Ended::Signalled { .. })
}

#[cfg(test)]
#[path = "money_tests.rs"]
mod tests;
