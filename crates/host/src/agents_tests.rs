use super::*;
use ralph_config::parse;

fn layer(text: &str) -> Layer {
    parse(std::path::Path::new("config.toml"), text).unwrap_or_else(|error| panic!("{error}")).layer
}

#[test]
fn one_that_is_ready_comes_before_one_that_nobody_is_logged_in_to() {
    let user = layer("agent_order = ['codex', 'gemini', 'own', 'claude']\n[agents.own]\ncommand = 'x'");
    let seen = |spec: &AgentSpec| match spec.name.as_str() {
        "codex" => Readiness::NoLogin,
        "gemini" => Readiness::Missing,
        _ => Readiness::Usable,
    };
    assert_eq!(preferred(&user, seen), ["own", "claude", "codex"]);
    let names: Vec<String> = listed(&user).unwrap().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["codex", "gemini", "own", "claude", "opencode", "native"]);
}

#[test]
fn a_missing_program_of_ones_own_names_the_key_that_is_wrong() {
    let user = layer(
        "[agents.mine]\nkind = 'acp'\ncommand = 'nothere --acp'\n[agents.moved]\nkind = 'claude'\nprogram = '/no/claude'\n\
         [agents.server]\nkind = 'acp'\ncommand = 'opencode acp'",
    );
    let specs = listed(&user).unwrap();
    let advice = |name: &str| {
        let spec = specs.iter().find(|spec| spec.name == name).unwrap();
        advice(spec, Readiness::Missing).unwrap()
    };
    assert_eq!(advice("mine"), "`nothere` is not in PATH: install it, or fix `command` in [agents.mine]");
    assert_eq!(advice("moved"), "`/no/claude` is not there: install it, or fix `program` in [agents.moved]");
    assert!(advice("server").contains("npm install -g opencode-ai"), "{}", advice("server"));
    assert!(advice("claude").contains("npm install -g @anthropic-ai/claude-code"));
}

#[test]
fn a_default_without_a_price_is_told_until_somebody_prices_or_names_one() {
    let said = |file: &str| {
        let user = layer(file);
        let specs = listed(&user).unwrap();
        let prices = ralph_config::agents::prices(&user).unwrap();
        let told: Vec<String> = specs.iter().filter_map(|spec| note(spec, &prices)).collect();
        told.join("\n")
    };
    let told = said("");
    assert!(told.contains("gpt-6.1-sol") && told.contains("codex:gpt-6-sol") && told.lines().count() == 1, "{told}");
    for file in [
        "[agents.codex]\nmodel = 'gpt-6-sol'",
        "[agents.codex]\nunmetered = true",
        "[agents.codex]\nsettings = 'user'",
        "[prices.'gpt-6.1-sol']\ninput = 2\noutput = 8",
    ] {
        assert_eq!(said(file), "", "{file}");
    }
}
