use ralph_model::Launch;

use super::*;

fn paths(variables: &[(&str, &str)]) -> Vec<String> {
    let found =
        writable(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value)));
    found.iter().map(|path| path.display().to_string()).collect()
}

#[test]
fn caches_may_be_written_and_programs_and_startup_files_may_not() {
    let paths = paths(&[("HOME", "/users/ada"), ("CARGO_HOME", "/opt/cargo"), ("GOCACHE", "/var/go")]);
    for allowed in ["/tmp", "/users/ada/.npm", "/users/ada/.cargo/registry", "/opt/cargo/git", "/var/go"] {
        assert!(paths.contains(&allowed.to_owned()), "{allowed} in {paths:?}");
    }
    for kept in [
        "/users/ada",
        "/users/ada/.cargo",
        "/users/ada/.cargo/bin",
        "/opt/cargo",
        "/users/ada/.local",
        "/users/ada/.ssh",
    ] {
        assert!(!paths.contains(&kept.to_owned()), "{kept} in {paths:?}");
    }
}

#[test]
fn a_variable_that_names_everything_or_nothing_allows_nothing() {
    let paths = paths(&[("HOME", "/"), ("GOCACHE", "/"), ("TMPDIR", "relative")]);
    assert_eq!(paths, ["/tmp", "/var/tmp"]);
}

#[test]
fn what_says_how_an_agent_works_is_kept_wherever_it_is() {
    let variable = |name: &str| match name {
        "HOME" => Some(OsString::from("/users/ada")),
        "CODEX_HOME" => Some(OsString::from("/opt/codex")),
        _ => None,
    };
    let codex = kept(&AgentSpec::program("codex", "codex"), variable);
    for path in ["/users/ada/.codex/config.toml", "/opt/codex/config.toml"] {
        assert!(codex.contains(&PathBuf::from(path)), "{path} in {codex:?}");
    }
    assert!(!codex.iter().any(|path| path.ends_with("auth.json")), "a login is renewed by the program itself");
}

#[test]
fn a_server_keeps_the_settings_of_the_program_in_its_command() {
    let variable = |name: &str| match name {
        "HOME" => Some(OsString::from("/users/ada")),
        "CLAUDE_CONFIG_DIR" => Some(OsString::from("/opt/claude")),
        _ => None,
    };
    let server = |command: &str| kept(&AgentSpec::new("server", "acp", Launch::Command(command.into())), variable);
    let claude = kept(&AgentSpec::program("claude", "claude"), variable);
    assert_eq!(server("npx claude-agent-acp"), claude);
    for path in
        ["/users/ada/.claude.json", "/opt/claude/.claude.json", "/users/ada/.claude/plugins", "/opt/claude/plugins"]
    {
        assert!(claude.contains(&PathBuf::from(path)), "{path} in {claude:?}");
    }
    assert!(server("my-own-server").is_empty(), "nobody knows its settings");
}

#[test]
fn settings_of_agents_are_for_agents_alone() {
    let variable = |name: &str| match name {
        "HOME" => Some(OsString::from("/users/ada")),
        "CODEX_HOME" => Some(OsString::from("/opt/codex")),
        _ => None,
    };
    let any = settings(&AgentSpec::command("x", "./x"), variable);
    let claude = settings(&AgentSpec::program("claude", "claude"), variable);
    for path in ["/users/ada/.claude", "/opt/codex", "/users/ada/.aider"] {
        assert!(any.contains(&PathBuf::from(path)), "{path} in {any:?}");
        assert_eq!(claude.contains(&PathBuf::from(path)), path.ends_with(".claude"), "{path}: to each its own");
        assert!(!writable(variable).contains(&PathBuf::from(path)), "{path}");
    }
}

#[test]
fn the_logins_of_other_agents_are_hidden_and_the_own_one_is_not() {
    let variable = |name: &str| match name {
        "HOME" => Some(OsString::from("/users/ada")),
        "CODEX_HOME" => Some(OsString::from("/opt/codex")),
        _ => None,
    };
    let list = |who: Option<&AgentSpec>, names: &[&str]| {
        let environment: Vec<_> = names.iter().map(|name| (OsString::from(name), OsString::from("x"))).collect();
        hidden(who, &environment, variable)
    };
    let (claude, codex) = (AgentSpec::program("claude", "claude"), AgentSpec::program("codex", "codex"));
    let command = AgentSpec::command("mine", "./agent");
    let cases = [
        (None, &[][..], &["/users/ada/.ssh", "/users/ada/.claude", "/opt/codex", "/users/ada/.aws"][..], &[][..]),
        (Some(&claude), &[], &["/users/ada/.ssh", "/users/ada/.codex", "/opt/codex"], &["/users/ada/.claude"]),
        (Some(&codex), &[], &["/users/ada/.claude", "/users/ada/.claude.json"], &["/users/ada/.codex", "/opt/codex"]),
        (Some(&claude), &["AWS_REGION"], &["/users/ada/.config/gcloud"], &["/users/ada/.aws"]),
        (Some(&command), &[], &["/users/ada/.ssh"], &["/users/ada/.claude", "/users/ada/.codex"]),
    ];
    for (who, variables, are_hidden, are_not) in cases {
        let paths = list(who, variables);
        assert!(are_hidden.iter().all(|path| paths.contains(&PathBuf::from(path))), "{who:?}: {paths:?}");
        assert!(!are_not.iter().any(|path| paths.contains(&PathBuf::from(path))), "{who:?}: {paths:?}");
    }
}
