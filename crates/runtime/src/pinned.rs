//! What a loop's verdicts depend on besides their commands: found once at the start, kept beside the journal, compared with
//! what is there before every check. Changes nothing in the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ralph_engine::StartPoint;
use ralph_model::{
    Change, ChangeKind, Expectation, LoopConfig, Pin, PinKind, Runner, Sandboxing, Tamper, TamperKind, TestListing,
    TreeHash,
};
use ralph_verify::additions;
use ralph_verify::confirm::is_code;
use ralph_verify::expected;
use ralph_verify::modules;
use ralph_verify::pins::{self, Answer, Expanded, Others, Parts, PinSet, Program, Question, Rest};
use ralph_verify::tampering::{self, ChangeJudgement, PinnedChange, judge_change};
use ralph_verify::work::is_left_alone;
use ralph_workspace::{Offence, PinBaseline, Pins, Placement, Workspace};
use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use crate::environments::{self, Packages};
use crate::error::Error;
use crate::home::Home;

mod changed_work;

/// What was found at the start besides the pins, which are in the journal.
const FOUND: &str = "found.json";
const LEFT_ALONE: &str = "left-alone.json";
/// How many changed files are judged before a request to stop is looked for.
const STOP_INTERVAL: usize = 256;

/// What the verdicts of one loop depend on.
pub(crate) struct Pinned {
    list: Vec<Pin>,
    pins: Pins,
    baseline: PinBaseline,
    /// Made when it is needed: matchers are large, and most loops change no file of which only parts count.
    set: OnceLock<PinSet>,
    found: Found,
    /// The workspace at the loop's start.
    start: TreeHash,
    /// Pinned paths that the agent may change.
    allowed: Vec<String>,
    disk: Disk,
    listings: Vec<TestListing>,
    /// The files of a tree that checks only read.
    left_alone: Option<(TreeHash, BTreeSet<String>)>,
    /// The tree for which the next process of the loop finds them.
    kept: Option<TreeHash>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    runners: Vec<Runner>,
    /// The commands, and every text that they lead to.
    texts: Vec<Expanded>,
    programs: Vec<Program>,
    /// What the texts use and compute the names of.
    #[serde(default)]
    computed: Vec<String>,
    /// Installed packages outside the workspace that an agent may write.
    #[serde(default)]
    outside: Packages,
}

/// What is not as a verdict needs it.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    /// What the checks depend on and what was changed without permission.
    pub(crate) tampered: Vec<Tamper>,
    /// What was changed with permission.
    pub(crate) allowed: Vec<String>,
    /// Installed packages that changed, each once.
    pub(crate) packages: BTreeSet<String>,
    /// Places in the work that can behave differently where it is checked, or that lead out of the tree.
    pub(crate) signs: BTreeSet<String>,
    /// What has to be put in place for the checks to run as if nothing had been changed.
    pub(crate) entries: BTreeMap<String, Placement>,
    /// Tests that have another name because their file has: old and new start of the names.
    pub(crate) renamed: Vec<(String, String)>,
}

/// What would be pinned, for people.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Which files, in order: of several pins that match a path the last one counts.
    pub pins: Vec<Pin>,
    /// Test runners that the commands lead to.
    pub runners: Vec<String>,
    /// What is not pinned although it might be, and why.
    pub notes: Vec<String>,
    /// How many files of the workspace are pinned now.
    pub files: usize,
    pub examples: Vec<String>,
}

/// What the verdicts of a loop with this configuration would depend on.
pub fn plan(
    config: &LoopConfig,
    environment: &[(OsString, OsString)],
    files: &[String],
    listings: &[TestListing],
) -> Plan {
    let root = PathBuf::from(&config.workspace);
    let asked = Asked::of(config, environment, &root, listings);
    let mut answer = pins::pins(&asked.question(&Disk::new(&root, &asked.path), files));
    answer.pins.extend(asked.pins.iter().cloned());
    let set = PinSet::new(&answer.pins);
    let is_pinned =
        |path: &&String| set.pin(path).is_some_and(|pin| !matches!(pin.kind, PinKind::Absent | PinKind::Built));
    let pinned: Vec<&String> = files.iter().filter(is_pinned).collect();
    Plan {
        runners: answer.runners.iter().map(|runner| runner.name().to_owned()).collect(),
        notes: answer.notes,
        files: pinned.len(),
        examples: pinned.into_iter().take(12).cloned().collect(),
        pins: answer.pins,
    }
}

