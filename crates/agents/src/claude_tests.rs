use std::ffi::OsStr;
use std::fs;
use std::sync::LazyLock;

use proptest::prelude::*;
use ralph_model::{Cost, Ended, Money};

use super::*;
use crate::golden;
use crate::request::Prohibited;
use crate::transcript::{Terminal, Transcript};

#[test]
fn recorded_streams_are_read_as_written_beside_them() {
    golden::check_in(|| golden::transcript().confined(true), "claude", parser);
}

// --- how it is called --------------------------------------------------------------------------------------------------

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home/.claude", "scratch", "work"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn request<'a>(&self, prompt: &'a str) -> Request<'a> {
        let path = |name: &str| self.folder.path().join(name);
        let mut base = golden::base(&path("work"), &[("HOME", path("home").to_str().unwrap())]);
        base.scratch = path("scratch");
        golden::request(prompt, base)
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(self.folder.path().join("scratch/claude-settings.json")).unwrap())
            .unwrap()
    }
}

fn spec() -> AgentSpec {
    AgentSpec::program("claude", "claude")
}

fn arguments(invocation: &Invocation) -> Vec<&str> {
    invocation.program.iter().map(|argument| argument.to_str().unwrap()).collect()
}

fn value_of<'a>(invocation: &'a Invocation, flag: &str) -> Option<&'a OsStr> {
    let at = invocation.program.iter().position(|argument| argument == flag)?;
    invocation.program.get(at + 1).map(OsString::as_os_str)
}

fn variable<'a>(invocation: &'a Invocation, name: &str) -> Vec<&'a OsStr> {
    invocation.environment.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_os_str()).collect()
}

#[test]
fn it_goes_without_the_settings_of_user_and_repository() {
    let place = Place::new();
    let invocation = invocation(&spec(), "/opt/claude", &place.request("do it")).unwrap();
    let arguments = arguments(&invocation);
    assert_eq!(arguments[0], "/opt/claude");
    for flag in ["--strict-mcp-config", "--disable-slash-commands", "--dangerously-skip-permissions"] {
        assert!(arguments.contains(&flag), "{flag}");
    }
    assert_eq!(value_of(&invocation, "--setting-sources"), Some(OsStr::new("")));
    assert_eq!(value_of(&invocation, "--add-dir"), Some(place.folder.path().join("work").as_os_str()));
    assert!(!arguments.contains(&"--max-budget-usd") && !arguments.contains(&"--model"));
    assert_eq!(place.settings(), serde_json::json!({}));
}

#[test]
fn it_keeps_them_where_that_is_asked_for_and_the_hook_too() {
    let place = Place::new();
    place.write("home/.claude/settings.json", r#"{"env":{"A":"1"},"model":"opus"}"#);
    let mut request = place.request("do it");
    request.base.prohibited = Prohibited { hook: Some("ralph __guard".into()), ..Prohibited::default() };
    let invocation = invocation(&AgentSpec { user_settings: true, ..spec() }, "claude", &request).unwrap();
    for flag in ["--setting-sources", "--strict-mcp-config", "--disable-slash-commands", "--add-dir"] {
        assert!(!arguments(&invocation).contains(&flag), "{flag}");
    }
    // It reads them itself.
    assert!(variable(&invocation, "A").is_empty());
    let settings = place.settings();
    assert!(settings.get("model").is_none());
    assert_eq!(settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"], "ralph __guard");
}

#[test]
fn model_budget_and_arguments_of_the_user_are_handed_on() {
    let place = Place::new();
    let spec = AgentSpec { model: Some("opus".into()), args: vec!["--effort".into(), "low".into()], ..spec() };
    let request = Request { budget: Some(Money::from_micros(1)), ..place.request("do it") };
    let invocation = invocation(&spec, "claude", &request).unwrap();
    assert_eq!(value_of(&invocation, "--model"), Some(OsStr::new("opus")));
    assert_eq!(value_of(&invocation, "--max-budget-usd"), Some(OsStr::new("0.000001")));
    let arguments = arguments(&invocation);
    assert_eq!(arguments[arguments.len() - 2..], ["--effort", "low"]);
}

#[test]
fn the_prompt_comes_on_standard_input_and_is_never_a_command() {
    let place = Place::new();
    for (prompt, expected) in [("do it", "do it"), ("/compact now", "\n/compact now"), ("!ls", "!ls")] {
        let invocation = invocation(&spec(), "claude", &place.request(prompt)).unwrap();
        assert!(!arguments(&invocation).contains(&prompt));
        let Stdin::Bytes(bytes) = invocation.stdin else { panic!("no bytes") };
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}

#[test]
fn own_variables_stand_over_those_of_the_users_settings() {
    let place = Place::new();
    let text = r#"{"env":{"ANTHROPIC_AUTH_TOKEN":"secret-token","CLAUDE_CODE_MAX_RETRIES":"99"}}"#;
    place.write("home/.claude/settings.json", text);
    let invocation = invocation(&spec(), "claude", &place.request("do it")).unwrap();
    assert_eq!(variable(&invocation, "ANTHROPIC_AUTH_TOKEN"), ["secret-token"]);
    assert_eq!(variable(&invocation, "CLAUDE_CODE_MAX_RETRIES"), [RETRIES]);
    assert!(!place.settings().to_string().contains("secret-token"));
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(variable(&invocation, "IS_SANDBOX").len(), usize::from(is_root));
}

#[test]
fn settings_are_looked_for_where_the_program_looks() {
    let place = Place::new();
    fs::create_dir(place.folder.path().join("moved")).unwrap();
    place.write("moved/settings.json", r#"{"model":"moved"}"#);
    place.write("home/.claude/settings.json", r#"{"model":"home"}"#);
    invocation(&spec(), "claude", &place.request("do it")).unwrap();
    assert_eq!(place.settings()["model"], "home");
    let mut request = place.request("do it");
    request.base.environment.push(("CLAUDE_CONFIG_DIR".into(), place.folder.path().join("moved").into()));
    invocation(&spec(), "claude", &request).unwrap();
    assert_eq!(place.settings()["model"], "moved");
}

#[test]
fn instructions_that_it_does_not_read_by_itself_are_handed_to_it() {
    let place = Place::new();
    let has_file = || {
        let invocation = invocation(&spec(), "claude", &place.request("do it")).unwrap();
        value_of(&invocation, "--append-system-prompt-file").map(OsStr::to_owned)
    };
    assert_eq!(has_file(), None);
    place.write("work/AGENTS.md", "use tabs");
    assert_eq!(has_file(), Some(place.folder.path().join("work/AGENTS.md").into()));
    place.write("work/CLAUDE.md", "use tabs");
    assert_eq!(has_file(), None);
}

#[test]
fn a_scratch_folder_that_cannot_be_written_is_named() {
    let place = Place::new();
    let missing = place.folder.path().join("missing");
    let mut request = place.request("do it");
    request.base.scratch.clone_from(&missing);
    match invocation(&spec(), "claude", &request) {
        Err(Error::Scratch { path, .. }) => assert!(path.starts_with(missing)),
        other => panic!("{:?}", other.map(|invocation| invocation.program)),
    }
}

// --- any bytes -----------------------------------------------------------------------------------------------------------

/// The recorded streams, without the marks for what is not standard output.
static STREAMS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("streams/claude");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let streams = paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('!')).collect();
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), lines.join("\n"))
    };
    streams.map(read).collect()
});

