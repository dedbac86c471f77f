use super::*;

#[test]
fn a_stream_is_told_as_people_would_tell_it() {
    let kind = AgentKind::Claude { program: "claude".into() };
    let mut readable = Readable::of(&kind).unwrap();
    let line = |content: &str| {
        format!(r#"{{"type":"assistant","message":{{"id":"m1","role":"assistant","content":[{content}]}}}}"#) + "\n"
    };
    let mut text =
        readable.push(&line(r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"npm test"}}"#));
    text += &readable.push("{\"type\":\"some");
    text += &readable.push("thing new\"}\nnot JSON\n");
    text += &readable.push(&line(r#"{"type":"text","text":"All tests pass.\nI am done."}"#));
    assert_eq!(text, "  > Bash: npm test\nAll tests pass.\nI am done.\n");
}

#[test]
fn a_command_prints_for_people_already() {
    assert!(Readable::of(&AgentKind::Command { command: "./x".into() }).is_none());
}
