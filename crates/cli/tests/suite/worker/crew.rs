//! Tasks of type `crew`: worked on in a clone, judged by the checks of the task, with questions answered over the server.

use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ralph_testkit::model::{Fault, Reply, Script, Tool, Usage};
use ralph_testkit::{Repo, ScriptedModel};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::fleet::{Fleet, Machine, git, hang_pushes, output_of, remote};
use crate::aid::{TIMEOUT, finish, kill, micros, query, signal, wait_until, write_program};
use crate::harness::Ended;

/// The aim is 2 s, and a build without optimisation on a busy machine takes longer. What does not listen takes minutes.
pub(super) const MAX_STOP: Duration = Duration::from_secs(12);

fn calls(name: &str, input: Value) -> Reply {
    let usage = Usage { input: 1000, output: 100, ..Usage::default() };
    Reply::say("").usage(usage).and(Tool::call(name, input))
}

#[test]
fn a_crew_works_on_a_task_and_asks_over_the_server() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    repo.write("start.txt", "x");
    repo.commit("start");
    let replies = [
        calls("askUser", json!({ "question": "Which name?", "options": ["a.txt", "b.txt"] })),
        calls("delegateToDevo", json!({ "objective": "write it", "expects": ["file:b.txt"] })),
        calls("fs_writeFile", json!({ "path": "b.txt", "content": "hello\n" })),
        Reply::say("written"),
        Reply::say("b.txt is there"),
        Reply::say("NONE"),
        Reply::say("nothing was done"),
    ];
    let server = ScriptedModel::start(replies.into_iter().fold(Script::new(), Script::reply));
    let add =
        |criteria: &str| fleet.add(&["Write a file", "--type", "crew", "--criteria", criteria, "--max-cost", "1"]);
    let (good, bad) = (add("test -f b.txt"), add("test -f c.txt"));
    let folder = repo.path().to_str().unwrap();
    let words = ["worker", "--server", &fleet.server.url, "--workspace", folder, "--drain"];
    let words = words.iter().chain(&["--unmetered", "--agent-command", "true"]);
    let mut command = machine.user.command(&machine.user.home(), words);
    command.env("RALPH_TOKEN", &fleet.token).env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "key-1");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pending = || fleet.ask("GET", "/api/approvals?pending=true", "")["approvals"][0].clone();
    wait_until("the question", || pending().is_object());
    let question = pending();
    assert_eq!((&question["action"], &question["why"]), (&json!("CHAPO: Which name?"), &json!("a.txt | b.txt")));
    let place = format!("/api/approvals/{}/answer", question["id"].as_str().unwrap());
    fleet.ask("POST", &place, &json!({ "answer": "approved", "comment": "b.txt" }).to_string());
    let ended = finish(child);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    let task = fleet.task(&good);
    assert_eq!((&task["status"], &task["verified"]), (&json!("completed"), &json!(true)), "{task:#}\n{}", ended.stderr);
    let output = output_of(&task);
    assert_eq!(output["summary"], "b.txt is there", "{output:#}");
    assert_eq!(repo.git(["show", &format!("ralph/{good}:b.txt")]), "hello");
    assert!(task["costUsd"].as_f64().or(task["costUSD"].as_f64()).unwrap() > 0.0, "{task:#}");
    assert!(server.requests()[1].results[0].contains("b.txt"), "{:?}", server.requests()[1].results);
    let task = fleet.task(&bad);
    assert_eq!((&task["status"], &task["verified"]), (&json!("failed"), &json!(false)), "{task:#}");
    assert!(task["failureReason"].as_str().unwrap().contains("the checks of the task fail"), "{task:#}");
    // The journal is the server's.
    let crews: Vec<Value> =
        fleet.user.ralph(&fleet.user.home(), ["list", "--all", "--json"]).ok().json().as_array().unwrap().clone();
    assert!(
        crews.iter().all(|one| one["kind"] == "crew" && one["status"] == "COMPLETED") && crews.len() == 2,
        "{crews:#?}"
    );
}

/// A receiver of notifications that never answers; counts those with this text.
fn silent_receiver(text: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for mut stream in listener.incoming().flatten() {
            stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            let (mut request, mut bytes) = (String::new(), [0; 4096]);
            while let Ok(count @ 1..) = stream.read(&mut bytes) {
                request.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
            if request.contains(text) {
                counted.fetch_add(1, Ordering::SeqCst);
            }
            open.push(stream);
        }
    });
    (url, count)
}

