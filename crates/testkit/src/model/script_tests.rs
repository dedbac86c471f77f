use std::fs;

use serde_json::json;

use super::*;

#[test]
fn a_script_reads_as_people_write_it() {
    let text = r#"{
        "directory": "/home/user/project",
        "replies": [
            {"say": "on it", "tools": [{"write": {"path": "a.txt", "content": "x"}}, {"shell": {"command": "ls"}}, {"read": {"path": "a.txt"}},
             {"call": {"name": "Agent", "input": {"prompt": "look"}}}], "usage": {"input": 5, "cache_read": 4, "cache_write": 3, "output": 2}},
            {"fault": {"refuse": {"rate_limited": {"retry_after": 3}}}, "times": 2},
            {"fault": {"status": {"code": 418, "body": "no", "headers": {"x-a": "b"}}}},
            {"fault": {"hang": {}}}, {"fault": {"hang": {"after_bytes": 9}}}, {"fault": {"cut": {"after_events": 2}}},
            {"fault": {"truncate": {"after_events": 5}}},
            {"fault": {"slow": {"delay_ms": 7}}}, {"fault": "drop"},
            {"fault": {"midway": {"after_events": 3, "trouble": "overloaded"}}, "stop": "max_tokens"}
        ],
        "then": "repeat",
        "side_usage": {"input": 1}
    }"#;
    let script: Script = serde_json::from_str(text).unwrap();
    let usage = Usage { input: 5, cache_read: 4, cache_write: 3, output: 2, reasoning: 0 };
    let first = Reply::say("on it").and(Tool::write("a.txt", "x")).and(Tool::shell("ls")).and(Tool::read("a.txt"));
    assert_eq!(script.replies[0], first.and(Tool::call("Agent", json!({ "prompt": "look" }))).usage(usage));
    assert_eq!(script.replies[1], Reply::refuse(Trouble::RateLimited { retry_after: Some(3) }).times(2));
    let faults: Vec<&Fault> = script.replies[3..].iter().map(|reply| reply.fault.as_ref().unwrap()).collect();
    let midway = Fault::Midway { after_events: 3, trouble: Trouble::Overloaded };
    assert_eq!(
        faults,
        [
            &Fault::hang(),
            &Fault::Hang { after_bytes: Some(9) },
            &Fault::Cut { after_events: 2 },
            &Fault::Truncate { after_events: 5 },
            &Fault::Slow { delay_ms: 7 },
            &Fault::Drop,
            &midway
        ]
    );
    assert_eq!(script.then, Then::Repeat);
    assert_eq!(script.side_usage, Usage { input: 1, ..Usage::ZERO });
    assert_eq!(script.directory, Some(PathBuf::from("/home/user/project")));
}

#[test]
fn what_is_written_is_what_is_read() {
    let script = Script::new()
        .reply(Reply::tool(Tool::shell("true")).model("other").stop(Stop::MaxTokens).header("x-a", "b").times(3))
        .reply(Reply::say("slow").with(Fault::Slow { delay_ms: 1 }).pieces(9))
        .then(Then::Refuse(Trouble::UsageLimit { resets_in: 60 }))
        .side_usage(Usage { output: 1, ..Usage::ZERO })
        .directory("/home/user/project");
    let text = serde_json::to_string(&script).unwrap();
    assert_eq!(serde_json::from_str::<Script>(&text).unwrap(), script);
}

#[test]
fn an_unknown_word_is_an_error() {
    for text in
        [r#"{"reply": []}"#, r#"{"replies": [{"says": ""}]}"#, r#"{"replies": [{"fault": {"refuse": "tired"}}]}"#]
    {
        assert!(serde_json::from_str::<Script>(text).is_err(), "{text}");
    }
    let folder = crate::scratch();
    let path = folder.path().join("script.json");
    assert!(matches!(Script::load(&path), Err(LoadError::Read { .. })));
    fs::write(&path, "{").unwrap();
    assert!(matches!(Script::load(&path), Err(LoadError::Parse { .. })));
    fs::write(&path, "{}").unwrap();
    assert_eq!(Script::load(&path).unwrap(), Script::new());
}

#[test]
fn replies_stand_for_as_many_requests_as_they_say() {
    let replies = [Reply::say("a"), Reply::say("b").times(2), Reply::say("never").times(0), Reply::say("c")];
    let said = |number| numbered(&replies, number).map(|(at, reply)| (at, reply.say.as_str()));
    assert_eq!([0, 1, 2, 3, 4].map(said), [Some((0, "a")), Some((1, "b")), Some((1, "b")), Some((3, "c")), None]);
}
