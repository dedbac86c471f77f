//! What the machine has to offer, whatever the workspace.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use ralph_model::{ConfigError, Ended, Millis};
use ralph_process::{Files, NetworkLevel, Spec, Stdin, Supervisor};
use ralph_text::Redactor;

use super::super::prune::bytes_text;
use super::{Finding, Subject, Terminal};
use ralph_config::agents::prices;
use ralph_config::read_user;
use ralph_host::agents::listed;
use ralph_host::{database, find_program};

/// The oldest git that knows every option that Ralph uses.
const OLDEST_GIT: (u32, u32) = (2, 31);
/// Below this much free space a loop may not get to its end.
const LITTLE: u64 = 1 << 30;
/// Below this much it will not.
const NOTHING: u64 = 64 << 20;

/// Whether git is there and new enough; also where it is.
pub(super) fn git(subject: &Subject<'_>) -> (Option<PathBuf>, Finding) {
    let advice = format!("install git {}.{} or newer", OLDEST_GIT.0, OLDEST_GIT.1);
    let Some(program) = find_program("git", &subject.path) else {
        return (None, Finding::fail("git", "not found in PATH", advice));
    };
    let said = Command::new(&program).arg("--version").env_clear().output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let finding = match git_version(&said) {
        Some(version) if version >= OLDEST_GIT => Finding::ok("git", format!("{said} ({})", program.display())),
        Some(_) => Finding::fail("git", format!("{said} is too old"), advice),
        None => Finding::fail("git", format!("{} does not say its version", program.display()), advice),
    };
    (Some(program), finding)
}

/// `git version 2.39.5 (Apple Git-154)` and the like.
pub(super) fn git_version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("git version ")?.split(['.', ' ']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Whether the state folder can be written, and only by the user.
pub(super) fn state(subject: &Subject<'_>) -> Finding {
    let state = &subject.dirs.state;
    let advice = format!("make {} writable for you alone, or set RALPH_HOME to another folder", state.display());
    let (folder, missing) = existing(state);
    let metadata = match folder.metadata() {
        Ok(metadata) if metadata.is_dir() => metadata,
        Ok(_) => return Finding::fail("state", format!("{} is not a folder", folder.display()), advice),
        Err(error) => return Finding::fail("state", format!("{}: {error}", folder.display()), advice),
    };
    if let Err(error) = tempfile::Builder::new().prefix(".ralph-doctor-").tempfile_in(folder) {
        return Finding::fail("state", format!("{} cannot be written: {error}", folder.display()), advice);
    }
    if missing {
        return Finding::ok("state", format!("{} (made by the first loop)", state.display()));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Finding::warn("state", format!("{} belongs to another user", state.display()), advice);
    }
    let others = metadata.permissions().mode() & 0o077;
    if others != 0 {
        let advice = format!("chmod 700 {}", ralph_config::trust::shell_word(state));
        return Finding::warn("state", format!("{} is open to other users", state.display()), advice);
    }
    Finding::ok("state", format!("{} is writable and private", state.display()))
}

/// The folder itself, or the nearest one above it that exists, and whether it was missing.
fn existing(folder: &Path) -> (&Path, bool) {
    let found = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    (found, found != folder)
}

/// Whether there is room for snapshots and logs.
pub(super) fn disk(subject: &Subject<'_>) -> Finding {
    let (folder, _) = existing(&subject.dirs.state);
    let advice = "free some space, or set RALPH_HOME to a folder on another disk";
    match rustix::fs::statvfs(folder) {
        Ok(numbers) => {
            let free = numbers.f_bavail.saturating_mul(numbers.f_frsize);
            let detail = format!("{} free at {}", bytes_text(free), folder.display());
            match free {
                0..NOTHING => Finding::fail("disk", detail, advice),
                NOTHING..LITTLE => Finding::warn("disk", detail, advice),
                LITTLE.. => Finding::ok("disk", detail),
            }
        }
        Err(error) => Finding::warn("disk", format!("{}: {error}", folder.display()), advice),
    }
}

/// Whether the database opens; where there is none yet, whether one can be made at all.
pub(super) async fn database_finding(subject: &Subject<'_>) -> Finding {
    let path = subject.dirs.database();
    let advice = "see the message; nothing was changed";
    match database::open_existing(subject.dirs).await {
        Ok(Some(store)) => return Finding::ok("database", store.place().to_owned()),
        Ok(None) => {}
        Err(error) => return Finding::fail("database", error.to_string(), advice),
    }
    let trial = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => return Finding::fail("database", format!("no temporary folder: {error}"), "set TMPDIR"),
    };
    match ralph_store::open_sqlite(&trial.path().join("trial.db")).await {
        Ok(_) => Finding::ok("database", format!("{} (made by the first loop)", path.display())),
        Err(error) => Finding::fail("database", error.to_string(), advice),
    }
}

