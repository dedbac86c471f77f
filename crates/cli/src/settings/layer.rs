//! The values of one configuration file, typed. Says nothing about where the file came from or what it may do.

use std::collections::BTreeMap;
use std::fmt;

use ralph_model::{Expectation, Isolation, Keep, Millis, Money, OnBlocked, Sandboxing, Verify};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

/// The values of one configuration file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Layer {
    pub(crate) max_iterations: Option<u32>,
    pub(crate) max_cost_usd: Option<Dollars>,
    pub(crate) max_duration: Option<Span>,
    pub(crate) iteration_timeout: Option<Span>,
    pub(crate) verification_timeout: Option<Span>,
    pub(crate) idle_timeout: Option<Span>,
    pub(crate) pause_ms: Option<Pause>,
    pub(crate) stall_detection_threshold: Option<u32>,
    pub(crate) same_error_threshold: Option<u32>,
    pub(crate) escalate_to_deep_debug: Option<bool>,
    pub(crate) verification_command: Option<OneOrMore>,
    pub(crate) expects: Option<Vec<Expectation>>,
    pub(crate) junit: Option<Vec<String>>,
    pub(crate) completion_promise: Option<String>,
    pub(crate) agent: Option<OneOrMore>,
    pub(crate) agent_args: Option<Vec<String>>,
    pub(crate) model: Option<String>,
    pub(crate) escalate_after: Option<u32>,
    pub(crate) rotate: Option<bool>,
    pub(crate) max_wait: Option<Span>,
    pub(crate) backoff: Option<Span>,
    pub(crate) agent_order: Option<Vec<String>>,
    pub(crate) prices: BTreeMap<String, PriceTable>,
    pub(crate) agent_command: Option<String>,
    pub(crate) agents: BTreeMap<String, NamedAgent>,
    pub(crate) unmetered: Option<bool>,
    pub(crate) skill: Option<String>,
    pub(crate) context_injection: Option<bool>,
    pub(crate) on_blocked: Option<OnBlocked>,
    pub(crate) isolation: Option<Isolation>,
    pub(crate) commit: Option<bool>,
    pub(crate) keep: Option<Keep>,
    pub(crate) ratchet: Option<bool>,
    pub(crate) log_limit: Option<u64>,
    pub(crate) prohibited_paths: Option<Vec<String>>,
    pub(crate) protected_paths: Option<Vec<String>>,
    pub(crate) allow_test_change: Option<Vec<String>>,
    pub(crate) verify: Option<Verify>,
    pub(crate) setup: Option<OneOrMore>,
    pub(crate) retries: Option<u32>,
    pub(crate) tripwire: Option<bool>,
    pub(crate) allow_network: Option<bool>,
    pub(crate) sandbox: Option<Sandboxing>,
    pub(crate) sandbox_writable: Option<Vec<String>>,
    pub(crate) env: Option<Vec<String>>,
    pub(crate) caps: CapsTable,
    pub(crate) notify: NotifyTable,
    pub(crate) database_url: Option<String>,
    pub(crate) metrics_path: Option<String>,
}

/// `[agents.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedAgent {
    /// What kind it is; by its name or its command without one.
    pub(crate) kind: Option<String>,
    /// A line for `sh -c`.
    pub(crate) command: Option<String>,
    /// The program, where it is not the usual one of its kind.
    pub(crate) program: Option<String>,
    /// The model that it is asked to use.
    pub(crate) model: Option<String>,
    /// Arguments that it gets besides.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Whose settings it works with.
    pub(crate) settings: Option<Whose>,
    /// Whether its cost is not counted.
    #[serde(default)]
    pub(crate) unmetered: bool,
}

/// Whose settings an agent works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Whose {
    /// Ralph's alone.
    Own,
    /// The user's and the repository's.
    User,
}

/// `[prices.MODEL]`: US dollars for a million tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PriceTable {
    pub(crate) input: Option<Dollars>,
    pub(crate) output: Option<Dollars>,
    pub(crate) cache_read: Option<Dollars>,
    pub(crate) cache_write: Option<Dollars>,
}

/// `[caps]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CapsTable {
    pub(crate) iterations: Option<u32>,
    pub(crate) loop_cost_usd: Option<Dollars>,
    pub(crate) daily_cost_usd: Option<Dollars>,
}

/// `[notify]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NotifyTable {
    pub(crate) command: Option<String>,
}

/// Money as a number or as a text such as `"$2.50"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dollars(pub(crate) Money);

/// A span as a text such as `"30s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Millis);

/// A span as a text, or a whole number of milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pause(pub(crate) Millis);

/// One text, or a list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OneOrMore(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Amount;
        impl Visitor<'_> for Amount {
            type Value = Dollars;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an amount in dollars such as 2.50 or \"$2.50\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Dollars, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Dollars, E> {
                Money::from_number(number).map(Dollars).map_err(E::custom)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Dollars, E> {
                text.parse().map(Dollars).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Amount)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map(Self).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Pause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rest;
        impl Visitor<'_> for Rest {
            type Value = Pause;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of milliseconds or a span such as \"2s\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Pause, E> {
                let negative = || E::custom(format!("{number} is negative: a pause is 0 or more milliseconds"));
                u64::try_from(number).map(|millis| Pause(Millis(millis))).map_err(|_| negative())
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Pause, E> {
                text.parse().map(Pause).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Rest)
    }
}

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = OneOrMore;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command, or a list of commands")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOrMore, E> {
                Ok(OneOrMore(vec![text.to_owned()]))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMore, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(OneOrMore(texts))
            }
        }
        deserializer.deserialize_any(Texts)
    }
}
