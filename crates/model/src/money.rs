//! Money as whole micro-dollars. No float takes part in a sum or a comparison.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const MICROS: i64 = 1_000_000;

/// An amount of US dollars, never negative, in millionths. Stored as that integer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Money(i64);

impl Money {
    pub const ZERO: Self = Self(0);

    /// An amount in millionths of a dollar; negative amounts do not exist and become zero.
    pub const fn from_micros(micros: i64) -> Self {
        Self(if micros < 0 { 0 } else { micros })
    }

    pub const fn dollars(dollars: u32) -> Self {
        Self(dollars as i64 * MICROS)
    }

    /// The amount in millionths of a dollar.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// What is left after `other` is taken away, at least zero.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self::from_micros(self.0.saturating_sub(other.0))
    }

    /// This many hundredths of the amount, rounded down.
    #[must_use]
    pub const fn percent(self, percent: i64) -> Self {
        // In 128 bits, so that no amount can overflow.
        Self((self.0 as i128 * percent as i128 / 100) as i64)
    }

    /// For output only (JSON at the edges, charts): the nearest float prints as the decimal that was meant.
    pub fn to_json_number(self) -> f64 {
        // Exact below 2^53 micro-dollars, nine billion dollars.
        #[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^53 micro-dollars")]
        let micros = self.0 as f64;
        micros / 1e6
    }

    /// From a JSON or TOML number. The number is read through its shortest decimal form, which is what was typed.
    ///
    /// # Errors
    /// When the number is negative, not finite or finer than a micro-dollar.
    pub fn from_number(number: f64) -> Result<Self, ParseMoney> {
        if !number.is_finite() {
            return Err(ParseMoney(number.to_string()));
        }
        format!("{number}").parse()
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let micros = i64::deserialize(deserializer)?;
        if micros < 0 {
            return Err(serde::de::Error::custom("an amount of money is never negative"));
        }
        Ok(Self(micros))
    }
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// `$5.00`, with more than two decimals only where they say something.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / MICROS, self.0 % MICROS);
        let mut digits = format!("{fraction:06}");
        while digits.len() > 2 && digits.ends_with('0') {
            digits.pop();
        }
        f.pad(&format!("${whole}.{digits}"))
    }
}

/// The text is no amount of money.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an amount in dollars: write it like 5, 2.50 or $0.75, with at most six decimals")]
pub struct ParseMoney(String);

impl FromStr for Money {
    type Err = ParseMoney;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseMoney(text.to_owned());
        let digits = text.trim();
        let digits = digits.strip_prefix('$').unwrap_or(digits);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let fraction = fraction.trim_end_matches('0');
        if (whole.is_empty() && fraction.is_empty()) || !plain(whole) || !plain(fraction) || fraction.len() > 6 {
            return Err(wrong());
        }
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| wrong())? };
        let micros: i64 = format!("{fraction:0<6}").parse().map_err(|_| wrong())?;
        whole.checked_mul(MICROS).and_then(|w| w.checked_add(micros)).map(Self).ok_or_else(wrong)
    }
}

#[cfg(test)]
#[path = "money_tests.rs"]
mod tests;
