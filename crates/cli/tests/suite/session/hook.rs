//! A hook never breaks the session, whatever is wrong with it or around it.

use std::process::Stdio;

use super::*;
use crate::aid::write_program;

#[test]
fn what_is_no_event_of_ours_is_let_through() {
    let session = Session::new();
    session.start(&["--max", "5"]).ok();
    for event in ["Notification", "SubagentStop", "UserPromptSubmit", "EventOfTomorrow"] {
        assert_eq!(session.hook(json!({ "hook_event_name": event })).ok().stdout, "", "{event}");
    }
    for (input, speaks) in
        [("", false), (" \n", false), ("not JSON", true), ("[1]", true), ("\u{0}\u{1}", true), ("{}", false)]
    {
        let ended = feed(session.command(session.repo.path()), input).ok();
        assert_eq!(!ended.stdout.is_empty(), speaks, "{input:?}: {}", ended.stdout);
        if speaks {
            assert!(ended.json()["systemMessage"].as_str().unwrap().starts_with("Ralph: "));
        }
    }
    // Of other types than they should be.
    let odd = json!({ "hook_event_name": "Stop", "session_id": 7, "cwd": [], "last_assistant_message": {} });
    assert_eq!(feed(session.command(session.repo.path()), &odd.to_string()).ok().stdout, "");
    assert_eq!(session.newest()["counted"], 1, "nothing of it was a turn");
    // Wrong words are no reason to stop an agent.
    let wrong = session.user.command(session.repo.path(), ["hook", "--bogus"]);
    blocked(feed(wrong, &session.event(json!({ "hook_event_name": "Stop" }))));
    assert!(session.user.ralph(session.repo.path(), ["hook", "--help"]).ok().stdout.contains("PreToolUse"));
}

#[test]
fn without_a_loop_it_says_and_makes_nothing() {
    let session = Session::new();
    for event in ["Stop", "PreCompact", "SessionStart", "PreToolUse"] {
        assert_eq!(session.hook(json!({ "hook_event_name": event })).ok().stdout, "", "{event}");
    }
    assert!(!session.user.state().exists());
}

#[test]
fn a_broken_store_lets_the_stop_through_with_a_message() {
    let session = Session::new();
    session.start(&["--max", "5"]).ok();
    let database = session.user.state().join("ralph.db");
    // With its write-ahead log, which holds what is not folded in yet.
    let (here, aside) = (session.user.state(), session.user.home());
    let files = ["ralph.db", "ralph.db-wal", "ralph.db-shm"];
    let files: Vec<&str> = files.into_iter().filter(|name| here.join(name).exists()).collect();
    let move_all =
        |from: &Path, to: &Path| files.iter().for_each(|name| fs::rename(from.join(name), to.join(name)).unwrap());
    move_all(&here, &aside);
    fs::write(&database, "this is no database, and long enough to look like one".repeat(100)).unwrap();
    let said = let_through(session.works("one"));
    assert!(said.contains("could not be checked"), "{said}");
    fs::remove_file(&database).unwrap();
    let_through(session.works("two"));
    // As soon as it can be read again the loop is there.
    move_all(&aside, &here);
    blocked(session.works("three"));

    let record = fs::read_dir(session.user.state().join("workspaces")).unwrap().next().unwrap().unwrap().path();
    fs::write(record.join("session.json"), "{ broken").unwrap();
    let said = let_through(session.works("four"));
    assert_eq!(said.matches("session.json").count(), 1, "{said}");
    assert!(said.contains("is broken") && !said.contains("free space"), "{said}");
}

#[test]
fn a_home_that_cannot_be_used_is_a_message_at_most() {
    let session = Session::new();
    let stop = session.event(json!({ "hook_event_name": "Stop" }));
    for (home, speaks) in [("/dev/null/nowhere", false), ("relative", false)] {
        let mut command = session.command(session.repo.path());
        command.env("RALPH_HOME", home);
        assert_eq!(!feed(command, &stop).ok().stdout.is_empty(), speaks, "{home}");
    }
    let mut command = session.command(session.repo.path());
    command.env("RALPH_HOME", "/dev/null/nowhere").env("RALPH_TASK_ID", "01890a5d-ac96-774b-bcce-b302099a8057");
    assert!(let_through(feed(command, &stop)).contains("the checkpoint could not be written"));
    let mut command = session.command(session.repo.path());
    command.env_remove("HOME").env_remove("RALPH_HOME");
    assert!(let_through(feed(command, &stop)).contains("no home directory"));
}