/// The worker dies in the middle of an outward action, after a delegation that ended. Another machine continues: it has the files of
/// the delegation, does not repeat the action, and counts the cost of both.
#[test]
fn another_machine_continues_a_crew_whose_worker_was_killed() {
    let (fleet, first, second, repo) = (Fleet::new(), Machine::new(), Machine::new(), Repo::init());
    let (path, address) = remote(&repo);
    let (webhook, sent) = silent_receiver("please look");
    for machine in [&first, &second] {
        machine.user.configure(&format!("[notify]\nwebhook = \"{webhook}\"\n"));
    }
    let replies = [
        calls("delegateToDevo", json!({ "objective": "write one", "expects": ["file:one.txt"] })),
        calls("fs_writeFile", json!({ "path": "one.txt", "content": "1\n" })),
        Reply::say("written"),
        calls("delegateToCaio", json!({ "objective": "tell the team" })),
        calls("notify_user", json!({ "message": "please look" })),
        // The first worker ends here.
        Reply::say("it may have been told"),
        Reply::say("one.txt is there"),
        Reply::say("NONE"),
    ];
    let server = ScriptedModel::start(replies.into_iter().fold(Script::new(), Script::reply));
    let words = ["Write one.txt and tell the team", "--type", "crew", "--criteria", "test -f one.txt"];
    let id = fleet.add(&[&words[..], &["--max-cost", "1", "--repo", &address]].concat());
    let start = |machine: &Machine, name: &str| {
        let words = ["worker", "--server", &fleet.server.url, "--name", name, "--lease", "5"];
        let words = words.iter().chain(&["--unmetered", "--agent-command", "true"]);
        let mut command = machine.user.command(&machine.user.home(), words);
        command.env("RALPH_TOKEN", &fleet.token).env("ANTHROPIC_BASE_URL", server.url());
        command.env("ANTHROPIC_API_KEY", "key-1").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let worker = start(&first, "first");
    let pending = || fleet.ask("GET", "/api/approvals?pending=true", "")["approvals"][0].clone();
    wait_until("the approval", || pending().is_object());
    let answer = format!("/api/approvals/{}/answer", pending()["id"].as_str().unwrap());
    fleet.ask("POST", &answer, &json!({ "answer": "approved" }).to_string());
    wait_until("the notification", || sent.load(Ordering::SeqCst) == 1);
    kill(worker);
    let (run, branch) = (fleet.task(&id)["runId"].clone(), format!("ralph/{id}"));
    assert_eq!(git(&path, &["show", &format!("{branch}:one.txt")]), "1", "it was pushed when its delegation ended");
    let show = || fleet.user.ralph(&fleet.user.home(), ["show", run.as_str().unwrap(), "--json"]).ok().json();
    let spent = micros(&show()["costUSD"]);
    assert!(spent > 0 && server.requests().len() == 5, "{spent}, {}", server.requests().len());
    let other = start(&second, "second");
    fleet.wait_for_ends(1);
    signal(&other, Signal::TERM);
    let ended = Ended::of(other).ok();
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["verified"]), (&json!("completed"), &json!(true)), "{task:#}\n{}", ended.stderr);
    assert_eq!((&task["runId"], &task["workerDeaths"]), (&run, &json!(1)), "{task:#}");
    assert_eq!(sent.load(Ordering::SeqCst), 1, "the action was not repeated");
    let requests = server.requests();
    assert!(requests[5].results[0].contains("unknown whether it was done"), "{:?}", requests[5].results);
    assert!(requests[6].results[0].contains("[ERROR] notify_user id=call-"), "{:?}", requests[6].results);
    assert!(requests[6].user.contains("[CONTINUED ON ANOTHER MACHINE]"), "{}", requests[6].user);
    let cost = micros(&task["costUsd"]);
    assert!(cost > spent && micros(&show()["costUSD"]) == cost && requests.len() == 8, "{spent} of {task:#}");
}

/// Refuses pushes to a repository and says why, as long as a file is there.
fn refuse_pushes(path: &Path, why: &str) -> PathBuf {
    let closed = path.join("closed");
    std::fs::write(&closed, "").unwrap();
    let hook = format!("#!/bin/sh\n[ ! -e {} ] || {{ echo '{why}' >&2; exit 1; }}\n", closed.display());
    write_program(&path.join("hooks/pre-receive"), &hook);
    closed
}

