//! The values of one configuration file, typed. Says nothing about where the file came from or what it may do.

use std::collections::BTreeMap;
use std::fmt;

use ralph_model::{
    AgentNetwork, Expectation, Grade, HostRule, Isolation, Keep, MeterMode, Millis, Money, OnBlocked, Sandboxing,
    Verify,
};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use crate::{Key, Location, Origin};

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Layer {
    #[serde(skip)]
    pub places: Places,
    #[serde(alias = "max")]
    pub max_iterations: Option<u32>,
    #[serde(alias = "max_cost")]
    pub max_cost_usd: Option<Dollars>,
    pub max_tokens: Option<u64>,
    pub max_window: Option<u32>,
    pub max_duration: Option<Span>,
    pub iteration_timeout: Option<Span>,
    #[serde(alias = "verify_timeout")]
    pub verification_timeout: Option<Span>,
    pub idle_timeout: Option<Span>,
    #[serde(alias = "pause")]
    pub pause_ms: Option<Pause>,
    #[serde(alias = "stall")]
    pub stall_detection_threshold: Option<u32>,
    #[serde(alias = "same_error")]
    pub same_error_threshold: Option<u32>,
    #[serde(alias = "deep_debug")]
    pub escalate_to_deep_debug: Option<bool>,
    #[serde(alias = "criteria")]
    pub verification_command: Option<OneOrMore>,
    #[serde(alias = "expect")]
    pub expects: Option<Vec<Expectation>>,
    /// The file that the objective came from and that has open items, relative to the workspace.
    #[serde(skip)]
    pub checklist_file: Option<String>,
    pub junit: Option<Vec<String>>,
    #[serde(alias = "promise")]
    pub completion_promise: Option<String>,
    pub agent: Option<OneOrMore>,
    pub agent_args: Option<Vec<String>>,
    pub model: Option<String>,
    pub escalate_after: Option<u32>,
    pub rotate: Option<bool>,
    pub max_wait: Option<Span>,
    pub failover: Option<OneOrMore>,
    pub backoff: Option<Span>,
    pub agent_order: Option<Vec<String>>,
    pub prices: BTreeMap<String, PriceTable>,
    pub models: BTreeMap<String, ModelTable>,
    pub agent_command: Option<String>,
    pub agents: BTreeMap<String, NamedAgent>,
    pub unmetered: Option<bool>,
    pub cost_after_run: Option<bool>,
    pub meter: Option<MeterMode>,
    pub record_requests: Option<bool>,
    pub skill: Option<String>,
    pub context_injection: Option<bool>,
    pub on_blocked: Option<OnBlocked>,
    pub isolation: Option<Isolation>,
    pub commit: Option<bool>,
    pub keep: Option<Keep>,
    pub ratchet: Option<bool>,
    pub log_limit: Option<u64>,
    pub max_file_size: Option<u64>,
    #[serde(alias = "prohibit")]
    pub prohibited_paths: Option<Vec<String>>,
    #[serde(alias = "protect")]
    pub protected_paths: Option<Vec<String>>,
    pub allow_test_change: Option<Vec<String>>,
    pub verify: Option<Verify>,
    pub setup: Option<OneOrMore>,
    pub retries: Option<u32>,
    pub tripwire: Option<bool>,
    pub require: Option<Grade>,
    pub allow_network: Option<bool>,
    pub agent_network: Option<AgentNetwork>,
    pub allow_host: Option<Vec<HostRule>>,
    pub hide: Option<Vec<String>>,
    pub allow_read: Option<Vec<String>>,
    pub sandbox: Option<Sandboxing>,
    #[serde(alias = "allow_write")]
    pub sandbox_writable: Option<Vec<String>>,
    pub env: Option<Vec<String>>,
    pub caps: CapsTable,
    pub notify: NotifyTable,
    pub web: WebTable,
    pub crew: CrewTable,
    pub mcp: BTreeMap<String, McpTable>,
    pub database_url: Option<String>,
    pub metrics_path: Option<String>,
}

impl Layer {
    /// What a value of a caller's layer is said to come from.
    pub(crate) const fn callers_origin(&self) -> Origin {
        match self.places {
            Places::Request => Origin::Request,
            Places::CommandLine | Places::File(_) => Origin::Flag,
        }
    }

    pub(crate) fn place(&self, key: Key) -> Option<&Location> {
        let Places::File(places) = &self.places else { return None };
        places.iter().find(|(known, _)| *known == key).map(|(_, at)| at)
    }
}

/// Where the values of a layer are. Layers with the same values are equal wherever they come from.
#[derive(Debug, Clone, Default)]
pub enum Places {
    #[default]
    CommandLine,
    /// In the JSON object of a request.
    Request,
    File(Vec<(Key, Location)>),
}

impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// `[agents.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedAgent {
    /// What kind it is; by its name or its command without one.
    pub kind: Option<String>,
    /// A line for `sh -c`.
    pub command: Option<String>,
    /// The program, where it is not the usual one of its kind.
    pub program: Option<String>,
    pub model: Option<String>,
    #[serde(default)]
    pub args: Vec<String>,
    pub settings: Option<Whose>,
    /// Whether its cost is not counted.
    #[serde(default)]
    pub unmetered: bool,
    /// Whether a command reports its cost while it runs.
    #[serde(default)]
    pub reports_cost: bool,
}

/// Whose settings an agent works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Whose {
    /// Ralph's alone.
    Own,
    User,
}

/// `[prices.MODEL]`: US dollars per million tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PriceTable {
    pub input: Option<Dollars>,
    pub output: Option<Dollars>,
    pub cache_read: Option<Dollars>,
    pub cache_write: Option<Dollars>,
}

/// `[models.NAME]`: a model of the user's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelTable {
    pub provider: Option<String>,
    pub base_url: Option<String>,
    pub model: Option<String>,
    pub key_env: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CapsTable {
    pub iterations: Option<u32>,
    pub loop_cost_usd: Option<Dollars>,
    pub daily_cost_usd: Option<Dollars>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NotifyTable {
    pub command: Option<String>,
    pub webhook: Option<String>,
    pub desktop: Option<bool>,
    pub smtp: Option<String>,
    pub smtp_password_env: Option<String>,
    pub email_from: Option<String>,
    pub email_to: Option<Vec<String>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebTable {
    pub allow_hosts: Option<Vec<String>>,
    pub search_url: Option<String>,
    pub search_key_env: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CrewTable {
    pub compact_at: Option<u64>,
}

/// `[mcp.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpTable {
    pub command: Option<String>,
    pub url: Option<String>,
    pub key_env: Option<String>,
}

/// Money as a number or as a text such as `"$2.50"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dollars(pub Money);

/// A span as a text such as `"30s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Millis);

/// A span as a text, or a whole number of milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause(pub Millis);

/// One text, or a list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneOrMore(pub Vec<String>);

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
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Dollars, E> {
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
                f.write_str("a whole number of milliseconds or a duration such as \"2s\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Pause, E> {
                let negative = || E::custom(format!("{number} is negative: a pause is 0 or more milliseconds"));
                u64::try_from(number).map(|millis| Pause(Millis(millis))).map_err(|_| negative())
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Pause, E> {
                Ok(Pause(Millis(number)))
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