/// What pins are asked about, owned.
struct Asked {
    commands: Vec<String>,
    protect: Vec<String>,
    path: OsString,
    /// What the environment names.
    pins: Vec<Pin>,
    listings: Vec<TestListing>,
}

impl Asked {
    fn of(config: &LoopConfig, environment: &[(OsString, OsString)], root: &Path, listings: &[TestListing]) -> Self {
        // What prepares the folder of the checks steers them as well.
        let mut commands = config.verification_commands.clone();
        commands.extend(config.setup.iter().cloned());
        commands.extend(config.expects.iter().filter_map(|expectation| match expectation {
            Expectation::Command(command) => Some(command.clone()),
            Expectation::Tool(_)
            | Expectation::Commit
            | Expectation::File(_)
            | Expectation::CleanTree
            | Expectation::Checklist(_) => None,
        }));
        Self {
            commands,
            protect: config.protected_paths.clone(),
            path: search_path(environment),
            pins: named_by(environment, root),
            listings: listings.to_vec(),
        }
    }

    fn question<'a>(&'a self, sources: &'a Disk, files: &'a [String]) -> Question<'a> {
        Question { sources, commands: &self.commands, protect: &self.protect, files, listings: &self.listings }
    }
}

/// Files of the workspace that an environment variable of the checks leads to, such as `BASH_ENV`: an agent that writes them
/// steers the checks.
fn named_by(environment: &[(OsString, OsString)], root: &Path) -> Vec<Pin> {
    let not_files = ["PATH", "HOME", "TMPDIR", "PWD", "OLDPWD"];
    let values = environment.iter().filter(|(name, _)| !not_files.iter().any(|known| name == known));
    let inside = values.filter_map(|(name, value)| {
        let path = Path::new(value).strip_prefix(root).ok()?.to_str().filter(|path| !path.is_empty())?;
        let why = format!("named by {}", name.to_string_lossy());
        // A folder may hold work, such as a package path; a file is read.
        (!Path::new(value).is_dir()).then(|| Pin { glob: format!("/{path}"), kind: PinKind::Steering, why })
    });
    inside.collect()
}

pub(crate) fn search_path(environment: &[(OsString, OsString)]) -> OsString {
    environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()).unwrap_or_default()
}

impl Pinned {
    /// Finds out what verdicts depend on, and keeps it as it is.
    pub(crate) fn take(
        workspace: &mut Workspace,
        start: &TreeHash,
        config: &LoopConfig,
        environment: &[(OsString, OsString)],
        listings: &[TestListing],
        folder: &Path,
    ) -> Result<Self, Error> {
        let root = PathBuf::from(&config.workspace);
        let files = workspace.list(start)?;
        let asked = Asked::of(config, environment, &root, listings);
        let disk = Disk::new(&root, &asked.path);
        let question = asked.question(&disk, &files);
        let (mut answer, programs) = (pins::pins(&question), environments::programs(config, environment, &question));
        answer.pins.extend(asked.pins.iter().cloned());
        let answer_pins = std::mem::take(&mut answer.pins);
        let pins = Pins::new(&answer_pins)?;
        Home::make_private(folder)?;
        let baseline = workspace.pins_baseline(&pins, folder)?;
        let outside = environments::packages(config, environment, &answer.texts);
        let Answer { runners, texts, computed, .. } = answer;
        let found = Found { runners, texts, programs, computed, outside };
        Home::write_private(&folder.join(FOUND), &serde_json::to_vec(&found)?)?;
        Ok(Self {
            set: OnceLock::new(),
            list: answer_pins,
            pins,
            baseline,
            found,
            start: start.clone(),
            allowed: config.allowed_test_changes.clone(),
            disk,
            listings: asked.listings.clone(),
            left_alone: None,
            kept: None,
        })
    }

