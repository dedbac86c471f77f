//! Where checks run: in the workspace with other files put in place for as long as they do, or in a folder of the loop's
//! own. Knows nothing of what the checks find.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_model::{CheckOutcome, Ended, Millis, Runner, Tamper, TamperKind, TreeHash, Verify, shell_word};
use ralph_process::{Network, Sandbox, Stop};
use ralph_workspace::{Checkout, Placement, Since};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::builds::{self, Builds, Supply, VARIABLES};
use super::{Context, lock};
use crate::error::Error;
use crate::home::Home;

/// What checks find of earlier builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caches {
    /// Whatever lies in the workspace.
    Warm,
    /// What only Ralph keeps, and it is kept again: no agent has run yet.
    Start,
    /// A copy of that, because an agent can write where builds are kept.
    Own,
}

pub(super) struct CheckEnv {
    pub(super) directory: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) commands: Vec<String>,
    pub(super) timeout: Millis,
    pub(super) retries: u32,
    /// Reports that the environment makes a runner write.
    pub(super) reports: Vec<PathBuf>,
    /// Globs of reports in the folder.
    pub(super) junit: Vec<String>,
    /// Folders of the loop's own that they may write.
    writable: Vec<PathBuf>,
    swapped: Vec<(String, Placement)>,
    /// Builds that are used, and whether they are kept.
    builds: Option<(Arc<Builds>, Caches)>,
    temporary: Option<tempfile::TempDir>,
    /// What the folder of isolated checks holds.
    pub(super) synced: Option<TreeHash>,
    /// A set-up command that failed: the checks would fail for want of it.
    pub(super) failed_setup: Option<CheckOutcome>,
    isolated: bool,
}

impl CheckEnv {
    /// Whether nothing stands in the place of the workspace's own files.
    pub(super) fn is_the_work(&self) -> bool {
        !self.isolated && self.swapped.is_empty()
    }

    /// Files that were put in place and are there.
    pub(super) fn placed(&self) -> Vec<String> {
        let there = self.swapped.iter().filter(|(_, placement)| *placement != Placement::Absent);
        there.map(|(path, _)| path.clone()).collect()
    }

    pub(super) const fn is_isolated(&self) -> bool {
        self.isolated
    }

    /// What has to stay open until the processes of the checks are gone, besides what every process of a loop holds.
    pub(super) fn hold(&self) -> Option<Arc<OwnedFd>> {
        self.builds.as_ref().map(|(builds, _)| builds.hold())
    }
}

/// Where Python keeps compiled modules, by their whole path.
const PYCACHE: &str = "pycache";

/// Where Maven and Gradle write the results of `JUnit`.
const REPORTS: [&str; 2] = ["**/target/surefire-reports/TEST-*.xml", "**/build/test-results/**/TEST-*.xml"];

/// How much longer checks may take that may have to build from nothing.
const COLD_FACTOR: u64 = 3;

