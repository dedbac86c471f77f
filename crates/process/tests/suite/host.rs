//! Runs that need a Ralph of their own: one to kill, and one whose memory is measured. It is this test program itself,
//! started once more with the name of the ignored test [`host`].

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_process::{Level, Network, Sandbox};
use ralph_text::Redactor;
use rustix::fs::{FlockOperation, flock};
use tokio::sync::watch;

use crate::sandbox::levels;
use crate::support::{Lab, is_alive, numbers_in, spec, supervisor};

const FOLDER: &str = "RALPH_TEST_FOLDER";
const LINE: &str = "RALPH_TEST_LINE";
const LEVEL: &str = "RALPH_TEST_LEVEL";

pub(crate) fn start_host(folder: &Path, line: &str, level: Option<&Level>) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "host::host", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(LINE, line)
        .env(LEVEL, level.map(Level::to_string).unwrap_or_default())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Not a test by itself: what [`start_host`] starts, and nothing without its variables.
#[test]
fn host() {
    let (Ok(folder), Ok(line)) = (std::env::var(FOLDER), std::env::var(LINE)) else { return };
    let folder = PathBuf::from(folder);
    let lock = File::create(folder.join("lock")).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    let mut spec = spec(&folder, &line);
    spec.log_limit = 1 << 20;
    let level = std::env::var(LEVEL).unwrap_or_default();
    spec.sandbox = levels().into_iter().find(|found| found.to_string() == level).map(|level| Sandbox {
        writable: vec![folder.join("work")],
        hidden: vec![folder.join("state")],
        network: Network::Loopback,
        level,
    });
    assert_eq!(spec.sandbox.is_none(), level.is_empty(), "{level}");
    spec.hold = vec![Arc::new(lock.into())];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (_sender, stop) = watch::channel(None);
    let mut longest = 0;
    let mut observe = |_, text: &str| longest = longest.max(text.len());
    let finished = runtime.block_on(supervisor(Redactor::default()).run(spec, stop, &mut observe)).unwrap();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    println!("bytes={} peak={}", finished.output.bytes, peak.split_whitespace().next().unwrap());
}

#[test]
fn when_ralph_is_killed_its_tree_ends_and_what_is_held_is_held_until_then() {
    let lab = Lab::new();
    let deaf = "trap '' TERM HUP; echo $$ >> pids; while :; do sleep 1; done";
    let line = format!("( setsid sh -c \"{deaf}\" & ) & sh -c 'echo $$ >> pids; exec sleep 1000' & {deaf}");
    let line = line.replace("sh -c \"trap '' TERM HUP; echo $$", "sh -c \"trap '' TERM HUP; echo \\$\\$");
    let mut host = start_host(lab.folder.path(), &line, None);
    let pids = wait(|| numbers_in(&lab.path("pids"), 3));
    assert!(pids.iter().all(|pid| is_alive(*pid)), "{pids:?}");

    let lock = File::open(lab.path("lock")).unwrap();
    host.kill().unwrap();
    let killed = Instant::now();
    assert_eq!(host.wait().unwrap().signal(), Some(9));
    // Two of the three do not react to being asked, so that there is half a second in which this has to be refused. A busy
    // machine may come later.
    let refused = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err();
    assert!(refused || killed.elapsed() > Duration::from_millis(400), "released while the tree was alive");
    wait(|| flock(&lock, FlockOperation::NonBlockingLockExclusive).ok());
    assert_eq!(pids.iter().filter(|pid| is_alive(**pid)).count(), 0, "released while the tree was alive");
}

#[test]
fn a_flood_on_one_line_needs_no_more_memory_than_a_trickle() {
    let peak_of = |line: &str, bytes: u64| {
        let lab = Lab::new();
        let mut host = start_host(lab.folder.path(), line, None);
        let mut text = String::new();
        host.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        host.wait().unwrap();
        let figures =
            text.lines().find_map(|line| Some(line.split_once("bytes=")?.1.split_once(" peak=").unwrap())).unwrap();
        assert_eq!(figures.0.parse::<u64>().unwrap(), bytes);
        figures.1.trim().parse::<u64>().unwrap()
    };
    let trickle = peak_of("echo x", 2);
    let flood = peak_of("head -c 100000000 /dev/zero | tr '\\0' a", 100_000_000);
    let noise = peak_of("head -c 5000000 /dev/urandom", 5_000_000);
    // In KiB: buffers for one piece in all its forms, whatever the length of the output.
    assert!(flood < trickle + 8_192, "{flood} KiB against {trickle} KiB");
    assert!(noise < trickle + 8_192, "{noise} KiB against {trickle} KiB");
}

pub(crate) fn wait<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(since.elapsed() < crate::support::TIMEOUT, "it did not come in time");
        std::thread::sleep(Duration::from_millis(1));
    }
}
