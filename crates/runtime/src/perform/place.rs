//! Where checks run: in the workspace with other files put in place for as long as they do, or in a folder of the loop's
//! own. Knows nothing of what the checks find.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ralph_model::{Ended, Millis, Tamper, TamperKind, TreeHash, Verify};
use ralph_pins::Runner;
use ralph_process::{Network, Sandbox, Stop};
use ralph_workspace::{Placement, Since};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::Context;
use crate::error::Error;
use crate::home::Home;

/// Whether checks find what earlier builds left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caches {
    /// They do.
    Warm,
    /// They build from nothing, because an agent can write where builds are kept.
    Cold,
}

/// A place that is ready for checks.
pub(super) struct Stand {
    /// Where they run.
    pub(super) directory: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// What they run.
    pub(super) commands: Vec<String>,
    pub(super) timeout: Millis,
    pub(super) retries: u32,
    /// Reports that the environment makes a runner write.
    pub(super) reports: Vec<PathBuf>,
    /// Folders of the loop's own that they may write.
    writable: Vec<PathBuf>,
    swapped: Vec<(String, Placement)>,
    caches: Caches,
    temporary: Option<tempfile::TempDir>,
    /// What the folder of isolated checks holds.
    pub(super) synced: Option<TreeHash>,
    isolated: bool,
}

impl Stand {
    /// Whether nothing stands in the place of the workspace's own files.
    pub(super) fn is_the_work(&self) -> bool {
        !self.isolated && self.swapped.is_empty()
    }

    pub(super) const fn is_isolated(&self) -> bool {
        self.isolated
    }
}

/// How much longer checks may take that build from nothing.
const COLD_FACTOR: u64 = 3;

impl Context {
    /// Makes a place ready in which the work is `tree`, with these files as given.
    pub(super) async fn stand(
        &self,
        tree: &TreeHash,
        entries: Vec<(String, Placement)>,
        caches: Caches,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Stand, Error> {
        let isolated = self.config.verify == Verify::Isolated;
        let scratch = self.folder.checks();
        let kept = match caches {
            Caches::Warm => scratch.join("kept"),
            Caches::Cold => scratch.join("cold"),
        };
        if caches == Caches::Cold {
            remove_folder(&kept).await?;
        }
        Home::make_private(&kept)?;
        let reports: Vec<PathBuf> =
            if self.runs(Runner::Pytest) { vec![scratch.join("pytest.xml")] } else { Vec::new() };
        let mut stand = Stand {
            directory: if isolated { self.folder.checkout() } else { self.root.clone() },
            environment: self.check_environment(caches, &kept, &reports),
            commands: self.config.verification_commands.clone(),
            timeout: self.config.verification_timeout,
            retries: self.config.retries,
            reports,
            writable: vec![scratch],
            swapped: Vec::new(),
            caches,
            temporary: None,
            synced: None,
            isolated,
        };
        if caches == Caches::Cold {
            // A short path, because tests put sockets there; made new, while nothing of the agent runs.
            let usual = get(&stand.environment, "TMPDIR").filter(|folder| Path::new(folder).is_absolute());
            let usual = usual.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
            let fresh = tempfile::Builder::new().prefix("ralph-").tempdir_in(&usual).map_err(Error::file(&usual))?;
            set(&mut stand.environment, "TMPDIR", fresh.path().as_os_str());
            stand.writable.push(fresh.path().to_owned());
            stand.temporary = Some(fresh);
            stand.timeout = Millis(stand.timeout.0.saturating_mul(COLD_FACTOR));
            stand.retries = 0;
        }
        if isolated {
            stand.synced = self.synchronise(tree.clone(), entries.clone()).await?;
            self.set_up(&stand, stop).await?;
            // Whatever setting up did, the checks begin with the work as it is.
            self.synchronise(tree.clone(), entries).await?;
        } else if !entries.is_empty() {
            let (record, swapped) = (self.swap_record(), entries.clone());
            self.on_ground(move |ground| Ok(ground.workspace.swap_in(&entries, &record)?)).await?;
            stand.swapped = swapped;
        }
        Ok(stand)
    }

    /// Gives the workspace its own files back. What was put in place and is no longer what it was, was changed by the
    /// checks, or by what they started.
    pub(super) async fn leave(&self, mut stand: Stand) -> Result<Vec<Tamper>, Error> {
        if let Some(temporary) = stand.temporary.take()
            && let Err(error) = temporary.close()
        {
            self.machinery.warn(format!("a temporary folder of the checks could not be removed: {error}"));
        }
        if stand.caches == Caches::Cold {
            remove_folder(&self.folder.checks().join("cold")).await?;
        }
        if stand.swapped.is_empty() {
            return Ok(Vec::new());
        }
        let record = self.swap_record();
        let changed = self.on_ground(move |ground| Ok(ground.workspace.swap_out(&record, Since::Check)?)).await?;
        // What was out of the way may have been made anew by the checks: a test program that they build.
        let was_removed =
            |path: &str| stand.swapped.iter().any(|(swapped, to)| swapped == path && *to == Placement::Absent);
        let changed = changed.into_iter().filter(|path| !was_removed(path));
        Ok(changed.map(|path| Tamper::new(path, TamperKind::DuringCheck)).collect())
    }

    /// Where swapped files are written down.
    fn swap_record(&self) -> PathBuf {
        self.machinery.home.swap_record(&self.root)
    }

    fn runs(&self, runner: Runner) -> bool {
        self.runners.contains(&runner)
    }

    fn check_environment(&self, caches: Caches, kept: &Path, reports: &[PathBuf]) -> Vec<(OsString, OsString)> {
        let mut environment = self.environment();
        if self.config.verify == Verify::Isolated {
            environment = without_workspace(environment, &self.root);
        }
        // Compiled modules beside the sources are the agent's to write.
        set(&mut environment, "PYTHONPYCACHEPREFIX", kept.join("pycache").as_os_str());
        if let [report, ..] = reports {
            let known = get(&environment, "PYTEST_ADDOPTS").unwrap_or_default();
            let mut options = known;
            if !options.is_empty() {
                options.push(" ");
            }
            options.push("--junit-xml=");
            options.push(shell_quoted(report));
            set(&mut environment, "PYTEST_ADDOPTS", &options);
        }
        if caches == Caches::Cold {
            for (name, folder) in [("CARGO_BUILD_BUILD_DIR", "cargo"), ("GOCACHE", "go")] {
                set(&mut environment, name, kept.join(folder).as_os_str());
            }
        }
        environment
    }

    /// Makes the folder of isolated checks equal to the work, and gives the tree that it holds then.
    async fn synchronise(&self, tree: TreeHash, entries: Vec<(String, Placement)>) -> Result<Option<TreeHash>, Error> {
        self.on_ground(move |ground| {
            let super::Ground { workspace, checkout, .. } = ground;
            let Some(checkout) = checkout else { return Ok(None) };
            Ok(Some(checkout.sync(workspace, &tree, &entries)?.tree))
        })
        .await
    }

    /// Runs the set-up commands where the lock files are others than the last time.
    async fn set_up(&self, stand: &Stand, stop: watch::Receiver<Option<Stop>>) -> Result<(), Error> {
        if self.config.setup.is_empty() {
            return Ok(());
        }
        let (marker, now) = (self.folder.checks().join("set-up"), lock_files(&stand.directory));
        if std::fs::read_to_string(&marker).is_ok_and(|done| done == now) {
            return Ok(());
        }
        self.machinery.tell(crate::Notice::Activity { line: format!("setting up: {}", self.config.setup.join("; ")) });
        let logs = self.folder.logs();
        let mut request = self.request(stand, &self.config.setup, &logs, format!("setup-{}", &now[..8]));
        if let Some(sandbox) = &mut request.sandbox {
            // Packages come from somewhere.
            sandbox.network = Network::Allowed;
        }
        request.retries = 0;
        let outcomes = self.checker().run(request, stop, &mut |_| {}).await?;
        match outcomes.iter().find(|outcome| !outcome.ended.is_success()) {
            None => Home::write_private(&marker, now.as_bytes()),
            Some(failed) if failed.ended == Ended::Stopped => Ok(()),
            // The checks will fail for want of it and say so to the agent; a person has to be told the reason.
            Some(failed) => {
                let log = self.folder.root().join(&failed.output.file);
                self.machinery.warn(format!("`{}` {}; see {}", failed.command, failed.ended, log.display()));
                Ok(())
            }
        }
    }

    /// How checks are kept inside.
    pub(super) fn checks_sandbox(&self, stand: &Stand) -> Option<Sandbox> {
        let mut writable = vec![stand.directory.clone()];
        writable.extend(stand.writable.iter().cloned());
        let network = if self.config.allow_network { Network::Allowed } else { Network::Loopback };
        self.sandbox(writable, network)
    }
}

async fn remove_folder(path: &Path) -> Result<(), Error> {
    match tokio::fs::remove_dir_all(path).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file(path)(error)),
        _ => Ok(()),
    }
}

