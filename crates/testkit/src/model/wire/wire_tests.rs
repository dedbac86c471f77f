use serde_json::json;

use super::super::answer::{Call, Input, Part};
use super::super::refusal::About;
use super::super::{Stop, Trouble, Usage};
use super::*;

/// A text, a call with arguments and a call with free text.
fn answer() -> Answer {
    let call = |name: &str, input| Part::Call(Call { name: name.to_owned(), namespace: None, input });
    Answer {
        serial: "7".to_owned(),
        model: "scripted-1".to_owned(),
        parts: vec![
            Part::Text("On it: größer.".to_owned()),
            call("write", Input::Json(json!({ "path": "a.txt", "content": "x\n" }))),
            call("apply_patch", Input::Free("*** Begin Patch\n".to_owned())),
        ],
        stop: None,
        usage: Usage { input: 1000, cache_read: 200, cache_write: 300, output: 50, reasoning: 10 },
        pieces: 3,
    }
}

fn text(parts: &[&str]) -> Answer {
    Answer { parts: parts.iter().map(|text| Part::Text((*text).to_owned())).collect(), ..answer() }
}

/// The payloads of server-sent events.
fn payloads(events: &[String]) -> Vec<Value> {
    let texts = events.iter().map(|event| event.trim_end().rsplit_once("data: ").unwrap().1);
    texts.filter(|text| *text != "[DONE]").map(|text| serde_json::from_str(text).unwrap()).collect()
}

#[test]
fn streams_are_those_of_the_services() {
    for (format, golden) in [
        (Format::Anthropic, include_str!("golden/anthropic.sse")),
        (Format::Responses, include_str!("golden/responses.sse")),
        (Format::Chat, include_str!("golden/chat.sse")),
        (Format::Gemini, include_str!("golden/gemini.sse")),
    ] {
        let streamed = events(format, &answer(), Totals::Sent).concat();
        assert!(streamed == golden, "{format:?} is now\n{streamed}");
    }
}

#[test]
fn a_text_comes_in_as_many_pieces_as_the_script_has_it() {
    let formats = [Format::Anthropic, Format::Responses, Format::Chat, Format::Gemini];
    let count = |format, pieces, words: &str| events(format, &Answer { pieces, ..text(&[words]) }, Totals::Sent).len();
    for format in formats {
        let one = count(format, 1, "größer");
        assert_eq!(count(format, 3, "größer") - one, 2, "{format:?}");
        assert_eq!(count(format, 1000, &"größer".repeat(1000)) - one, 999, "{format:?}");
        assert_eq!(count(format, 1000, "größer") - one, 5, "{format:?}: no piece is empty");
        assert_eq!(count(format, 0, "größer"), one, "{format:?}: nothing is lost");
    }
}

