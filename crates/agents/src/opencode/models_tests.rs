use std::collections::HashMap;
use std::fs;

use super::*;

const LISTED: &str = r#"opencode/free
{
  "id": "free",
  "cost": { "input": 0, "output": 0, "cache": { "read": 0, "write": 0 } }
}
scripted/known
{
  "id": "known",
  "api": { "url": "a/b" },
  "cost": { "input": 3, "output": 15 }
}
scripted/deep/name
{}
"#;

/// What a home with these files, relative to it, says of an agent.
fn read(files: &[(&str, &str)], spec: &AgentSpec, variables: &[(&str, &str)]) -> OwnChoice {
    let home = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut known: HashMap<&str, String> = variables.iter().map(|(name, value)| (*name, (*value).into())).collect();
    known.insert("HOME", home.path().to_str().unwrap().to_owned());
    let workspace = home.path().join("project/inner");
    fs::create_dir_all(home.path().join("project/.git")).unwrap();
    OwnChoice::read(spec, |name| known.get(name).cloned(), &workspace)
}

fn opencode() -> AgentSpec {
    AgentSpec::program("opencode", "opencode")
}

#[test]
fn models_are_read_with_whether_they_cost() {
    let found: Vec<(String, bool)> =
        listed_models(LISTED).into_iter().map(|model| (model.name, model.has_price)).collect();
    let expected = [("opencode/free", false), ("scripted/known", true), ("scripted/deep/name", false)];
    assert_eq!(found, expected.map(|(name, priced)| (name.to_owned(), priced)));
    for text in ["", "error: no", "a/b\n", "a/b\n{", "a/b\n{\"cost\": ", "{\"a/b\": 1}\n{}", " a/b\n{}"] {
        assert_eq!(listed_models(text), [], "{text:?}");
    }
}

#[test]
fn the_place_that_weighs_most_names_the_model() {
    const FILE: &str = ".config/opencode/opencode.jsonc";
    const PLAIN: &str = "{ /* mine */ \"model\": \"a/plain\", }";
    const AGENT: &str =
        r#"{"model": "a/plain", "agent": {"build": {"model": "a/build"}, "other": {"model": "a/other"}}}"#;
    let named = |text: &str, spec: &AgentSpec, variables: &[(&str, &str)]| read(&[(FILE, text)], spec, variables).named;
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(named("{}", &opencode(), &[]), None);
    assert_eq!(named(PLAIN, &opencode(), &[]), some("a/plain"));
    assert_eq!(named(AGENT, &opencode(), &[]), some("a/build"));
    let content = ("OPENCODE_CONFIG_CONTENT", r#"{"model": "a/content", "default_agent": "other"}"#);
    assert_eq!(named(PLAIN, &opencode(), &[content]), some("a/content"));
    assert_eq!(named(AGENT, &opencode(), &[content]), some("a/other"));
    let with = |args: &[&str]| AgentSpec {
        args: args.iter().map(|word| (*word).to_owned()).collect(),
        model: some("a/flag"),
        ..opencode()
    };
    assert_eq!(named(AGENT, &with(&[]), &[]), some("a/flag"));
    assert_eq!(named(AGENT, &with(&["-m", "a/word"]), &[]), some("a/word"));
    assert_eq!(named(AGENT, &AgentSpec { model: None, ..with(&["--agent=other"]) }, &[]), some("a/other"));
    let of_variable = r#"{"model": "{env:MY_MODEL}"}"#;
    assert_eq!(named(of_variable, &opencode(), &[("MY_MODEL", "a/mine")]), some("a/mine"));
    assert_eq!(named(r#"{"model": "{file:model.txt}"}"#, &opencode(), &[]), None);
}

#[test]
fn settings_of_the_project_count_only_for_whoever_keeps_the_users_settings() {
    let files = [
        (".config/opencode/opencode.json", r#"{"model": "a/user"}"#),
        ("project/opencode.json", r#"{"model": "a/root"}"#),
        ("project/inner/opencode.json", r#"{"model": "a/inner"}"#),
    ];
    let user = AgentSpec { user_settings: true, ..opencode() };
    assert_eq!(read(&files, &opencode(), &[]).named.as_deref(), Some("a/user"));
    assert_eq!(read(&files, &user, &[]).named.as_deref(), Some("a/inner"));
    let content = ("OPENCODE_CONFIG_CONTENT", r#"{"model": "a/content"}"#);
    assert_eq!(read(&files, &user, &[content]).named.as_deref(), Some("a/content"));
}

#[test]
fn without_a_name_it_is_a_model_used_before_or_one_of_the_described_providers() {
    const RECENT: &str =
        r#"{"recent": [{"providerID": "gone", "modelID": "x"}, {"providerID": "scripted", "modelID": "known"}]}"#;
    let listed = listed_models(LISTED);
    let among = |files: &[(&str, &str)]| {
        read(files, &opencode(), &[]).among(&listed).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(among(&[]).len(), 3);
    let settings = (".config/opencode/opencode.json", r#"{"provider": {"scripted": {}}}"#);
    assert_eq!(among(&[settings]), ["scripted/known", "scripted/deep/name"]);
    let state = (".local/state/opencode/model.json", RECENT);
    assert_eq!(among(&[settings, state]), ["scripted/known"]);
    let named = (".config/opencode/opencode.json", r#"{"model": "other/one"}"#);
    assert_eq!(among(&[named, state]), ["other/one"]);
}
