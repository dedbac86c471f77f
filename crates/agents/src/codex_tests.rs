use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use ralph_model::{Cost, Ended, FaultKind, Money};
use ralph_process::{Level, Network, Sandbox};

use super::*;
use crate::golden;
use crate::transcript::{Terminal, TranscriptSummary};

fn reader(guard: Guard) -> Box<dyn Parser> {
    parser(guard)
}

fn spec() -> AgentSpec {
    AgentSpec::program("codex", "codex")
}

fn request<'a>(directory: &Path, environment: &[(&str, &str)]) -> Request<'a> {
    let mut base = golden::base(directory, environment);
    base.scratch = directory.join("scratch");
    golden::request("Do it.\n", base)
}

fn sandbox() -> Sandbox {
    Sandbox {
        writable: Vec::new(),
        hidden: Vec::new(),
        network: Network::Allowed,
        level: Level { files: ralph_process::Files::Landlock { version: 1 }, ..Level::none("a test") },
    }
}

fn line(invocation: &Invocation) -> String {
    invocation.program.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn variables(invocation: &Invocation) -> Vec<(String, String)> {
    let text = |value: &OsString| value.to_string_lossy().into_owned();
    invocation.environment.iter().map(|(name, value)| (text(name), text(value))).collect()
}

/// What a parser learns from these lines of a program that ended by itself.
fn observe(lines: &[&str]) -> TranscriptSummary {
    golden::observe(reader(Guard::Outer), &lines.join("\n")).0
}

#[test]
fn recorded_streams_are_read_as_written_beside_them() {
    golden::check("codex", || reader(Guard::Outer));
    golden::check("codex/own-sandbox", || reader(Guard::Own));
}

#[test]
fn the_prompt_comes_in_on_standard_input_and_the_users_words_come_last() {
    let folder = tempfile::tempdir().unwrap();
    let spec = AgentSpec { model: Some("gpt-x".into()), args: vec!["--add-dir".into(), "/srv".into()], ..spec() };
    let invocation = invocation(&spec, "/opt/codex", &request(folder.path(), &[]));
    let line = line(&invocation);
    assert!(line.starts_with("/opt/codex exec --json --skip-git-repo-check"), "{line}");
    assert!(line.ends_with("--model gpt-x --add-dir /srv -"), "{line}");
    assert!(matches!(&invocation.stdin, Stdin::Bytes(bytes) if bytes == b"Do it.\n"));
}

#[test]
fn it_is_kept_inside_by_one_sandbox_only() {
    let folder = tempfile::tempdir().unwrap();
    let mut around = request(folder.path(), &[]);
    around.base.sandbox = Some(sandbox());
    let line_around = line(&invocation(&spec(), "codex", &around));
    assert!(line_around.contains("--dangerously-bypass-approvals-and-sandbox"), "{line_around}");
    assert!(!line_around.contains("workspace-write"), "{line_around}");

    let alone = line(&invocation(&spec(), "codex", &request(folder.path(), &[])));
    assert!(alone.contains("--sandbox workspace-write -c approval_policy=\"never\""), "{alone}");
    assert!(!alone.contains("dangerously") && !alone.contains("writable_roots"), "{alone}");
    for part in ["objects", "refs"] {
        std::fs::create_dir_all(folder.path().join(".git").join(part)).unwrap();
    }
    std::fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let repository = line(&invocation(&spec(), "codex", &request(folder.path(), &[])));
    assert!(repository.contains("/.git\"]"), "{repository}");

    let chosen = AgentSpec { args: vec!["--sandbox=danger-full-access".into()], ..spec() };
    let chosen = line(&invocation(&chosen, "codex", &request(folder.path(), &[])));
    assert!(!chosen.contains("workspace-write") && chosen.contains("danger-full-access"), "{chosen}");
}

#[test]
fn only_a_user_who_wants_them_gets_their_own_settings() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("AGENTS.md"), "Be \"nice\".").unwrap();
    let alone = line(&invocation(&spec(), "codex", &request(folder.path(), &[])));
    for word in [
        "--ignore-user-config",
        "features.plugins=false",
        "features.hooks=false",
        "trust_level=\"untrusted\"",
        "developer_instructions=\"# AGENTS.md",
        "Be \\\"nice\\\".",
        "features.unbounded_connection_retries=false",
        "analytics.enabled=false",
    ] {
        assert!(alone.contains(word), "{word} in {alone}");
    }
    let own = AgentSpec { user_settings: true, ..spec() };
    let own = line(&invocation(&own, "codex", &request(folder.path(), &[])));
    for word in ["--ignore-user-config", "plugins", "hooks", "untrusted", "developer_instructions"] {
        assert!(!own.contains(word), "{word} in {own}");
    }
    assert!(own.contains("features.unbounded_connection_retries=false"), "{own}");
}

