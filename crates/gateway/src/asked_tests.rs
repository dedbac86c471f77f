use hyper::Method;
use ralph_model::{Money, PriceList};

use super::*;

#[test]
fn a_path_says_what_a_request_is_for() {
    for (path, purpose) in [
        ("/v1/messages", Purpose::Answer(Format::Messages)),
        ("/v1/messages/count_tokens", Purpose::Free),
        ("/v1/chat/completions", Purpose::Answer(Format::Chat)),
        ("/v1/responses", Purpose::Answer(Format::Responses)),
        ("/v1/responses/compact", Purpose::Answer(Format::Responses)),
        ("/v1beta/models/gemini-x:streamGenerateContent", Purpose::Answer(Format::Gemini)),
        ("/v1beta/models/gemini-x:countTokens", Purpose::Free),
        ("/v1/messages/batches", Purpose::Unknown),
        ("/v1/embeddings", Purpose::Unknown),
        ("/api/event_logging/batch", Purpose::Free),
        ("/api/v1/chat/completions", Purpose::Answer(Format::Chat)),
        ("/api/v1/chat/complet%69ons", Purpose::Unknown),
        ("/api/v1/embeddings", Purpose::Unknown),
    ] {
        assert_eq!(Purpose::of(&Method::POST, path), purpose, "{path}");
    }
    assert_eq!(Purpose::of(&Method::GET, "/v1/models"), Purpose::Free);
}

#[test]
fn a_request_costs_its_input_and_at_most_its_longest_answer() {
    let body = format!(r#"{{"model":"claude-sonnet-4-5","max_tokens":32000,"x":"{}"}}"#, "x".repeat(4_000_000));
    let asked = Asked::parse(Format::Messages, "/v1/messages", body.as_bytes());
    assert_eq!(asked.model, "claude-sonnet-4-5");
    let prices = PriceList::default();
    let price = prices.of("claude-sonnet-4-5").unwrap();
    let mut density = Density::default();
    let estimate = asked.estimate(price, density);
    assert!(estimate.usual > Money::dollars(3) && estimate.most > estimate.usual, "{estimate:?}");
    density.learn(&asked, 10);
    assert_eq!(density, Density::default(), "fewer tokens than usual teach nothing");
    density.learn(&asked, 2_000_000);
    assert!(asked.estimate(price, density).usual > Money::dollars(6));
    let gemini = r#"{"generationConfig":{"maxOutputTokens":7}}"#;
    let asked = Asked::parse(Format::Gemini, "/v1beta/models/gemini-2.5-pro:generateContent", gemini.as_bytes());
    assert_eq!((asked.model.as_str(), asked.longest), ("gemini-2.5-pro", Some(7)));
    assert_eq!(Asked::parse(Format::Chat, "/x", b"<html>").model, "");
    assert_eq!(window("claude-opus-5"), Some(200_000));
    assert_eq!(window("scripted-1"), None);
}
