use ralph_model::Launch;

use super::*;

#[test]
fn every_program_is_a_kind_and_every_kind_has_its_program() {
    for program in Program::all() {
        assert_eq!(Program::of(&AgentSpec::program(program.name, "x")).unwrap().name, program.name);
    }
    let names: Vec<&str> = Program::all().map(|program| program.name).collect();
    assert_eq!(names, ["claude", "codex", "opencode", "gemini"], "the order in which they are looked for");
}

#[test]
fn a_server_is_known_by_the_program_in_its_command() {
    let acp = |command: &str| {
        let spec = AgentSpec::new("server", "acp", Launch::Command(command.to_owned()));
        Program::of(&spec).map(|program| program.name)
    };
    assert_eq!(acp("opencode acp"), Some("opencode"));
    assert_eq!(acp("npx @zed-industries/claude-agent-acp"), Some("claude"));
    assert_eq!(acp("/opt/bin/gemini --acp"), Some("gemini"));
    assert_eq!(acp("my-claudette"), None);
    assert_eq!(acp("/opt/claude/bin/codex-acp"), Some("codex"), "where it lies says nothing");
    assert_eq!(acp("my-server --config claude.json"), None);
    assert_eq!(acp("/opt/claude/my-server"), None);
    assert_eq!(acp("KEY=claude npx -y @zed-industries/codex-acp@0.16.0 --mode auto"), Some("codex"));
    assert_eq!(acp("env CLAUDE=1 bunx claude-code-acp"), Some("claude"));
    assert_eq!(acp("npm exec -- @google/gemini-cli --acp"), Some("gemini"));
    let installed = "node /opt/codex/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js";
    assert_eq!(acp(installed), Some("claude"));
    assert_eq!(acp("node ./gemini-acp.mjs"), Some("gemini"));
    assert_eq!(acp("node /opt/gemini/server.js"), None);
    assert_eq!(acp("npx"), None);
    assert_eq!(acp(""), None);
    assert!(Program::of(&AgentSpec::command("x", "claude -p")).is_none());
}

#[test]
fn a_cloud_is_reached_only_where_that_is_asked_for() {
    let claude = Program::of(&AgentSpec::program("claude", "claude")).unwrap();
    let bedrock = |name: &str| claude.reaches(name, |switch| switch == "CLAUDE_CODE_USE_BEDROCK");
    assert!(bedrock("AWS_REGION") && bedrock("AWS_BEARER_TOKEN_BEDROCK") && !bedrock("CLOUD_ML_REGION"));
    let vertex = |name: &str| claude.reaches(name, |switch| switch == "CLAUDE_CODE_USE_VERTEX");
    assert!(vertex("CLOUD_ML_REGION") && vertex("GOOGLE_APPLICATION_CREDENTIALS") && !vertex("AWS_REGION"));
    assert!(!claude.reaches("AWS_REGION", |_| false));
    assert!(Program::all().skip(1).all(|program| !program.reaches("AWS_REGION", |_| true)));
}

#[test]
fn each_gets_its_own_key_and_nobody_elses() {
    let owns = |name: &str, variable: &str| Program::all().find(|program| program.name == name).unwrap().owns(variable);
    assert!(
        owns("claude", "ANTHROPIC_API_KEY") && owns("claude", "CLAUDE_CONFIG_DIR") && owns("claude", "HTTPS_PROXY")
    );
    assert!(!owns("claude", "OPENAI_API_KEY") && !owns("claude", "AWS_SECRET_ACCESS_KEY"));
    assert!(owns("codex", "OPENAI_BASE_URL") && !owns("codex", "ANTHROPIC_API_KEY"));
    assert!(owns("gemini", "GEMINI_API_KEY") && !owns("gemini", "OPENAI_API_KEY"));
    assert!(owns("opencode", "OPENROUTER_API_KEY") && !owns("opencode", "DATABASE_PASSWORD"));
}