fn read(text: &str) -> Transcript {
    let (mut parser, mut transcript) = (parser(), golden::transcript());
    for line in text.lines() {
        parser.stdout(line, &mut transcript);
        parser.stderr(line, &mut transcript);
        transcript.take_events();
    }
    transcript
}

const KILLED: Ended = Ended::Signalled { signal: 9 };

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_mean_neither_success_nor_cost(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let transcript = read(&String::from_utf8_lossy(&bytes));
        prop_assert!(transcript.said_end().is_none());
        prop_assert_eq!(transcript.finish(&KILLED, false).cost, Cost::Unknown);
    }

    #[test]
    fn a_stream_that_is_cut_anywhere_invents_nothing(which in any::<proptest::sample::Index>(), at in any::<proptest::sample::Index>()) {
        let (_, stream) = &STREAMS[which.index(STREAMS.len())];
        if stream.is_empty() {
            return Ok(());
        }
        let cut = stream.floor_char_boundary(at.index(stream.len()));
        let (part, whole) = (read(&stream[..cut]), read(stream));
        // All of them say only in the last line how they ended, apart from a turn that work in the background goes on from.
        let says_end = stream[..cut].lines().any(|line| line.contains(r#""type":"result""#) && serde_json::from_str::<serde_json::Value>(line).is_ok());
        prop_assert_eq!(part.said_end().is_some(), says_end);
        // Estimates come near. The words of these streams have fewer tokens than real ones.
        prop_assert!(part.spent() <= whole.spent() + Money::from_micros(5000), "{} of {}", part.spent(), whole.spent());
    }

    #[test]
    fn lines_that_are_dropped_repeated_or_broken_are_survived(
        which in any::<proptest::sample::Index>(),
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), 0..4_u8, any::<char>()), 0..20),
    ) {
        let (name, stream) = &STREAMS[which.index(STREAMS.len())];
        let mut lines: Vec<String> = stream.lines().map(str::to_owned).collect();
        for (at, edit, letter) in edits {
            if lines.is_empty() {
                break;
            }
            let at = at.index(lines.len());
            match edit {
                0 => drop(lines.remove(at)),
                1 => { let line = lines[at].clone(); lines.insert(at, line); }
                2 => { let line = &mut lines[at]; let half = line.floor_char_boundary(line.len() / 2); line.insert(half, letter); }
                _ => { let line = &mut lines[at]; let half = line.floor_char_boundary(line.len() / 2); line.truncate(half); }
            }
        }
        let transcript = read(&lines.join("\n"));
        let completed = matches!(transcript.said_end(), Some(Terminal::Completed));
        let may_complete = matches!(read(stream).said_end(), Some(Terminal::Completed));
        prop_assert!(!completed || may_complete, "{}", name);
    }
}