#[test]
fn a_state_that_cannot_be_written_lets_the_stop_through() {
    let session = Session::new();
    session.start(&["--max", "5"]).ok();
    // As good as a full disk for whoever wants to write there.
    let folder = session.user.state().join("loops").join(session.user.newest_loop()["loopId"].as_str().unwrap());
    fs::remove_dir_all(folder.join("logs")).unwrap();
    fs::write(folder.join("logs"), "").unwrap();
    let said = let_through(session.works("one"));
    assert!(said.contains("could not be checked") && said.contains("logs"), "{said}");
    fs::remove_file(folder.join("logs")).unwrap();
    blocked(session.works("two"));
}

#[test]
fn the_objective_comes_back_after_a_compaction() {
    let session = Session::new();
    session.start(&["--max", "5"]).ok();
    blocked(session.works("one"));
    let before = session.hook(json!({ "hook_event_name": "PreCompact", "trigger": "auto" })).ok().stdout;
    assert!(before.contains("Ralph loop") && !before.starts_with('{'), "instructions for the summary: {before}");
    let id = session.user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    let file = session.user.state().join("checkpoints").join(format!("{id}.checkpoint.json"));
    let checkpoint: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((&checkpoint["taskId"], &checkpoint["contextFull"]), (&json!(id), &json!(true)), "{checkpoint:#}");
    assert_eq!((&checkpoint["iteration"], &checkpoint["checkpointReason"]), (&json!(2), &json!("precompact")));
    for source in ["compact", "resume"] {
        let said = session.hook(json!({ "hook_event_name": "SessionStart", "source": source })).ok().json();
        let context = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        assert!(context.contains("Make the check pass") && context.contains("done.txt is missing"), "{context}");
    }
    session.repo.write("done.txt", "x\n");
    let_through(session.works("done"));
    assert!(!file.exists(), "the loop is over");
}

/// A check that says that it began, and waits while it is asked to. The folder of its signals is no part of the work.
fn slow_check(session: &Session, then: &str) {
    session.repo.write(".gitignore", "signals/\n");
    let script = format!("touch signals/began; while [ -e signals/wait ]; do sleep 0.05; done\n{then}\n");
    session.repo.write("check.sh", script);
    session.repo.commit("slow check");
    fs::create_dir(session.repo.path().join("signals")).unwrap();
}

fn spawn_stop(session: &Session) -> std::process::Child {
    let mut command = session.command(session.repo.path());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let event = session.event(json!({ "hook_event_name": "Stop" }));
    child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
    child
}

#[test]
fn a_second_stop_waits_for_the_first_and_says_the_same() {
    let session = Session::new();
    slow_check(&session, "test -e done.txt");
    session.start(&["--max", "9", "--session", session.id]).ok();
    let signals = session.repo.path().join("signals");
    fs::remove_file(signals.join("began")).unwrap();
    fs::write(signals.join("wait"), "").unwrap();
    let first = spawn_stop(&session);
    wait_for_file(&signals.join("began"));
    let second = spawn_stop(&session);
    // Long enough for it to look at the lock; if it is slower, it finds what the first one decided.
    std::thread::sleep(std::time::Duration::from_millis(300));
    fs::remove_file(signals.join("wait")).unwrap();
    let first = blocked(Ended::of(first));
    let second = blocked(Ended::of(second));
    assert!(first.contains("Iteration 2]"), "{first}");
    assert!(second.contains("Iteration 2]") || second.contains("Iteration 3]"), "{second}");
}

/// A hook runs at every stop, and a process of git takes longer than the rest of it.
#[test]
fn a_stop_asks_git_nothing_that_is_known() {
    let session = Session::new();
    session.start(&["--max", "9", "--session", session.id]).ok();
    blocked(session.works("not yet"));
    let folder = session.user.home().join("bin");
    let log = folder.join("calls");
    let path = std::env::var("PATH").unwrap();
    let git = format!("#!/bin/sh\necho \"$*\" >> {}\nPATH='{path}' exec git \"$@\"\n", log.display());
    write_program(&folder.join("git"), &git);
    let stop = || {
        let mut command = session.command(session.repo.path());
        command.env("PATH", format!("{}:{path}", folder.display()));
        blocked(feed(command, &session.event(json!({ "hook_event_name": "Stop", "stop_hook_active": true }))))
    };
    stop();
    assert_eq!(fs::read_to_string(&log).unwrap_or_default(), "");
    session.repo.write("new.txt", "x");
    session.repo.git(["add", "new.txt"]);
    stop();
    assert_eq!(fs::read_to_string(&log).unwrap_or_default().lines().count(), 1, "the index changed");
}