impl Context {
    /// Makes a place ready in which the work is `tree`, with these files as given, and with these builds, if there are any.
    pub(super) async fn check_env(
        &self,
        tree: &TreeHash,
        entries: Vec<(String, Placement)>,
        caches: Caches,
        builds: Option<Arc<Builds>>,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<CheckEnv, Error> {
        let isolated = self.config.verify == Verify::Isolated;
        let scratch = self.folder.checks();
        let directory = if isolated { self.folder.checkout() } else { self.root.clone() };
        let (kept, caches) = match (&builds, caches) {
            (Some(builds), caches) => (builds.used(), caches),
            (None, Caches::Warm | Caches::Start) => (scratch.join("kept"), Caches::Warm),
            // Another loop uses them, so that this one builds from nothing.
            (None, Caches::Own) => (scratch.join("cold"), Caches::Own),
        };
        if builds.is_none() && caches == Caches::Own {
            remove_folder(&kept).await?;
        }
        Home::make_private(&kept)?;
        // Python compares seconds and sizes: an edit within the second of the last run would not be seen.
        if let Ok(inside) = directory.strip_prefix("/") {
            remove_folder(&kept.join(PYCACHE).join(inside)).await?;
        }
        let reports: Vec<PathBuf> =
            if self.runs(Runner::Pytest) { vec![scratch.join("pytest.xml")] } else { Vec::new() };
        let mut env = CheckEnv {
            directory,
            environment: self.check_environment(caches, &kept, &reports),
            commands: self.config.verification_commands.clone(),
            timeout: self.config.verification_timeout,
            retries: self.config.retries,
            reports,
            junit: self.junit(),
            writable: vec![scratch],
            swapped: Vec::new(),
            builds: None,
            temporary: None,
            synced: None,
            failed_setup: None,
            isolated,
        };
        if caches == Caches::Own {
            // A short path, because tests put sockets there; made new, while nothing of the agent runs.
            let usual = get(&env.environment, "TMPDIR").filter(|folder| Path::new(folder).is_absolute());
            let usual = usual.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
            let fresh = tempfile::Builder::new().prefix("ralph-").tempdir_in(&usual).map_err(Error::file(&usual))?;
            set(&mut env.environment, "TMPDIR", fresh.path().as_os_str());
            env.writable.push(fresh.path().to_owned());
            env.temporary = Some(fresh);
            env.retries = 0;
        }
        if caches != Caches::Warm {
            env.timeout = Millis(env.timeout.0.saturating_mul(COLD_FACTOR));
        }
        if let Some(builds) = builds {
            env.writable.push(builds.used());
            env.builds = Some((builds, caches));
        }
        if isolated {
            if caches == Caches::Own {
                self.make_checkout_anew().await?;
            }
            env.synced = self.synchronise(tree.clone(), entries.clone()).await?;
            env.failed_setup = self.set_up(&env, stop).await?;
            // Whatever setting up did, the checks begin with the work as it is.
            self.synchronise(tree.clone(), entries).await?;
            return Ok(env);
        }
        if !entries.is_empty() {
            let (record, entries) = (self.swap_record(), entries.clone());
            env.swapped.clone_from(&entries);
            self.with_workspace(move |ground| {
                let done = ground.workspace.swap_in(&entries, &record);
                if done.is_err() {
                    // Half of it may be in place. The first error tells more than one of putting back.
                    if let Err(error) = ground.workspace.swap_out(&record, Since::Check) {
                        tracing::warn!(%error, "files that were swapped in could not be swapped out");
                    }
                }
                Ok(done?)
            })
            .await?;
        }
        if let Some((builds, caches)) = env.builds.take() {
            let tree = tree.clone();
            let renewed = self
                .with_workspace(move |ground| {
                    let renewed = builds.renew(ground, &tree, &entries);
                    Ok((renewed, builds))
                })
                .await?;
            env.builds = Some((renewed.1, caches));
            if let Err(error) = renewed.0 {
                self.leave(env).await?;
                return Err(error);
            }
        }
        Ok(env)
    }

    /// Takes what builds begin with; none where another loop uses it, or where nothing can be kept.
    pub(super) async fn take_builds(&self, caches: Caches) -> Result<Option<Arc<Builds>>, Error> {
        let (origin, place) = (self.config.origin.as_ref().map(PathBuf::from), self.place());
        let folder = self.services.home.builds(origin.as_deref().unwrap_or(&self.root));
        on_builds(move || {
            let Some(builds) = Builds::take(&folder, place)? else { return Ok(None) };
            if caches == Caches::Start {
                if builds.is_too_large() {
                    return Ok(None);
                }
                builds.move_in()?;
            }
            Ok(Some(Arc::new(builds)))
        })
        .await
    }

    fn place(&self) -> builds::Place {
        let is_apart = self.config.origin.is_some() || self.config.verify == Verify::Isolated;
        if is_apart { builds::Place::Apart } else { builds::Place::Workspace }
    }

    /// Copies small builds while an agent runs. Not those that other loops may want meanwhile.
    pub(super) async fn stock_up(&self) -> Result<(), Error> {
        if !self.config.tripwire || self.place() == builds::Place::Apart || lock(&self.supply).is_some() {
            return Ok(());
        }
        if let Some(builds) = self.take_builds(Caches::Own).await? {
            let mut supply = Supply::new(Some(builds), self.stop_flag().await?);
            supply.stock_up();
            *lock(&self.supply) = Some(supply);
        }
        Ok(())
    }

    pub(super) fn take_supply(&self) -> Option<Supply> {
        lock(&self.supply).take()
    }

    pub(super) async fn close(&self, supply: Supply) {
        if let Err(error) = supply.close().await {
            self.services.warn(error.chain());
        }
    }

    /// Keeps what the checks of the start built, for confirming runs.
    pub(super) async fn keep_builds(&self, env: &mut CheckEnv, trees: [TreeHash; 2]) -> Result<(), Error> {
        let Some((builds, _)) = env.builds.take() else { return Ok(()) };
        let (root, pycache) = (env.directory.clone(), self.folder.checks().join("kept").join(PYCACHE));
        let stop = self.stop_flag().await?;
        on_builds(move || {
            let used = builds.used().join(PYCACHE);
            // Compiled modules of the interpreter itself: the next checks need them too.
            if used.is_dir() && fs::create_dir_all(&pycache).is_ok() {
                let _ = builds::copy(&used, &pycache, &stop);
            }
            builds.keep(&root, trees)
        })
        .await
    }

    /// Gives the workspace its own files back. What was put in place and is no longer what it was, was changed by the
    /// checks, or by what they started.
    pub(super) async fn leave(&self, mut env: CheckEnv) -> Result<Vec<Tamper>, Error> {
        // First of all: nothing of the rest is worth leaving other files in the workspace.
        let changed = if env.swapped.is_empty() {
            Vec::new()
        } else {
            let record = self.swap_record();
            self.with_workspace(move |ground| Ok(ground.workspace.swap_out(&record, Since::Check)?)).await?
        };
        if let Some(temporary) = env.temporary.take()
            && let Err(error) = remove_folder(&temporary.keep()).await
        {
            self.services.warn(format!("a temporary folder of the checks could not be removed: {}", error.chain()));
        }
        let removed = match env.builds.take() {
            // Removed while the next checks run.
            Some((_, Caches::Own)) => Ok(()),
            Some((builds, _)) => remove_folder(&builds.used()).await,
            None => remove_folder(&self.folder.checks().join("cold")).await,
        };
        if let Err(error) = removed {
            self.services.warn(error.chain());
        }
        // What was out of the way may have been made anew by the checks: a test program that they build.
        let was_removed =
            |path: &str| env.swapped.iter().any(|(swapped, to)| swapped == path && *to == Placement::Absent);
        let changed = changed.into_iter().filter(|path| !was_removed(path));
        Ok(changed.map(|path| Tamper::new(path, TamperKind::DuringCheck)).collect())
    }

    /// Makes the folder of isolated checks from nothing: code of the agent ran there, and left what it liked.
    async fn make_checkout_anew(&self) -> Result<(), Error> {
        let folder = self.folder.clone();
        self.with_workspace(move |ground| {
            ground.checkout = None;
            for path in [folder.checkout(), folder.checkout_state()] {
                remove_tree(&path)?;
            }
            remove_tree(&folder.set_up())?;
            ground.checkout = Some(Checkout::open(&folder.checkout(), &folder.checkout_state())?);
            Ok(())
        })
        .await
    }

    /// Where swapped files are written down.
    fn swap_record(&self) -> PathBuf {
        self.services.home.swap_record(&self.root)
    }

    /// The reports that the user named, or else those that Maven and Gradle write in any case: a quiet build prints no test that
    /// passes.
    fn junit(&self) -> Vec<String> {
        if self.config.junit.is_empty() && self.runs(Runner::Junit) {
            return Vec::from(REPORTS.map(str::to_owned));
        }
        self.config.junit.clone()
    }

    fn runs(&self, runner: Runner) -> bool {
        self.runners.contains(&runner)
    }

    fn check_environment(&self, caches: Caches, kept: &Path, reports: &[PathBuf]) -> Vec<(OsString, OsString)> {
        let mut environment = self.environment();
        if self.config.verify == Verify::Isolated {
            let origin = self.config.origin.as_ref().map(PathBuf::from);
            for folder in [Some(self.root.clone()), origin].into_iter().flatten() {
                environment = without_workspace(environment, &folder);
            }
        }
        steady_python(&mut environment, &kept.join(PYCACHE), &self.loop_id.short());
        if let [report, ..] = reports {
            let known = get(&environment, "PYTEST_ADDOPTS").unwrap_or_default();
            let mut options = known;
            if !options.is_empty() {
                options.push(" ");
            }
            options.push("--junit-xml=");
            // The variable is split like a line of shell.
            options.push(shell_word(&report.to_string_lossy()));
            set(&mut environment, "PYTEST_ADDOPTS", &options);
        }
        if caches != Caches::Warm {
            for (name, folder) in VARIABLES {
                set(&mut environment, name, kept.join(folder).as_os_str());
            }
        }
        environment
    }

    /// Makes the folder of isolated checks equal to the work, and gives the tree that it holds then.
    async fn synchronise(&self, tree: TreeHash, entries: Vec<(String, Placement)>) -> Result<Option<TreeHash>, Error> {
        self.with_workspace(move |ground| {
            let super::WorkspaceState { workspace, checkout, .. } = ground;
            let Some(checkout) = checkout else { return Ok(None) };
            Ok(Some(checkout.sync(workspace, &tree, &entries)?.tree))
        })
        .await
    }

    /// Runs the set-up commands where the lock files are others than the last time, and gives the one that failed.
    async fn set_up(&self, env: &CheckEnv, stop: watch::Receiver<Option<Stop>>) -> Result<Option<CheckOutcome>, Error> {
        if self.config.setup.is_empty() {
            return Ok(None);
        }
        let (marker, now) = (self.folder.set_up(), lock_files(&env.directory));
        if fs::read_to_string(&marker).is_ok_and(|done| done == now) {
            return Ok(None);
        }
        let line = format!("setting up: {}", self.config.setup.join("; "));
        self.services.tell(ralph_view::Progress::Activity { line });
        let logs = self.folder.logs();
        let mut request = self.request(env, &self.config.setup, &logs, format!("setup-{}", &now[..8]));
        if let Some(sandbox) = &mut request.sandbox {
            // Packages come from somewhere.
            sandbox.network = Network::Allowed;
        }
        request.retries = 0;
        let outcomes = self.checker().run(request, stop, &mut |_| {}).await?;
        match outcomes.into_iter().find(|outcome| !outcome.ended.is_success()) {
            None => Home::write_private(&marker, now.as_bytes()).map(|()| None),
            Some(CheckOutcome { ended: Ended::Stopped, .. }) => Err(ralph_workspace::Error::Stopped.into()),
            failed => Ok(failed),
        }
    }

    /// What a person is told of a set-up command that failed where no agent can have broken it.
    pub(super) fn set_up_failed(&self, failed: &CheckOutcome) -> Error {
        let log = self.folder.root().join(&failed.output.file);
        Error::SetUp { command: failed.command.clone(), ended: failed.ended.to_string(), log }
    }

    /// How checks are kept inside.
    pub(super) fn checks_sandbox(&self, env: &CheckEnv) -> Option<Sandbox> {
        let mut writable = vec![env.directory.clone()];
        writable.extend(env.writable.iter().cloned());
        let network = if self.config.allow_network { Network::Allowed } else { Network::Loopback };
        self.sandbox(None, &self.services.environment, writable, network)
    }
}

/// Does what takes its time on a thread for such things.
pub(super) async fn on_builds<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Vanished("the builds of confirming runs"))?
}

