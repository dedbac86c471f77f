use super::*;

/// Agents as journals of every version hold them, and what they are.
fn written() -> [(&'static str, AgentSpec); 6] {
    let acp = AgentSpec::new("server", "acp", Launch::Command("opencode acp".into()));
    [
        (
            r#"{"name":"x","kind":"command","command":"./x","unmetered":true}"#,
            AgentSpec { unmetered: true, ..AgentSpec::command("x", "./x") },
        ),
        (
            r#"{"name":"claude","kind":"claude","program":"claude","unmetered":false}"#,
            AgentSpec::program("claude", "claude"),
        ),
        (
            r#"{"name":"codex","kind":"codex","program":"/opt/codex","model":"m","args":["-a"],"userSettings":true,"unmetered":false}"#,
            AgentSpec {
                model: Some("m".into()),
                args: vec!["-a".into()],
                user_settings: true,
                ..AgentSpec::program("codex", "/opt/codex")
            },
        ),
        (
            r#"{"name":"opencode","kind":"opencode","program":"opencode","unmetered":false}"#,
            AgentSpec::program("opencode", "opencode"),
        ),
        (
            r#"{"name":"gemini","kind":"gemini","program":"gemini","unmetered":false}"#,
            AgentSpec::program("gemini", "gemini"),
        ),
        (r#"{"name":"server","kind":"acp","command":"opencode acp","unmetered":false}"#, acp),
    ]
}

#[test]
fn agents_of_old_journals_are_read_and_written_byte_for_byte() {
    for (json, spec) in written() {
        assert_eq!(serde_json::from_str::<AgentSpec>(json).unwrap(), spec, "{json}");
        assert_eq!(serde_json::to_string(&spec).unwrap(), json);
    }
}

#[test]
fn a_kind_needs_no_variant_and_nothing_to_start() {
    let native = AgentSpec::new("devo", "native", None);
    let json = serde_json::to_string(&native).unwrap();
    assert_eq!(json, r#"{"name":"devo","kind":"native","unmetered":false}"#);
    assert_eq!(serde_json::from_str::<AgentSpec>(&json).unwrap(), native);
}
