//! Sums, means, percentiles and rates over whole numbers.

use std::fmt;

/// A part of a whole, compared without rounding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rate {
    pub part: u64,
    pub whole: u64,
}

impl Rate {
    /// Whether the part is more than this many hundredths. Nothing of nothing is neither more nor less than anything.
    pub const fn is_over(self, percent: u64) -> bool {
        self.whole > 0 && self.part as u128 * 100 > self.whole as u128 * percent as u128
    }

    /// Whether the part is less than this many hundredths.
    pub const fn is_under(self, percent: u64) -> bool {
        self.whole > 0 && (self.part as u128 * 100) < self.whole as u128 * percent as u128
    }
}

/// `71.4 %`, or a dash where there is no whole.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.whole == 0 {
            return f.pad("–");
        }
        let (part, whole) = (u128::from(self.part), u128::from(self.whole));
        let permille = (part * 1000 + whole / 2) / whole;
        f.pad(&format!("{}.{} %", permille / 10, permille % 10))
    }
}

/// How an amount spreads over loops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spread {
    pub count: u64,
    pub total: u64,
    /// The value that 95 of 100 do not pass (nearest rank).
    pub p95: u64,
}

impl Spread {
    /// Over all values, which are put into another order.
    pub(crate) fn of(values: &mut [u64]) -> Self {
        let count = values.len();
        if count == 0 {
            return Self::default();
        }
        let total = values.iter().fold(0_u64, |sum, value| sum.saturating_add(*value));
        let rank = (count * 95).div_ceil(100);
        let (_, p95, _) = values.select_nth_unstable(rank - 1);
        Self { count: count as u64, total, p95: *p95 }
    }

    /// The mean, rounded to the nearest whole number; zero of nothing.
    pub fn mean(self) -> u64 {
        self.total.saturating_add(self.count / 2).checked_div(self.count).unwrap_or(0)
    }

    /// The mean in tenths, for amounts as small as iterations.
    pub fn mean_tenths(self) -> u64 {
        self.total.saturating_mul(10).saturating_add(self.count / 2).checked_div(self.count).unwrap_or(0)
    }
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