fn get(environment: &[(OsString, OsString)], name: &str) -> Option<OsString> {
    environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

fn set(environment: &mut Vec<(OsString, OsString)>, name: &str, value: &OsStr) {
    environment.retain(|(known, _)| known != name);
    environment.push((name.into(), value.to_owned()));
}

/// `PYTEST_ADDOPTS` is split like a line of shell.
fn shell_quoted(path: &Path) -> OsString {
    let mut quoted = OsString::from("'");
    quoted.push(path);
    quoted.push("'");
    quoted
}

/// The environment without anything that leads into the workspace: entries of PATH, and variables that point there.
fn without_workspace(environment: Vec<(OsString, OsString)>, root: &Path) -> Vec<(OsString, OsString)> {
    let leads_there = |value: &OsStr| Path::new(value).starts_with(root) || contains(value, root.as_os_str());
    let kept = environment.into_iter().filter_map(|(name, value)| {
        if name == "PATH" {
            let outside =
                std::env::split_paths(&value).filter(|folder| folder.is_absolute() && !folder.starts_with(root));
            return std::env::join_paths(outside).ok().map(|path| (name, path));
        }
        (!leads_there(&value)).then_some((name, value))
    });
    kept.collect()
}

fn contains(text: &OsStr, part: &OsStr) -> bool {
    let (text, part) = (text.as_encoded_bytes(), part.as_encoded_bytes());
    !part.is_empty() && text.windows(part.len()).any(|window| window == part)
}

/// What the lock files of a folder say, as one hash.
fn lock_files(folder: &Path) -> String {
    let mut hash = Sha256::new();
    for name in super::checks::LOCK_FILES {
        if let Ok(content) = std::fs::read(folder.join(name)) {
            hash.update(name.as_bytes());
            hash.update(&content);
        }
    }
    for name in ["requirements.txt", "requirements-dev.txt", "package.json", "pyproject.toml"] {
        if let Ok(content) = std::fs::read(folder.join(name)) {
            hash.update(name.as_bytes());
            hash.update(&content);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
