//! What tokens cost: a dated table of list prices, which a user can extend. Knows nothing about agents.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize};

use crate::Money;

const MILLION: u128 = 1_000_000;

/// Tokens of one request or of many, each counted in one place only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tokens {
    /// Read, and neither from a cache nor into one.
    pub input: u64,
    pub cache_read: u64,
    /// Read and put into a cache for some minutes.
    pub cache_write: u64,
    /// Read and put into a cache for an hour.
    pub cache_write_hour: u64,
    /// Written, hidden reasoning included.
    pub output: u64,
}

impl Tokens {
    /// A request of a usual size: an agent's own instructions and tools, and a long answer.
    pub const USUAL: Self = Self { input: 20_000, cache_read: 0, cache_write: 0, cache_write_hour: 0, output: 4_000 };

    pub const fn read(self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_written())
    }

    /// Everything that was put into a cache.
    pub const fn cache_written(self) -> u64 {
        self.cache_write.saturating_add(self.cache_write_hour)
    }

    /// Whether there are none at all: they were not counted, because every request uses some.
    pub const fn is_none(self) -> bool {
        self.read() == 0 && self.output == 0
    }

    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cache_write_hour: self.cache_write_hour.saturating_add(other.cache_write_hour),
            output: self.output.saturating_add(other.output),
        }
    }

    /// What these are more than `earlier` ones, at least nothing.
    #[must_use]
    pub const fn less(self, earlier: Self) -> Self {
        // A sum does not always say which of them were for an hour.
        let untold = earlier.cache_write_hour.saturating_sub(self.cache_write_hour);
        Self {
            input: self.input.saturating_sub(earlier.input),
            cache_read: self.cache_read.saturating_sub(earlier.cache_read),
            cache_write: self.cache_write.saturating_sub(earlier.cache_write).saturating_sub(untold),
            cache_write_hour: self.cache_write_hour.saturating_sub(earlier.cache_write_hour),
            output: self.output.saturating_sub(earlier.output),
        }
    }
}

/// Prices of one model for a million tokens of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rates {
    #[serde(deserialize_with = "dollars")]
    pub input: Money,
    #[serde(deserialize_with = "dollars")]
    pub cache_read: Money,
    #[serde(deserialize_with = "dollars")]
    pub cache_write: Money,
    #[serde(deserialize_with = "dollars")]
    pub output: Money,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    #[serde(flatten)]
    pub rates: Rates,
    /// For a request that reads more than a certain number of tokens, where that has prices of its own.
    #[serde(default)]
    pub long: Option<LongPrice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LongPrice {
    pub over: u64,
    #[serde(flatten)]
    pub rates: Rates,
}

impl Rates {
    /// What these tokens cost, rounded up: a sum is never below the truth.
    pub fn cost(&self, tokens: Tokens) -> Money {
        let parts = [
            (tokens.input, self.input),
            (tokens.cache_read, self.cache_read),
            (tokens.cache_write, self.cache_write),
            // Only Anthropic sells these, at twice the price of reading; a list may have a higher one for the others.
            (tokens.cache_write_hour, (self.input + self.input).max(self.cache_write)),
            (tokens.output, self.output),
        ];
        // Five products of 64 by 62 bits fit into 128.
        let sum: u128 =
            parts.iter().map(|(count, price)| u128::from(*count) * u128::from(price.micros().unsigned_abs())).sum();
        Money::from_micros(i64::try_from(sum.div_ceil(MILLION)).unwrap_or(i64::MAX))
    }
}

impl Price {
    pub fn request(&self, tokens: Tokens) -> Money {
        match &self.long {
            Some(long) if tokens.read() > long.over => long.rates.cost(tokens),
            Some(_) | None => self.rates.cost(tokens),
        }
    }
}

/// The built-in prices, and the user's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriceList {
    own: BTreeMap<String, Price>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Table {
    as_of: String,
    /// Names that programs resolve to a model themselves, as the versions that were tried do it.
    aliases: BTreeMap<String, String>,
    models: BTreeMap<String, Price>,
}

