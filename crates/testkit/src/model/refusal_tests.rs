use super::*;

const FORMATS: [Format; 4] = [Format::Anthropic, Format::Responses, Format::Chat, Format::Gemini];

fn about(format: Format) -> About<'static> {
    About { format, model: "model-1", serial: "7", now: Timestamp::from_second(1_750_000_000).unwrap() }
}

fn of(format: Format, trouble: &Trouble) -> Refusal {
    Refusal::of(trouble, about(format))
}

#[test]
fn each_service_has_its_own_status_for_a_trouble() {
    let limited = Trouble::RateLimited { retry_after: None };
    for (trouble, codes) in [
        (Trouble::ServerError, [500, 500, 500, 500]),
        (Trouble::Overloaded, [529, 503, 503, 503]),
        (limited, [429, 429, 429, 429]),
        (Trouble::UsageLimit { resets_in: 60 }, [429, 429, 429, 429]),
        (Trouble::Unauthorized, [401, 401, 401, 401]),
        (Trouble::InvalidKey, [401, 401, 401, 400]),
        (Trouble::Forbidden, [403, 403, 403, 403]),
        (Trouble::ModelNotFound, [404, 404, 404, 404]),
        (Trouble::ContextOverflow, [400, 400, 400, 400]),
        (Trouble::OutOfCredit, [400, 429, 429, 429]),
    ] {
        assert_eq!(FORMATS.map(|format| of(format, &trouble).code), codes, "{trouble:?}");
        let gemini = of(Format::Gemini, &trouble);
        assert_eq!(gemini.body["error"]["code"], gemini.code, "{trouble:?}");
    }
}

#[test]
fn a_rate_limit_says_how_long_to_wait_where_it_is_told() {
    let (told, untold) = (Trouble::RateLimited { retry_after: Some(9) }, Trouble::RateLimited { retry_after: None });
    for format in [Format::Anthropic, Format::Responses, Format::Chat] {
        assert_eq!(of(format, &told).headers["retry-after"], "9");
        assert!(!of(format, &untold).headers.contains_key("retry-after"));
    }
    let reset = &of(Format::Anthropic, &told).headers["anthropic-ratelimit-input-tokens-reset"];
    assert_eq!(reset, "2025-06-15T15:06:49Z");
    assert_eq!(of(Format::Chat, &told).headers["x-ratelimit-reset-tokens"], "9s");
    assert_eq!(of(Format::Responses, &told).body["error"]["code"], "rate_limit_exceeded");
    let gemini = of(Format::Gemini, &told);
    assert_eq!(gemini.body["error"]["status"], "RESOURCE_EXHAUSTED");
    assert_eq!(gemini.body["error"]["details"][1]["retryDelay"], "9s");
    assert_eq!(of(Format::Gemini, &untold).body["error"]["details"].as_array().unwrap().len(), 1);
}

#[test]
fn a_used_up_subscription_names_its_reset() {
    let trouble = Trouble::UsageLimit { resets_in: 3600 };
    let anthropic = of(Format::Anthropic, &trouble).headers;
    assert_eq!(anthropic["anthropic-ratelimit-unified-status"], "rejected");
    assert_eq!(anthropic["anthropic-ratelimit-unified-reset"], "1750003600");
    let openai = of(Format::Responses, &trouble);
    let error = &openai.body["error"];
    assert_eq!((&error["type"], &error["resets_at"]), (&json!("usage_limit_reached"), &json!(1_750_003_600)));
    assert_eq!((&error["resets_in_seconds"], error.get("code")), (&json!(3600), None));
    let violation = &of(Format::Gemini, &trouble).body["error"]["details"][0]["violations"][0];
    assert_eq!(violation["quotaId"], "GenerateRequestsPerDayPerProjectPerModel-FreeTier");
}

#[test]
fn the_words_are_those_of_the_service() {
    let message = |format, trouble: &Trouble| of(format, trouble).body["error"]["message"].as_str().unwrap().to_owned();
    let overflow = FORMATS.map(|format| message(format, &Trouble::ContextOverflow));
    assert_eq!(overflow[0], "prompt is too long: 208310 tokens > 200000 maximum");
    assert!(overflow[1].starts_with("Your input exceeds the context window of this model."), "{}", overflow[1]);
    assert!(overflow[2].starts_with("This model's maximum context length is 128000 tokens."), "{}", overflow[2]);
    assert!(overflow[3].starts_with("The input token count (1200000) exceeds"), "{}", overflow[3]);
    assert_eq!(of(Format::Chat, &Trouble::ContextOverflow).body["error"]["code"], "context_length_exceeded");
    assert_eq!(message(Format::Anthropic, &Trouble::ModelNotFound), "model: model-1");
    assert!(message(Format::Gemini, &Trouble::ModelNotFound).starts_with("models/model-1 is not found"));
    assert!(message(Format::Anthropic, &Trouble::OutOfCredit).starts_with("Your credit balance is too low"));
    assert_eq!(of(Format::Responses, &Trouble::OutOfCredit).body["error"]["code"], "insufficient_quota");
    assert_eq!(of(Format::Gemini, &Trouble::InvalidKey).body["error"]["details"][0]["reason"], "API_KEY_INVALID");
    let request = of(Format::Anthropic, &Trouble::Overloaded);
    assert_eq!(request.body["request_id"], request.headers["request-id"]);
}

#[test]
fn a_bare_status_has_the_words_of_the_service() {
    let status = |code| Status { code, body: None, headers: BTreeMap::from([("x-a".to_owned(), "b".to_owned())]) };
    let overloaded = Refusal::with_status(&status(529), about(Format::Anthropic));
    assert_eq!((overloaded.code, &overloaded.body["error"]["type"]), (529, &json!("overloaded_error")));
    assert_eq!(overloaded.headers["x-a"], "b");
    let odd = Refusal::with_status(&status(502), about(Format::Gemini));
    assert_eq!((odd.code, &odd.body["error"]["code"]), (502, &json!(502)));
}