#[test]
fn what_is_streamed_adds_up_to_the_whole() {
    let answer = answer();
    let anthropic = payloads(&events(Format::Anthropic, &answer, Totals::Sent));
    let joined: String = anthropic.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(whole(Format::Anthropic, &answer)["content"][0]["text"], joined);
    let json: String = anthropic.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert_eq!(json, r#"{"content":"x\n","path":"a.txt"}{"input":"*** Begin Patch\n"}"#);

    let responses = payloads(&events(Format::Responses, &answer, Totals::Sent));
    assert_eq!(responses.last().unwrap()["response"], whole(Format::Responses, &answer));
    let items: Vec<&Value> = responses
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"])
        .collect();
    assert_eq!(whole(Format::Responses, &answer)["output"], json!(items));
    assert!(responses.iter().enumerate().all(|(at, event)| event["sequence_number"] == at));

    let chat = payloads(&events(Format::Chat, &answer, Totals::Sent));
    let joined: String = chat.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(whole(Format::Chat, &answer)["choices"][0]["message"]["content"], joined);
    assert_eq!(chat.last().unwrap()["usage"], whole(Format::Chat, &answer)["usage"]);

    let gemini = payloads(&events(Format::Gemini, &answer, Totals::Sent));
    assert_eq!(gemini.last().unwrap()["usageMetadata"], whole(Format::Gemini, &answer)["usageMetadata"]);
}

#[test]
fn usage_is_counted_as_each_service_counts() {
    let answer = answer();
    let anthropic = &whole(Format::Anthropic, &answer)["usage"];
    assert_eq!((&anthropic["input_tokens"], &anthropic["output_tokens"]), (&json!(1000), &json!(50)));
    assert_eq!(anthropic["cache_creation_input_tokens"], 300);
    assert_eq!(anthropic["cache_read_input_tokens"], 200);
    let responses = &whole(Format::Responses, &answer)["usage"];
    assert_eq!((&responses["input_tokens"], &responses["output_tokens"]), (&json!(1500), &json!(50)));
    assert_eq!(responses["input_tokens_details"]["cached_tokens"], 200);
    assert_eq!(responses["output_tokens_details"]["reasoning_tokens"], 10);
    let chat = &whole(Format::Chat, &answer)["usage"];
    assert_eq!((&chat["prompt_tokens"], &chat["completion_tokens"]), (&json!(1500), &json!(50)));
    assert_eq!(chat["prompt_tokens_details"]["cached_tokens"], 200);
    let gemini = &whole(Format::Gemini, &answer)["usageMetadata"];
    assert_eq!((&gemini["promptTokenCount"], &gemini["candidatesTokenCount"]), (&json!(1500), &json!(40)));
    assert_eq!((&gemini["cachedContentTokenCount"], &gemini["thoughtsTokenCount"]), (&json!(200), &json!(10)));
    assert_eq!(gemini["totalTokenCount"], 1550);
}

#[test]
fn the_stop_reason_follows_from_the_parts_unless_the_script_has_one() {
    let reasons = |answer: &Answer| {
        let responses = whole(Format::Responses, answer);
        [
            whole(Format::Anthropic, answer)["stop_reason"].clone(),
            responses["incomplete_details"]["reason"].clone(),
            whole(Format::Chat, answer)["choices"][0]["finish_reason"].clone(),
            whole(Format::Gemini, answer)["candidates"][0]["finishReason"].clone(),
        ]
    };
    assert_eq!(reasons(&answer()), [json!("tool_use"), Value::Null, json!("tool_calls"), json!("STOP")]);
    assert_eq!(reasons(&text(&["hi"])), [json!("end_turn"), Value::Null, json!("stop"), json!("STOP")]);
    let full = Answer { stop: Some(Stop::MaxTokens), ..text(&["hi"]) };
    assert_eq!(reasons(&full), ["max_tokens", "max_output_tokens", "length", "MAX_TOKENS"].map(Value::from));
    let declined = Answer { stop: Some(Stop::Refusal), ..text(&["hi"]) };
    assert_eq!(reasons(&declined), ["refusal", "content_filter", "content_filter", "SAFETY"].map(Value::from));
    let last = payloads(&events(Format::Responses, &full, Totals::Sent)).pop().unwrap();
    assert_eq!(last["type"], "response.incomplete");
}

#[test]
fn chat_sends_the_usage_only_to_those_who_ask_for_it() {
    let (with, without) =
        (events(Format::Chat, &answer(), Totals::Sent), events(Format::Chat, &answer(), Totals::Left));
    assert_eq!(with.len(), without.len() + 1);
    assert!(with.concat().contains("prompt_tokens") && !without.concat().contains("prompt_tokens"));
    assert_eq!(without.last().unwrap(), "data: [DONE]\n\n");
}

#[test]
fn an_empty_answer_is_still_an_answer() {
    let empty = text(&[]);
    assert_eq!(whole(Format::Anthropic, &empty)["content"], json!([]));
    assert_eq!(whole(Format::Responses, &empty)["output"], json!([]));
    assert_eq!(whole(Format::Chat, &empty)["choices"][0]["message"]["content"], Value::Null);
    for format in [Format::Anthropic, Format::Responses, Format::Chat, Format::Gemini] {
        assert!(!payloads(&events(format, &empty, Totals::Sent)).is_empty(), "{format:?}");
    }
}

#[test]
fn a_stream_that_breaks_ends_with_the_error_of_the_service() {
    let broken = |format| {
        let about = About { format, model: "m", serial: "7", now: jiff::Timestamp::UNIX_EPOCH };
        super::broken(format, &Refusal::of(&Trouble::Overloaded, about), &answer(), 4)
    };
    let anthropic = broken(Format::Anthropic);
    assert!(anthropic.starts_with("event: error\ndata: "), "{anthropic}");
    assert_eq!(payloads(&[anthropic])[0]["error"], json!({ "type": "overloaded_error", "message": "Overloaded" }));
    let responses = broken(Format::Responses);
    assert!(responses.starts_with("event: response.failed\n"), "{responses}");
    let failed = &payloads(&[responses])[0];
    assert_eq!(
        (&failed["response"]["error"]["code"], &failed["sequence_number"]),
        (&json!("server_is_overloaded"), &json!(4))
    );
    assert_eq!(payloads(&[broken(Format::Chat)])[0]["error"]["code"], "server_is_overloaded");
    let gemini: Value = serde_json::from_str(&broken(Format::Gemini)).unwrap();
    assert_eq!(gemini["error"]["status"], "UNAVAILABLE");
}