async fn remove_folder(path: &Path) -> Result<(), Error> {
    // Usually there is none, and a thread that finds that out takes longer.
    if path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    let folder = path.to_owned();
    let removed = tokio::task::spawn_blocking(move || remove_tree(&folder));
    removed.await.map_err(|_| Error::Vanished("the removal of a folder"))?
}

/// Removes a file, or a folder with all that is in it, also where checks took the permission to do so away.
pub fn remove_tree(path: &Path) -> Result<(), Error> {
    crate::settings_snapshot::remove(path).map_err(Error::file(path))
}

fn get(environment: &[(OsString, OsString)], name: &str) -> Option<OsString> {
    environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

fn set(environment: &mut Vec<(OsString, OsString)>, name: &str, value: &OsStr) {
    environment.retain(|(known, _)| known != name);
    environment.push((name.into(), value.to_owned()));
}

/// Compiled modules beside the sources are the agent's to write, so that Python keeps its own elsewhere. It must write them there,
/// or every run compiles the whole library and the test runner again. Tests that are made from a set get the same names in all
/// runs of a loop.
fn steady_python(environment: &mut Vec<(OsString, OsString)>, folder: &Path, loop_id: &str) {
    environment.retain(|(name, _)| name != "PYTHONDONTWRITEBYTECODE");
    set(environment, "PYTHONPYCACHEPREFIX", folder.as_os_str());
    if get(environment, "PYTHONHASHSEED").is_none() {
        let seed = u32::from_str_radix(loop_id, 16).unwrap_or_default().max(1);
        set(environment, "PYTHONHASHSEED", seed.to_string().as_ref());
    }
}

/// The environment without anything that leads into the workspace: entries of PATH, and variables that point there.
fn without_workspace(environment: Vec<(OsString, OsString)>, root: &Path) -> Vec<(OsString, OsString)> {
    let leads_there = |value: &OsStr| names_below(value, root.as_os_str());
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

/// Whether a text names the folder or something in it, and not another one that begins alike.
fn names_below(text: &OsStr, folder: &OsStr) -> bool {
    let (text, folder) = (text.as_encoded_bytes(), folder.as_encoded_bytes());
    let ends =
        |end: usize| text.get(end).is_none_or(|byte| matches!(byte, b'/' | b':' | b' ' | b',' | b';' | b'"' | b'\''));
    !folder.is_empty()
        && text.windows(folder.len()).enumerate().any(|(at, window)| window == folder && ends(at + folder.len()))
}

/// What the lock files of a folder say, as one hash.
fn lock_files(folder: &Path) -> String {
    let mut hash = Sha256::new();
    for name in ralph_verify::work::LOCK_FILES {
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
