use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ralph_model::Timestamp;
use ralph_workspace::{Holder, Lock, LockError, holder};

use crate::support::{id, throwaway};

fn me() -> Holder {
    Holder { loop_id: id(), pid: std::process::id(), started_at: Timestamp(7), workspace: "/some/where".into() }
}

/// A process that holds the lock of `state` by an inherited descriptor, as a supervisor does.
fn keep_open(lock: &Lock) -> Child {
    let descriptor = lock.descriptors()[0].try_clone().unwrap();
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::from(descriptor)).spawn().unwrap()
}

/// The number of a process that is certain to have ended.
fn dead_pid() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    pid
}

#[test]
fn a_second_loop_is_refused_at_once_and_told_who_is_first() {
    let state = throwaway();
    let first = Lock::take(state.path(), &me(), Duration::from_secs(60)).unwrap();
    let start = Instant::now();
    let error = Lock::take(state.path(), &me(), Duration::from_secs(60)).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(matches!(&error, LockError::Held { holder } if *holder == me()), "{error}");
    let message = error.to_string();
    assert!(message.contains(&id().short()) && message.contains("/some/where"), "{message}");
    assert_eq!(holder(state.path()).unwrap(), Some(me()));
    drop(first);
    assert_eq!(holder(state.path()).unwrap(), None);
    Lock::take(state.path(), &me(), Duration::ZERO).unwrap();
}

#[test]
fn a_stale_lock_is_taken_over() {
    let state = throwaway();
    let stale = Holder { pid: dead_pid(), ..me() };
    drop(Lock::take(state.path(), &stale, Duration::ZERO).unwrap());
    Lock::take(state.path(), &me(), Duration::ZERO).unwrap();
    std::fs::write(state.path().join("lock"), "cut off {").unwrap();
    Lock::take(state.path(), &me(), Duration::ZERO).unwrap();
}

#[test]
fn what_a_dead_holder_left_behind_is_waited_for_up_to_a_limit() {
    let state = throwaway();
    let dead = Holder { pid: dead_pid(), ..me() };
    let lock = Lock::take(state.path(), &dead, Duration::ZERO).unwrap();
    let mut survivor = keep_open(&lock);
    drop(lock);
    let error = Lock::take(state.path(), &me(), Duration::from_millis(50)).unwrap_err();
    assert!(matches!(&error, LockError::Survivor { holder: Some(holder) } if holder.pid == dead.pid), "{error}");
    // It ends while somebody waits.
    let path = state.path().to_owned();
    let waiting = std::thread::spawn(move || Lock::take(&path, &me(), Duration::from_secs(60)).map(drop));
    drop(survivor.stdin.take());
    survivor.wait().unwrap();
    waiting.join().unwrap().unwrap();
}

#[test]
fn a_process_number_that_came_round_again_is_not_the_holder() {
    let state = throwaway();
    let lock = Lock::take(state.path(), &me(), Duration::ZERO).unwrap();
    let mut survivor = keep_open(&lock);
    drop(lock);
    let path = state.path().join("lock");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"loopId\"") && text.contains("\"startedAt\":7"), "{text}");
    let other = rewrite_start(&text);
    std::fs::OpenOptions::new().write(true).truncate(true).open(&path).unwrap().write_all(other.as_bytes()).unwrap();
    let error = Lock::take(state.path(), &me(), Duration::ZERO).unwrap_err();
    assert!(matches!(error, LockError::Survivor { .. }), "{error}");
    drop(survivor.stdin.take());
    survivor.wait().unwrap();
}

fn rewrite_start(text: &str) -> String {
    let at = text.find("\"processStarted\":").unwrap();
    format!("{}\"processStarted\":1}}", &text[..at])
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error_with_its_path() {
    let error = Lock::take(Path::new("/proc/nothing/here"), &me(), Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains("/proc/nothing/here"), "{error}");
}

#[test]
fn a_ralph_that_keeps_its_state_elsewhere_is_refused_too() {
    let (state, other, workspace) = (throwaway(), throwaway(), throwaway());
    let here = Holder { workspace: workspace.path().display().to_string(), ..me() };
    let first = Lock::take(state.path(), &here, Duration::from_secs(60)).unwrap();
    let start = Instant::now();
    let error = Lock::take(other.path(), &here, Duration::from_secs(60)).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(matches!(error, LockError::Elsewhere { .. }), "{error}");
    assert_eq!(holder(other.path()).unwrap(), None, "the one that was refused holds nothing");
    // As long as a supervisor of the first lives, so does its lock.
    let survivor = first.descriptors();
    drop(first);
    Lock::take(other.path(), &here, Duration::ZERO).unwrap_err();
    drop(survivor);
    Lock::take(other.path(), &here, Duration::ZERO).unwrap();
}
