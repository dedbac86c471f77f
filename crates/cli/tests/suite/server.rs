//! `ralph serve`, `ralph token` and `ralph task`, as people use them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ralph_testkit::{Repo, Script, Step};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{Ended, User, run_words_with};

/// A server that is ended with the test.
pub struct Served {
    child: Child,
    pub url: String,
}

impl Served {
    pub fn start(user: &User) -> Self {
        Self::start_with(user, &[])
    }

    pub fn start_with(user: &User, more: &[&str]) -> Self {
        Self::start_at(user, "127.0.0.1:0", more)
    }

    pub fn start_at(user: &User, address: &str, more: &[&str]) -> Self {
        let words = ["serve", "--listen", address].into_iter().chain(more.iter().copied());
        let mut command = user.command(&user.home(), words);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.find_map(|line| line.strip_prefix("listening on ").map(str::to_owned));
        Self { url: url.expect("the server says where it listens"), child }
    }

    pub fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// Reads a resource: the head of the answer and its body, as long as it is not sent in pieces.
    pub fn get(&self, path: &str, token: &str) -> (String, String) {
        self.call("GET", path, token, "")
    }

    /// Sends JSON.
    pub fn call(&self, method: &str, path: &str, token: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        // Answers to this version have no pieces.
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address(),
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// Ends as a service manager ends it.
    pub fn terminate(mut self) -> Duration {
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

pub fn task(user: &User, server: &Served, words: &[&str]) -> Ended {
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
    let none = task(&user, &server, &["show"]).with_code(1);
    assert!(none.stderr.contains("ralph task add"), "{}", none.stderr);
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
    let newest = [task(&user, &server, &["show"]).ok().stdout, task(&user, &server, &["logs"]).ok().stdout];
    assert_eq!(newest, [shown, logs]);
    task(&user, &server, &["cancel", short]).ok();
    let logs = task(&user, &server, &["logs", short, "--follow"]).ok().stdout;
    assert!(logs.contains("cancelled"), "{logs}");
    task(&user, &server, &["show", "00000000"]).with_code(1);
    let took = server.terminate();
    assert!(took < Duration::from_secs(30), "{took:?}");
}

#[test]
fn loops_are_shown_with_their_diffs_and_logs() {
    let (user, repo) = (User::new(), Repo::init());
    let steps = [Step::say("I write the file now"), Step::write("done.txt", "all of it\n")];
    let agent = user.agent(Script::new().run([Step::write("other.txt", "half of it\n")]).otherwise(steps));
    let words = ["--unmetered", "--criteria", "echo the check speaks; test -e done.txt"];
    let result = user.ralph(repo.path(), run_words_with(&agent, 3, &words)).ok().json();
    let id = result["loopId"].as_str().unwrap();
    let server = Served::start(&user);
    let token = user.ralph(&user.home(), ["token"]).ok().stdout.trim().to_owned();
    let get = |path: &str| {
        let (head, body) = server.get(&format!("/api/loops{path}"), &token);
        assert!(head.contains(" 200 "), "{path}: {head} {body}");
        body
    };
    let listed: Value = serde_json::from_str(&get("")).unwrap();
    assert_eq!(listed["loops"][0], user.newest_loop());
    let shown: Value = serde_json::from_str(&get(&format!("/{id}"))).unwrap();
    assert_eq!(shown, user.show(id));
    for (number, word) in [("1", "+half of it"), ("2", "+all of it"), ("0", "+half of it")] {
        let patch = get(&format!("/{id}/diff/{number}"));
        assert!(patch.contains(word), "{number}: {patch}");
        if number != "0" {
            assert_eq!(patch, user.ralph(repo.path(), ["diff", id, number]).ok().stdout);
        }
    }
    assert!(get(&format!("/{id}/logs/2")).contains("I write the file now"));
    for path in ["logs/1?check=1", "logs/0"] {
        assert!(get(&format!("/{id}/{path}")).contains("the check speaks"), "{path}");
    }
    for path in ["logs/9", "logs/1?check=9", "diff/9", "logs/x"] {
        let (head, _) = server.get(&format!("/api/loops/{id}/{path}"), &token);
        assert!(head.contains(" 404 "), "{path}: {head}");
    }
}

#[test]
fn a_server_with_a_certificate_is_used_over_https() {
    let user = User::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (user.home().join("certificate.pem"), user.home().join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let files = ["--tls-cert", certificate.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let server = Served::start_with(&user, &files);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    let url = server.url.replace("127.0.0.1", "localhost");
    let task = |words: &[&str], is_trusted: bool| {
        let words: Vec<&str> = ["task"].iter().chain(words).chain(&["--server", url.as_str()]).copied().collect();
        let mut command = user.command(&user.home(), words);
        if is_trusted {
            command.env("SSL_CERT_FILE", &certificate);
        }
        Ended::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    let added = task(&["add", "Fix it", "--promise", "it works", "--json"], true).ok().json();
    let id = added["id"].as_str().unwrap();
    assert_eq!(task(&["list", "--json"], true).ok().json()[0]["id"], id);
    // A certificate of an authority that this machine does not know is refused.
    let refused = task(&["list"], false).with_code(1);
    assert!(refused.stderr.to_lowercase().contains("certificate"), "{}", refused.stderr);
    // Nor is plain HTTP answered.
    let plain = user.ralph(&user.home(), ["task", "list", "--server", &url.replace("https", "http")]);
    assert_ne!(plain.code, 0, "{}", plain.stdout);

    // A hook reaches it, too. The task is not claimed, so that its checkpoint is refused by name.
    let token = user.ralph(&user.home(), ["token"]).ok().stdout.trim().to_owned();
    let mut hook = user.command(&user.home(), ["hook"]);
    hook.env("RALPH_SERVER", &url)
        .env("RALPH_TOKEN", token)
        .env("RALPH_TASK_ID", id)
        .env("SSL_CERT_FILE", &certificate);
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let event = serde_json::json!({ "hook_event_name": "Stop", "session_id": "s", "cwd": user.home() });
    hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    let said = Ended::of(hook).ok().stdout;
    assert!(said.contains("epoch is required"), "{said}");
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
