use std::path::Path;

use ralph_model::AgentSpec;
use serde_json::json;

use super::*;
use crate::golden;

fn spec() -> AgentSpec {
    AgentSpec::program("opencode", "opencode")
}

fn request<'a>(directory: &Path, environment: &[(&str, &str)]) -> Request<'a> {
    golden::request("Fix \"it\".\n", golden::base(directory, environment))
}

fn variable(call: &Invocation, name: &str) -> Option<String> {
    let found = call.environment.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.to_str().unwrap().to_owned())
}

fn settings_of(call: &Invocation) -> Value {
    serde_json::from_str(&variable(call, "OPENCODE_CONFIG_CONTENT").unwrap()).unwrap()
}

#[test]
fn the_prompt_goes_over_standard_input_and_nothing_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec();
    spec.model = Some("anthropic/claude-x".into());
    spec.args = vec!["--variant".into(), "high".into()];
    let call = invocation(&spec, "/opt/opencode", &request(folder.path(), &[]));
    let words: Vec<&str> = call.program.iter().map(|word| word.to_str().unwrap()).collect();
    assert_eq!(words[..5], ["/opt/opencode", "run", "--format", "json", "--auto"]);
    assert!(words.windows(2).any(|pair| pair == ["--title", "ralph"]), "no request for a title");
    assert!(words.contains(&"--print-logs") && words.contains(&"--pure"));
    assert_eq!(words[words.len() - 4..], ["--model", "anthropic/claude-x", "--variant", "high"]);
    assert!(matches!(&call.stdin, Stdin::Bytes(bytes) if bytes == b"Fix \"it\".\n"));
    assert_eq!(variable(&call, "PWD").unwrap(), folder.path().to_str().unwrap());
}

#[test]
fn the_users_servers_are_off_and_the_rest_of_the_settings_stays() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir_all(home.join(".config/opencode")).unwrap();
    let user = "{\"mcp\": {\"mine\": {\"type\": \"local\"}}, // mine\n}";
    std::fs::write(home.join(".config/opencode/opencode.jsonc"), user).unwrap();
    std::fs::write(folder.path().join("AGENTS.md"), "Be kind.").unwrap();
    let own = r#"{"model": "p/m", "snapshot": true, "mcp": {"other": {"type": "local"}}, "instructions": ["x.md"]}"#;
    let environment = [
        ("HOME", home.to_str().unwrap()),
        ("OPENCODE_CONFIG_CONTENT", own),
        ("OPENCODE_PERMISSION", r#"{"bash": "ask", "task": "allow"}"#),
    ];
    let call = invocation(&spec(), "opencode", &request(folder.path(), &environment));
    let agents = folder.path().join("AGENTS.md");
    let expected = json!({
        "model": "p/m", "snapshot": false, "share": "disabled", "autoupdate": false,
        "mcp": {"mine": {"enabled": false}, "other": {"enabled": false}},
        "instructions": ["x.md", agents.to_str().unwrap()],
    });
    assert_eq!(settings_of(&call), expected);
    assert_eq!(variable(&call, "OPENCODE_PERMISSION").unwrap(), r#"{"bash":"ask","task":"deny"}"#);
    assert_eq!(variable(&call, "OPENCODE_DISABLE_PROJECT_CONFIG").unwrap(), "1");
}

#[test]
fn whoever_wants_the_users_settings_has_them() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("AGENTS.md"), "Be kind.").unwrap();
    let mut spec = spec();
    spec.user_settings = true;
    let call = invocation(&spec, "opencode", &request(folder.path(), &[]));
    assert!(!call.program.iter().any(|word| word == "--pure"));
    assert_eq!(variable(&call, "OPENCODE_DISABLE_PROJECT_CONFIG"), None);
    assert_eq!(settings_of(&call), json!({"snapshot": false, "share": "disabled", "autoupdate": false}));
    assert_eq!(variable(&call, "OPENCODE_PERMISSION").unwrap(), r#"{"task":"deny"}"#, "their cost would not be known");
}

#[test]
fn subagents_may_work_where_nobody_counts() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec();
    spec.unmetered = true;
    let call = invocation(&spec, "opencode", &request(folder.path(), &[]));
    assert_eq!(variable(&call, "OPENCODE_PERMISSION"), None);
}

#[test]
fn no_list_of_models_is_fetched_unless_the_user_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let fetching = |environment: &[(&str, &str)]| {
        variable(
            &invocation(&spec(), "opencode", &request(folder.path(), environment)),
            "OPENCODE_DISABLE_MODELS_FETCH",
        )
    };
    assert_eq!(fetching(&[]).as_deref(), Some("1"));
    assert_eq!(fetching(&[("OPENCODE_DISABLE_MODELS_FETCH", "0")]), None, "the user's own value stays");
}

#[test]
fn settings_that_cannot_be_read_are_left_to_opencode() {
    let folder = tempfile::tempdir().unwrap();
    let call = invocation(&spec(), "opencode", &request(folder.path(), &[("OPENCODE_CONFIG_CONTENT", "{oops")]));
    assert_eq!(variable(&call, "OPENCODE_CONFIG_CONTENT"), None, "the user's own value stays");
}
