//! Workers whose server is not there, or is none.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::Instant;

use ralph_testkit::Repo;
use rustix::process::Signal;

use super::crew::MAX_STOP;
use super::diligent;
use super::fleet::{Fleet, Machine};
use crate::aid::{finish, signal};
use crate::harness::Ended;
use crate::server::Served;

/// A worker for this address.
fn start(machine: &Machine, url: &str, token: &str, agent: &str, more: &[&str]) -> Child {
    let words = ["worker", "--drain", "--server", url, "--unmetered", "--agent-command", agent];
    let mut command = machine.user.command(&machine.user.home(), words.iter().chain(more));
    command.env("RALPH_TOKEN", token).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until it says that it waits, and gives all it said with what it says afterwards.
#[track_caller]
fn said_when_waiting(worker: &mut Child) -> impl FnOnce() -> Vec<String> + use<> {
    let mut lines = BufReader::new(worker.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut said = Vec::new();
    loop {
        let line = lines.next().unwrap_or_else(|| panic!("it ended: {said:?}"));
        said.push(line);
        if said.last().is_some_and(|line| line.contains("waits for it")) {
            break;
        }
    }
    move || said.into_iter().chain(lines).collect()
}

#[test]
fn a_worker_that_starts_before_its_server_waits_for_it() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let id = fleet.add(&["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "3"]);
    let (address, url) = (fleet.server.address().to_owned(), fleet.server.url.clone());
    let Fleet { user, server, token } = fleet;
    server.terminate();
    let agent = diligent(&machine);
    let mut worker = start(&machine, &url, &token, &agent, &["--workspace", repo.path().to_str().unwrap()]);
    let said = said_when_waiting(&mut worker);
    // Long enough that it asked several times.
    std::thread::sleep(std::time::Duration::from_secs(4));
    let server = Served::start_at(&user, &address, &[]);
    let fleet = Fleet { user, server, token };
    let said = std::thread::spawn(said);
    Ended::of(worker).ok();
    let said = said.join().unwrap();
    assert_eq!(fleet.task(&id)["status"], "completed", "{said:#?}");
    let warnings = said.iter().filter(|line| line.contains(&url)).count();
    assert_eq!(warnings, 1, "it says so once: {said:#?}");
}

#[test]
fn a_worker_that_waits_for_its_server_ends_when_it_is_asked_to() {
    let machine = Machine::new();
    // Nothing listens at a port that was just given back; what is bound and does not answer is a server that hangs.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut worker = start(&machine, &format!("http://{gone}"), "ralph_x", "true", &[]);
    let said = said_when_waiting(&mut worker);
    let asked = Instant::now();
    signal(&worker, Signal::TERM);
    finish(worker).ok();
    assert!(asked.elapsed() < MAX_STOP, "{:?}", asked.elapsed());
    assert_eq!(said().last().map(String::as_str), Some("stopping"));
    let worker = start(&machine, &format!("http://{}", silent.local_addr().unwrap()), "ralph_x", "true", &[]);
    drop(silent.accept().unwrap());
    let (_connection, _) = silent.accept().unwrap();
    let asked = Instant::now();
    signal(&worker, Signal::TERM);
    finish(worker).ok();
    assert!(asked.elapsed() < MAX_STOP, "{:?}", asked.elapsed());
}

#[test]
fn what_is_no_server_of_ralph_ends_the_worker_at_once() {
    let (fleet, machine) = (Fleet::new(), Machine::new());
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    std::thread::spawn(move || {
        for answer in ["404 Not Found", "200 OK"] {
            let (mut stream, _) = other.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let body = "<html>";
            let length = body.len();
            write!(stream, "HTTP/1.1 {answer}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        }
    });
    let ended = |url: &str, token: &str, parts: &[&str]| {
        let ended = finish(start(&machine, url, token, "true", &[])).with_code(1);
        for part in parts {
            assert!(ended.stderr.contains(part), "{url}: no {part} in {}", ended.stderr);
        }
        assert!(!ended.stderr.contains("waits for it"), "{}", ended.stderr);
    };
    ended(&format!("http://{address}"), "ralph_x", &["404 Not Found", "no Ralph server"]);
    ended(&format!("http://{address}"), "ralph_x", &["does not understand"]);
    ended("ftp://127.0.0.1", "ralph_x", &["ftp://127.0.0.1", "http://127.0.0.1:3013"]);
    ended("http://no-such-host.invalid:3013", "ralph_x", &["no host named no-such-host.invalid"]);
    ended(&fleet.server.url, "ralph_wrong", &["token"]);
}
