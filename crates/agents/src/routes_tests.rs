use ralph_model::Launch;

use super::*;

fn variables(pairs: &[(&str, &str)]) -> Variables {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn value(environment: &[(OsString, OsString)], name: &str) -> Option<String> {
    Found { environment }.value(name).map(str::to_owned)
}

/// The base and whether it goes through, for an agent with these variables.
fn base(spec: &AgentSpec, pairs: &[(&str, &str)]) -> Result<String, String> {
    match route(spec, &variables(pairs)) {
        Route::Through(services) => Ok(services[0].base.clone()),
        Route::Beside(why) => Err(why),
        Route::Nothing => Err(String::new()),
    }
}

#[test]
fn a_key_of_the_environment_is_replaced_and_another_login_stays() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap();
    let program = |name: &str| AgentSpec::program(name, name);
    let (claude, codex, gemini) = (program("claude"), program("codex"), program("gemini"));
    let key = ("ANTHROPIC_API_KEY", "sk-1");
    assert_eq!(base(&claude, &[("HOME", home), key]).unwrap(), ANTHROPIC);
    assert_eq!(base(&claude, &[key, ("ANTHROPIC_BASE_URL", "http://h:1")]).unwrap(), "http://h:1");
    assert_eq!(base(&claude, &[("HOME", home)]).unwrap_err(), OWN_LOGIN);
    assert_eq!(base(&claude, &[key, ("CLAUDE_CODE_USE_BEDROCK", "1")]).unwrap_err(), CLOUD);
    assert!(base(&claude, &[key, ("ANTHROPIC_AUTH_TOKEN", "other")]).is_err());
    std::fs::create_dir_all(folder.path().join(".claude")).unwrap();
    std::fs::write(folder.path().join(".claude/settings.json"), r#"{"apiKeyHelper":"./key.sh"}"#).unwrap();
    assert_eq!(base(&claude, &[("HOME", home), key]).unwrap_err(), OTHER_SETTINGS);

    assert_eq!(base(&codex, &[("HOME", home), ("OPENAI_API_KEY", "sk-2")]).unwrap(), OPENAI);
    std::fs::create_dir_all(folder.path().join(".codex")).unwrap();
    std::fs::write(folder.path().join(".codex/auth.json"), "{}").unwrap();
    assert_eq!(base(&codex, &[("HOME", home), ("OPENAI_API_KEY", "sk-2")]).unwrap_err(), OWN_LOGIN);
    assert!(base(&codex, &[("HOME", home), ("CODEX_API_KEY", "sk-2")]).is_ok());

    assert_eq!(base(&gemini, &[("HOME", home), ("GEMINI_API_KEY", "g")]).unwrap(), GEMINI);
    std::fs::create_dir_all(folder.path().join(".gemini")).unwrap();
    let oauth = r#"{"security":{"auth":{"selectedType":"oauth-personal"}}}"#;
    std::fs::write(folder.path().join(".gemini/settings.json"), oauth).unwrap();
    assert_eq!(base(&gemini, &[("HOME", home), ("GEMINI_API_KEY", "g")]).unwrap_err(), OTHER_SETTINGS);

    let command = AgentSpec::new("mine", AgentSpec::COMMAND, Launch::Command("./agent.sh".into()));
    assert_eq!(base(&command, &[("OPENAI_API_KEY", "sk-2")]).unwrap(), OPENAI);
    assert_eq!(route(&command, &variables(&[("HOME", home)])), Route::Nothing);
    let server = AgentSpec::new("server", "acp", Launch::Command("npx @zed-industries/claude-agent-acp".into()));
    assert_eq!(base(&server, &[key]).unwrap(), ANTHROPIC);
}

#[test]
fn the_key_leaves_the_environment() {
    let claude = AgentSpec::program("claude", "claude");
    let mut environment = variables(&[("ANTHROPIC_API_KEY", "sk-1"), ("COPY", "sk-1"), ("HTTPS_PROXY", "http://p:1")]);
    let Route::Through(services) = route(&claude, &environment) else { panic!("it has a key") };
    services[0].redirect(&mut environment, "http://127.0.0.1:5", "t0ken");
    assert_eq!(value(&environment, "ANTHROPIC_API_KEY").as_deref(), Some("t0ken"));
    assert_eq!(value(&environment, "ANTHROPIC_BASE_URL").as_deref(), Some("http://127.0.0.1:5"));
    assert_eq!(value(&environment, "NO_PROXY").as_deref(), Some(LOOPBACK));
    assert!(environment.iter().all(|(_, value)| value != "sk-1"), "{environment:?}");
}

#[test]
fn a_provider_of_opencode_is_moved_by_its_settings() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap();
    let spec = AgentSpec::program("opencode", "opencode");
    assert!(base(&spec, &[("HOME", home), ("ANTHROPIC_API_KEY", "k")]).is_err(), "no model is named");
    let own = r#"{"provider":{"mine":{"npm":"x","options":{"baseURL":"http://h:1/v1","apiKey":"{env:MY_KEY}"}}},"model":"mine/m"}"#;
    std::fs::create_dir_all(folder.path().join(".config/opencode")).unwrap();
    std::fs::write(folder.path().join(".config/opencode/opencode.json"), own).unwrap();
    let mut environment = variables(&[("HOME", home), ("MY_KEY", "secret"), (CONTENT, r#"{"share":"x"}"#)]);
    let Route::Through(services) = route(&spec, &environment) else { panic!("its settings name address and key") };
    assert_eq!((services[0].base.as_str(), services[0].key.as_str()), ("http://h:1/v1", "secret"));
    services[0].redirect(&mut environment, "http://127.0.0.1:5/v1", "t0ken");
    assert_eq!(value(&environment, "MY_KEY").as_deref(), Some("t0ken"));
    let content: Value = serde_json::from_str(&value(&environment, CONTENT).unwrap()).unwrap();
    let options = json!({ "baseURL": "http://127.0.0.1:5/v1", "apiKey": "t0ken" });
    assert_eq!(content, json!({ "share": "x", "provider": { "mine": { "options": options } } }));
    let anthropic = AgentSpec { model: Some("anthropic/claude-x".into()), ..spec };
    assert!(base(&anthropic, &[("HOME", home), ("ANTHROPIC_API_KEY", "k")]).is_ok());
    std::fs::create_dir_all(folder.path().join(".local/share/opencode")).unwrap();
    std::fs::write(folder.path().join(".local/share/opencode/auth.json"), r#"{"anthropic":{"type":"oauth"}}"#).unwrap();
    assert_eq!(base(&anthropic, &[("HOME", home), ("ANTHROPIC_API_KEY", "k")]).unwrap_err(), OWN_LOGIN);
}
