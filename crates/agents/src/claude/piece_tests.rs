use std::fs;
use std::path::Path;

use serde_json::Value;

use super::*;

fn line(event: &str) -> String {
    format!(
        r#"{{"type":"stream_event","event":{event},"session_id":"s","parent_tool_use_id":null,"api_message_id":"m"}}"#
    )
}

fn piece(event: &str) -> Option<(String, usize)> {
    Piece::of(&line(event)).map(|piece| (piece.answer.into_owned(), piece.bytes))
}

#[test]
fn a_piece_is_as_long_as_what_was_written() {
    let words = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"größer"}}"#;
    assert_eq!(piece(words), Some(("m".to_owned(), 8)));
    let escaped = r#"{"delta":{"text":"a\n\"\u00e9","type":"text_delta"},"index":0,"type":"content_block_delta"}"#;
    assert_eq!(piece(escaped), Some(("m".to_owned(), 5)), "without the escapes");
    let input = r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}"#;
    assert_eq!(piece(input), Some(("m".to_owned(), 3)));
    let signature = r#"{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"xyz"}}"#;
    assert_eq!(piece(signature), Some(("m".to_owned(), 0)));
    let bare = r#"{"type":"stream_event","event":{"type":"content_block_delta"}}"#;
    assert_eq!(Piece::of(bare), Some(Piece { answer: Cow::Borrowed(""), bytes: 0 }));
}

#[test]
fn what_is_unusual_is_left_to_the_parser() {
    for event in [
        r#"{"type":"message_start","message":{"id":"m"}}"#,
        r#"{"type":"content_block_delta","delta":{"text":7}}"#,
        r#"{"type":"content_block_delta","delta":null}"#,
        r#"{"type":"content_block_delta","delta":{"text":"a"}"#,
        "null",
    ] {
        assert_eq!(piece(event), None, "{event}");
    }
    assert_eq!(Piece::of(r#"{"type":"assistant","event":{"type":"content_block_delta"}}"#), None);
    assert_eq!(Piece::of(r#"{"type":"stream_event","event":{"type":"content_block_delta"},"api_message_id":7}"#), None);
}

#[test]
fn recorded_pieces_are_found_and_have_their_length() {
    let mut count = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("streams/claude")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "jsonl") {
            continue;
        }
        for line in fs::read_to_string(path).unwrap().lines() {
            let value: Value = serde_json::from_str(line).unwrap_or_default();
            let is_piece = value["type"] == "stream_event" && value["event"]["type"] == "content_block_delta";
            let delta = &value["event"]["delta"];
            let bytes = ["text", "partial_json"].iter().filter_map(|name| delta[*name].as_str()).map(str::len).sum();
            let answer = Cow::Borrowed(value["api_message_id"].as_str().unwrap_or_default());
            assert_eq!(Piece::of(line), is_piece.then_some(Piece { answer, bytes }), "{line}");
            count += usize::from(is_piece);
        }
    }
    assert!(count > 50, "only {count} pieces are recorded");
}

#[test]
fn a_line_as_usual_is_read_as_json_would_be() {
    let usual = |text: &str| {
        line(&format!(r#"{{"type":"content_block_delta","index":12,"delta":{{"type":"text_delta","text":"{text}"}}}}"#))
    };
    for text in ["", "plain", "größer", r"a\nb", r#"\"api_message_id\":\"forged\""#, r"\\", "}}"] {
        let line = usual(text);
        let value: Value = serde_json::from_str(&line).unwrap();
        let bytes = value["event"]["delta"]["text"].as_str().unwrap().len();
        assert_eq!(Piece::of(&line), Some(Piece { answer: Cow::Borrowed("m"), bytes }), "{text}");
        assert_eq!(Piece::usual(&line).is_some(), !text.contains('\\'), "{text}");
        assert!(is_piece(&line));
    }
    // Nothing that is cut off anywhere is taken for a piece.
    let whole = usual("some words");
    for end in 0..whole.len() {
        assert_eq!(Piece::of(&whole[..end]), None, "{}", &whole[..end]);
    }
}
