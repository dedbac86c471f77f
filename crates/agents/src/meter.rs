//! Adds up what a run used and what that costs, as far as it is known at any moment.

use std::collections::VecDeque;
use std::sync::Arc;

use ralph_model::{Cost, Ended, Money, PriceList, Tokens, Usage};

/// Requests whose figures may still change: more than any program has under way at once.
const MAX_OPEN: usize = 64;
/// Models that are told apart in one run.
const MAX_MODELS: usize = 32;
/// No run costs as much; a larger figure is a mistake or a lie, and counts as no figure.
const MAX_COST: Money = Money::dollars(10_000);
/// No request has as many tokens, and no run; more are a mistake or a lie, and what they cost is unknown.
const MAX_REQUEST: u64 = 100_000_000;
const MAX_RUN: u64 = 10_000_000_000;

/// What a run used so far.
#[derive(Debug)]
pub(crate) struct Meter {
    prices: Arc<PriceList>,
    /// Requests that may still change, the oldest first.
    open: VecDeque<(String, Spent)>,
    settled: Vec<Spent>,
    /// What the program says that the whole run used, by model; weighs more than the sum of its requests.
    totals: Vec<Spent>,
    own: Option<Money>,
    /// What requests cost, about, that nobody told the tokens of.
    guessed: Money,
    /// The model of most requests, or the last that was named.
    model: Option<String>,
    /// Something was used that has no figure, or none that can be.
    uncounted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Spent {
    model: Option<String>,
    tokens: Tokens,
    /// At list prices; none when the model has no price.
    cost: Option<Money>,
}

impl Meter {
    pub(crate) fn new(prices: Arc<PriceList>, model: Option<String>) -> Self {
        Self {
            prices,
            open: VecDeque::new(),
            settled: Vec::new(),
            totals: Vec::new(),
            own: None,
            guessed: Money::ZERO,
            model,
            uncounted: false,
        }
    }

    /// The model that answers from here on.
    pub(crate) fn model(&mut self, model: &str) {
        self.model = Some(model.to_owned());
    }

    /// What one request used so far; a later figure for the same request replaces an earlier one.
    pub(crate) fn request(&mut self, id: &str, model: Option<&str>, tokens: Tokens) {
        if is_absurd(tokens, MAX_REQUEST) {
            self.uncounted = true;
            return;
        }
        let model = model.map(str::to_owned).or_else(|| self.model.clone());
        if self.model.is_none() {
            self.model.clone_from(&model);
        }
        let cost = model.as_deref().and_then(|model| self.prices.of(model)).map(|price| price.request(tokens));
        let spent = Spent { model, tokens, cost };
        if let Some((_, open)) = self.open.iter_mut().find(|(open, _)| open == id) {
            *open = spent;
            return;
        }
        if self.open.len() == MAX_OPEN
            && let Some((_, oldest)) = self.open.pop_front()
        {
            add(&mut self.settled, oldest);
        }
        self.open.push_back((id.to_owned(), spent));
    }

    /// What the program says that this run used in all, of one model; replaces an earlier figure for the same model.
    pub(crate) fn total(&mut self, model: Option<&str>, tokens: Tokens) {
        if is_absurd(tokens, MAX_RUN) {
            self.uncounted = true;
            return;
        }
        let model = model.map(str::to_owned).or_else(|| self.model.clone());
        let cost = self.total_cost(model.as_deref(), tokens);
        let spent = Spent { model, tokens, cost };
        match self.totals.iter_mut().find(|total| total.model == spent.model) {
            Some(total) => *total = spent,
            None => add(&mut self.totals, spent),
        }
    }

    /// What a sum costs: what is known of its requests one by one, and the rest as one request. A rest that could be a long
    /// request is priced as one, so that no sum is below the truth.
    fn total_cost(&self, model: Option<&str>, tokens: Tokens) -> Option<Money> {
        let price = model.and_then(|model| self.prices.of(model))?;
        let of_model = || self.requests().filter(|spent| spent.model.as_deref() == model);
        let counted = of_model().fold(Tokens::default(), |sum, spent| sum.plus(spent.tokens));
        let known: Money = of_model().filter_map(|spent| spent.cost).sum();
        let is_part = counted.read() <= tokens.read() && counted.output <= tokens.output;
        // Requests that do not fit into the sum were counted otherwise than the program counts.
        if is_part { Some(known + price.request(tokens.less(counted))) } else { Some(price.request(tokens)) }
    }

    /// A model that is used and that nobody puts a price on, so that nobody could stop it in time.
    pub(crate) fn blind(&self) -> Option<String> {
        let has_own = self.own.is_some_and(|own| own > Money::ZERO);
        self.unpriced().into_iter().next().filter(|_| !has_own)
    }

    pub(crate) fn has_price(&self, model: &str) -> bool {
        self.prices.of(model).is_some()
    }

    /// The model that was named last, if it has no price.
    pub(crate) fn unpriced_model(&self) -> Option<&str> {
        self.model.as_deref().filter(|model| self.prices.of(model).is_none())
    }

    /// What one request of this many tokens costs, as far as the model has a price.
    pub(crate) fn estimate(&self, tokens: Tokens) -> Option<Money> {
        self.model.as_deref().and_then(|model| self.prices.of(model)).map(|price| price.request(tokens))
    }

    /// A request was made that nobody tells the tokens of: it costs about as much as one of these.
    pub(crate) fn guess(&mut self, tokens: Tokens) {
        match self.estimate(tokens) {
            Some(amount) => self.guessed += amount,
            None => self.uncounted = true,
        }
    }

