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
        ("/api/chat", Purpose::Unknown),
        ("/api/llm/v1/images/generations", Purpose::Unknown),
        ("//v1/messages", Purpose::Answer(Format::Messages)),
        ("/v1/messages/", Purpose::Answer(Format::Messages)),
        ("/api/event_logging/../../v1/embeddings", Purpose::Unknown),
        ("/v1/messages/%2e%2e/messages/count_tokens", Purpose::Unknown),
        ("/v1/messages;/count_tokens", Purpose::Unknown),
        ("/v1/messages%3f/count_tokens", Purpose::Unknown),
        ("/v1/chat/completions/..", Purpose::Unknown),
        ("/api/v1/chat/completions", Purpose::Answer(Format::Chat)),
        ("/api/v1/chat/complet%69ons", Purpose::Unknown),
        ("/api/v1/embeddings", Purpose::Unknown),
    ] {
        assert_eq!(Purpose::of(&Method::POST, path), purpose, "{path}");
    }
    assert_eq!(Purpose::of(&Method::GET, "/v1/models"), Purpose::Free);
    for method in ["PUT", "PATCH", "TRACE", "CONNECT", "post"] {
        assert_eq!(Purpose::of(&method.parse().unwrap(), "/v1/models"), Purpose::Unknown, "{method}");
    }
}

#[test]
fn a_request_costs_its_input_and_at_most_its_longest_answer() {
    let body = format!(r#"{{"model":"claude-sonnet-4-5","max_tokens":32000,"x":"{}"}}"#, "x".repeat(4_000_000));
    let asked = Asked::parse(Format::Messages, "/v1/messages", "", body.as_bytes()).unwrap();
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
    let path = "/v1beta/models/gemini-2.5-pro:generateContent";
    let asked = Asked::parse(Format::Gemini, path, "", gemini.as_bytes()).unwrap();
    assert_eq!((asked.model.as_str(), asked.longest), ("gemini-2.5-pro", Some(7)));
    assert_eq!(window("claude-opus-5"), Some(200_000));
    assert_eq!(window("scripted-1"), None);
}

#[test]
fn what_cannot_be_read_is_not_guessed() {
    let parse = |encoding: &str, body: &[u8]| Asked::parse(Format::Chat, "/v1/chat/completions", encoding, body);
    let body = br#"{"model":"gpt-5.5","max_tokens":1e3,"n":8,"messages":[]}"#;
    let plain = parse("", body).unwrap();
    assert_eq!((plain.longest, plain.answers), (None, 8), "a number that is none counts as no limit");
    let mut encoder = flate2::read::GzEncoder::new(&body[..], flate2::Compression::fast());
    let mut encoded = Vec::new();
    encoder.read_to_end(&mut encoded).unwrap();
    assert_eq!(parse("gzip", &encoded), Some(plain));
    for (encoding, body) in [
        ("zstd", &body[..]),
        ("br", body),
        ("gzip", body),
        ("", b"<html>"),
        ("", br#"{"model":"cheap","model":"dear"}"#),
        ("", br#"{"model":["dear"]}"#),
        ("", br#"{"model":"gpt-5.5","background":true}"#),
    ] {
        assert_eq!(parse(encoding, body), None, "{encoding} {}", String::from_utf8_lossy(body));
    }
    let prices = PriceList::default();
    let price = prices.of("gpt-5.5").unwrap();
    let of = |body: &[u8]| parse("", body).unwrap().estimate(price, Density::default());
    let (one, eight) = (of(br#"{"model":"gpt-5.5"}"#), of(br#"{"model":"gpt-5.5","n":8}"#));
    assert!(eight.usual.micros() > 7 * one.usual.micros(), "{one:?} {eight:?}");
}