/// Whether processes can be seen: supervision finds an agent's children there.
pub(super) fn proc() -> Finding {
    match std::fs::read_to_string("/proc/self/stat") {
        Ok(_) => Finding::ok("processes", "/proc is readable"),
        Err(error) => {
            Finding::fail("processes", format!("/proc: {error}"), "mount /proc: children of agents are found there")
        }
    }
}

/// Whether a program can be supervised: one is started that leaves a child of its own behind, and that has to be gone.
pub(super) async fn reaper(subject: &Subject<'_>) -> Finding {
    let name = "supervision";
    let advice = "agents cannot be supervised here: is this a container without /proc, or a filter of system calls?";
    let trial = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => return Finding::fail(name, format!("no temporary folder: {error}"), "set TMPDIR"),
    };
    let spec = Spec {
        program: Spec::shell("(trap '' HUP; exec sleep 600) & exit 7"),
        directory: trial.path().to_owned(),
        environment: subject.environment.clone(),
        stdin: Stdin::Empty,
        log: trial.path().join("log"),
        pieces: None,
        log_limit: 4096,
        tail: 4096,
        timeout: Some(Millis::secs(20)),
        idle: None,
        grace: Millis::secs(1),
        hold: Vec::new(),
        sandbox: None,
    };
    let nobody: [(String, String); 0] = [];
    let supervisor = Supervisor::new(subject.reaper.clone(), Arc::new(Redactor::new(nobody)));
    let (_keep, stop) = tokio::sync::watch::channel(None);
    match supervisor.run(spec, stop, &mut |_, _| ()).await {
        Ok(finished) if finished.ended == (Ended::Exited { code: 7 }) && finished.swept > 0 => {
            Finding::ok(name, format!("process cleanup works ({})", finished.duration))
        }
        Ok(finished) => {
            let detail = format!("{}; {} processes left behind were ended", finished.ended, finished.swept);
            Finding::fail(name, detail, advice)
        }
        Err(error) => Finding::fail(name, error.to_string(), advice),
    }
}

/// How agents and checks can be kept inside.
pub(super) fn sandbox(subject: &Subject<'_>) -> Finding {
    let level = &subject.level;
    let advice = "install bubblewrap, or use a kernel with Landlock and user namespaces";
    match (&level.files, &level.network) {
        (Files::Open { .. }, _) => Finding::warn("sandbox", level.to_string(), advice),
        (_, NetworkLevel::Open { why }) => Finding::warn("sandbox", format!("{level} ({why})"), advice),
        _ => Finding::ok("sandbox", level.to_string()),
    }
}

/// What the sandbox does not keep agents and checks from.
pub(super) fn sandbox_gaps(subject: &Subject<'_>) -> Finding {
    Finding::ok("sandbox gaps", subject.level.gaps().join("; "))
}

/// Whether the user's own configuration is understood.
pub(super) fn configuration(subject: &Subject<'_>) -> Finding {
    let path = subject.dirs.config_file();
    let user = match read_user(&subject.dirs.config_file()) {
        Ok(user) => user,
        Err(error) => return Finding::fail("configuration", error.to_string(), "fix that line"),
    };
    // What no loop has asked for yet is looked at all the same.
    if let Err(ConfigError { problem, allowed, .. }) =
        listed(&user).map(|_| ()).and_then(|()| prices(&user).map(|_| ()))
    {
        let advice = format!("write there: {allowed}");
        return Finding::fail("configuration", format!("{}: {problem}", path.display()), advice);
    }
    match path.exists() {
        true => Finding::ok("configuration", path.display().to_string()),
        false => Finding::ok("configuration", format!("none at {}", path.display())),
    }
}

pub(super) fn terminal(subject: &Subject<'_>) -> Finding {
    Finding::ok(
        "terminal",
        match subject.terminal {
            Terminal::Whole => "live view and questions",
            Terminal::OutputOnly => "live view; no terminal to prompt on",
            Terminal::None => "none: plain lines, and what needs approval is refused",
        },
    )
}
