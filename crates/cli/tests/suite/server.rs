//! `ralph serve`, `ralph token` and `ralph task`, as people use them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{Ended, User};

/// A server that is ended with the test.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(user: &User) -> Self {
        let mut command = user.command(&user.home(), ["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.find_map(|line| line.strip_prefix("listening on ").map(str::to_owned));
        Self { url: url.expect("the server says where it listens"), child }
    }

    fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// Ends as a service manager ends it.
    fn terminate(mut self) -> Duration {
        let begun = Instant::now();
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        begun.elapsed()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn task(user: &User, server: &Served, words: &[&str]) -> Ended {
    let words = ["task"].iter().chain(words).chain(&["--server", server.url.as_str()]).copied().collect::<Vec<_>>();
    user.ralph(&user.home(), words)
}

#[test]
fn a_task_is_queued_listed_followed_and_cancelled() {
    let user = User::new();
    let none = user.ralph(&user.home(), ["token"]).with_code(1);
    assert!(none.stderr.contains("ralph serve"), "{}", none.stderr);
    let server = Served::start(&user);
    let token = user.ralph(&user.home(), ["token"]).ok().stdout.trim().to_owned();
    assert!(token.starts_with("ralph_") && token.len() == 70, "{token}");
    let mode = std::fs::metadata(user.state().join("token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let refused = task(&user, &server, &["add", "Fix it"]).with_code(2);
    assert!(refused.stderr.contains("--promise"), "{}", refused.stderr);
    let added =
        task(&user, &server, &["add", "Fix it", "--promise", "it works", "--max", "7", "--tag", "a", "--json"]).ok();
    let (id, max) = (added.json()["id"].as_str().unwrap().to_owned(), added.json()["ralphMaxIterations"].clone());
    assert_eq!(max, 7);
    let listed = task(&user, &server, &["list", "--json"]).ok().json();
    assert_eq!(listed[0]["id"], Value::from(id.clone()));
    let short = &id[id.len() - 8..];
    let shown = task(&user, &server, &["show", short]).ok().stdout;
    assert!(shown.contains("it works") && shown.contains("unassigned"), "{shown}");
    let logs = task(&user, &server, &["logs", short]).ok().stdout;
    assert!(logs.contains("created"), "{logs}");
    task(&user, &server, &["cancel", short]).ok();
    let logs = task(&user, &server, &["logs", short, "--follow"]).ok().stdout;
    assert!(logs.contains("cancelled"), "{logs}");
    task(&user, &server, &["show", "00000000"]).with_code(1);
    let took = server.terminate();
    assert!(took < Duration::from_secs(30), "{took:?}");
}

#[test]
fn tokens_are_made_listed_and_revoked_without_a_server() {
    let user = User::new();
    let secret = user.ralph(&user.home(), ["token", "create", "builder", "--agent"]).ok().stdout.trim().to_owned();
    user.ralph(&user.home(), ["token", "create", "builder"]).with_code(1);
    user.ralph(&user.home(), ["token", "create", "a b"]).with_code(1);
    let listed = user.ralph(&user.home(), ["token", "list", "--json"]).ok();
    assert_eq!((&listed.json()[0]["name"], &listed.json()[0]["role"]), (&"builder".into(), &"agent".into()));
    assert!(!listed.stdout.contains(&secret));
    let server = Served::start(&user);
    let ask = |token: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let request = format!(
            "GET /api/tasks HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n",
            server.address()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(ask(&secret).starts_with("HTTP/1.1 200"));
    user.ralph(&user.home(), ["token", "revoke", "builder"]).ok();
    user.ralph(&user.home(), ["token", "revoke", "builder"]).with_code(1);
    std::thread::sleep(Duration::from_millis(1100));
    assert!(ask(&secret).starts_with("HTTP/1.1 401"));
    // A revoked first token is replaced at the next start.
    let first = user.ralph(&user.home(), ["token"]).ok().stdout;
    user.ralph(&user.home(), ["token", "revoke", "first"]).ok();
    server.terminate();
    drop(Served::start(&user));
    assert_ne!(user.ralph(&user.home(), ["token"]).ok().stdout, first);
}

#[test]
fn addresses_that_cannot_be_used_are_named() {
    let user = User::new();
    let server = Served::start(&user);
    let words = ["serve", "--listen", server.address()];
    let taken = user.ralph(&user.home(), words).with_code(1);
    assert!(taken.stderr.contains("another program uses this address"), "{}", taken.stderr);
    let open = user.ralph(&user.home(), ["serve", "--listen", "0.0.0.0:0"]).with_code(1);
    assert!(open.stderr.contains("--tls-cert"), "{}", open.stderr);
    user.ralph(&user.home(), ["serve", "--listen", "127.0.0.1:0", "--tls-cert", "x"]).with_code(2);
    let gone = user.ralph(&user.home(), ["task", "list", "--server", "http://127.0.0.1:1"]).with_code(1);
    assert!(gone.stderr.contains("ralph serve"), "{}", gone.stderr);
    let remote = user.ralph(&user.home(), ["task", "list", "--server", "http://ralph.example.org"]).with_code(1);
    assert!(remote.stderr.contains("needs a token"), "{}", remote.stderr);
}
