//! A server, and machines that work for it.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ralph_testkit::Repo;
use serde_json::Value;

use crate::aid::write_program;
use crate::harness::{Ended, User};
use crate::server::{Served, task};

/// Longer than any task here takes on a busy machine; reached only by a test that fails.
const TIMEOUT: Duration = Duration::from_secs(240);

/// A server with its queue.
pub struct Fleet {
    pub user: User,
    pub server: Served,
    pub token: String,
}

impl Fleet {
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// With more words for the server.
    pub fn with(words: &[&str]) -> Self {
        let user = User::new();
        let server = Served::start_with(&user, words);
        let token = user.ralph(&user.home(), ["token"]).ok().stdout.trim().to_owned();
        Self { user, server, token }
    }

    /// What the server shows of a loop.
    #[track_caller]
    pub fn of_loop(&self, id: &str, what: &str) -> String {
        let (head, body) = self.server.get(&format!("/api/loops/{id}/{what}"), &self.token);
        assert!(head.contains(" 200 ") || head.contains(" 201 "), "{what}: {head} {body}");
        body
    }

    /// Asks the server.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        let (head, body) = self.server.call(method, path, &self.token, body);
        assert!(head.contains(" 200 ") || head.contains(" 201 "), "{path}: {head} {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Queues a task and gives its id.
    #[track_caller]
    pub fn add(&self, words: &[&str]) -> String {
        let words: Vec<&str> = ["add"].iter().chain(words).chain(&["--json"]).copied().collect();
        task(&self.user, &self.server, &words).ok().json()["id"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub fn task(&self, id: &str) -> Value {
        task(&self.user, &self.server, &["show", id, "--json"]).ok().json()
    }

    /// Waits until so many tasks have ended; fails where none ends for a long time.
    #[track_caller]
    pub fn wait_for_ends(&self, count: u64) {
        let (mut known, mut since) = (0, Instant::now());
        while known < count {
            let counts = self.ask("GET", "/api/stats", "")["tasks"].clone();
            let has_ended = |one: &&Value| ["completed", "failed", "cancelled"].iter().any(|end| one["status"] == *end);
            let ended =
                counts.as_array().unwrap().iter().filter(has_ended).filter_map(|one| one["tasks"].as_u64()).sum();
            if ended > known {
                (known, since) = (ended, Instant::now());
            }
            assert!(since.elapsed() < TIMEOUT, "{counts:#}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    #[track_caller]
    pub fn cancel(&self, id: &str) {
        task(&self.user, &self.server, &["cancel", id]).ok();
    }

    /// What happened to a task so far, in words.
    #[track_caller]
    pub fn kinds(&self, id: &str) -> Vec<String> {
        let lines = task(&self.user, &self.server, &["logs", id, "--json"]).ok().stdout;
        let kind = |line: &str| serde_json::from_str::<Value>(line).unwrap()["kind"].as_str().unwrap().to_owned();
        lines.lines().map(kind).collect()
    }
}

/// A machine with a state of its own.
pub struct Machine {
    pub user: User,
}

impl Machine {
    pub fn new() -> Self {
        Self { user: User::new() }
    }

    /// A new folder that agents can write.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.user.home().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Starts a worker; its output is read by the caller.
    pub fn start(&self, fleet: &Fleet, agent: &str, more: &[&str]) -> Child {
        let words = ["worker", "--server", &fleet.server.url, "--unmetered", "--agent-command", agent];
        let mut command = self.user.command(&self.user.home(), words.iter().chain(more));
        command.env("RALPH_TOKEN", &fleet.token).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Works until nothing is left.
    #[track_caller]
    pub fn drain(&self, fleet: &Fleet, agent: &str, more: &[&str]) -> Ended {
        let more: Vec<&str> = more.iter().chain(&["--drain"]).copied().collect();
        Ended::of(self.start(fleet, agent, &more)).ok()
    }
}

/// A repository that can be pushed to, and its address.
pub fn remote(repo: &Repo) -> (PathBuf, String) {
    let path = repo.outside().join("remote.git");
    repo.git(["clone", "--quiet", "--bare", ".", path.to_str().unwrap()]);
    let address = format!("file://{}", path.display());
    (path, address)
}

/// Makes a remote that takes a push, says so with a file, and does not answer before the other file is there. It refuses then: a push
/// whose worker is gone must not come between.
pub fn hang_pushes(path: &Path, begun: &Path, go: &Path) {
    // Without the folder the test is over.
    let folder = go.parent().unwrap().display();
    let [begun, go] = [begun, go].map(Path::display);
    let script = format!(
        "#!/bin/sh\n[ ! -e {go} ] || exit 0\n: > {begun}\nwhile [ -d {folder} ] && [ ! -e {go} ]; do sleep 0.1; done\nexit 1\n"
    );
    write_program(&path.join("hooks/pre-receive"), &script);
}

/// What git says in a git directory.
#[track_caller]
pub fn git(directory: &Path, words: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.arg("--git-dir").arg(directory).args(words).envs(ralph_testkit::git_environment());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The output of a task, which is an object.
#[track_caller]
pub fn output_of(task: &Value) -> Value {
    let output = task["output"].as_str().unwrap_or_else(|| panic!("no output in {task:#}"));
    serde_json::from_str(output).unwrap()
}
