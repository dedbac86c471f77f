//! Checkpoints and progress of a task that a worker gave to the agent.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use super::*;

const TASK: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

fn with_task(session: &Session, id: &str) -> Command {
    let mut command = session.command(session.repo.path());
    command
        .env("RALPH_TASK_ID", id)
        .env("RALPH_ITERATION", "4")
        .env("RALPH_STATE_DIR", session.user.home().join("own"));
    command
}

#[test]
fn a_stop_and_a_compaction_write_checkpoints() {
    let session = Session::new();
    let file = session.user.home().join("own").join(format!("{TASK}.checkpoint.json"));
    for (event, reason, is_full) in [("Stop", "stop", false), ("PreCompact", "precompact", true)] {
        let said = feed(with_task(&session, TASK), &session.event(json!({ "hook_event_name": event }))).ok().stdout;
        assert_eq!(said.contains("`ralph-complete`"), is_full, "{said}");
        let checkpoint: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(checkpoint["taskId"], TASK);
        assert_eq!((&checkpoint["iteration"], &checkpoint["contextFull"]), (&json!(4), &json!(is_full)));
        assert_eq!(checkpoint["checkpointReason"], reason);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    // Without a folder of its own: in the state, where nobody else looks.
    let mut command = with_task(&session, TASK);
    command.env_remove("RALPH_STATE_DIR");
    feed(command, &session.event(json!({ "hook_event_name": "Stop" }))).ok();
    let folder = session.user.state().join("checkpoints");
    assert!(folder.join(format!("{TASK}.checkpoint.json")).is_file());
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn an_id_that_is_no_uuid_names_no_file() {
    let session = Session::new();
    for id in ["../../escaped", "/etc/passwd", "01890a5d", "01890a5d-ac96-774b-bcce-b302099a8057/../x", "."] {
        let said = let_through(feed(with_task(&session, id), &session.event(json!({ "hook_event_name": "Stop" }))));
        assert!(said.contains("not a UUID"), "{id}: {said}");
    }
    assert!(!session.user.home().join("own").exists());
    assert!(!session.user.home().parent().unwrap().join("escaped.checkpoint.json").exists());
}

#[test]
fn a_session_begins_with_the_progress_of_its_task() {
    let session = Session::new();
    let start = session.event(json!({ "hook_event_name": "SessionStart", "source": "startup" }));
    assert_eq!(feed(with_task(&session, TASK), &start).ok().stdout, "", "there is no progress yet");
    let name = format!("thoughts/shared/ralph/{TASK}/progress.md");
    session.repo.write(&name, "Half of the parser is written.\n");
    let said = feed(with_task(&session, TASK), &start).ok().json();
    let context = said["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("Half of the parser") && context.contains(&name), "{context}");
    session.repo.write(&name, "x".repeat(1 << 20));
    let said = feed(with_task(&session, TASK), &start).ok();
    assert!(said.stdout.len() < 20_000, "bounded, not {} bytes", said.stdout.len());
}

#[test]
fn a_server_gets_the_checkpoint_and_one_that_is_away_is_a_warning() {
    let session = Session::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            head.push_str(&line);
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        (head, String::from_utf8(body).unwrap(), listener)
    });
    let stop = session.event(json!({ "hook_event_name": "Stop" }));
    let reported = |address: &str| {
        let mut command = with_task(&session, TASK);
        command.env("RALPH_SERVER", format!("http://{address}")).env("RALPH_TOKEN", "t0ken");
        command
    };
    assert_eq!(feed(reported(&address.to_string()), &stop).ok().stdout, "");
    let (head, body, listener) = server.join().unwrap();
    assert!(head.starts_with(&format!("POST /api/tasks/{TASK}/checkpoint HTTP/1.1\r\n")), "{head}");
    assert!(head.contains("authorization: Bearer t0ken\r\n"), "{head}");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["taskId"], TASK);

    // One that takes the connection and says nothing, and one that is not there.
    let silent = listener.local_addr().unwrap().to_string();
    for address in [silent.as_str(), "127.0.0.1:1"] {
        let start = Instant::now();
        let said = let_through(feed(reported(address), &stop));
        assert!(said.contains("did not take the checkpoint"), "{address}: {said}");
        assert!(start.elapsed() < Duration::from_secs(30), "{address}: {:?}", start.elapsed());
    }

    // One that hangs up is not asked again: the agent waits.
    drop(listener);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let calls = std::thread::spawn(move || {
        drop(listener.accept().unwrap());
        listener.set_nonblocking(true).unwrap();
        std::thread::sleep(Duration::from_secs(1));
        std::iter::from_fn(|| listener.accept().ok()).count()
    });
    let said = let_through(feed(reported(&address), &stop));
    assert!(said.contains("did not take the checkpoint"), "{said}");
    assert_eq!(calls.join().unwrap(), 0, "further calls");
}
