//! The money of one run: what is spent, what requests under way hold, and whether the budget covers one more. Does no IO.

use ralph_model::Money;

/// Why a request is not forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortfall {
    pub budget: Money,
    /// What its requests cost so far, those under way included.
    pub committed: Money,
    pub expected: Money,
}

/// What a request holds until its cost is known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hold(Money);

/// What one request can cost, before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Estimate {
    /// Its input comes from a cache, and its answer is short.
    pub(crate) least: Money,
    pub(crate) usual: Money,
    pub(crate) most: Money,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    budget: Option<Money>,
    spent: Money,
    held: Money,
    charged: i64,
    /// A request was refused: none is forwarded any more.
    refused: Option<Shortfall>,
}

impl Hold {
    pub(crate) const fn amount(&self) -> Money {
        self.0
    }
}

impl Ledger {
    pub(crate) fn new(budget: Option<Money>) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Holds what a request will cost, about. One without a price holds nothing.
    pub(crate) fn reserve(&mut self, estimate: Option<Estimate>) -> Result<Hold, Shortfall> {
        if let Some(refused) = self.refused {
            return Err(refused);
        }
        let expected = estimate.map_or(Money::ZERO, |estimate| self.expected(estimate));
        let committed = self.spent + self.held;
        if let Some(budget) = self.budget
            && (committed >= budget || committed + expected > budget)
        {
            let shortfall = Shortfall { budget, committed, expected };
            self.refused = Some(shortfall);
            return Err(shortfall);
        }
        self.held += expected;
        Ok(Hold(expected))
    }

    /// A request is over, and this is what it cost.
    #[expect(clippy::needless_pass_by_value, reason = "a hold is settled once")]
    pub(crate) fn settle(&mut self, hold: Hold, cost: Money) {
        self.held = self.held.less(hold.0);
        self.spent += cost;
        if cost > Money::ZERO {
            self.charged = self.charged.saturating_add(1);
        }
    }

    pub(crate) const fn is_limited(&self) -> bool {
        self.budget.is_some()
    }

    pub(crate) const fn spent(&self) -> Money {
        self.spent
    }

    pub(crate) const fn refused(&self) -> Option<Shortfall> {
        self.refused
    }

    /// What a request will cost by the ones before it, within what it can: many short ones do not make a long one cheap.
    fn expected(&self, estimate: Estimate) -> Money {
        match self.charged {
            0 => estimate.usual.min(estimate.most),
            charged => Money::from_micros(self.spent.micros() / charged).max(estimate.least).min(estimate.most),
        }
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