/// The list prices that Ralph was built with. Few processes ask for one, and reading them takes a while.
static BUILT_IN: LazyLock<Table> = LazyLock::new(|| {
    // A table that cannot be read would be seen by the test beside; without one every model is unknown, never free.
    serde_json::from_str(include_str!("prices.json")).unwrap_or_else(|_| Table {
        as_of: String::new(),
        aliases: BTreeMap::new(),
        models: BTreeMap::new(),
    })
});

impl PriceList {
    /// The day that the built-in prices were true on.
    pub fn as_of() -> &'static str {
        &BUILT_IN.as_of
    }

    /// Takes the user's own prices into the list; they weigh more than the built-in ones.
    #[must_use]
    pub fn with(mut self, own: impl IntoIterator<Item = (String, Price)>) -> Self {
        for (name, price) in own {
            // A service may write the same name in other letters.
            self.own.insert(name.to_ascii_lowercase(), price);
            self.own.insert(name, price);
        }
        self
    }

    /// The price of a model, as a program or a service names it.
    pub fn of(&self, model: &str) -> Option<&Price> {
        // Most are asked for again and again by the very name that the list has.
        let same = self.own.get(model).or_else(|| BUILT_IN.models.get(model).filter(|_| self.own.is_empty()));
        if same.is_some() {
            return same;
        }
        let plain = plain(model);
        let own = self.own.get(model).or_else(|| self.own.get(&plain));
        own.or_else(|| BUILT_IN.models.get(model)).or_else(|| BUILT_IN.models.get(&plain)).or_else(|| {
            let undated = without_date(&plain);
            let named = self.own.get(undated).or_else(|| BUILT_IN.models.get(undated));
            // Another provider may have a model of that name.
            named.or_else(|| {
                let name = BUILT_IN.aliases.get(undated).filter(|_| !model.contains('/'))?;
                self.own.get(name).or_else(|| BUILT_IN.models.get(name))
            })
        })
    }

    /// What one request of a usual size costs: of this model, or of the one in the middle of the list.
    #[must_use]
    pub fn usual_request(&self, model: Option<&str>) -> Money {
        if let Some(price) = model.and_then(|model| self.of(model)) {
            return price.request(Tokens::USUAL);
        }
        let mut costs: Vec<Money> = BUILT_IN.models.values().map(|price| price.request(Tokens::USUAL)).collect();
        costs.sort_unstable();
        costs.get(costs.len() / 2).copied().unwrap_or_default()
    }

    /// Names that programs resolve to a model themselves, with the model whose price counts.
    pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
        BUILT_IN.aliases.iter().map(|(alias, model)| (alias.as_str(), model.as_str()))
    }

    /// All names, the user's own among them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.own.keys().chain(BUILT_IN.models.keys().filter(|name| !self.own.contains_key(*name))).map(String::as_str)
    }
}

/// The name without what a gateway puts around it: `anthropic/claude-x`, `models/gemini-x`,
/// `us.anthropic.claude-x-v1:0`, `claude-x[1m]`.
fn plain(model: &str) -> String {
    let model = model.trim().to_ascii_lowercase();
    let name = model.rsplit('/').next().unwrap_or(&model);
    let name = name.rsplit_once("anthropic.").map_or(name, |(_, name)| name);
    let name = name.split(['[', '@', ':']).next().unwrap_or(name);
    name.strip_suffix("-v1").unwrap_or(name).to_owned()
}

/// The name without the day that it was released on: `-20250929`, `-2025-08-07`.
fn without_date(name: &str) -> &str {
    let is_date =
        |digits: &str| digits.len() == 8 && digits.starts_with("20") && digits.bytes().all(|b| b.is_ascii_digit());
    if let Some((front, back)) = name.rsplit_once('-')
        && is_date(back)
    {
        return front;
    }
    let Some(at) = name.len().checked_sub(11).filter(|at| name.is_char_boundary(*at)) else { return name };
    let (front, back) = name.split_at(at);
    let parts: Vec<&str> = back.split('-').collect();
    let is_day = matches!(parts.as_slice(), ["", year, month, day] if is_date(&format!("{year}{month}{day}")));
    if is_day { front } else { name }
}

fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Money, D::Error> {
    let number = f64::deserialize(deserializer)?;
    Money::from_number(number).map_err(serde::de::Error::custom)
}

#[cfg(test)]
#[path = "price_tests.rs"]
mod tests;
