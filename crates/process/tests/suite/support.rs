//! A throwaway folder, a supervisor, and ways to look at processes from outside.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_model::{Ended, Millis};
use ralph_process::{Error, Finished, ReaperProgram, Spec, Stdin, Stop, Supervisor};
use ralph_text::Redactor;
use tempfile::TempDir;
use tokio::sync::watch;

/// Longer than anything takes on a busy machine, shorter than a person's patience.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// Shortest first: only a busy machine needs the later ones.
const LIMITS: [Millis; 4] = [Millis(200), Millis(1_000), Millis(5_000), Millis(25_000)];

pub(crate) struct Lab {
    pub(crate) folder: TempDir,
    pub(crate) supervisor: Supervisor,
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self::with(Redactor::default())
    }

    pub(crate) fn with(redactor: Redactor) -> Self {
        let folder = match Path::new("/dev/shm").is_dir() {
            true => TempDir::new_in("/dev/shm").unwrap(),
            false => TempDir::new().unwrap(),
        };
        Self { folder, supervisor: supervisor(redactor) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn spec(&self, line: &str) -> Spec {
        spec(self.folder.path(), line)
    }

    pub(crate) async fn run(&self, line: &str) -> Finished {
        self.run_spec(self.spec(line)).await.unwrap()
    }

    pub(crate) async fn run_spec(&self, spec: Spec) -> Result<Finished, Error> {
        let (_sender, stop) = watch::channel(None);
        self.run_until(spec, stop).await
    }

    pub(crate) async fn run_until(&self, spec: Spec, stop: watch::Receiver<Option<Stop>>) -> Result<Finished, Error> {
        tokio::time::timeout(TIMEOUT, self.supervisor.run(spec, stop, &mut |_, _| {})).await.expect("the run ends")
    }

    /// Runs into longer and longer time limits, until one left the program the time to become ready. Gives that limit too.
    pub(crate) async fn run_into_limit(
        &self,
        spec: impl Fn() -> Spec,
        is_ready: impl Fn(&Finished) -> bool,
    ) -> (Finished, Millis) {
        for limit in LIMITS {
            let _ = fs::remove_file(self.path("pids"));
            let finished = self.run_spec(Spec { timeout: Some(limit), ..spec() }).await.unwrap();
            assert_eq!(finished.ended, Ended::TimedOut { after: limit });
            if is_ready(&finished) {
                return (finished, limit);
            }
        }
        panic!("the program was not ready within {LIMITS:?}");
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap()
    }

    /// The numbers that the program wrote into a file, one per line, once there are so many.
    pub(crate) async fn numbers(&self, name: &str, count: usize) -> Vec<i32> {
        let path = self.path(name);
        eventually("the program writes its numbers", || numbers_in(&path, count)).await
    }
}

pub(crate) fn supervisor(redactor: Redactor) -> Supervisor {
    let reaper = ReaperProgram { program: env!("CARGO_BIN_EXE_ralph-reaper").into(), arguments: Vec::new() };
    Supervisor::new(reaper, Arc::new(redactor))
}

pub(crate) fn spec(folder: &Path, line: &str) -> Spec {
    Spec {
        program: Spec::shell(line),
        directory: folder.to_owned(),
        environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        stdin: Stdin::Empty,
        log: folder.join("log"),
        pieces: None,
        log_limit: 64 << 20,
        tail: 64 << 10,
        timeout: None,
        idle: None,
        grace: Millis(2_000),
        hold: Vec::new(),
        sandbox: None,
    }
}

pub(crate) fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

pub(crate) fn numbers_in(path: &Path, count: usize) -> Option<Vec<i32>> {
    let text = fs::read_to_string(path).ok()?;
    let numbers: Vec<i32> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    (numbers.len() >= count && text.ends_with('\n')).then_some(numbers)
}

/// Whether a process runs; one that only waits to be reaped does not.
pub(crate) fn is_alive(pid: i32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits for something to become true, without blocking the runtime that may have to make it true.
pub(crate) async fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(since.elapsed() < TIMEOUT, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