#[test]
fn a_key_of_the_environment_counts_unless_there_is_a_login() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let home_is = ("CODEX_HOME", home.path().to_str().unwrap());
    let with = |environment: &[(&str, &str)]| {
        let invocation = invocation(&spec(), "codex", &request(folder.path(), environment));
        (line(&invocation), variables(&invocation))
    };
    let own = |value: &str| vec![("CODEX_API_KEY".to_owned(), value.to_owned())];

    assert_eq!(with(&[home_is]).1, []);
    assert_eq!(with(&[home_is, ("OPENAI_API_KEY", "shared")]).1, own("shared"));
    assert_eq!(with(&[home_is, ("OPENAI_API_KEY", "shared"), ("CODEX_API_KEY", "own")]).1, own("own"));
    assert_eq!(with(&[home_is, ("OPENAI_API_KEY", "shared"), ("CODEX_ACCESS_TOKEN", "t")]).1, []);
    let address = ("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1");
    assert!(!with(&[home_is, address]).0.contains("127.0.0.1"), "an address without a key");
    let (there, handed) = with(&[home_is, address, ("OPENAI_API_KEY", "shared")]);
    assert_eq!(handed, []);
    for word in
        ["base_url=\"http://127.0.0.1:8080/v1\"", "env_key=\"OPENAI_API_KEY\"", "model_provider=\"environment\""]
    {
        assert!(there.contains(word), "{word} in {there}");
    }
    assert!(!there.contains("shared"), "a key is no argument: {there}");
    let own_settings = AgentSpec { user_settings: true, ..spec() };
    let with_both = request(folder.path(), &[home_is, address, ("OPENAI_API_KEY", "of a gateway")]);
    let call = invocation(&own_settings, "codex", &with_both);
    assert!(!line(&call).contains("127.0.0.1"), "the user's settings name the provider");
    assert_eq!(variables(&call), [], "and nobody else gets the key for that address");

    std::fs::write(home.path().join("auth.json"), "{}").unwrap();
    assert_eq!(with(&[home_is, ("OPENAI_API_KEY", "shared")]).1, []);
    assert!(
        !with(&[home_is, address, ("OPENAI_API_KEY", "shared")]).0.contains("127.0.0.1"),
        "a login goes nowhere else"
    );
    assert_eq!(with(&[home_is, ("CODEX_API_KEY", "own")]).1, own("own"));
}

#[test]
fn text_is_quoted_for_toml() {
    assert_eq!(quoted("a\"b\\c\n\td\u{1b}\u{7f}ü"), "\"a\\\"b\\\\c\\n\\tdü\"");
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path(), &link).unwrap();
    assert_eq!(untrusted(&link).matches("untrusted").count(), 2, "a folder behind a link is known by both names");
}

#[test]
fn an_item_that_does_not_say_that_it_worked_did_not() {
    let lines = [
        r#"{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"make"}}"#,
        r#"{"type":"item.completed","item":{"id":"2","type":"command_execution","command":"ls","exit_code":0}}"#,
        r#"{"type":"item.completed","item":{"id":"3","type":"command_execution","command":"rm","status":"declined"}}"#,
        r#"{"type":"item.completed","item":{"id":"4","type":"file_change","changes":[],"status":"failed"}}"#,
        r#"{"type":"item.completed","item":{"id":"5","type":"mcp_tool_call","server":"s","tool":"t","arguments":{"a":1},"error":{"message":"boom"},"status":"failed"}}"#,
        r#"{"type":"item.completed","item":{"id":"6","type":"web_search","query":"q"}}"#,
        r#"{"type":"item.completed","item":{"id":"7","type":"new_thing","status":"completed"}}"#,
        r#"{"type":"item.completed","item":{"id":"8","type":"command_execution","command":"a","status":"completed","exit_code":1}}"#,
        r#"{"type":"item.completed","item":{"id":"9","type":"todo_list","items":[]}}"#,
    ];
    let transcript = observe(&lines);
    let calls: Vec<(&str, bool, &str)> =
        transcript.evidence.iter().map(|call| (call.tool.as_str(), call.success, call.summary.as_str())).collect();
    assert_eq!(
        calls,
        [
            ("shell", false, "make"),
            ("shell", true, "ls"),
            ("shell", false, "not permitted"),
            ("apply_patch", false, ""),
            ("s.t", false, "{\"a\":1}: boom"),
            ("web_search", true, "q"),
            ("new_thing", true, ""),
            ("shell", false, "a: exit code 1"),
        ]
    );
    assert!(transcript.faults.iter().any(|fault| fault.kind == FaultKind::Denied));
}

