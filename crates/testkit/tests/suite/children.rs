//! Processes that the agent leaves behind, and how they are found.

use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use ralph_testkit::{Child, FileText, Processes, Script, Session, SignalName, Step};
use rustix::process::{Pid, Signal, getpgid, getsid, kill_process};

use crate::support::{Stage, TIMEOUT, start, wait_for};

const LONG: u64 = 600_000;

fn staying(pid_file: &str) -> Child {
    Child { stay_ms: LONG, pid_file: Some(pid_file.into()), ..Child::default() }
}

fn pid_in(stage: &Stage, file: &str) -> Pid {
    Pid::from_raw(stage.read(file).parse().unwrap()).unwrap()
}

fn parent_of(pid: Pid) -> String {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().to_owned()
}

/// Ends what a test left behind, even when the test failed.
struct Leftovers<'a>(&'a Stage);

impl Drop for Leftovers<'_> {
    fn drop(&mut self) {
        let marked = Processes::with_marker(self.0.script.to_str().unwrap()).list();
        for process in marked.into_iter().chain(Processes::working_in(self.0.work()).list()) {
            let _ = kill_process(Pid::from_raw(process.pid.try_into().unwrap()).unwrap(), Signal::KILL);
        }
    }
}

#[test]
fn a_forked_child_outlives_the_agent_in_its_group() {
    let stage = Stage::new(Script::new().run([Step::Fork(staying("pid"))]));
    let _leftovers = Leftovers(&stage);
    assert!(stage.run("").status.success());
    let child = pid_in(&stage, "pid");
    // The agent of this test has no group of its own either.
    assert_eq!(getpgid(Some(child)).unwrap(), getpgid(None).unwrap());
    let found = Processes::with_marker(stage.script.to_str().unwrap()).list();
    assert_eq!(found.iter().map(|process| process.pid.to_string()).collect::<Vec<_>>(), [stage.read("pid")]);
}

#[test]
fn a_double_fork_leaves_session_and_parent_at_once() {
    let stage = Stage::new(Script::new().run([Step::DoubleFork(staying("pid")), Step::wait_for_file("go")]));
    let _leftovers = Leftovers(&stage);
    let agent = stage.start("");
    wait_for(&stage.work().join("pid"));
    let child = pid_in(&stage, "pid");
    assert_eq!(getsid(Some(child)).unwrap(), child);
    assert_ne!(parent_of(child), agent.id().to_string(), "orphaned while the agent still runs");
    fs::write(stage.work().join("go"), "").unwrap();
    assert!(agent.wait_with_output().unwrap().status.success());
}

#[test]
fn a_child_can_have_its_own_session() {
    let stage = Stage::new(Script::new().run([Step::Fork(Child { session: Session::Own, ..staying("pid") })]));
    let _leftovers = Leftovers(&stage);
    assert!(stage.run("").status.success());
    let child = pid_in(&stage, "pid");
    assert_eq!(getsid(Some(child)).unwrap(), child);
}

#[test]
fn a_child_writes_late_and_goes() {
    let delay = Duration::from_millis(100);
    let late = FileText { path: "late/file".into(), text: "surprise".into() };
    let stage =
        Stage::new(Script::new().run([
            Step::write("mark", ""),
            Step::Fork(Child { delay_ms: 100, write: Some(late), ..Child::default() }),
        ]));
    assert!(stage.run("").status.success());
    assert_eq!(wait_for(&stage.work().join("late/file")), "surprise");
    let written = |path| fs::metadata(stage.work().join(path)).unwrap().modified().unwrap();
    // The clock of the file system ticks every few milliseconds.
    assert!(written("late/file").duration_since(written("mark")).unwrap() + Duration::from_millis(20) >= delay);
    Processes::with_marker(stage.script.to_str().unwrap()).wait_until_gone(TIMEOUT).unwrap();
}

