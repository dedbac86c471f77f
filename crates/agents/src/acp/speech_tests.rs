use serde_json::json;

use super::*;

fn line(update: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}).to_string()
}

fn said(line: &str) -> Option<(&'static str, String, String)> {
    match read(line) {
        StreamLine::Chunk(piece) => Some((piece.voice, piece.message.into_owned(), piece.words.into_owned())),
        StreamLine::End | StreamLine::Other => None,
    }
}

#[test]
fn words_and_thoughts_are_pieces() {
    for voice in VOICES {
        let line =
            line(&json!({"sessionUpdate": voice, "messageId": "m", "content": {"type": "text", "text": "a \"b\"\n"}}));
        assert_eq!(said(&line), Some((voice, "m".into(), "a \"b\"\n".into())));
        let other = with(&line, "c \"d\"\n");
        assert_eq!(said(&other), Some((voice, "m".into(), "c \"d\"\n".into())));
        assert_eq!(other.len(), line.len(), "the rest of it stays");
    }
}

#[test]
fn other_messages_end_them_where_the_client_does() {
    let update = |kind: &str| line(&json!({"sessionUpdate": kind, "content": []}));
    let ask = json!({"id": 1, "method": "session/request_permission", "params": {}}).to_string();
    for end in [update("tool_call"), update("tool_call_update"), ask, json!({"id": 3, "result": {}}).to_string()] {
        assert_eq!(read(&end), StreamLine::End, "{end}");
    }
    let ask = json!({"id": 1, "method": "fs/read_text_file", "params": {}}).to_string();
    let image = line(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "image"}}));
    for beside in [update("usage_update"), update("plan"), ask, image, "{".into(), "no message".into()] {
        assert_eq!(read(&beside), StreamLine::Other, "{beside}");
    }
}