    /// What an earlier process of the loop found.
    pub(crate) fn load(
        start: &StartPoint,
        config: &LoopConfig,
        environment: &[(OsString, OsString)],
        folder: &Path,
    ) -> Result<Self, Error> {
        let path = folder.join(FOUND);
        let mut found: Found = serde_json::from_slice(&std::fs::read(&path).map_err(Error::file(&path))?)?;
        // One that cannot be read is found anew.
        let left_alone = std::fs::read(folder.join(LEFT_ALONE)).ok();
        let left_alone: Option<(TreeHash, BTreeSet<String>)> =
            left_alone.and_then(|bytes| serde_json::from_slice(&bytes).ok()).flatten();
        let disk = Disk::new(Path::new(&config.workspace), &search_path(environment));
        if config.sandbox != Sandboxing::Off || config.agent.is_in_session() {
            // An agent cannot write them: a tool that differs was upgraded by the user. Hooks of a session may have another PATH.
            let asked = Asked::of(config, environment, Path::new(&config.workspace), &[]);
            found.programs = environments::programs(config, environment, &asked.question(&disk, &[]));
        }
        Ok(Self {
            list: start.pins.clone(),
            pins: Pins::new(&start.pins)?,
            baseline: PinBaseline::load(folder)?,
            set: OnceLock::new(),
            found,
            start: start.tree.clone(),
            allowed: config.allowed_test_changes.clone(),
            disk,
            listings: start.listings.clone(),
            kept: left_alone.as_ref().map(|(tree, _)| tree.clone()),
            left_alone,
        })
    }

    /// Keeps for the next process of the loop what takes long to find.
    pub(crate) fn keep(&mut self, folder: &Path) -> Result<(), Error> {
        let tree = self.left_alone.as_ref().map(|(tree, _)| tree.clone());
        if tree != self.kept {
            Home::write_private(&folder.join(LEFT_ALONE), &serde_json::to_vec(&self.left_alone)?)?;
            self.kept = tree;
        }
        Ok(())
    }

    pub(crate) fn list(&self) -> &[Pin] {
        &self.list
    }

    /// Links of the start that lead to more than can be watched.
    pub(crate) fn unwatched(&self) -> Vec<String> {
        self.baseline.unwatched()
    }

    pub(crate) fn runners(&self) -> &[Runner] {
        &self.found.runners
    }

    /// What is noted of the checks at the start: their runners, and what they compute.
    pub(crate) fn of_checks(&self) -> (Vec<String>, Vec<String>) {
        (self.found.runners.iter().map(|runner| runner.name().to_owned()).collect(), self.found.computed.clone())
    }

    /// What runners said of their tests before the first iteration.
    pub(crate) fn listings(&self) -> &[TestListing] {
        &self.listings
    }

    /// The tests of a file that runners listed; none where no runner listed the file.
    pub(crate) fn listed(&self, path: &str) -> Option<Vec<&str>> {
        let complete = self.listings.iter().filter(|listing| listing.is_complete());
        let mut own = complete.filter_map(|listing| listing.tests.get(path)).peekable();
        own.peek().is_some().then(|| own.flatten().map(String::as_str).collect())
    }

    pub(crate) fn texts(&self) -> &[Expanded] {
        &self.found.texts
    }

    pub(crate) fn pin(&self, path: &str) -> Option<&Pin> {
        self.set.get_or_init(|| PinSet::new(&self.list)).pin(path)
    }

    /// The files of a tree that checks read and do not write. Asked at every iteration, so that only what changed since the
    /// last one is matched against the pins.
    pub(crate) fn left_alone(&mut self, workspace: &Workspace, tree: &TreeHash) -> Result<BTreeSet<String>, Error> {
        let is_left_alone = |path: &String| is_left_alone(path, self.pin(path));
        let paths = match &self.left_alone {
            None => workspace.list(tree)?.into_iter().filter(is_left_alone).collect(),
            Some((known, paths)) => {
                let mut paths = paths.clone();
                for Change { path, kind } in workspace.changes(known, tree)? {
                    match kind {
                        ChangeKind::Added if is_left_alone(&path) => paths.insert(path),
                        ChangeKind::Deleted => paths.remove(&path),
                        ChangeKind::Added | ChangeKind::Modified | ChangeKind::Mode => false,
                    };
                }
                paths
            }
        };
        self.left_alone = Some((tree.clone(), paths.clone()));
        Ok(paths)
    }

