//! `ralph session` and `ralph hook`, fed with events as Claude Code sends them.

mod hook;
mod tasks;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ralph_testkit::{Repo, Script, Step};
use serde_json::{Value, json};

use crate::aid::{Agent, kill, kinds, micros, settled, tamper, wait_for_file};
use crate::harness::{Ended, User, run_words_with};

/// One Claude Code session in a repository, as its hooks see it.
struct Session {
    user: User,
    repo: Repo,
    id: &'static str,
    /// Answers of the model in the transcript.
    answers: std::cell::Cell<u32>,
}

impl Session {
    /// A repository whose check passes once there is a file.
    fn new() -> Self {
        let (user, repo) = (User::new(), Repo::init());
        repo.write("check.sh", "test -e done.txt || { echo 'done.txt is missing'; exit 1; }\n");
        repo.commit("check");
        Self { user, repo, id: "5e551011-0000-4000-8000-000000000001", answers: std::cell::Cell::new(0) }
    }

    fn start(&self, more: &[&str]) -> Ended {
        let words = ["session", "start", "Make the check pass", "--criteria", "sh check.sh"];
        self.user.ralph(self.repo.path(), words.iter().chain(more))
    }

    fn transcript(&self) -> PathBuf {
        self.user.home().join("transcript.jsonl")
    }

