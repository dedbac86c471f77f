//! The account of one run: each request is begun once and settled once, whatever becomes of it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use ralph_llm::wire::UsageSeen;
use ralph_model::{Money, PriceList, Timestamp, Tokens, Trouble, TroubleKind};

use crate::asked::{Asked, Density, window};
use crate::ledger::{Hold, Ledger, Shortfall};
use crate::record::{Context, GatewayEvent, RequestOutcome, RequestRecord, RunTotals};

/// Requests that failed and are recognised when they come again.
const MAX_FAILED: usize = 256;
/// Models without a price that are named.
const MAX_UNPRICED: usize = 32;
/// Takes what happens. Quick: the agent waits for it.
pub(crate) type Sink = Arc<dyn Fn(GatewayEvent) + Send + Sync>;

pub(crate) struct Account {
    state: Mutex<State>,
    prices: Arc<PriceList>,
    now: fn() -> Timestamp,
    sink: Sink,
}

struct State {
    ledger: Ledger,
    totals: RunTotals,
    begun: u64,
    failed: HashMap<u64, u32>,
    density: Density,
    /// Bytes of the longest request that was answered.
    longest: u64,
}

impl Account {
    pub(crate) fn new(budget: Option<Money>, prices: Arc<PriceList>, now: fn() -> Timestamp, sink: Sink) -> Arc<Self> {
        let (totals, density) = (RunTotals::default(), Density::default());
        let state =
            State { ledger: Ledger::new(budget), totals, begun: 0, failed: HashMap::new(), density, longest: 0 };
        Arc::new(Self { state: Mutex::new(state), prices, now, sink })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn totals(&self) -> RunTotals {
        let state = self.lock();
        RunTotals { cost: state.ledger.spent(), refused: state.ledger.refused(), ..state.totals.clone() }
    }

    /// Something that cannot be counted may be forwarded, because nobody counts.
    pub(crate) fn permits_uncounted(&self, what: impl FnOnce() -> String) -> bool {
        let is_limited = self.lock().ledger.is_limited();
        if is_limited {
            (self.sink)(GatewayEvent::Uncountable(what()));
        }
        !is_limited
    }

    pub(crate) fn begin(self: &Arc<Self>, asked: Asked, body: &[u8]) -> Result<Pending, Shortfall> {
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        let hash = hasher.finish();
        let mut state = self.lock();
        let estimate = self.prices.of(&asked.model).map(|price| asked.estimate(price, state.density));
        state.begun += 1;
        let (number, retries) = (state.begun, state.failed.get(&hash).copied().unwrap_or(0));
        let was_refused = state.ledger.refused().is_some();
        let reserved = state.ledger.reserve(estimate);
        state.totals.under_way += u64::from(reserved.is_ok());
        drop(state);
        let (at, started) = ((self.now)(), Instant::now());
        let mut pending = Pending {
            account: Arc::clone(self),
            asked,
            number,
            hash,
            retries,
            at,
            started,
            hold: None,
            status: None,
            problem: None,
            first_byte: None,
        };
        match reserved {
            Ok(hold) => {
                pending.hold = Some(hold);
                Ok(pending)
            }
            Err(shortfall) => {
                let record =
                    pending.record(RequestOutcome::Refused, &UsageSeen::default(), Tokens::default(), None, false);
                self.report(record);
                if !was_refused {
                    (self.sink)(GatewayEvent::Limit(shortfall));
                }
                Err(shortfall)
            }
        }
    }

    fn report(&self, record: RequestRecord) {
        (self.sink)(GatewayEvent::Request { record: Box::new(record), totals: Box::new(self.totals()) });
    }

    /// What an answer cost. The name under which the service answered counts, where it has a price.
    pub(crate) fn cost(&self, asked: &str, seen: &UsageSeen, tokens: Tokens) -> Option<Money> {
        let names = seen.model.iter().map(String::as_str).chain([asked]);
        let (price, surcharge) = names.into_iter().find_map(|name| {
            let fast = seen.is_fast.then(|| self.prices.of(&format!("{name}-fast"))).flatten();
            // A faster answer without a price of its own costs up to twice as much.
            let usual = || self.prices.of(name).map(|price| (price, if seen.is_fast { 200 } else { 100 }));
            fast.map(|price| (price, 100)).or_else(usual)
        })?;
        let listed = price.request(tokens);
        let listed = if surcharge == 100 { listed } else { listed.percent(surcharge) };
        // Less the discount, which is rounded down: a sum is never below the truth.
        let discount = if seen.percent == 0 { 0 } else { 100 - seen.percent };
        Some(listed.less(listed.percent(discount)) + seen.tools)
    }
}

/// A request that was forwarded and is not settled yet. One that is dropped was given up by the agent.
pub(crate) struct Pending {
    account: Arc<Account>,
    asked: Asked,
    pub(crate) number: u64,
    hash: u64,
    retries: u32,
    at: Timestamp,
    started: Instant,
    hold: Option<Hold>,
    status: Option<u16>,
    problem: Option<Trouble>,
    first_byte: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The service has no answer, so that it sells nothing.
    Failed,
    Whole,
    /// It is not known what of the answer was sold.
    Cut,
}

impl Pending {
    pub(crate) fn head(&mut self, status: u16) {
        self.status = Some(status);
    }

