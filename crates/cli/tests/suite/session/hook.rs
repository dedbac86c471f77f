//! A hook never breaks the session, whatever is wrong with it or around it.

use std::process::Stdio;

use super::*;

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
    let intact = fs::read(&database).unwrap();
    for name in ["ralph.db-wal", "ralph.db-shm"] {
        let _ = fs::remove_file(session.user.state().join(name));
    }
    fs::write(&database, "this is no database, and long enough to look like one".repeat(100)).unwrap();
    let said = let_through(session.works("one"));
    assert!(said.contains("could not be checked"), "{said}");
    fs::remove_file(&database).unwrap();
    let_through(session.works("two"));
    // As soon as it can be read again the loop is there.
    fs::write(&database, intact).unwrap();
    blocked(session.works("three"));

    let record = fs::read_dir(session.user.state().join("workspaces")).unwrap().next().unwrap().unwrap().path();
    fs::write(record.join("session.json"), "{ broken").unwrap();
    let said = let_through(session.works("four"));
    assert!(said.contains("session.json"), "{said}");
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

#[test]
fn two_hooks_at_once_do_no_harm() {
    let session = Session::new();
    session.start(&["--max", "9", "--session", session.id]).ok();
    let spawn = || {
        let mut child = session.command(session.repo.path());
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let event = session.event(json!({ "hook_event_name": "Stop" }));
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
        child
    };
    let children: Vec<_> = (0..4).map(|_| spawn()).collect();
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