#[test]
fn a_long_series_of_retries_is_hopeless_and_an_answer_ends_it() {
    let retry = r#"{"type":"error","message":"Reconnecting... waiting for network"}"#;
    let answer = r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"There."}}"#;
    let (mut parser, mut transcript) = (reader(Guard::Outer), golden::transcript());
    for _ in 0..30 {
        parser.stdout(retry, &mut transcript);
    }
    parser.stdout(answer, &mut transcript);
    assert_eq!(transcript.known_trouble(), None, "it answered after all");
    for _ in 0..30 {
        parser.stdout(retry, &mut transcript);
    }
    assert!(!transcript.is_hopeless());
    for _ in 0..30 {
        parser.stdout(retry, &mut transcript);
    }
    assert!(transcript.is_hopeless());
    assert_eq!(transcript.known_trouble().map(|trouble| trouble.kind), Some(ralph_model::TroubleKind::Unreachable));
}

#[test]
fn an_error_before_anything_began_is_what_it_failed_of() {
    let transcript = golden::observe(reader(Guard::Outer), "!stderr error: unexpected argument '--x' found\n!exit 2").0;
    assert_eq!(transcript.faults.len(), 1, "{:?}", transcript.faults);
    let trouble = transcript.trouble.unwrap();
    assert_eq!(
        (trouble.kind, trouble.message.as_str()),
        (ralph_model::TroubleKind::Setup, "error: unexpected argument '--x' found")
    );
    assert_eq!(transcript.final_message, "");
}

/// All recorded streams.
static STREAMS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("streams/codex");
    let paths =
        [folder.clone(), folder.join("own-sandbox")].into_iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut paths: Vec<_> = paths.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
});

fn charged(cost: Cost) -> Money {
    cost.charge(Money::ZERO)
}

fn successes(transcript: &TranscriptSummary) -> usize {
    transcript.evidence.iter().filter(|call| call.success).count()
}

proptest! {
    #[test]
    fn any_bytes_are_harmless_and_prove_nothing(
        lines in proptest::collection::vec((0_u8..2, proptest::collection::vec(any::<u8>(), 0..200)), 0..20),
        own in any::<bool>(),
    ) {
        let (mut parser, mut transcript) = (reader(if own { Guard::Own } else { Guard::Outer }), golden::transcript());
        for (stream, bytes) in &lines {
            let line = String::from_utf8_lossy(bytes);
            match stream {
                0 => parser.stdout(&line, &mut transcript),
                _ => parser.stderr(&line, &mut transcript),
            }
        }
        parser.end(&Ended::Exited { code: 0 }, &mut transcript);
        prop_assert!(!matches!(transcript.said_end(), Some(Terminal::Completed)));
        let transcript = transcript.finish(&Ended::Exited { code: 0 }, false);
        prop_assert_eq!((charged(transcript.cost), transcript.evidence.len()), (Money::ZERO, 0));
        prop_assert!(!transcript.faults.is_empty());
    }

    #[test]
    fn a_cut_stream_shows_no_more_than_the_whole_one(which in 0_usize..1000, at in 0.0_f64..1.0) {
        let stream = &STREAMS[which % STREAMS.len()];
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a text")]
        let at = stream.floor_char_boundary((stream.len() as f64 * at) as usize);
        let cut = &stream[..at];
        // Half a mark of the recording is no line of the program.
        let cut = if cut.rsplit('\n').next().is_some_and(|last| last.starts_with('!')) { cut.rsplit_once('\n').map_or("", |(front, _)| front) } else { cut };
        for guard in [Guard::Outer, Guard::Own] {
            let (whole, part) = (golden::observe(reader(guard), stream).0, golden::observe(reader(guard), cut).0);
            prop_assert!(successes(&part) <= successes(&whole));
            prop_assert!(charged(part.cost) <= charged(whole.cost), "{:?} {:?}", part.cost, whole.cost);
            if !cut.contains("turn.completed") {
                prop_assert!(!part.faults.is_empty());
            }
        }
    }

    #[test]
    fn lines_in_any_order_are_harmless(
        which in 0_usize..1000,
        order in proptest::collection::vec(0_usize..1000, 0..60),
        junk in ".{0,40}",
    ) {
        // How the program ended stays the same: in good order.
        let is_end = |line: &&str| ["!exit", "!signal", "!stopped", "!idle"].iter().any(|mark| line.starts_with(mark));
        let lines: Vec<&str> = STREAMS[which % STREAMS.len()].lines().filter(|line| !is_end(line)).collect();
        let shuffled: Vec<&str> = order
            .iter()
            .map(|at| lines[at % lines.len()])
            .chain(std::iter::once(junk.as_str()).filter(|junk| !junk.starts_with('!')))
            .collect();
        let (transcript, _) = golden::observe(reader(Guard::Own), &shuffled.join("\n"));
        let has_end = shuffled.iter().any(|line| line.contains("turn.completed"));
        prop_assert!(has_end || !transcript.faults.is_empty());
    }
}