/// What the agent left behind gives a test other content while the check reads it, and then its own again.
#[test]
fn a_test_that_is_written_back_during_the_check_voids_it() {
    let session = Session::new();
    slow_check(
        &session,
        ". ./tests/real.sh; found=$?; touch signals/read; while [ -e signals/hold ]; do sleep 0.05; done; exit $found",
    );
    session.repo.write("tests/real.sh", "test -e done.txt\n");
    session.repo.commit("test");
    session.start(&["--max", "9", "--session", session.id]).ok();
    let signals = session.repo.path().join("signals");
    for name in ["began", "read"] {
        fs::remove_file(signals.join(name)).unwrap();
    }
    for name in ["wait", "hold"] {
        fs::write(signals.join(name), "").unwrap();
    }
    session.repo.write("other.txt", "not the work\n");
    let hook = spawn_stop(&session);
    wait_for_file(&signals.join("began"));
    session.repo.write("tests/real.sh", "true\n");
    fs::remove_file(signals.join("wait")).unwrap();
    wait_for_file(&signals.join("read"));
    session.repo.write("tests/real.sh", "test -e done.txt\n");
    fs::remove_file(signals.join("hold")).unwrap();
    blocked(Ended::of(hook));
    assert_eq!(session.newest()["status"], "RUNNING");
}

#[test]
fn a_check_that_writes_its_own_tests_again_is_no_cheat() {
    let session = Session::new();
    session.repo.write("tests/run.sh", "test -e done.txt\n");
    session.repo.commit("test");
    let check = "cp tests/run.sh copy && cat copy > tests/run.sh && chmod 644 tests/run.sh && sh tests/run.sh";
    let words = ["session", "start", "Make it", "--criteria", check, "--max", "3", "--session", session.id];
    session.user.ralph(session.repo.path(), words).ok();
    session.repo.write("done.txt", "x\n");
    let said = let_through(session.works("done"));
    assert!(said.contains("COMPLETED (verified)"), "{said}");
}

#[test]
fn a_loop_is_found_by_its_session_in_any_folder_and_there_is_one() {
    let session = Session::new();
    session.start(&["--max", "9", "--session", session.id]).ok();
    let home = session.user.home();
    let event = session.event(json!({ "hook_event_name": "Stop", "cwd": home }));
    blocked(feed(session.command(&home), &event));
    let other = Repo::init();
    let words = ["session", "start", "nothing", "--criteria", "true", "--max", "3", "--session", session.id];
    let refused = session.user.ralph(other.path(), words).with_code(2).stderr;
    assert!(refused.contains("runs in a Claude Code session"), "{refused}");
    session.user.ralph(session.repo.path(), ["session", "cancel"]).ok();
    assert_eq!(feed(session.command(&home), &event).ok().stdout, "");
    session.user.ralph(other.path(), words).ok();
}

#[test]
fn a_start_says_that_no_hook_is_installed_and_what_its_own_options_are() {
    let session = Session::new();
    let said = session.start(&[]).with_code(2).stderr;
    assert!(said.contains("--max is required") && !said.contains("both limits"), "{said}");
    assert!(said.contains("example: ralph session start \""), "{said}");
    let said = session.start(&["--max", "3"]).ok().stderr;
    assert!(said.contains("no hook of Ralph") && said.contains("`ralph install claude`"), "{said}");
    let repo = session.repo.path();
    session.user.ralph(repo, ["session", "cancel"]).ok();
    session.user.ralph(repo, ["install", "claude", "--yes"]).ok();
    let said = session.start(&["--max", "3"]).ok().stderr;
    assert!(!said.contains("no hook of Ralph"), "{said}");
    for (words, expected) in [
        (
            &["worker", "--server", "http://127.0.0.1:1", "--token", "x", "--agent", "nope"][..],
            "example: ralph worker --agent claude",
        ),
        (&["serve", "--workspace", "/nope"], "example: ralph serve"),
        (&["task", "list", "--status", "bogus"], "example: ralph task list --status"),
    ] {
        let said = session.user.ralph(repo, words).with_code(2).stderr;
        assert!(said.contains(expected) && !said.contains("ralph run"), "{words:?}: {said}");
    }
}

#[test]
fn two_hooks_at_once_do_no_harm() {
    let session = Session::new();
    session.start(&["--max", "9", "--session", session.id]).ok();
    let children: Vec<_> = (0..4).map(|_| spawn_stop(&session)).collect();
    for child in children {
        Ended::of(child).ok().json();
    }
    session.repo.write("done.txt", "x\n");
    assert!(let_through(session.works("done")).contains("COMPLETED (verified)"));
    session
        .user
        .ralph(session.repo.path(), ["verify-run", session.user.newest_loop()["loopId"].as_str().unwrap()])
        .ok();
}
