use std::fs;
use std::sync::Arc;

use proptest::prelude::*;
use ralph_model::{Cost, Ended, Money};

use super::*;
use crate::adapter::Parser;
use crate::golden;
use crate::request::Prohibited;

/// A parser for which `src/auth` is prohibited.
fn strict() -> Box<dyn Parser> {
    let matches = |path: &Path| path.starts_with("/home/user/project/src/auth").then(|| "src/auth/**".to_owned());
    parser(Prohibited { matches: Arc::new(matches), ..Prohibited::default() })
}

/// All recorded streams.
fn streams() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("streams/acp");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

#[test]
fn recorded_streams_are_understood() {
    golden::check("acp", strict);
}

fn request(environment: &[(&str, &str)]) -> Request<'static> {
    golden::request("/init it", golden::base(Path::new("/home/user/project"), environment))
}

fn agent(command: &str) -> AgentSpec {
    AgentSpec::new("server", "acp", ralph_model::Launch::Command(command.into()))
}

#[test]
fn opencode_is_kept_apart_as_a_server_too() {
    let value = |agent: &AgentSpec, name: &str| {
        let found = environment(agent, &request(&[("HOME", "/nonexistent")]));
        found.into_iter().find(|(known, _)| known == name).map(|(_, value)| value.into_string().unwrap())
    };
    let server = agent("/opt/opencode acp");
    assert_eq!(value(&server, "OPENCODE_PERMISSION").unwrap(), r#"{"task":"deny"}"#, "subagents would cost unseen");
    assert_eq!(value(&server, "OPENCODE_DISABLE_PROJECT_CONFIG").as_deref(), Some("1"));
    assert_eq!(value(&server, "OPENCODE_DISABLE_AUTOUPDATE").as_deref(), Some("1"));
    let unmetered = AgentSpec { unmetered: true, ..server };
    assert_eq!(value(&unmetered, "OPENCODE_PERMISSION"), None);
    assert_eq!(value(&agent("claude-agent-acp"), "OPENCODE_PERMISSION"), None);
}

#[test]
fn the_environment_has_switches_and_leaves_what_the_user_set() {
    let has = |environment: &[(OsString, OsString)], name: &str| environment.iter().any(|(known, _)| known == name);
    let plain = environment(&agent("claude-agent-acp"), &request(&[("HOME", "/nonexistent")]));
    assert!(has(&plain, "DISABLE_AUTOUPDATER") && has(&plain, "CLAUDE_CODE_MAX_RETRIES"));
    assert!(!has(&plain, CLAUDE_FOLDER));
    assert!(!has(&environment(&agent("x"), &request(&[("CLAUDE_CODE_MAX_RETRIES", "9")])), "CLAUDE_CODE_MAX_RETRIES"));
}

#[test]
fn inside_a_sandbox_the_adapter_of_claude_code_gets_a_folder_that_it_can_write() {
    let home = tempfile::tempdir().unwrap();
    let sandboxed = |variables: &[(&str, &str)]| {
        let files = ralph_process::Files::Landlock { version: 1 };
        let level = ralph_process::Level { files, ..ralph_process::Level::none("a test") };
        let sandbox = ralph_process::Sandbox {
            writable: Vec::new(),
            hidden: Vec::new(),
            network: ralph_process::Network::Allowed,
            level,
        };
        let mut request = request(variables);
        request.base.sandbox = Some(sandbox);
        let found = environment(&agent("x"), &request);
        found.into_iter().find(|(name, _)| name == CLAUDE_FOLDER).map(|(_, folder)| folder)
    };
    let path = home.path().to_str().unwrap();
    assert_eq!(sandboxed(&[("HOME", path)]), Some(home.path().join(".claude").into()));
    assert_eq!(sandboxed(&[("HOME", path), (CLAUDE_FOLDER, "/elsewhere")]), None);
    fs::write(home.path().join(".claude.json"), "{}").unwrap();
    assert_eq!(sandboxed(&[("HOME", path)]), None);
}

#[test]
fn a_prompt_is_no_command() {
    assert_eq!(no_command("/init it"), "\n/init it");
    assert_eq!(no_command("make it"), "make it");
}

#[test]
fn a_stream_that_is_cut_anywhere_is_never_a_success() {
    for stream in streams() {
        let lines: Vec<&str> = stream.lines().filter(|line| !line.starts_with('!')).collect();
        let whole = golden::observe(strict(), &stream).0;
        // Without its last line, which holds the end of the turn, and then without ever more of them.
        for count in 0..lines.len() {
            let cut = lines[..count].join("\n");
            let (transcript, ended) = golden::observe(strict(), &cut);
            assert!(!transcript.faults.is_empty(), "{ended}: {cut}");
            assert!(transcript.evidence.len() <= whole.evidence.len(), "{cut}");
            if let Cost::Known { amount } = transcript.cost
                && amount > Money::ZERO
            {
                assert!(matches!(whole.cost, Cost::Known { amount: most } if amount <= most), "{cut}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn arbitrary_bytes_are_no_success(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let text = String::from_utf8_lossy(&bytes).replace('!', "?");
        let (transcript, _) = golden::observe(strict(), &text);
        // It never took the prompt, so nothing was sold.
        prop_assert_eq!(transcript.cost, Cost::Known { amount: Money::ZERO });
        prop_assert!(!transcript.faults.is_empty());
        prop_assert!(transcript.evidence.is_empty());
    }

    #[test]
    fn damaged_streams_do_no_harm(
        which in any::<proptest::sample::Index>(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<proptest::sample::Index>(), 0..4_u8), 1..6),
    ) {
        let streams = streams();
        let stream = which.get(&streams);
        let mut lines: Vec<String> = stream.lines().filter(|line| !line.starts_with('!')).map(str::to_owned).collect();
        for (line, at, how) in damage {
            let line = line.index(lines.len());
            let cut = lines[line].floor_char_boundary(at.index(lines[line].len() + 1));
            match how {
                0 => lines[line].truncate(cut),
                1 => { lines[line].drain(..cut); }
                2 => lines[line].insert(cut, '}'),
                _ => { let again = lines[line].clone(); lines.push(again) }
            }
        }
        let mut parser = strict();
        let mut transcript = golden::transcript();
        for line in &lines {
            parser.stdout(line, &mut transcript);
        }
        let ended = Ended::Exited { code: 0 };
        parser.end(&ended, &mut transcript);
        let transcript = transcript.finish(&ended, false);
        // A good end needs the words of a good end.
        let says_end = lines.iter().any(|line| line.contains("\"end_turn\""));
        prop_assert!(says_end || !transcript.faults.is_empty());
    }
}