/// A crew that delegates one file, its model, and its worker.
fn delegating(machine: &Machine, fleet: &Fleet, address: &str) -> (ScriptedModel, String, std::process::Child) {
    let server = ScriptedModel::start(delegation([]));
    let id = add_crew(fleet, address, "test -f one.txt", "1");
    let worker = start_crew(machine, fleet, &server, &[]);
    (server, id, worker)
}

/// What the models of that crew say, with these answers in front of those with these numbers.
fn delegation<const N: usize>(before: [(usize, Reply); N]) -> Script {
    let mut replies = vec![
        calls("delegateToDevo", json!({ "objective": "write one", "expects": ["file:one.txt"] })),
        calls("fs_writeFile", json!({ "path": "one.txt", "content": "1\n" })),
        Reply::say("written"),
        Reply::say("one.txt is there"),
        Reply::say("NONE"),
    ];
    for (number, reply) in before {
        replies.insert(number, reply);
    }
    replies.into_iter().fold(Script::new(), Script::reply)
}

fn add_crew(fleet: &Fleet, address: &str, check: &str, max_cost: &str) -> String {
    let words = ["Write one.txt", "--type", "crew", "--criteria", check, "--max-cost", max_cost];
    fleet.add(&[&words[..], &["--repo", address]].concat())
}

pub(super) fn start_crew(
    machine: &Machine,
    fleet: &Fleet,
    server: &ScriptedModel,
    more: &[&str],
) -> std::process::Child {
    let words = ["worker", "--server", &fleet.server.url, "--unmetered", "--agent-command", "true"];
    let mut command = machine.user.command(&machine.user.home(), words.iter().chain(more));
    command.env("RALPH_TOKEN", &fleet.token).env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "key-1");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn recorded_ends(fleet: &Fleet) -> usize {
    query(&fleet.user, "SELECT seq FROM events WHERE kind = 'delegationChecked'").len()
}

#[test]
fn the_end_of_a_delegation_is_recorded_when_its_files_are_on_the_branch() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let (path, address) = remote(&repo);
    let closed = refuse_pushes(&path, "Connection refused");
    let (server, id, worker) = delegating(&machine, &fleet, &address);
    wait_until("the release", || fleet.kinds(&id).contains(&"released".to_owned()));
    assert_eq!((recorded_ends(&fleet), server.requests().len()), (0, 3));
    std::fs::remove_file(closed).unwrap();
    fleet.wait_for_ends(1);
    signal(&worker, Signal::TERM);
    let ended = Ended::of(worker).ok();
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["verified"]), (&json!("completed"), &json!(true)), "{task:#}\n{}", ended.stderr);
    assert_eq!(git(&path, &["show", &format!("ralph/{id}:one.txt")]), "1");
    assert_eq!((recorded_ends(&fleet), server.requests().len()), (1, 5), "nothing was asked twice");
}

#[test]
fn a_task_fails_whose_delegation_can_never_be_pushed() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let (path, address) = remote(&repo);
    refuse_pushes(&path, "the branch is closed");
    let (server, id, worker) = delegating(&machine, &fleet, &address);
    fleet.wait_for_ends(1);
    signal(&worker, Signal::TERM);
    Ended::of(worker).ok();
    let task = fleet.task(&id);
    let reason = task["failureReason"].as_str().unwrap_or_default();
    assert!(task["status"] == "failed" && reason.contains("the branch is closed"), "{task:#}");
    assert_eq!((recorded_ends(&fleet), server.requests().len()), (0, 3));
}

#[test]
fn a_push_whose_answer_is_lost_is_no_other_workers_push() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let (path, address) = remote(&repo);
    // The branch is updated, and then the connection breaks: in another second, so that another commit would have another name.
    let broken = path.join("broken");
    std::fs::write(&broken, "").unwrap();
    let hook = format!("#!/bin/sh\n[ ! -e {0} ] || {{ rm {0}; sleep 1.1; kill -9 $PPID; }}\n", broken.display());
    write_program(&path.join("hooks/post-receive"), &hook);
    let (server, id, worker) = delegating(&machine, &fleet, &address);
    fleet.wait_for_ends(1);
    signal(&worker, Signal::TERM);
    let ended = Ended::of(worker).ok();
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["verified"]), (&json!("completed"), &json!(true)), "{task:#}\n{}", ended.stderr);
    assert!(!broken.exists() && server.requests().len() == 5, "{}", ended.stderr);
}

