use serde_json::json;

use super::*;

fn tokens(input: u64, cache_read: u64, cache_write: u64, output: u64) -> Tokens {
    Tokens { input, cache_read, cache_write, output, ..Tokens::default() }
}

#[test]
fn the_sum_tells_what_is_counted_where() {
    for (usage, expected) in [
        // Caches apart, as Claude and OpenCode count.
        (
            json!({"inputTokens": 4000, "outputTokens": 400, "cachedReadTokens": 800, "cachedWriteTokens": 1200, "totalTokens": 6400}),
            tokens(4000, 800, 1200, 400),
        ),
        // Caches inside of the input.
        (
            json!({"inputTokens": 1200, "outputTokens": 100, "cachedReadTokens": 200, "totalTokens": 1300}),
            tokens(1000, 200, 0, 100),
        ),
        // Thoughts apart, and inside of the output.
        (json!({"inputTokens": 10, "outputTokens": 5, "thoughtTokens": 3, "totalTokens": 18}), tokens(10, 0, 0, 8)),
        (json!({"inputTokens": 10, "outputTokens": 5, "thoughtTokens": 3, "totalTokens": 15}), tokens(10, 0, 0, 5)),
        // Without a sum the larger figure is the careful one.
        (json!({"inputTokens": 10, "outputTokens": 5, "thoughtTokens": 3}), tokens(10, 0, 0, 8)),
        (json!({"inputTokens": 1.5, "outputTokens": -3, "totalTokens": "x"}), tokens(2, 0, 0, 0)),
        (json!({"inputTokens": 1e300, "outputTokens": u64::MAX, "thoughtTokens": 9}), tokens(u64::MAX, 0, 0, u64::MAX)),
    ] {
        let used = of_result(&json!({"usage": usage}));
        assert_eq!(used, (vec![Used { model: None, tokens: expected }], Thoughts::Counted), "{usage}");
    }
}

#[test]
fn gemini_tells_models_apart() {
    let count = |input: u64| json!({"input_tokens": input, "output_tokens": 4});
    let quota = json!({"token_count": count(9), "model_usage": [{"model": "m", "token_count": count(6)}, {"model": "n", "token_count": count(3)}]});
    let used = of_result(&json!({"_meta": {"quota": quota}}));
    let of = |model: &str, input| Used { model: Some(model.into()), tokens: tokens(input, 0, 0, 4) };
    assert_eq!(used, (vec![of("m", 6), of("n", 3)], Thoughts::LeftOut));
    let used = of_result(&json!({"_meta": {"quota": {"token_count": count(9)}}}));
    assert_eq!(used.0, [Used { model: None, tokens: tokens(9, 0, 0, 4) }]);
    assert_eq!(of_result(&json!({"stopReason": "end_turn", "_meta": {}})).0, []);
}

#[test]
fn only_dollars_are_dollars() {
    let update = |amount: Value, currency: &str| json!({"used": 1, "cost": {"amount": amount, "currency": currency}});
    assert_eq!(dollars(&update(json!(0.5), "USD")), Some(0.5));
    assert_eq!(dollars(&update(json!(0.5), "EUR")), None);
    assert_eq!(dollars(&update(json!("0.5"), "USD")), None);
    assert_eq!(dollars(&json!({"used": 1})), None);
}
