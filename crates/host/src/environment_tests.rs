use std::ffi::OsString;

use super::*;

fn variables(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    list.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

fn names(environment: &Environment) -> Vec<String> {
    environment.variables.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
}

#[test]
fn only_the_usual_variables_are_handed_over() {
    let all = variables(&[
        ("PATH", "/bin"),
        ("LC_ALL", "C"),
        ("XDG_CACHE_HOME", "/c"),
        ("CARGO_HOME", "/cargo"),
        ("LD_PRELOAD", "/evil.so"),
        ("PYTHONPATH", "/evil"),
        ("NODE_OPTIONS", "--require /evil.js"),
        ("GIT_DIR", "/elsewhere"),
        ("RALPH_HOME", "/state"),
        ("SSH_AUTH_SOCK", "/agent"),
    ]);
    assert_eq!(names(&choose(all, &[])), ["CARGO_HOME", "LC_ALL", "PATH", "TERM", "XDG_CACHE_HOME"]);
}

#[test]
fn there_is_no_terminal_unless_somebody_insists() {
    let term = |named: &[String]| {
        let chosen = choose(variables(&[("TERM", "xterm-256color")]), named);
        chosen.variables.into_iter().map(|(_, value)| value.into_string().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(term(&[]), ["dumb"]);
    assert_eq!(term(&["TERM".into()]), ["xterm-256color"]);
}

#[test]
fn secrets_are_handed_over_by_name_only_and_always_reported() {
    let all = variables(&[
        ("ANTHROPIC_API_KEY", "sk-ant-123456789"),
        ("XDG_SECRET_THING", "hidden-value"),
        ("github_token", "ghp_0123456789"),
        ("DB_PASSWORD", "correct horse"),
        ("HOME", "/home/me"),
    ]);
    let chosen = choose(all.clone(), &[]);
    assert_eq!(names(&chosen), ["HOME", "TERM"]);
    let secrets: Vec<&str> = chosen.secrets.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(secrets, ["ANTHROPIC_API_KEY", "XDG_SECRET_THING", "github_token", "DB_PASSWORD"]);

    let named = choose(all, &["ANTHROPIC_API_KEY".into()]);
    assert_eq!(names(&named), ["HOME", "TERM"], "what checks run is the agent's to write");
    assert_eq!(named.for_agents, variables(&[("ANTHROPIC_API_KEY", "sk-ant-123456789")]));
    assert_eq!(named.absent, Vec::<String>::new());
    // Handed over is not the same as free to be printed.
    assert!(named.secrets.contains(&("ANTHROPIC_API_KEY".into(), "sk-ant-123456789".into())));
}

#[test]
fn names_say_what_is_secret() {
    for (name, secret) in [
        ("DB_PWD", true),
        ("PWD", false),
        ("OLDPWD", false),
        ("BASIC_AUTH", true),
        ("NPM_CONFIG__AUTH", true),
        ("AUTHORIZATION", true),
        ("GIT_AUTHOR_NAME", false),
        ("SESSION_COOKIE", true),
        ("COOKIES", true),
        ("GITHUB_PAT", true),
        ("PATH", false),
        ("my_pat", true),
    ] {
        assert_eq!(is_secret(OsStr::new(name)), secret, "{name}");
    }
}

#[test]
fn a_name_that_is_not_set_is_reported() {
    let chosen = choose(variables(&[("HTTP_PROXY", "http://p")]), &["HTTP_PROXY".into(), "HTTPS_PROXY".into()]);
    assert_eq!(names(&chosen), ["HTTP_PROXY", "TERM"]);
    assert_eq!(chosen.absent, ["HTTPS_PROXY"]);
}

#[test]
fn names_and_values_that_are_not_text_do_no_harm() {
    use std::os::unix::ffi::OsStringExt;
    let odd = (OsString::from_vec(vec![b'A', 0xff]), OsString::from_vec(vec![0xff]));
    let home = (OsString::from("HOME"), OsString::from_vec(vec![b'/', 0xff]));
    let chosen = choose([odd, home.clone()], &[]);
    assert!(chosen.variables.contains(&home));
    assert_eq!(chosen.variables.len(), 2);
}

#[test]
fn secrets_in_the_files_of_agents_are_hidden_too() {
    let claude = r#"{"env": {"ANTHROPIC_AUTH_TOKEN": "t0ken", "ANTHROPIC_MODEL": "opus", "KEY_COUNT": 3}}"#;
    let gemini = [
        "# a comment\nexport GEMINI_API_KEY=abcdefgh12 # mine\nGOOGLE_CLOUD_PROJECT=mine\nEMPTY_KEY=\n".to_owned(),
        "GOOGLE_API_KEY=\"k#y\" # quoted\nOTHER_TOKEN=`ticks`\n".to_owned(),
    ];
    let found = secrets(written(Some(claude), &gemini));
    let wanted = [
        ("ANTHROPIC_AUTH_TOKEN", "t0ken"),
        ("GEMINI_API_KEY", "abcdefgh12"),
        ("GOOGLE_API_KEY", "k#y"),
        ("OTHER_TOKEN", "ticks"),
    ];
    assert_eq!(found, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(written(Some("not JSON"), &[]), []);
}
