//! What is read of a request before it is forwarded: its format, its model, and what it can cost. Does no IO.

use std::io::Read as _;

use flate2::read::GzDecoder;
use hyper::Method;
use ralph_llm::wire::Format;
use ralph_model::{Price, Tokens};
use serde::Deserialize;
use serde_json::Number;

use crate::ledger::Estimate;
use crate::proxy::MAX_REQUEST;

/// An answer of a usual length, in tokens.
const USUAL_OUTPUT: u64 = 2_000;
/// The longest answer of a model that is not told how long it may be.
const LONGEST_OUTPUT: u64 = 128_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An answer, which costs money.
    Answer(Format),
    /// Something free: a list of models, a count of tokens.
    Free,
    /// It is not known, so that it may cost something.
    Unknown,
}

impl Purpose {
    pub(crate) fn of(method: &Method, path: &str) -> Self {
        // A service may read `..`, `%2e` or `;` in another way than this does.
        let is_odd = |part: &str| matches!(part, "." | "..") || part.contains(['%', ';', '\\']);
        match *method {
            Method::GET | Method::HEAD | Method::OPTIONS | Method::DELETE => Self::Free,
            Method::POST if !path.split('/').any(is_odd) => Self::of_path(path.trim_end_matches('/')),
            _ => Self::Unknown,
        }
    }

    fn of_path(path: &str) -> Self {
        let last = path.rsplit('/').next().unwrap_or_default();
        match last {
            "count_tokens" | "input_tokens" => Self::Free,
            "messages" => Self::Answer(Format::Messages),
            "completions" => Self::Answer(Format::Chat),
            "responses" => Self::Answer(Format::Responses),
            "compact" if path.ends_with("/responses/compact") => Self::Answer(Format::Responses),
            // What Claude Code reports about itself.
            _ if OWN_REPORTS.iter().any(|own| path.starts_with(own)) => Self::Free,
            _ if last.ends_with(":countTokens") => Self::Free,
            _ if last.ends_with(":generateContent") || last.ends_with(":streamGenerateContent") => {
                Self::Answer(Format::Gemini)
            }
            _ => Self::Unknown,
        }
    }
}

const OWN_REPORTS: [&str; 3] = ["/api/event_logging/", "/api/claude_code/", "/api/claude_cli/"];

/// How many tokens the bytes of a request are, about: as many as they were at most in this run, and no fewer than usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Density {
    tokens: u64,
    bytes: u64,
}

impl Default for Density {
    fn default() -> Self {
        Self { tokens: 1, bytes: 4 }
    }
}

impl Density {
    fn of(self, bytes: u64) -> u64 {
        let tokens = u128::from(bytes) * u128::from(self.tokens) / u128::from(self.bytes.max(1));
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }

    /// A request of so many bytes was so many tokens.
    pub(crate) fn learn(&mut self, asked: &Asked, tokens: u64) {
        if asked.bytes > 0 && tokens > self.of(asked.bytes) {
            *self = Self { tokens, bytes: asked.bytes };
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) model: String,
    pub(crate) bytes: u64,
    longest: Option<u64>,
    /// How many answers it asks for.
    answers: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Body {
    model: Option<String>,
    max_tokens: Option<Number>,
    max_completion_tokens: Option<Number>,
    max_output_tokens: Option<Number>,
    n: Option<Number>,
    background: Option<bool>,
    #[serde(rename = "generationConfig", alias = "generation_config")]
    generation: Option<Generation>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Generation {
    #[serde(rename = "maxOutputTokens", alias = "max_output_tokens")]
    max_output_tokens: Option<Number>,
    #[serde(rename = "candidateCount", alias = "candidate_count")]
    candidates: Option<Number>,
}

impl Asked {
    /// What a request asks for; none where that cannot be read, or where its answer would not come back with it.
    pub(crate) fn parse(format: Format, path: &str, encoding: &str, bytes: &[u8]) -> Option<Self> {
        let mut decoded = Vec::new();
        let plain = match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => bytes,
            "gzip" | "x-gzip" => {
                let limit = u64::try_from(MAX_REQUEST).unwrap_or(u64::MAX);
                GzDecoder::new(bytes).take(limit).read_to_end(&mut decoded).ok()?;
                &decoded
            }
            _ => return None,
        };
        let body: Body = serde_json::from_slice(plain).ok()?;
        if body.background == Some(true) {
            return None;
        }
        let named = match format {
            // `/v1beta/models/NAME:generateContent`
            Format::Gemini => path.rsplit('/').next().and_then(|last| last.split(':').next()).map(str::to_owned),
            Format::Messages | Format::Responses | Format::Chat => body.model,
        };
        let generation = body.generation.unwrap_or_default();
        let longest = body.max_tokens.or(body.max_completion_tokens).or(body.max_output_tokens);
        let longest = longest.or(generation.max_output_tokens).and_then(|number| number.as_u64());
        let answers = body.n.or(generation.candidates).and_then(|number| number.as_u64()).unwrap_or(1).max(1);
        Some(Self { model: named.unwrap_or_default(), bytes: length(plain), longest, answers })
    }

    pub(crate) fn unread(bytes: &[u8]) -> Self {
        Self { bytes: length(bytes), ..Self::default() }
    }

    /// Tokens of the request, about.
    pub(crate) fn input(&self, density: Density) -> u64 {
        density.of(self.bytes)
    }

    pub(crate) fn estimate(&self, price: &Price, density: Density) -> Estimate {
        let input = self.input(density);
        let with = |output: u64| {
            price.request(Tokens { input, output: output.saturating_mul(self.answers), ..Tokens::default() })
        };
        let longest = self.longest.unwrap_or(LONGEST_OUTPUT);
        let least = price.request(Tokens { cache_read: input, ..Tokens::default() });
        Estimate { least, usual: with(longest.min(USUAL_OUTPUT)), most: with(longest) }
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Tokens that fit into the context of a model; none where that is not known.
pub(crate) fn window(model: &str) -> Option<u64> {
    let model = model.to_ascii_lowercase();
    let name = model.rsplit('/').next().unwrap_or(&model);
    let starts = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    if starts(&["claude-fable", "claude-mythos"]) || name.contains("[1m]") {
        Some(1_000_000)
    } else if name.contains("claude") {
        Some(200_000)
    } else if starts(&["gemini-", "gpt-4.1"]) {
        Some(1_048_576)
    } else if starts(&["gpt-5", "gpt-6"]) {
        Some(400_000)
    } else if starts(&["gpt-4o", "gpt-4-turbo"]) {
        Some(128_000)
    } else if starts(&["o1", "o3", "o4"]) {
        Some(200_000)
    } else {
        None
    }
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
