//! What a server says that a prompt used, in the forms that servers have for it. Figures that cannot be right are left out.

use ralph_model::Tokens;
use serde_json::Value;

use crate::text::list;

/// Tokens of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) model: Option<String>,
    pub(super) tokens: Tokens,
}

/// Whether a count has the model's thoughts in it, which are sold like words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thoughts {
    Counted,
    LeftOut,
}

/// What the result of a prompt says: `usage` as the protocol has it, or `_meta.quota` as Gemini CLI has it.
pub(super) fn of_result(result: &Value) -> (Vec<Used>, Thoughts) {
    if let Some(usage) = result.get("usage").filter(|usage| usage.is_object()) {
        return (vec![Used { model: None, tokens: of_protocol(usage) }], Thoughts::Counted);
    }
    let Some(quota) = result.pointer("/_meta/quota") else { return (Vec::new(), Thoughts::Counted) };
    let all: Vec<Used> = list(&quota["model_usage"]).iter().filter_map(of_quota).collect();
    let all = if all.is_empty() { of_quota(quota).into_iter().collect() } else { all };
    (all, Thoughts::LeftOut)
}

/// What `cost` says in dollars, of the whole session so far.
pub(super) fn dollars(update: &Value) -> Option<f64> {
    let cost = update.get("cost")?;
    let is_dollars = cost.get("currency").and_then(Value::as_str).is_some_and(|code| code.eq_ignore_ascii_case("usd"));
    cost.get("amount").and_then(Value::as_f64).filter(|_| is_dollars)
}

/// Whether tokens from caches and thoughts are part of the input and of the output is told by the sum of it all.
fn of_protocol(usage: &Value) -> Tokens {
    let count = |name| usage.get(name).map(count).unwrap_or_default();
    let (input, output, thought) = (count("inputTokens"), count("outputTokens"), count("thoughtTokens"));
    let (cache_read, cache_write) = (count("cachedReadTokens"), count("cachedWriteTokens"));
    let cached = cache_read.saturating_add(cache_write);
    let plain = input.saturating_add(output);
    let total = usage.get("totalTokens").map(self::count).unwrap_or(u64::MAX);
    let has_caches = cached > 0 && cached <= input && (total == plain || total == plain.saturating_add(thought));
    // A sum that is too small for the thoughts to be apart says that they are not.
    let apart = plain.saturating_add(if has_caches { 0 } else { cached }).saturating_add(thought);
    let output = if total >= apart { output.saturating_add(thought) } else { output };
    let input = if has_caches { input - cached } else { input };
    Tokens { input, cache_read, cache_write, output, ..Tokens::default() }
}

/// What was read from caches is part of the input and not told: it counts as read.
fn of_quota(quota: &Value) -> Option<Used> {
    let tokens = quota.get("token_count")?;
    let count = |name| tokens.get(name).map(count).unwrap_or_default();
    let tokens = Tokens { input: count("input_tokens"), output: count("output_tokens"), ..Tokens::default() };
    Some(Used { model: quota.get("model").and_then(Value::as_str).map(str::to_owned), tokens })
}

/// A count, whatever kind of number it was written as.
fn count(value: &Value) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and no number is negative")]
    let whole = |number: f64| number.max(0.0).ceil() as u64;
    value.as_u64().or_else(|| value.as_f64().map(whole)).unwrap_or_default()
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