    pub(crate) fn refused(&mut self, headers: &HeaderMap, body: &[u8]) {
        let body = String::from_utf8_lossy(body);
        self.problem = self.status.and_then(|status| ralph_llm::refusal(status, headers, &body, (self.account.now)()));
    }

    /// Nobody answers, or something else than a model does.
    pub(crate) fn unanswered(&mut self, kind: TroubleKind, message: String) {
        self.problem = Some(Trouble { kind, until: None, message, advice: None });
    }

    pub(crate) fn first_byte(&mut self) {
        if self.first_byte.is_none() {
            self.first_byte = Some(self.started.elapsed());
        }
    }

    pub(crate) fn settle(&mut self, end: End, seen: &UsageSeen) {
        let Some(hold) = self.hold.take() else { return };
        let sold_nothing = end == End::Failed || (seen.is_error && seen.tokens.is_none());
        let is_estimate = !sold_nothing && (seen.tokens.is_none() || end == End::Cut);
        let tokens = match seen.tokens {
            _ if sold_nothing => Tokens::default(),
            Some(tokens) if end == End::Cut => Tokens { output: tokens.output.max(seen.written), ..tokens },
            Some(tokens) => tokens,
            None => {
                let density = self.account.lock().density;
                Tokens { input: self.asked.input(density), output: seen.written, ..Tokens::default() }
            }
        };
        let cost = if sold_nothing { Some(Money::ZERO) } else { self.account.cost(&self.asked.model, seen, tokens) };
        // Of an answer without figures, the part that is not shown is not seen either.
        let is_unseen = end == End::Whole && seen.tokens.is_none() && !sold_nothing;
        let cost = if is_unseen { cost.map(|cost| cost.max(hold.amount())) } else { cost };
        let outcome = match end {
            _ if sold_nothing => RequestOutcome::Failed,
            End::Whole if !seen.is_error => RequestOutcome::Answered,
            End::Whole | End::Cut | End::Failed => RequestOutcome::Cut,
        };
        let mut state = self.account.lock();
        let longest = state.longest;
        state.ledger.settle(hold, cost.unwrap_or(Money::ZERO));
        let totals = &mut state.totals;
        totals.requests += 1;
        // A short request beside the work, for a title, say, may fail for a reason of its own.
        if self.asked.bytes.saturating_mul(2) >= longest {
            totals.problem = self.problem.take();
        }
        totals.under_way = totals.under_way.saturating_sub(1);
        totals.tokens = totals.tokens.plus(tokens);
        if !is_estimate {
            state.density.learn(&self.asked, tokens.read());
        }
        let totals = &mut state.totals;
        let name = seen.model.as_ref().unwrap_or(&self.asked.model);
        totals.model = Some(name.clone());
        if cost.is_none() && totals.unpriced.len() < MAX_UNPRICED && !totals.unpriced.contains(name) {
            totals.unpriced.push(name.clone());
        }
        if outcome == RequestOutcome::Answered {
            state.longest = longest.max(self.asked.bytes);
            state.failed.remove(&self.hash);
        } else if state.failed.len() < MAX_FAILED {
            *state.failed.entry(self.hash).or_default() += 1;
        }
        drop(state);
        let record = self.record(outcome, seen, tokens, cost, is_estimate);
        self.account.report(record);
    }

    fn record(
        &self,
        outcome: RequestOutcome,
        seen: &UsageSeen,
        tokens: Tokens,
        cost: Option<Money>,
        is_estimate: bool,
    ) -> RequestRecord {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let used = tokens.read().saturating_add(tokens.output);
        let name = seen.model.as_deref().unwrap_or(&self.asked.model);
        RequestRecord {
            number: self.number,
            at: self.at,
            model: self.asked.model.clone(),
            answered_by: seen.model.clone().filter(|model| *model != self.asked.model),
            outcome,
            status: self.status,
            retries: self.retries,
            tokens,
            cost,
            is_estimate,
            first_byte_ms: self.first_byte.map(millis),
            duration_ms: millis(self.started.elapsed()),
            context: window(name).filter(|_| used > 0).map(|window| Context { used, window }),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.settle(End::Cut, &UsageSeen::default());
    }
}
