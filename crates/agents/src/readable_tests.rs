use ralph_model::Launch;

use super::*;

/// What people are shown of events: messages, and a line for each call and trouble.
fn shown(events: Vec<AgentEvent>) -> String {
    let line = |event| match event {
        AgentEvent::Message { text } => Some(format!("{}\n", text.trim_end())),
        AgentEvent::ToolStarted { tool, summary, .. } if summary.is_empty() => Some(format!("  > {tool}\n")),
        AgentEvent::ToolStarted { tool, summary, .. } => Some(format!("  > {tool}: {summary}\n")),
        AgentEvent::Limit { trouble } => Some(format!("  > {trouble}\n")),
        _ => None,
    };
    events.into_iter().filter_map(line).collect()
}

#[test]
fn a_stream_is_told_as_people_would_tell_it() {
    let mut readable = Readable::of(&AgentSpec::program("claude", "claude"), Arc::default()).unwrap();
    let line = |content: &str| {
        format!(r#"{{"type":"assistant","message":{{"id":"m1","role":"assistant","content":[{content}]}}}}"#) + "\n"
    };
    let mut text =
        shown(readable.push(&line(r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"npm test"}}"#)));
    text += &shown(readable.push("{\"type\":\"some"));
    text += &shown(readable.push("thing new\"}\nnot JSON\n"));
    text += &shown(readable.push(&line(r#"{"type":"text","text":"All tests pass.\nI am done."}"#)));
    assert_eq!(text, "  > Bash: npm test\nAll tests pass.\nI am done.\n");
}

#[test]
fn a_command_prints_for_people_already() {
    assert!(Readable::of(&AgentSpec::command("x", "./x"), Arc::default()).is_none());
}

fn acp(redactor: Redactor) -> Readable {
    Readable::of(&AgentSpec::new("server", "acp", Launch::Command("server".into())), Arc::new(redactor)).unwrap()
}

fn update(update: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{{update}}}}}}}"#)
        + "\n"
}

fn chunk(words: &str) -> String {
    update(&format!(r#""sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{words}"}}"#))
}

const CALL: &str =
    r#""sessionUpdate":"tool_call","toolCallId":"1","title":"ls","kind":"execute","status":"in_progress""#;

#[test]
fn a_server_that_was_asked_for_a_model_is_heard() {
    let handshake = [
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
    ]
    .join("\n");
    let log = format!(
        "{handshake}\n{}{}{}{}{}\n",
        chunk("I am "),
        chunk("looking."),
        update(CALL),
        chunk("Done."),
        r#"{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"}}"#,
    );
    let words = "I am looking.\n  > ls\nDone.\n";
    assert_eq!(shown(acp(Redactor::default()).push(&log)), words);
    // Whoever follows a log begins anywhere in it.
    let from = log.find("looking").unwrap();
    assert_eq!(shown(acp(Redactor::default()).push(&log[from..])), "  > ls\nDone.\n");
}

#[test]
fn what_a_server_refuses_is_told() {
    let refusal = r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"429 Too Many Requests"}}"#;
    let transcript = shown(acp(Redactor::default()).push(&format!("{refusal}\n")));
    assert!(transcript.starts_with("  > ") && transcript.contains("429"), "{transcript}");
}

#[test]
fn words_that_lie_in_pieces_are_redacted_when_they_are_joined() {
    let redactor = || Redactor::new([("MY_API_KEY", "hunter2-very-long-secret-value")]);
    let log = chunk("It is hunter2-very-") + &chunk("long-secret-value.");
    let mut readable = acp(redactor());
    assert_eq!(shown(readable.push(&log)), "");
    assert_eq!(shown(readable.finish()), "It is [redacted:MY_API_KEY].\n");

    let mut readable = Readable::of(&AgentSpec::program("gemini", "gemini"), Arc::new(redactor())).unwrap();
    let piece =
        |words: &str| format!(r#"{{"type":"message","role":"assistant","content":"{words}","delta":true}}"#) + "\n";
    let transcript = shown(readable.push(&(piece("It is hunter2-very-") + &piece("long-secret-value."))));
    assert_eq!(transcript + &shown(readable.finish()), "It is [redacted:MY_API_KEY].\n");
}
