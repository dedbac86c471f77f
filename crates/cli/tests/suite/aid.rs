//! What the tests of durability and supervision share: agents that count, waiting for events, signals, the database.

use std::path::{Path, PathBuf};
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use ralph_testkit::{Processes, Repo, Script, agent_command};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use crate::harness::{Ended, User};

/// Longer than anything here takes on a busy machine; reached only by a test that fails.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// What has to be gone within two seconds, on a machine that may be busy.
pub const SOON: Duration = Duration::from_secs(30);

/// A scripted agent whose script the test can look at.
pub struct Agent {
    pub line: String,
    script: PathBuf,
}

impl Agent {
    pub fn new(user: &User, script: Script) -> Self {
        let script = script.save(user.home().join("agents"));
        Self { line: agent_command(&script), script }
    }

    /// How often it was started.
    pub fn runs(&self) -> u64 {
        Script::runs_of(&self.script)
    }

    /// Fails when a process of the agent, or any in the workspace, lives longer than `limit`.
    #[track_caller]
    pub fn assert_gone(&self, repo: &Repo, limit: Duration) {
        // The path of the script stands in the command line of whatever the agent starts.
        let started = Processes::with_marker(self.script.to_string_lossy().as_bytes());
        for (what, processes) in [("of the agent", started), ("in the workspace", Processes::working_in(repo.path()))] {
            if let Err(alive) = processes.wait_until_gone(limit) {
                let alive: Vec<String> = alive.iter().map(ToString::to_string).collect();
                panic!("processes {what} survived:\n{}", alive.join("\n"));
            }
        }
    }

    /// Whether it runs, while a Ralph whose words name it does.
    pub fn is_alive_under(&self, ralph: &Child) -> bool {
        let started = Processes::with_marker(self.script.to_string_lossy().as_bytes());
        started.list().iter().any(|process| process.pid != ralph.id())
    }
}

/// Waits for an event that a test can see.
#[track_caller]
pub fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < TIMEOUT, "{what} did not come within {TIMEOUT:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
pub fn wait_for_file(path: &Path) {
    wait_until(&path.display().to_string(), || path.exists());
}

/// Ralph takes signals of the keyboard that come closer together for one press.
pub const APART: Duration = Duration::from_millis(150);

/// Sends a signal to a child that was not waited for.
#[track_caller]
pub fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits for a child whose outputs are piped, and fails when it takes too long.
#[track_caller]
pub fn finish(child: Child) -> Ended {
    let pid = Pid::from_child(&child);
    let (sender, receiver) = std::sync::mpsc::channel();
    // Outputs have to be read while it runs, or it waits for a full pipe for ever.
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let patience = if is_long() { 10 * TIMEOUT } else { TIMEOUT };
    let output: std::io::Result<Output> = receiver.recv_timeout(patience).unwrap_or_else(|_| {
        let _ = kill_process(pid, Signal::KILL);
        panic!("ralph did not end within {patience:?}")
    });
    Ended::from(output.unwrap())
}

/// Kills a child as the kernel would and waits for it alone, not for whatever it leaves behind.
#[track_caller]
pub fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// What one statement gives, row by row, as text.
pub fn query(user: &User, statement: &'static str) -> Vec<Vec<String>> {
    on_database(user, async |connection| {
        let rows = sqlx::query(statement).fetch_all(connection).await.unwrap();
        let text = |row: &sqlx::sqlite::SqliteRow| {
            let cell = |index| row.try_get_unchecked::<Option<String>, _>(index).unwrap().unwrap_or_default();
            (0..row.len()).map(cell).collect()
        };
        rows.iter().map(text).collect()
    })
}

/// Changes the database behind the program's back.
pub fn tamper(user: &User, statement: &'static str) -> u64 {
    on_database(user, async |connection| sqlx::query(statement).execute(connection).await.unwrap().rows_affected())
}

/// Keeps everybody else from writing to the database meanwhile.
pub fn while_locked(user: &User, meanwhile: impl FnOnce()) {
    on_database(user, async |connection| {
        sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await.unwrap();
        meanwhile();
        sqlx::query("ROLLBACK").execute(connection).await.unwrap();
    });
}

fn on_database<T>(user: &User, work: impl AsyncFnOnce(&mut SqliteConnection) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(user.state().join("ralph.db")).busy_timeout(TIMEOUT);
        let mut connection = options.disable_statement_logging().connect().await.unwrap();
        let result = work(&mut connection).await;
        connection.close().await.unwrap();
        result
    })
}

/// The kinds of all events of the only loop.
pub fn kinds(user: &User) -> Vec<String> {
    query(user, "SELECT kind FROM events ORDER BY loop, seq").into_iter().map(|mut row| row.remove(0)).collect()
}

/// Money held for attempts that nobody settled, in micro-dollars.
pub fn unsettled(user: &User) -> i64 {
    query(user, "SELECT CAST(COALESCE(SUM(reserved), 0) AS TEXT) FROM budget WHERE settled IS NULL")[0][0]
        .parse()
        .unwrap()
}

/// Money of attempts that ended, in micro-dollars.
pub fn settled(user: &User) -> i64 {
    query(user, "SELECT CAST(COALESCE(SUM(settled), 0) AS TEXT) FROM budget")[0][0].parse().unwrap()
}

/// Adds words to those of a run; a flag that is there already gets the new value, because giving it twice is an error.
pub fn extended(mut words: Vec<String>, more: &[&str]) -> Vec<String> {
    let mut more = more.iter().copied().peekable();
    while let Some(word) = more.next() {
        let there = words.iter().position(|known| known == word && ["--pause", "--max-cost"].contains(&word));
        match (there, more.peek()) {
            (Some(at), Some(value)) => {
                words[at + 1] = (*value).to_owned();
                more.next();
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Longer campaigns run where somebody has the time for them.
pub fn is_long() -> bool {
    std::env::var_os("RALPH_TEST_LONG").is_some_and(|value| value == "1")
}

/// Dollars of a JSON number, in micro-dollars.
#[track_caller]
pub fn micros(value: &serde_json::Value) -> i64 {
    (value.as_f64().unwrap_or_else(|| panic!("{value} is no amount")) * 1e6).round() as i64
}

/// Writes a program that can be executed.
#[track_caller]
pub fn write_program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
