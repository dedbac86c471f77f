//! Agents that leave traps where Ralph writes and reads, and text that would act on a terminal.

use std::time::Duration;

use ralph_testkit::{Channel, HOSTILE_ESCAPES, Repo, Script, Step, shell_quoted};

use super::{at_terminal, checked};
use crate::harness::{User, run_words_with};

#[test]
fn traps_where_ralph_writes_neither_hold_it_up_nor_lead_it_away() {
    let traps = [
        ("a pipe for the ledger", "rm -f .ralph/LEDGER.md && mkfifo .ralph/LEDGER.md"),
        ("a pipe for the metrics", "mkdir -p .ralph/metrics && mkfifo .ralph/metrics/ralph-loops.jsonl"),
        ("a folder for the metrics", "mkdir -p .ralph/metrics/ralph-loops.jsonl"),
        (
            "a link for the metrics",
            "mkdir -p .ralph/metrics && ln -s ../../../precious .ralph/metrics/ralph-loops.jsonl",
        ),
        ("a link for the ledger", "rm -f .ralph/LEDGER.md && ln -s ../../precious .ralph/LEDGER.md"),
        ("a file for the folder", "rm -rf .ralph && touch .ralph"),
        ("a pipe for the folder", "rm -rf .ralph && mkfifo .ralph"),
        ("a pipe in the workspace", "mkfifo pipe"),
        (
            "a socket in the workspace",
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")' || true",
        ),
        ("a link to itself", "ln -s round round"),
        ("a link to everything", "ln -s / everything"),
        ("a name that is too long to be true", "mkdir -p $(printf 'd%.0s' $(seq 200))/$(printf 'e%.0s' $(seq 200))"),
        ("a pipe for the report", "rm -f \"$RALPH_RESULT_FILE\" && mkfifo \"$RALPH_RESULT_FILE\""),
        ("a link for the report", "ln -s /etc/passwd \"$RALPH_RESULT_FILE\""),
        ("a folder for the report", "mkdir \"$RALPH_RESULT_FILE\""),
    ];
    for (name, trap) in traps {
        let (user, repo) = (User::new(), Repo::init());
        let precious = repo.outside().join("precious");
        std::fs::write(&precious, "of the user\n").unwrap();
        let script = Script::new().run([Step::run(trap), Step::append("log", "x")]).run([Step::write("done.txt", "")]);
        let ended = checked(&user, repo.path(), script, "test -e done.txt", &[]);
        assert_eq!(ended.code, 0, "{name}: {}{}", ended.stdout, ended.stderr);
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "of the user\n", "{name}");
        let id = ended.json()["loopId"].as_str().unwrap().to_owned();
        for words in
            [vec!["diff", &id], vec!["show", &id], vec!["rewind", &id, "--to", "start"], vec!["verify-run", &id]]
        {
            let ended = user.ralph(repo.path(), &words);
            assert_eq!(ended.code, 0, "{name}: {words:?}: {}", ended.stderr);
        }
        assert!(!repo.exists("done.txt"), "{name}");
    }
    eprintln!("surroundings: {} traps survived", traps.len());
}

#[test]
fn a_workspace_that_is_gone_is_a_clear_error_and_can_come_back() {
    let (user, repo) = (User::new(), Repo::init());
    let gone = repo.outside().join("gone");
    let script = Script::new()
        .run([Step::run(format!("mv \"$PWD\" {}", shell_quoted(gone.to_str().unwrap())))])
        .run([Step::write("done.txt", "")]);
    let ended = checked(&user, repo.path(), script, "test -e done.txt", &[]).with_code(1);
    let result = ended.json();
    assert_eq!(result["status"], "ERROR");
    assert!(result["error"].as_str().unwrap().contains(repo.path().to_str().unwrap()), "{result:#}");
    let id = result["loopId"].as_str().unwrap();
    let again = user.ralph(&user.home(), ["resume", id, "--json"]);
    assert!(
        again.code == 1 && again.stderr.contains(repo.path().to_str().unwrap()),
        "{}{}",
        again.stdout,
        again.stderr
    );
    std::fs::rename(&gone, repo.path()).unwrap();
    user.ralph(&user.home(), ["resume", id, "--json"]).ok();
}

