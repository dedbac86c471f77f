//! A stop in the steps after the work on a task: the last push of a crew, its checks, and the report of the end. Each ends at once, and the
//! next worker continues.

use std::io::{Read, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ralph_testkit::model::{Reply, Script};
use ralph_testkit::{Processes, Repo, ScriptedModel};
use rustix::process::Signal;
use serde_json::json;

use super::crew::{MAX_STOP, start_crew};
use super::diligent;
use super::fleet::{Fleet, Machine, git, hang_pushes, remote};
use crate::aid::{TIMEOUT, finish, signal, wait_until};
use crate::harness::Ended;

/// Waits for a step, asks the worker to end, and says that it did in time.
#[track_caller]
fn stopped(step: &str, worker: Child, is_there: impl FnMut() -> bool) -> Ended {
    wait_until(step, is_there);
    let asked = Instant::now();
    signal(&worker, Signal::TERM);
    let ended = finish(worker).ok();
    let took = asked.elapsed();
    eprintln!("{step}: ended {took:?} after SIGTERM");
    assert!(took < MAX_STOP, "{step}: {took:?}\n{}", ended.stderr);
    ended
}

/// A crew that answers at once.
fn answering() -> ScriptedModel {
    ScriptedModel::start(Script::new().reply(Reply::say("it is so")))
}

#[test]
fn in_the_last_push_of_a_crew() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let (path, address) = remote(&repo);
    let signs = machine.folder("signs");
    let [pushing, go] = ["pushing", "go"].map(|name| signs.join(name));
    hang_pushes(&path, &pushing, &go);
    let server = answering();
    let id = fleet.add(&["Say it", "--type", "crew", "--max-cost", "1", "--repo", &address]);
    let ended = stopped("the last push", start_crew(&machine, &fleet, &server, &[]), || pushing.exists());
    assert_eq!(server.requests().len(), 1, "the crew had answered");
    let task = fleet.task(&id);
    assert_eq!(task["status"], "unassigned", "{task:#}\n{}", ended.stderr);
    std::fs::write(&go, "").unwrap();
    continued(&machine, &fleet, &server, &id);
    assert!(!git(&path, &["rev-parse", &format!("ralph/{id}")]).is_empty());
}

#[test]
fn in_the_checks_of_a_crew() {
    const SLEEP: &str = "sleep 86399.5";
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let (_, address) = remote(&repo);
    let go = machine.folder("signs").join("go");
    let server = answering();
    let check = format!("[ -e {} ] || {SLEEP}", go.display());
    let id = fleet.add(&["Say it", "--type", "crew", "--criteria", &check, "--max-cost", "1", "--repo", &address]);
    let clones = Processes::working_in(machine.user.state().join("worktrees"));
    let sleeps = || clones.list().iter().any(|process| process.command.contains(SLEEP));
    let ended = stopped("the checks", start_crew(&machine, &fleet, &server, &[]), sleeps);
    assert!(!sleeps(), "the check survived");
    let task = fleet.task(&id);
    assert_eq!(task["status"], "unassigned", "{task:#}\n{}", ended.stderr);
    std::fs::write(&go, "").unwrap();
    continued(&machine, &fleet, &server, &id);
}

/// The next worker ends the task, without asking the models anew.
#[track_caller]
fn continued(machine: &Machine, fleet: &Fleet, server: &ScriptedModel, id: &str) {
    let worker = start_crew(machine, fleet, server, &[]);
    fleet.wait_for_ends(1);
    signal(&worker, Signal::TERM);
    let ended = finish(worker).ok();
    let task = fleet.task(id);
    assert_eq!(task["status"], "completed", "{task:#}\n{}", ended.stderr);
    assert_eq!(server.requests().len(), 1, "nothing was asked twice");
}

/// Passes on what a worker and its server say, until the worker reports an end: from then on the server is away.
struct Way {
    url: String,
    is_away: Arc<AtomicBool>,
}

impl Way {
    fn between(listener: TcpListener, server: String) -> Self {
        let (url, is_away) = (format!("http://{}", listener.local_addr().unwrap()), Arc::new(AtomicBool::new(false)));
        let known = Arc::clone(&is_away);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (server, known) = (server.clone(), Arc::clone(&known));
                std::thread::spawn(move || pass(stream, &server, &known));
            }
        });
        Self { url, is_away }
    }
}

fn pass(mut worker: TcpStream, server: &str, is_away: &AtomicBool) -> Option<()> {
    let mut server = TcpStream::connect(server).ok()?;
    let (mut back, mut answers) = (worker.try_clone().ok()?, server.try_clone().ok()?);
    std::thread::spawn(move || std::io::copy(&mut answers, &mut back));
    let mut part = vec![0; 1 << 16];
    loop {
        let read = worker.read(&mut part).ok().filter(|read| *read > 0);
        let text = String::from_utf8_lossy(&part[..read.unwrap_or_default()]);
        if text.lines().next().is_some_and(|line| line.starts_with("POST ") && line.contains("/complete ")) {
            is_away.store(true, Ordering::SeqCst);
        }
        match read {
            Some(read) if !is_away.load(Ordering::SeqCst) => server.write_all(&part[..read]).ok()?,
            _ => {
                let _ = (server.shutdown(Shutdown::Both), worker.shutdown(Shutdown::Both));
                return None;
            }
        }
    }
}

#[test]
fn in_the_report_to_a_server_that_is_away() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (fleet, machine, repo) = (Fleet::with(&["--allow-host", &address]), Machine::new(), Repo::init());
    let id = fleet.add(&["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "3"]);
    let way = Way::between(listener, fleet.server.address().to_owned());
    let agent = diligent(&machine);
    let folder = repo.path().to_str().unwrap();
    let words = ["worker", "--server", &way.url, "--unmetered", "--agent-command", &agent, "--workspace", folder];
    let mut command = machine.user.command(&machine.user.home(), words.iter().chain(&["--lease", "5"]));
    command.env("RALPH_TOKEN", &fleet.token).stdout(Stdio::piped()).stderr(Stdio::piped());
    let worker = command.spawn().unwrap();
    stopped("the report", worker, || way.is_away.load(Ordering::SeqCst));
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["verified"]), (&json!("in_progress"), &json!(false)), "{task:#}");
    let run = task["runId"].clone();
    // The next worker reports it when the lease is over, and does nothing anew.
    let since = Instant::now();
    while fleet.task(&id)["status"] != "completed" {
        assert!(since.elapsed() < TIMEOUT, "{:#}", fleet.task(&id));
        machine.drain(&fleet, &agent, &["--workspace", folder]);
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    let task = fleet.task(&id);
    assert_eq!(
        (&task["verified"], &task["runId"], &task["ralphIterations"]),
        (&json!(true), &run, &json!(1)),
        "{task:#}"
    );
}
