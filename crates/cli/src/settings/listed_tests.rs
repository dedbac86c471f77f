use super::*;
use crate::settings::parse;

fn layer(text: &str) -> Layer {
    parse(std::path::Path::new("config.toml"), text).unwrap_or_else(|error| panic!("{error}")).layer
}

#[test]
fn an_order_names_agents_that_exist() {
    let said = |file: &str| unknown_in_order(&layer(file));
    assert_eq!(said("agent_order = ['codex', 'helper']\n[agents.helper]\ncommand = 'x'"), None);
    assert_eq!(said("agent_order = []"), None);
    let wrong = said("agent_order = ['claude', 'cluade']\n[agents.helper]\ncommand = 'x'").unwrap();
    assert!(wrong.contains("`cluade`") && wrong.contains("did you mean `claude`?"), "{wrong}");
    assert!(wrong.contains("claude, codex, gemini, helper, opencode"), "{wrong}");
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
    assert_eq!(names, ["codex", "gemini", "own", "claude", "opencode"]);
}