    pub(crate) const fn start(&self) -> &TreeHash {
        &self.start
    }

    /// What is compared in the workspace, with how it was at the start.
    pub(crate) const fn watched(&self) -> (&Pins, &PinBaseline) {
        (&self.pins, &self.baseline)
    }

    /// Compares everything with the start, and the work with `tree`, which is a snapshot of it.
    pub(crate) fn look(&self, workspace: &mut Workspace, tree: &TreeHash) -> Result<Looked, Error> {
        let mut looked = Looked::default();
        let offences = workspace.pins_check(&self.pins, &self.baseline)?;
        let is_package =
            |offence: &Offence| self.list.get(offence.pin).is_some_and(|pin| pin.kind == PinKind::Packages);
        let is_declared = offences.iter().any(is_package)
            && workspace.changes(&self.start, tree)?.iter().any(|change| tampering::declares_packages(&change.path));
        let (stop, mut added) = (workspace.stop_flag(), None);
        for (number, offence) in offences.into_iter().enumerate() {
            if number % STOP_INTERVAL == STOP_INTERVAL - 1 && stop.is_requested() {
                return Err(ralph_workspace::Error::Stopped.into());
            }
            if offence.kind == ChangeKind::Deleted
                && let Some(to) = self.moved_to(workspace, tree, &offence.path, &mut added)?
            {
                looked.renamed.extend(expected::renamed(&offence.path, &to));
                continue;
            }
            self.judge(workspace, tree, offence, is_declared, &mut looked)?;
        }
        self.compare_parts(workspace, tree, &mut looked)?;
        tampering::shorten(&mut looked.tampered);
        Ok(looked)
    }

    /// What only a verdict that passed depends on: programs and packages outside the workspace, and what the work shows of itself.
    /// Checks that failed complete nothing, so these looks wait for ones that passed.
    pub(crate) fn look_closer(&self, workspace: &Workspace, tree: &TreeHash, looked: &mut Looked) -> Result<(), Error> {
        self.read_signs(workspace, tree, looked)?;
        looked.tampered.extend(pins::changed_programs(&self.found.programs, &self.disk));
        let changed = environments::changed(&self.found.outside);
        let in_doubt = changed.metadata.iter().map(|path| path.to_string_lossy().into_owned());
        looked.packages.extend(in_doubt);
        let is_declared = !changed.content.is_empty()
            && workspace.changes(&self.start, tree)?.iter().any(|change| tampering::declares_packages(&change.path));
        for path in changed.content {
            let path = path.to_string_lossy().into_owned();
            if is_declared {
                looked.packages.insert(path);
            } else {
                let why = "an installed package outside the workspace, without a change of a lock file";
                looked.tampered.push(Tamper::with(path, TamperKind::Installed, why));
            }
        }
        Ok(())
    }

    /// Where a test file of the start lies now, with all that was in it and under a name of the same kind. What was added since the
    /// start is found for the first file, and used for the others.
    fn moved_to(
        &self,
        workspace: &Workspace,
        tree: &TreeHash,
        path: &str,
        added: &mut Option<Vec<String>>,
    ) -> Result<Option<String>, Error> {
        let is_frozen = |path: &str| self.pin(path).is_some_and(|pin| pin.kind == PinKind::Frozen);
        if !is_code(path) || !is_frozen(path) {
            return Ok(None);
        }
        let added = match added {
            Some(added) => added,
            None => {
                let changes = workspace.changes(&self.start, tree)?.into_iter();
                let paths = changes.filter(|change| change.kind == ChangeKind::Added).map(|change| change.path);
                added.insert(paths.filter(|path| is_frozen(path)).collect())
            }
        };
        let mut candidates = added.iter().filter(|added| expected::is_named_alike(path, added)).peekable();
        if candidates.peek().is_none() {
            return Ok(None);
        }
        let Some(before) = workspace.file_at(&self.start, path)? else { return Ok(None) };
        for candidate in candidates {
            let keeps_all = |now: Vec<u8>| now == before || additions::refused_addition(path, &before, &now).is_none();
            if workspace.file_at(tree, candidate)?.is_some_and(keeps_all) {
                return Ok(Some(candidate.clone()));
            }
        }
        Ok(None)
    }

