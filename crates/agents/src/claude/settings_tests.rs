use serde_json::json;

use super::*;

fn with(user: &str) -> (Value, Vec<(OsString, OsString)>) {
    let settings = RunSettings::new(Some("guard"), &[]).with_login(Some(user));
    (serde_json::from_str(&settings.json).unwrap(), settings.environment)
}

#[test]
fn the_login_stays_and_what_runs_programs_goes() {
    let user = json!({
        "apiKeyHelper": "get-key",
        "awsAuthRefresh": "aws sso login",
        "aKeyOfTomorrow": 1,
        "model": "opus",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "never"}]}]},
        "enabledPlugins": {"x": true},
        "statusLine": {"type": "command", "command": "never"},
        "disableAllHooks": true,
    });
    let (settings, environment) = with(&user.to_string());
    assert_eq!(settings["apiKeyHelper"], "get-key");
    assert_eq!(settings["awsAuthRefresh"], "aws sso login");
    assert_eq!(settings["aKeyOfTomorrow"], 1);
    assert_eq!(settings["model"], "opus");
    assert!(!settings.to_string().contains("never"), "{settings}");
    assert!(settings.get("enabledPlugins").is_none() && settings.get("disableAllHooks").is_none());
    assert_eq!(settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"], "guard");
    assert_eq!(environment, []);
}

#[test]
fn permissions_can_only_take_away() {
    let user =
        json!({"permissions": {"allow": ["Bash"], "ask": ["Read"], "defaultMode": "plan", "deny": ["Read(./key)"]}});
    let (settings, _) = with(&user.to_string());
    assert_eq!(settings["permissions"], json!({"deny": ["Read(./key)"]}));
}

#[test]
fn variables_go_into_the_environment_and_not_into_the_file() {
    let user = json!({"env": {"ANTHROPIC_AUTH_TOKEN": "secret", "AWS_COUNT": 3, "CLAUDE_CODE_USE_BEDROCK": true, "NODE_OPTIONS": "--require ./x", "LIST": ["no"], "A=B": "no", "": "no", "NUL": "\u{0}"}});
    let (settings, environment) = with(&user.to_string());
    assert!(settings.get("env").is_none());
    let expected = [("ANTHROPIC_AUTH_TOKEN", "secret"), ("AWS_COUNT", "3"), ("CLAUDE_CODE_USE_BEDROCK", "true")]
        .map(|(name, value)| (name.into(), value.into()));
    assert_eq!(environment, expected);
}

#[test]
fn settings_that_are_none_change_nothing() {
    let alone = RunSettings::new(Some("guard"), &[]).json;
    for broken in ["", "[]", "{", "null", "7"] {
        assert_eq!(RunSettings::new(Some("guard"), &[]).with_login(Some(broken)).json, alone, "{broken}");
    }
    assert_eq!(RunSettings::new(None, &[]).json, "{}");
}

#[test]
fn prohibited_paths_are_refused_by_the_program_itself_too() {
    let globs = ["src/auth/**".to_owned(), ".env".to_owned()];
    let alone: Value = serde_json::from_str(&RunSettings::new(None, &globs).json).unwrap();
    assert_eq!(alone["permissions"]["deny"], json!(["Edit(src/auth/**)", "Edit(.env)"]));
    let user = r#"{"permissions": {"deny": ["Read(secrets/**)"], "allow": ["Bash"]}}"#;
    let both: Value = serde_json::from_str(&RunSettings::new(None, &globs).with_login(Some(user)).json).unwrap();
    assert_eq!(both["permissions"], json!({"deny": ["Read(secrets/**)", "Edit(src/auth/**)", "Edit(.env)"]}));
    for broken in ["null", "[]", "\"x\"", "7"] {
        let user = format!("{{\"permissions\": {broken}}}");
        let both: Value = serde_json::from_str(&RunSettings::new(None, &globs).with_login(Some(&user)).json).unwrap();
        assert_eq!(both["permissions"], alone["permissions"], "{user}");
    }
    let excepted = RunSettings::new(None, &[".env".to_owned(), "!.env".to_owned()]);
    assert_eq!(excepted.json, "{}", "an exception is beyond such a list");
}