/// In a request to a model, with a push after it, and in the push of a delegation.
#[test]
fn a_worker_that_is_asked_to_end_does_not_wait_for_the_remote_of_its_crew() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let (path, address) = remote(&repo);
    let signs = machine.folder("signs");
    let [pushing, go] = ["pushing", "go"].map(|name| signs.join(name));
    hang_pushes(&path, &pushing, &go);
    // A worker that is asked to end ends the delegation: the next one delegates again.
    let first = delegation([(2, Reply::fault(Fault::Hang { after_bytes: None }))]).replies.into_iter().take(3);
    let server = ScriptedModel::start(first.chain(delegation([]).replies).fold(Script::new(), Script::reply));
    let id = add_crew(&fleet, &address, "test -f one.txt", "9");
    let run_until = |step: &str, is_there: &dyn Fn() -> bool| {
        let worker = start_crew(&machine, &fleet, &server, &[]);
        let deadline = Instant::now() + TIMEOUT;
        while !is_there() {
            if Instant::now() > deadline {
                signal(&worker, Signal::TERM);
                panic!("{step}: {}", finish(worker).stderr);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let asked = Instant::now();
        signal(&worker, Signal::TERM);
        let ended = finish(worker).ok();
        eprintln!("{step}: ended {:?} after SIGTERM", asked.elapsed());
        assert!(asked.elapsed() < MAX_STOP, "{step}: {:?}\n{}", asked.elapsed(), ended.stderr);
        let task = fleet.task(&id);
        assert_eq!(task["status"], "unassigned", "{step}: {task:#}\n{}", ended.stderr);
    };
    run_until("a request of an agent", &|| server.requests().len() == 3);
    assert!(pushing.exists(), "what is there is pushed before the end");
    std::fs::remove_file(&pushing).unwrap();
    run_until("the push of a delegation", &|| pushing.exists());
    assert_eq!((recorded_ends(&fleet), server.requests().len()), (0, 6));
    // What the remote has not taken is not said to be done: the next worker begins with that push, and asks no model before it.
    std::fs::remove_file(&pushing).unwrap();
    run_until("the same push", &|| pushing.exists());
    assert_eq!((recorded_ends(&fleet), server.requests().len()), (0, 6));
    std::fs::write(&go, "").unwrap();
    let worker = start_crew(&machine, &fleet, &server, &[]);
    fleet.wait_for_ends(1);
    signal(&worker, Signal::TERM);
    let ended = finish(worker).ok();
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["verified"]), (&json!("completed"), &json!(true)), "{task:#}\n{}", ended.stderr);
    assert_eq!((recorded_ends(&fleet), server.requests().len()), (1, 8));
    assert_eq!(git(&path, &["show", &format!("ralph/{id}:one.txt")]), "1");
}

/// A worker that stands still loses its task and has its files all the same.
#[test]
fn a_crew_waits_for_a_worker_of_its_machine_that_still_has_its_files() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let (_, address) = remote(&repo);
    let server = ScriptedModel::start(delegation([(0, Reply::fault(Fault::Hang { after_bytes: None }))]));
    let id = add_crew(&fleet, &address, "test -f one.txt", "9");
    let frozen = start_crew(&machine, &fleet, &server, &["--lease", "5"]);
    wait_until("a request", || server.requests().len() == 1);
    signal(&frozen, Signal::STOP);
    let next = start_crew(&machine, &fleet, &server, &[]);
    let claims = || fleet.kinds(&id).iter().filter(|kind| *kind == "claimed").count();
    wait_until("the next claim", || claims() == 2);
    // Long enough for many more, were it given back.
    std::thread::sleep(Duration::from_secs(3));
    signal(&frozen, Signal::CONT);
    fleet.wait_for_ends(1);
    for worker in [frozen, next] {
        signal(&worker, Signal::TERM);
        finish(worker).ok();
    }
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["verified"]), (&json!("completed"), &json!(true)), "{task:#}");
    assert_eq!(claims(), 2, "it waited");
}