/// Whether a terminal would act on the text beyond what Ralph itself prints: colours, cursor and line control.
fn acts(text: &str) -> Option<&'static str> {
    let hostile = [
        ("clipboard", "\u{1b}]52"),
        ("title", "\u{1b}]0;owned"),
        ("link", "\u{1b}]8;"),
        ("C1", "\u{9b}"),
        ("bell", "\u{7}"),
        ("direction", "\u{202e}"),
        ("answer back", "\u{1b}[6n"),
        ("clear", "\u{1b}[2J"),
    ];
    hostile.iter().find(|(_, sequence)| text.contains(sequence)).map(|(name, _)| *name)
}

#[test]
fn hostile_text_is_inert_wherever_it_is_shown() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("hostile.txt", HOSTILE_ESCAPES);
    repo.write("check.sh", "cat hostile.txt; exit 1\n");
    repo.commit("hostile");
    let objective = format!("Fix {HOSTILE_ESCAPES}");
    let blocked = Step::blocked(HOSTILE_ESCAPES.replace('\n', " "));
    let script = Script::new()
        .run([Step::Escapes(Channel::Stdout), Step::Escapes(Channel::Stderr), Step::append("log", "x"), Step::Print(HOSTILE_ESCAPES.into())])
        .run([Step::append("log", "x"), Step::ReportText(serde_json::json!({"costUSD": 0, "toolEvidence": [{"tool": HOSTILE_ESCAPES, "success": false, "summary": HOSTILE_ESCAPES}]}).to_string())])
        .run([Step::append("log", "x"), blocked]);
    let agent = user.agent(script);
    let words = [
        "run",
        &objective,
        "--max",
        "4",
        "--max-cost",
        "1",
        "--pause",
        "0",
        "--unmetered",
        "--criteria",
        "sh check.sh",
        "--agent-command",
        &agent,
    ];
    let words = words.map(str::to_owned);
    let mut shown =
        vec![("run at a terminal".to_owned(), at_terminal(&user, repo.path(), &words).with_code(18).stdout)];
    let repo_id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    let id = repo_id.as_str();
    let commands = [
        vec!["list"],
        vec!["list", "--json"],
        vec!["show", id],
        vec!["show", id, "--json"],
        vec!["show", id, "--prompt", "2"],
        vec!["logs", id, "1"],
        vec!["logs", id, "1", "--check", "1"],
        vec!["verify-run", id],
        vec!["verify-run", id, "--json"],
        vec!["diff", id],
        vec!["report"],
        vec!["logs", id, "--follow"],
    ];
    for words in commands {
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let ended = at_terminal(&user, repo.path(), &words).ok();
        shown.push((words.join(" "), ended.stdout));
    }
    shown.push(("LEDGER.md".to_owned(), repo.read(".ralph/LEDGER.md")));
    let harmful: Vec<String> =
        shown.iter().filter_map(|(what, text)| acts(text).map(|why| format!("{what}: {why}"))).collect();
    assert!(harmful.is_empty(), "{harmful:#?}");
    eprintln!("surroundings: hostile text inert in {} outputs", shown.len());
}

#[test]
fn a_check_that_leaves_a_process_behind_does_not_hold_the_loop_up() {
    let (user, repo) = (User::new(), Repo::init());
    let script = Script::new().run([Step::write("done.txt", "")]);
    let started = std::time::Instant::now();
    let words =
        run_words_with(&user.agent(script), 2, &["--unmetered", "--criteria", "setsid sleep 300 & test -e done.txt"]);
    user.ralph(repo.path(), words).ok();
    assert!(started.elapsed() < Duration::from_secs(60));
}