#[test]
fn a_closed_child_lets_go_of_the_output_and_a_holder_does_not() {
    let stage =
        Stage::new(Script::new().run([Step::Fork(staying("pid")), Step::HoldStdout { ms: LONG }, Step::say("end")]));
    let _leftovers = Leftovers(&stage);
    let mut agent = stage.start("");
    let mut stdout = agent.stdout.take().unwrap();
    assert!(agent.wait().unwrap().success());
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let all = Processes::with_marker(stage.script.to_str().unwrap());
    let holder = all.list().into_iter().find(|process| process.pid.to_string() != stage.read("pid")).unwrap();
    assert!(!reader.is_finished(), "somebody has to hold the output");
    kill_process(Pid::from_raw(holder.pid.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    // Ends although the other child still lives.
    assert_eq!(reader.join().unwrap().unwrap(), "end\n");
    assert_eq!(all.list().len(), 1);
}

#[test]
fn ignored_signals_do_nothing_to_agent_and_children() {
    let stage = Stage::new(Script::new().run([
        Step::ignore_signals(),
        Step::Fork(staying("child")),
        Step::run("sleep 600 & echo $! > sleeper"),
        Step::write("ready", ""),
        Step::wait_for_file("go"),
    ]));
    let _leftovers = Leftovers(&stage);
    let mut agent = stage.start("");
    wait_for(&stage.work().join("ready"));
    let id = Pid::from_child(&agent);
    let sleeper = Pid::from_raw(stage.read("sleeper").trim().parse().unwrap()).unwrap();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        for process in [id, pid_in(&stage, "child"), sleeper] {
            kill_process(process, signal).unwrap();
        }
    }
    let alive = Processes::working_in(stage.work()).list();
    assert_eq!(alive.len(), 3, "{alive:?}");
    assert_eq!(Script::runs_of(&stage.script), 1, "becoming deaf is no second run");
    fs::write(stage.work().join("go"), "").unwrap();
    assert!(agent.wait().unwrap().success());
    kill_process(sleeper, Signal::KILL).unwrap();
}

#[test]
fn only_what_was_named_is_ignored() {
    let stage = Stage::new(Script::new().run([
        Step::IgnoreSignals(vec![SignalName::Hup]),
        Step::write("ready", ""),
        Step::sleep(Duration::from_millis(LONG)),
    ]));
    let mut agent = stage.start("");
    wait_for(&stage.work().join("ready"));
    kill_process(Pid::from_child(&agent), Signal::HUP).unwrap();
    kill_process(Pid::from_child(&agent), Signal::TERM).unwrap();
    assert_eq!(agent.wait().unwrap().signal(), Some(15));
}

#[test]
fn a_child_alone_can_be_deaf() {
    let deaf = Child { ignore: vec![SignalName::Term], ..staying("pid") };
    let stage = Stage::new(Script::new().run([Step::Fork(deaf)]));
    let _leftovers = Leftovers(&stage);
    assert!(stage.run("").status.success());
    let child = pid_in(&stage, "pid");
    kill_process(child, Signal::TERM).unwrap();
    let everything = Processes::with_marker(stage.script.to_str().unwrap());
    assert_eq!(everything.list().len(), 1);
    kill_process(child, Signal::KILL).unwrap();
    everything.wait_until_gone(TIMEOUT).unwrap();
}

#[test]
fn the_parent_is_killed() {
    let stage = Stage::new(Script::new().run([Step::KillParent(SignalName::Usr1), Step::write("survived", "")]));
    // The shell in between is the parent that gets the signal.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", r#""$0" "$1"; exit 0"#, env!("CARGO_BIN_EXE_scripted-agent")]).arg(&stage.script);
    let output = start(command.current_dir(stage.work()).stdin(Stdio::piped()), "").wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(10));
    wait_for(&stage.work().join("survived"));
    Processes::with_marker(stage.script.to_str().unwrap()).wait_until_gone(TIMEOUT).unwrap();
}

#[test]
fn processes_are_found_by_variable_by_command_line_and_by_folder() {
    let stage = Stage::new(Script::new().run([Step::write("ready", ""), Step::sleep(Duration::from_millis(LONG))]));
    let _leftovers = Leftovers(&stage);
    let marker = format!("TESTKIT_MARKER={}", stage.script.display());
    let (name, value) = marker.split_once('=').unwrap();
    let mut agent = start(stage.command().env(name, value), "");
    wait_for(&stage.work().join("ready"));

    let ways = [Processes::with_marker(&marker), Processes::with_marker(value), Processes::working_in(stage.work())];
    for way in &ways {
        let found = way.list();
        assert_eq!(found.iter().map(|process| process.pid).collect::<Vec<_>>(), [agent.id()], "{way:?}");
        assert!(found[0].to_string().contains("scripted-agent"), "{}", found[0]);
    }
    assert!(Processes::with_marker("TESTKIT_MARKER=other").list().is_empty());
    assert_eq!(ways[0].wait_until_gone(Duration::ZERO).unwrap_err().len(), 1);
    assert_eq!(ways[0].wait_for(1, TIMEOUT).unwrap().len(), 1);
    assert_eq!(ways[0].wait_for(2, Duration::ZERO).unwrap_err().len(), 1);

    agent.kill().unwrap();
    // A zombie is not alive: nobody has waited for it yet.
    for way in &ways {
        way.wait_until_gone(TIMEOUT).unwrap();
    }
    agent.wait().unwrap();
}