    fn judge(
        &self,
        workspace: &Workspace,
        tree: &TreeHash,
        offence: Offence,
        is_declared: bool,
        looked: &mut Looked,
    ) -> Result<(), Error> {
        let Offence { path, kind, pin, mut restored } = offence;
        let hidden = match self.list.get(pin).map(|pin| pin.kind) {
            Some(PinKind::Modules) => {
                let is_there = |other: &str| {
                    let is_in = |tree: &TreeHash| matches!(workspace.placement_at(tree, other), Ok(Some(_)));
                    is_in(&self.start) && is_in(tree)
                };
                let Some(hidden) = modules::hidden_by(&path, &is_there) else { return Ok(()) };
                if workspace.placement_at(tree, &path)?.is_none() {
                    // What git ignores was built: it is moved away for the check, and no agent is blamed for it.
                    looked.entries.extend(restored.map(|placement| (path, placement)));
                    return Ok(());
                }
                format!("hides {hidden}")
            }
            _ => String::new(),
        };
        let name = path.rsplit('/').next().unwrap_or(&path);
        let has_parts = matches!(name, "package.json" | "pyproject.toml" | "setup.cfg");
        let is_new_manifest = kind == ChangeKind::Added && has_parts;
        if is_new_manifest && let Some(Placement::File { content, mode }) = workspace.placement_at(tree, &path)? {
            match pins::compare_new(&path, &content, &self.found.texts) {
                Parts::Tampered { restored: content, .. } => restored = Some(Placement::File { content, mode }),
                Parts::Untouched | Parts::Moved { .. } | Parts::Gone { .. } => return Ok(()),
            }
        }
        let lost = match kind {
            ChangeKind::Modified => lost_of_tests(workspace, tree, &path, restored.as_ref())?,
            // A new one is an empty one that was extended; the tripwire runs the old tests without it.
            ChangeKind::Added if name == "conftest.py" => {
                let empty = Placement::File { content: Vec::new(), mode: 0o644 };
                lost_of_tests(workspace, tree, &path, Some(&empty))?
            }
            // A test that can be executed now is the same test.
            ChangeKind::Mode if became_executable(workspace, tree, &path, restored.as_ref())? => None,
            ChangeKind::Added | ChangeKind::Deleted | ChangeKind::Mode => Some(String::new()),
        };
        let change = PinnedChange {
            path: &path,
            kind,
            pin: self.list.get(pin),
            is_allowed: pins::allows(&self.allowed, &path),
            keeps_tests: lost.is_none(),
            what: lost.as_deref().filter(|_| hidden.is_empty()).unwrap_or(&hidden),
            is_declared,
            can_be_restored: restored.is_some(),
        };
        match judge_change(change) {
            ChangeJudgement::Harmless => return Ok(()),
            ChangeJudgement::Allowed => {
                looked.allowed.push(path);
                return Ok(());
            }
            ChangeJudgement::PutAside => {}
            ChangeJudgement::Reported => {
                looked.packages.extend(tampering::package_of(&path));
                return Ok(());
            }
            ChangeJudgement::Tampered(tamper) => looked.tampered.push(tamper),
        }
        looked.entries.extend(restored.map(|placement| (path, placement)));
        Ok(())
    }