    /// Adds an answer of the model to the transcript, of 1000 tokens read and 100 written.
    fn answers(&self, content: Value, reason: &str) {
        let number = self.answers.get() + 1;
        self.answers.set(number);
        // After whatever the loop recorded last.
        std::thread::sleep(std::time::Duration::from_millis(5));
        let at = jiff::Timestamp::now().to_string();
        let message = json!({
            "id": format!("msg_{number}"), "model": "claude-sonnet-4-5", "role": "assistant", "content": content,
            "stop_reason": reason, "usage": { "input_tokens": 1000, "output_tokens": 100 },
        });
        let line = json!({ "type": "assistant", "timestamp": at, "isSidechain": false, "message": message });
        let mut file = fs::OpenOptions::new().create(true).append(true).open(self.transcript()).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    /// The agent calls a tool, then says something and stops.
    fn works(&self, message: &str) -> Ended {
        self.answers(
            json!([{ "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "make" } }]),
            "tool_use",
        );
        self.says(message)
    }

    /// The agent says something and stops.
    fn says(&self, message: &str) -> Ended {
        self.answers(json!([{ "type": "text", "text": message }]), "end_turn");
        self.stop(message)
    }

    fn stop(&self, message: &str) -> Ended {
        let is_active = self.answers.get() > 1;
        self.hook(
            json!({ "hook_event_name": "Stop", "stop_hook_active": is_active, "last_assistant_message": message }),
        )
    }

    fn hook(&self, event: Value) -> Ended {
        feed(self.command(self.repo.path()), &self.event(event))
    }

    /// An event of this session, with what a test says otherwise.
    fn event(&self, event: Value) -> String {
        let mut whole = json!({
            "session_id": self.id, "transcript_path": self.transcript(), "cwd": self.repo.path(), "permission_mode": "default",
        });
        for (name, value) in event.as_object().unwrap() {
            whole[name] = value.clone();
        }
        whole.to_string()
    }

    fn command(&self, folder: &Path) -> Command {
        self.user.command(folder, ["hook"])
    }

    fn newest(&self) -> Value {
        self.user.show(self.user.newest_loop()["loopId"].as_str().unwrap())
    }
}

/// Runs a command with this on its standard input.
fn feed(mut command: Command, input: &str) -> Ended {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One that does not read it all closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Ended::of(child)
}

/// What blocks a stop.
#[track_caller]
fn blocked(ended: Ended) -> String {
    let answer = ended.ok().json();
    assert_eq!(answer["decision"], "block", "{answer:#}");
    answer["reason"].as_str().unwrap().to_owned()
}

/// What lets a stop through and says something.
#[track_caller]
fn let_through(ended: Ended) -> String {
    let answer = ended.ok().json();
    assert_eq!(answer["decision"], Value::Null, "{answer:#}");
    answer["systemMessage"].as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned()
}

#[test]
fn stops_are_blocked_until_the_checks_pass_and_the_run_is_one_like_any_other() {
    let session = Session::new();
    let started = session.start(&["--max", "5", "--json"]).ok().json();
    assert_eq!((&started["status"], &started["session"]), (&json!("RUNNING"), &Value::Null), "{started:#}");
    let listed = session.user.newest_loop();
    assert_eq!((&listed["status"], &listed["agent"]), (&json!("RUNNING"), &json!("claude (in session)")));
    let table = session.user.ralph(session.repo.path(), ["list"]).ok().stdout;
    assert!(table.contains("RUNNING (in session)"), "{table}");

    let reason = blocked(session.works("All done. <promise>COMPLETE</promise>"));
    for part in
        ["Make the check pass", "Iteration 2]", "[ERROR] verify: sh check.sh", "done.txt is missing", "false claim"]
    {
        assert!(reason.contains(part), "no `{part}` in {reason}");
    }
    session.repo.write("work.txt", "half of it\n");
    let reason = blocked(session.works("Half done."));
    assert!(reason.contains("Iteration 3]") && reason.contains("A work.txt"), "{reason}");
    session.repo.write("done.txt", "x\n");
    let said = let_through(session.works("Now it is."));
    assert!(said.contains("COMPLETED (verified)"), "{said}");

    let run = session.newest();
    assert_eq!(
        (&run["status"], &run["verified"], &run["counted"]),
        (&json!("COMPLETED"), &json!(true), &json!(3)),
        "{run:#}"
    );
    assert_eq!(run["falseClaims"], 1);
    // Two answers in each turn, none twice.
    assert_eq!(micros(&run["costUSD"]), 6 * (3000 + 1500), "{run:#}");
    let turn = &run["iterations"][1]["run"];
    assert_eq!(
        (turn["evidence"].as_array().unwrap().len(), &turn["finalMessage"]),
        (1, &json!("Half done.")),
        "{turn:#}"
    );
    assert_eq!(settled(&session.user), 0, "without a limit the day's budget is not touched");
    let id = run["loopId"].as_str().unwrap();
    let repo = session.repo.path();
    session.user.ralph(repo, ["verify-run", id]).ok();
    assert!(session.user.ralph(repo, ["logs", id, "2"]).ok().stdout.contains("Half done."));
    assert!(session.user.ralph(repo, ["show", id, "--prompt", "2"]).ok().stdout.contains("done.txt is missing"));
    assert!(session.repo.read(".ralph/LEDGER.md").contains("| 3 | pass |"));
    let metrics: Value = serde_json::from_str(&session.repo.read(".ralph/metrics/ralph-loops.jsonl")).unwrap();
    assert_eq!((&metrics["agent"], &metrics["status"]), (&json!("claude (in session)"), &json!("COMPLETED")));
    assert!(session.user.ralph(repo, ["report", "--json"]).ok().stdout.contains("claude (in session)"));

    // The session is an ordinary one again.
    let after = session.stop("Anything else?").ok();
    assert_eq!(after.stdout, "");
    assert_eq!(session.user.ralph(repo, ["session", "status", "--json"]).ok().json()["active"], false);
}

#[test]
fn a_cheat_is_caught() {
    let session = Session::new();
    session.start(&["--max", "5"]).ok();
    session.repo.write("check.sh", "true\n");
    let reason = blocked(session.works("<promise>COMPLETE</promise>"));
    assert!(reason.contains("[TAMPERED] check.sh") && reason.contains("done.txt is missing"), "{reason}");
    assert_eq!(session.repo.read("check.sh"), "true\n", "the agent's own files are back");
    let run = session.newest();
    assert_eq!((&run["tampered"], &run["status"]), (&json!(1), &json!("RUNNING")), "{run:#}");
}

#[test]
fn a_prohibited_path_is_refused_before_and_ends_the_loop_after() {
    let session = Session::new();
    session.start(&["--max", "5", "--prohibit", "secret/**"]).ok();
    let uses = |path: &str| {
        let event =
            json!({ "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": { "file_path": path } });
        session.hook(event).ok().stdout
    };
    let state = session.user.state().join("ralph.db");
    for path in [".env", "secret/a", state.to_str().unwrap()] {
        let said = uses(path);
        assert!(said.contains(r#""permissionDecision":"deny""#) && said.contains(path), "{path}: {said}");
    }
    let outside = session.repo.path().join("outside");
    std::os::unix::fs::symlink(session.user.state(), &outside).unwrap();
    let up = format!("../{}/secret/a", session.repo.path().file_name().unwrap().to_str().unwrap());
    let above = format!(
        "{}/../{}/ralph.db",
        state.parent().unwrap().display(),
        session.user.state().file_name().unwrap().display()
    );
    for path in [up.as_str(), &above, "outside/ralph.db", "outside/new/file"] {
        let said = uses(path);
        assert!(said.contains(r#""permissionDecision":"deny""#), "{path}: {said}");
    }
    fs::remove_file(outside).unwrap();
    assert_eq!(uses("src/main.rs"), "");
    session.repo.write(".env", "KEY=1\n");
    session.repo.write("done.txt", "x\n");
    let said = let_through(session.works("done"));
    assert!(said.contains("PROHIBITED_PATH") && said.contains(".env"), "{said}");
    assert!(!session.repo.path().join(".env").exists());
}

#[test]
fn other_sessions_and_folders_are_not_touched() {
    let session = Session::new();
    session.start(&["--max", "5"]).ok();
    let stop = json!({ "hook_event_name": "Stop", "last_assistant_message": "x" });
    // Nobody has reported yet; another folder is not the one.
    let below = session.repo.path().join("below");
    fs::create_dir(&below).unwrap();
    for folder in [session.user.home(), below.clone()] {
        let mut event = stop.clone();
        event["cwd"] = json!(folder);
        assert_eq!(feed(session.command(&folder), &session.event(event)).ok().stdout, "");
    }
    blocked(session.works("mine"));
    let mut foreign = stop.clone();
    foreign["session_id"] = json!("5e551011-0000-4000-8000-000000000002");
    assert_eq!(session.hook(foreign).ok().stdout, "");
    // A folder below is the same session, wherever it went.
    let mut moved = stop;
    moved["cwd"] = json!(below);
    blocked(feed(session.command(&below), &session.event(moved)));
    assert_eq!(session.newest()["counted"], 3, "two turns are over, and the third is under way");

    // The one that is named, and no other.
    let other = Session::new();
    other.start(&["--max", "5", "--session", "another"]).ok();
    assert_eq!(other.works("x").ok().stdout, "");
    let named = Session { id: "another", ..other };
    blocked(named.works("x"));
}

#[test]
fn the_session_that_runs_the_command_is_the_one() {
    let session = Session::new();
    let words = ["session", "start", "x", "--criteria", "false", "--max", "3", "--json"];
    let mut command = session.user.command(session.repo.path(), words);
    command.env("CLAUDE_CODE_SESSION_ID", "from-the-environment");
    let started = Ended::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()).ok().json();
    assert_eq!(started["session"], "from-the-environment");
    assert_eq!(session.works("x").ok().stdout, "");
}

#[test]
fn limits_end_it() {
    let session = Session::new();
    session.start(&["--max", "2"]).ok();
    blocked(session.works("one"));
    let said = let_through(session.works("two"));
    assert!(said.contains("ABORTED MAX_ITERATIONS"), "{said}");
    // Another agent may go on with it, and nobody else.
    let id = session.user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    let refused = session.user.ralph(session.repo.path(), ["resume", &id, "--max", "4"]).with_code(2).stderr;
    assert!(refused.contains("--agent claude"), "{refused}");

    let dear = Session::new();
    dear.start(&["--max", "9", "--max-cost", "0.01"]).ok();
    blocked(dear.says("one"));
    // $0.0045 for each answer.
    let said = let_through(dear.works("two"));
    assert!(said.contains("ABORTED COST_LIMIT"), "{said}");
    assert_eq!(settled(&dear.user), 3 * 4500);

    let unknown = Session::new();
    unknown.start(&["--max", "9"]).ok();
    let reason = blocked(unknown.stop("nobody wrote that down"));
    assert!(reason.contains("Iteration 2]"), "{reason}");
    let run = unknown.newest();
    assert_eq!(run["iterations"][0]["run"]["cost"]["is"], "unknown", "{run:#}");
    let shown = unknown.user.ralph(unknown.repo.path(), ["show", run["loopId"].as_str().unwrap()]).ok().stdout;
    assert!(shown.contains("cost unknown"), "{shown}");
}

#[test]
fn a_check_that_passes_already_needs_a_claim() {
    let session = Session::new();
    session.repo.write("done.txt", "x\n");
    session.repo.commit("done");
    let said = session.start(&["--max", "5", "--promise", "FINISHED"]).ok().stdout;
    assert!(said.contains("<promise>FINISHED</promise>") && said.contains("1 passing"), "{said}");
    session.repo.write("more.txt", "x\n");
    blocked(session.works("I did something."));
    session.repo.write("more.txt", "y\n");
    let said = let_through(session.works("That is all. <promise>FINISHED</promise>"));
    assert!(said.contains("COMPLETED (verified)"), "{said}");
}

#[test]
fn blocks_without_a_tool_call_are_counted() {
    let session = Session::new();
    session.start(&["--max", "20", "--stall", "20", "--same-error", "20"]).ok();
    let message = |ended: Ended| ended.ok().json()["systemMessage"].as_str().unwrap().to_owned();
    for _ in 0..7 {
        let said = message(session.says("no"));
        assert!(!said.contains("in a row"), "{said}");
    }
    let said = message(session.says("no"));
    assert!(said.contains("this is stop 8 in a row") && said.contains("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"), "{said}");
    assert!(!message(session.works("worked")).contains("in a row"));
}

#[test]
fn it_can_be_cancelled_between_two_stops() {
    for words in [vec!["session", "cancel"], vec!["stop"]] {
        let session = Session::new();
        session.start(&["--max", "5", "--max-cost", "1"]).ok();
        blocked(session.works("one"));
        session.repo.write("work.txt", "unseen\n");
        let id = session.user.newest_loop()["loopId"].as_str().unwrap().to_owned();
        let mut words: Vec<&str> = words;
        if words == ["stop"] {
            words.push(&id);
        }
        session.user.ralph(session.repo.path(), &words).ok();
        let run = session.newest();
        assert_eq!((&run["status"], &run["reason"]), (&json!("ABORTED"), &json!("CANCELLED")), "{words:?}: {run:#}");
        assert_eq!(session.works("two").ok().stdout, "", "{words:?}");
        assert_eq!(crate::aid::unsettled(&session.user), 0);
        let again = session.user.ralph(session.repo.path(), ["session", "cancel"]).with_code(1).stderr;
        assert!(again.contains("no session has a loop"), "{again}");
        // The folder is free.
        session.start(&["--max", "5"]).ok();
    }
}

#[test]
fn one_loop_per_workspace_whoever_began_it() {
    let session = Session::new();
    session.start(&["--max", "5"]).ok();
    let id = session.user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    let quick = Agent::new(&session.user, Script::new().otherwise([Step::write("done.txt", "x"), Step::cost(1)]));
    let run = run_words_with(&quick.line, 1, &["--criteria", "sh check.sh"]);
    let second = ["session", "start", "Another", "--max", "1", "--criteria", "false"].map(str::to_owned).to_vec();
    let rewind = ["rewind", &id, "--to", "start"].map(str::to_owned).to_vec();
    for (words, code) in [(run.clone(), 2), (second.clone(), 2), (vec!["resume".to_owned()], 2), (rewind, 1)] {
        let refused = session.user.ralph(session.repo.path(), &words).with_code(code).stderr;
        assert!(refused.contains(&format!("ralph stop {}", &id[id.len() - 8..])), "{words:?}: {refused}");
    }
    assert_eq!(session.user.ralph(session.repo.path(), ["list", "--json"]).ok().json().as_array().unwrap().len(), 1);
    session.user.ralph(session.repo.path(), ["session", "cancel"]).ok();
    session.user.ralph(session.repo.path(), &run).ok();
    // And the other way round.
    let other = Session::new();
    let waiting = Script::new().run([Step::write("working", ""), Step::wait_for_file("go"), Step::cost(1)]);
    let agent = Agent::new(&other.user, waiting);
    let child = other.user.spawn(other.repo.path(), run_words_with(&agent.line, 1, &["--criteria", "false"]));
    wait_for_file(&other.repo.path().join("working"));
    let refused = other.user.ralph(other.repo.path(), &second).with_code(2).stderr;
    assert!(refused.contains("is already running"), "{refused}");
    assert_eq!(other.works("not mine").ok().stdout, "");
    other.repo.write("go", "");
    crate::aid::finish(child).with_code(10);
}

#[test]
fn another_agent_goes_on_with_one_that_is_over() {
    let session = Session::new();
    session.start(&["--max", "1"]).ok();
    let_through(session.works("one"));
    let id = session.user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    let agent = session.user.agent(Script::new().otherwise([Step::write("done.txt", "x\n"), Step::cost(1)]));
    session.user.configure(&format!("[agents.helper]\ncommand = '''{agent}'''\nunmetered = true\n"));
    let words = ["resume", &id, "--max", "3", "--agent", "helper", "--unmetered", "--json"];
    let result = session.user.ralph(session.repo.path(), words).ok().json();
    assert_eq!((&result["status"], &result["iterations"]), (&json!("COMPLETED"), &json!(2)), "{result:#}");
}

#[test]
fn a_hook_that_is_killed_while_it_checks_is_continued_by_the_next() {
    let session = Session::new();
    let wait = "touch ../checking; while [ ! -e ../go ]; do sleep 0.01; done; test -e done.txt\n";
    session.repo.write("check.sh", wait);
    session.repo.commit("a check that waits");
    let (checking, go) = (session.repo.outside().join("checking"), session.repo.outside().join("go"));
    fs::write(&go, "").unwrap();
    session.start(&["--max", "5", "--session", session.id]).ok();
    fs::remove_file(&go).unwrap();
    fs::remove_file(&checking).unwrap();

    session.answers(json!([{ "type": "text", "text": "one" }]), "end_turn");
    let mut child = session.command(session.repo.path());
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let event = session.event(json!({ "hook_event_name": "Stop", "last_assistant_message": "one" }));
    child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
    wait_for_file(&checking);
    let status = session.user.ralph(session.repo.path(), ["session", "status"]).ok().stdout;
    assert!(status.contains("checking now"), "{status}");
    kill(child);
    assert_eq!(session.user.newest_loop()["status"], "RUNNING");

    fs::write(&go, "").unwrap();
    let reason = blocked(session.says("two"));
    assert!(reason.contains("Iteration 2]"), "{reason}");
    session.repo.write("done.txt", "x\n");
    let said = let_through(session.says("three"));
    assert!(said.contains("COMPLETED (verified)"), "{said}");
    let run = session.newest();
    assert_eq!(run["counted"], 2, "{run:#}");
    // The turn that was checked together with the first is paid with the second.
    assert_eq!(micros(&run["costUSD"]), 3 * 4500, "{run:#}");
    assert_eq!(kinds(&session.user).iter().filter(|kind| *kind == "resumed").count(), 1);

    // One that was killed can be cancelled, too.
    let other = Session::new();
    other.start(&["--max", "5"]).ok();
    tamper(&other.user, "UPDATE loops SET pid = 1");
    other.user.ralph(other.repo.path(), ["session", "cancel"]).ok();
}
