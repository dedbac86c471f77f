use super::*;

#[test]
fn every_program_is_a_kind_and_every_kind_has_its_program() {
    for name in AgentKind::PROGRAMS {
        let kind = AgentKind::of_program(name, name.to_owned()).unwrap();
        assert_eq!(Program::of(&kind).unwrap().name, name);
    }
    assert_eq!(PROGRAMS.map(|program| program.name), AgentKind::PROGRAMS);
}

#[test]
fn a_server_is_known_by_the_program_in_its_command() {
    let acp = |command: &str| Program::of(&AgentKind::Acp { command: command.to_owned() }).map(|program| program.name);
    assert_eq!(acp("opencode acp"), Some("opencode"));
    assert_eq!(acp("npx @zed-industries/claude-agent-acp"), Some("claude"));
    assert_eq!(acp("/opt/bin/gemini --acp"), Some("gemini"));
    assert_eq!(acp("my-claudette"), None);
    assert!(Program::of(&AgentKind::Command { command: "claude -p".to_owned() }).is_none());
}

#[test]
fn each_gets_its_own_key_and_nobody_elses() {
    let owns =
        |name: &str, variable: &str| PROGRAMS.iter().find(|program| program.name == name).unwrap().owns(variable);
    assert!(
        owns("claude", "ANTHROPIC_API_KEY") && owns("claude", "CLAUDE_CONFIG_DIR") && owns("claude", "HTTPS_PROXY")
    );
    assert!(!owns("claude", "OPENAI_API_KEY") && !owns("claude", "AWS_SECRET_ACCESS_KEY"));
    assert!(owns("codex", "OPENAI_BASE_URL") && !owns("codex", "ANTHROPIC_API_KEY"));
    assert!(owns("gemini", "GEMINI_API_KEY") && !owns("gemini", "OPENAI_API_KEY"));
    assert!(owns("opencode", "OPENROUTER_API_KEY") && !owns("opencode", "DATABASE_PASSWORD"));
}