    /// Files of which only parts count.
    fn compare_parts(&self, workspace: &Workspace, tree: &TreeHash, looked: &mut Looked) -> Result<(), Error> {
        let changes = workspace.changes(&self.start, tree)?;
        let has_parts =
            |path: &str| may_have_parts(path) && self.pin(path).is_some_and(|pin| pin.kind == PinKind::Parts);
        let added = changes.iter().filter(|change| change.kind == ChangeKind::Added);
        let others = New { workspace, tree, paths: added.map(|change| change.path.clone()).collect() };
        for path in others.paths.iter().filter(|path| path.ends_with(".rs") && !pins::allows(&self.allowed, path)) {
            let judges = others.read(path).map(|content| pins::new_judges(path, &content)).unwrap_or_default();
            if !judges.is_empty() {
                looked.tampered.push(Tamper::with(path.clone(), TamperKind::Appeared, judges.join(", ")));
                looked.entries.insert(path.clone(), Placement::Absent);
            }
        }
        for change in changes.iter().filter(|change| change.kind != ChangeKind::Added && has_parts(&change.path)) {
            let path = &change.path;
            let Some(before) = workspace.file_at(&self.start, path)? else { continue };
            let now = workspace.file_at(tree, path)?;
            let rest = Rest { texts: &self.found.texts, others: &others };
            let parts = pins::compare_parts(path, &before, now.as_deref(), &rest);
            let (kind, detail, restored) = match parts {
                Parts::Untouched => continue,
                Parts::Moved { to } => {
                    looked.renamed.push((expected::module_of(path), expected::module_of(&to)));
                    continue;
                }
                Parts::Tampered { what, restored } => (TamperKind::Part, what.join(", "), restored),
                Parts::Gone { restored } => (TamperKind::Deleted, String::new(), restored),
            };
            if pins::allows(&self.allowed, path) {
                looked.allowed.push(path.clone());
                continue;
            }
            looked.tampered.push(Tamper::with(path.clone(), kind, detail));
            let mode = match workspace.placement_at(&self.start, path)? {
                Some(Placement::File { mode, .. }) => mode,
                Some(Placement::Absent | Placement::Link { .. }) | None => 0o644,
            };
            looked.entries.insert(path.clone(), Placement::File { content: restored, mode });
        }
        Ok(())
    }
}

/// Whether a file can be one of which only parts count, by its name.
fn may_have_parts(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.ends_with(".rs") || matches!(name, "package.json" | "Cargo.toml" | "pyproject.toml" | "setup.cfg" | "go.mod")
}

/// What is not as it was among the tests of a file, in words; nothing where a formatter went over it or tests were added.
fn lost_of_tests(
    workspace: &Workspace,
    tree: &TreeHash,
    path: &str,
    restored: Option<&Placement>,
) -> Result<Option<String>, Error> {
    let unknown = Ok(Some(String::new()));
    let Some(Placement::File { content: before, .. }) = restored else { return unknown };
    // A link in its place is another thing, whatever it leads to.
    let Some(Placement::File { content: now, .. }) = workspace.placement_at(tree, path)? else { return unknown };
    if pins::same_but_for_format(path, before, &now) || pins::same_but_for_packages(path, before, &now) {
        return Ok(None);
    }
    Ok(additions::refused_addition(path, before, &now))
}

/// Whether nothing happened to a file but that it can be executed.
fn became_executable(
    workspace: &Workspace,
    tree: &TreeHash,
    path: &str,
    restored: Option<&Placement>,
) -> Result<bool, Error> {
    let is_executable = |mode: u32| mode & 0o111 != 0;
    Ok(match (restored, workspace.placement_at(tree, path)?) {
        (Some(Placement::File { mode: before, .. }), Some(Placement::File { mode, .. })) => {
            is_executable(mode) && !is_executable(*before)
        }
        _ => false,
    })
}

/// Files that were not there at the start.
struct New<'a> {
    workspace: &'a Workspace,
    tree: &'a TreeHash,
    paths: Vec<String>,
}

impl Others for New<'_> {
    fn paths(&self) -> Vec<String> {
        self.paths.clone()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.workspace.file_at(self.tree, path).ok().flatten()
    }
}

#[cfg(test)]
#[path = "pinned_tests.rs"]
mod tests;