    /// The figure that the program gave is none after all.
    pub(crate) const fn disown(&mut self) {
        self.own = None;
    }

    /// Whether neither tokens nor a cost were ever told.
    pub(crate) fn has_seen_nothing(&self) -> bool {
        self.own.is_none() && self.sums().all(|spent| spent.tokens.is_none())
    }

    /// Something was used that nobody counts.
    pub(crate) const fn lose_count(&mut self) {
        self.uncounted = true;
    }

    /// Whether the sum of what was seen is not all, as far as is known, and nobody told all.
    pub(crate) fn is_incomplete(&self) -> bool {
        let has_own = self.own.is_some_and(|own| own > Money::ZERO);
        self.uncounted || (!has_own && !self.unpriced().is_empty())
    }

    /// What the program says that this run costs so far, in dollars.
    pub(crate) fn own(&mut self, dollars: f64) {
        if dollars.is_finite() && dollars >= 0.0 && dollars < MAX_COST.to_json_number() {
            // A sum of floats has more digits than a micro-dollar can hold; rounding up never undercounts, and what floats
            // add by themselves is far below a thousandth of one.
            let micros = (dollars * 1e6 - 1e-4).ceil();
            let amount = if micros > 0.0 { Money::from_number(micros / 1e6).ok() } else { Some(Money::ZERO) };
            self.own = amount.or(self.own);
        }
    }

    /// What is known to be spent so far, at least.
    pub(crate) fn so_far(&self) -> Money {
        self.so_far_listed().max(self.own.unwrap_or(Money::ZERO))
    }

    /// What the run cost. `refused` says that no request was ever answered.
    pub(crate) fn cost(&self, ended: &Ended, refused: bool) -> Cost {
        let own = self.own.filter(|own| *own > Money::ZERO);
        let listed = self.so_far_listed();
        if self.uncounted {
            // Whoever tells a sum of it has not counted it either.
            return Cost::Unknown;
        }
        if let Some(own) = own {
            // A word about money can be forged by whatever the agent starts, and a run that did not end by itself may have had no
            // time to say its last. What was seen of its tokens stands.
            let is_last_word = *ended == (Ended::Exited { code: 0 });
            let is_credible = is_last_word && own.micros() >= listed.micros() / 2;
            return Cost::Known { amount: if is_credible { own } else { own.max(listed) } };
        }
        let tokens = self.sums().fold(Tokens::default(), |sum, spent| sum.plus(spent.tokens));
        if tokens.is_none() && self.guessed == Money::ZERO {
            // Nothing was sold. A zero of the program's own beside no tokens says nothing.
            let is_free = refused || matches!(ended, Ended::NotStarted { .. });
            return if is_free { Cost::Known { amount: Money::ZERO } } else { Cost::Unknown };
        }
        let costs: Option<Money> = self.sums().filter(|spent| !spent.tokens.is_none()).map(|spent| spent.cost).sum();
        match costs {
            Some(amount) => Cost::Known { amount: amount.max(listed) },
            None => Cost::Unknown,
        }
    }

    /// What the tokens that were seen cost at list prices, at least.
    fn so_far_listed(&self) -> Money {
        let listed: Money = self.requests().filter_map(|spent| spent.cost).sum();
        let totals: Money = self.totals.iter().filter_map(|spent| spent.cost).sum();
        listed.max(totals) + self.guessed
    }

    /// Models that were used and have no price.
    pub(crate) fn unpriced(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .sums()
            .filter(|spent| spent.cost.is_none() && !spent.tokens.is_none())
            .map(|spent| spent.model.clone().unwrap_or_else(|| "an unnamed model".to_owned()))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    pub(crate) fn usage(&self) -> Usage {
        let tokens = self.sums().fold(Tokens::default(), |sum, spent| sum.plus(spent.tokens));
        let most = self.sums().max_by_key(|spent| spent.tokens.output).and_then(|spent| spent.model.clone());
        Usage {
            model: most.or_else(|| self.model.clone()),
            input_tokens: tokens.read(),
            cache_read_tokens: tokens.cache_read,
            cache_write_tokens: tokens.cache_written(),
            output_tokens: tokens.output,
            window: None,
        }
    }

    fn requests(&self) -> impl Iterator<Item = &Spent> {
        self.settled.iter().chain(self.open.iter().map(|(_, spent)| spent))
    }

    /// The totals where there are some, else the requests.
    fn sums(&self) -> Box<dyn Iterator<Item = &Spent> + '_> {
        let has_totals = self.totals.iter().any(|total| !total.tokens.is_none());
        if has_totals { Box::new(self.totals.iter()) } else { Box::new(self.requests()) }
    }
}

fn add(sums: &mut Vec<Spent>, spent: Spent) {
    let known = sums.iter().position(|sum| sum.model == spent.model);
    let full = (sums.len() == MAX_MODELS).then_some(MAX_MODELS - 1);
    match known.or(full).and_then(|at| sums.get_mut(at)) {
        Some(sum) => {
            sum.tokens = sum.tokens.plus(spent.tokens);
            // A part without a price leaves the whole without one.
            sum.cost = sum.cost.zip(spent.cost).map(|(left, right)| left + right);
        }
        None => sums.push(spent),
    }
}

fn is_absurd(tokens: Tokens, most: u64) -> bool {
    tokens.read() > most || tokens.output > most
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
