//! Asks checks that passed to fail: changes tests in the tree that they passed on, runs them once more with nothing kept from
//! builds that the agent could write, and puts the tests back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::Arc;

use ralph_engine::Event;
use ralph_model::{
    Attempt, Change, ChangeKind, CheckOutcome, Iteration, OutputRef, PinKind, Runner, TreeHash, Tripwire, Verdict,
};
use ralph_process::Stop;
use ralph_verify::confirm::{
    Fallback, fallback, holds_tests, is_code, is_rust_test, judge_original, stopped, timed_out, to_the_end,
};
use ralph_verify::modules::unneeded_modules;
use ralph_verify::pins;
use ralph_verify::selection::{Selection, stops_early};
use ralph_verify::tripwire::{ChangedRun, Plan, TestFile, programs};
use ralph_verify::work::moved_work;
use ralph_workspace::Placement;
use tokio::sync::watch;

use super::builds::{Builds, Supply};
use super::place::Caches;
use super::{Answer, Context, WorkspaceState};
use crate::error::Error;

/// As much of the output of one check is searched for what was planted.
const MAX_OUTPUT: u64 = 32 << 20;
/// Larger files are no tests that anybody wrote.
const MAX_SIZE: usize = 1 << 20;

/// What says which sources CTest's programs are made of.
const CMAKE: &str = "CMakeLists.txt";
/// Modules that are read for what they import.
const MAX_SOURCES: usize = 2000;

#[derive(Debug, Clone)]
pub(crate) struct Claimed {
    pub(crate) now: TreeHash,
    /// What the checks said about it.
    pub(crate) verdict: Verdict,
    /// What they said before the first iteration.
    pub(crate) baseline: Option<Verdict>,
}

impl Context {
    pub(super) async fn trip_wire(
        &self,
        iteration: Iteration,
        attempt: Attempt,
        claimed: Claimed,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<Answer, Error> {
        let prefix = format!("iteration-{iteration}-{attempt}-tripwire");
        let mut tried = Vec::new();
        let mut supply = match self.take_supply() {
            Some(supply) => supply,
            None => Supply::new(self.take_builds(Caches::Own).await?, self.stop_flag().await?),
        };
        let confirmed = self.confirm(prefix, &claimed, &mut supply, &mut tried, stop).await;
        self.close(supply).await;
        let (tripwire, moved) = confirmed?;
        Ok(Event::TripwireFinished { attempt, tripwire, moved, outputs: tried }.into())
    }

    async fn confirm(
        &self,
        prefix: String,
        claimed: &Claimed,
        supply: &mut Supply,
        tried: &mut Vec<OutputRef>,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<(Tripwire, Vec<String>), Error> {
        if fallback(claimed.baseline.as_ref()) == Fallback::OriginalCode {
            // There will be a run, whatever can be changed.
            supply.copy_ahead();
        }
        let looked = self.look_at(claimed.now.clone()).await?;
        let (now, mut entries) = (claimed.now.clone(), looked.entries);
        if !looked.allowed.iter().any(|path| is_code(path)) {
            // What is new among the tests may help the old ones to pass: they have to do so by themselves.
            let now = claimed.now.clone();
            let added = self.with_workspace(move |ground| ground.without_additions(&now)).await?;
            for (path, placement) in added {
                entries.entry(path).or_insert(placement);
            }
        }
        let (pinned, judged) = (entries.clone(), claimed.clone());
        let plan = self.with_workspace(move |ground| ground.plan(&now, &pinned, &judged));
        let (mut plan, stops_early) = plan.await?;
        let mut moved = Vec::new();
        let mut run = 0;
        while let Some(changed) = plan.next_files() {
            run += 1;
            let mut entries = entries.clone();
            for (path, content) in changed {
                let mode = self.mode_of(claimed.now.clone(), &entries, &path).await?;
                entries.insert(path, Placement::File { content, mode });
            }
            let builds = supply.take().await?;
            if plan.needs_more() {
                supply.copy_ahead();
            }
            let (outcomes, moving) =
                self.try_with(format!("{prefix}-changed-{run}"), claimed, entries, builds, stop.clone()).await?;
            tried.extend(outcomes.iter().map(|outcome| outcome.output.clone()));
            moved.extend(moving);
            if let Some(ended) = stopped(&outcomes).or_else(|| timed_out(&outcomes)) {
                return Ok((ended, moved));
            }
            let root = self.folder.root().to_owned();
            let (verdict, baseline) = (claimed.verdict.clone(), claimed.baseline.clone());
            let judged = tokio::task::spawn_blocking(move || {
                let output = telling_lines(&root, &outcomes, &plan.names());
                let baseline = baseline.as_ref();
                let (outcomes, output) = (outcomes.as_slice(), output.as_str());
                plan.note(&ChangedRun { outcomes, output, verdict: &verdict, baseline, stops_early });
                plan
            });
            plan = judged.await.map_err(|_| Error::Vanished("the judgement of the tripwire"))?;
        }
        if let Some(changed) = plan.doubtful_files() {
            let now = claimed.now.clone();
            let mut start = self.with_workspace(move |ground| ground.start_in_place_of(&now)).await?;
            for (path, content) in changed {
                let mode = self.mode_of(claimed.now.clone(), &entries, &path).await?;
                start.insert(path, Placement::File { content, mode });
            }
            let (outcomes, moving) =
                self.try_with(format!("{prefix}-start"), claimed, start, supply.take().await?, stop.clone()).await?;
            tried.extend(outcomes.iter().map(|outcome| outcome.output.clone()));
            moved.extend(moving);
            plan.note_start(&outcomes);
        }
        if !plan.is_empty()
            && let Some(tripwire) = plan.judge(&claimed.verdict)
        {
            return Ok((tripwire, moved));
        }
        if let Fallback::None(tripwire) = fallback(claimed.baseline.as_ref()) {
            return Ok((tripwire, Vec::new()));
        }
        // The tree of the start, in place of the work: there they failed, and there they have to fail again.
        let now = claimed.now.clone();
        let start = self.with_workspace(move |ground| ground.start_in_place_of(&now)).await?;
        let (outcomes, moved) =
            self.try_with(format!("{prefix}-baseline"), claimed, start, supply.take().await?, stop).await?;
        tried.extend(outcomes.iter().map(|outcome| outcome.output.clone()));
        Ok((judge_original(&outcomes), moved))
    }

    /// The permissions of a file that is changed: a script that is executed has to stay one.
    async fn mode_of(&self, now: TreeHash, entries: &BTreeMap<String, Placement>, path: &str) -> Result<u32, Error> {
        let there = match entries.get(path) {
            Some(placement) => Some(placement.clone()),
            None => {
                let path = path.to_owned();
                self.with_workspace(move |ground| Ok(ground.workspace.placement_at(&now, &path)?)).await?
            }
        };
        Ok(match there {
            Some(Placement::File { mode, .. }) => mode,
            Some(Placement::Absent | Placement::Link { .. }) | None => 0o644,
        })
    }

    /// Runs the checks with these files in place, and says which of the others changed meanwhile.
    async fn try_with(
        &self,
        prefix: String,
        claimed: &Claimed,
        entries: BTreeMap<String, Placement>,
        builds: Option<Arc<Builds>>,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<(Vec<CheckOutcome>, Vec<String>), Error> {
        let entries = entries.into_iter().collect();
        let mut env = self.check_env(&claimed.now, entries, Caches::Own, builds, stop.clone()).await?;
        if let Some(failed) = env.failed_setup.take() {
            self.leave(env).await?;
            return Err(self.set_up_failed(&failed));
        }
        for command in &mut env.commands {
            *command = to_the_end(command);
        }
        let ran = self.check(&env, prefix, stop).await;
        let isolated = env.is_isolated();
        // The changed tests are thrown away, whatever a formatter among the checks did to it.
        self.leave(env).await?;
        let outcomes = ran?;
        // With the work as it was verified, and not as this run found it: nothing may have changed in between either.
        let work = claimed.now.clone();
        let changes = self
            .with_workspace(move |ground| {
                let after = ground.workspace.scan_tree()?;
                Ok(ground.workspace.changes(&work, &after)?)
            })
            .await?;
        let mut moved = moved_work(changes);
        if let Some(baseline) = claimed.baseline.as_ref().filter(|_| !isolated) {
            moved.retain(|path| !baseline.written.contains(path));
        }
        Ok((outcomes, moved))
    }
}

/// The lines of the outputs that name a changed test. The rest of a long output is of no use here.
fn telling_lines(root: &Path, outcomes: &[CheckOutcome], names: &[&str]) -> String {
    let mut telling = String::new();
    for_lines(root, outcomes, |line| {
        if telling.len() < MAX_SIZE && names.iter().any(|name| line.contains(name)) {
            telling.push_str(line);
            telling.push('\n');
        }
    });
    telling
}

/// Reads logs line by line. One that cannot be read shows nothing, and what is not shown is not held against anybody.
fn for_lines(root: &Path, outcomes: &[CheckOutcome], mut each: impl FnMut(&str)) {
    for outcome in outcomes {
        let Ok(file) = File::open(root.join(&outcome.output.file)) else { continue };
        let mut reader = BufReader::new(std::io::Read::take(file, MAX_OUTPUT));
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(count) if count > 0) {
            each(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
    }
}

impl WorkspaceState {
    /// Tests to change in the files that the checks run, as those have to be for a check; and whether checks stop early.
    fn plan(
        &self,
        now: &TreeHash,
        entries: &BTreeMap<String, Placement>,
        claimed: &Claimed,
    ) -> Result<(Plan, bool), Error> {
        let Some(pinned) = &self.pinned else { return Ok((Plan::default(), false)) };
        let is_test = |path: &String| holds_tests(path, pinned.pin(path));
        let is_ctest = pinned.runners().contains(&Runner::Ctest);
        let mut manifests = Vec::new();
        if is_ctest {
            for path in self.workspace.list(pinned.start())?.into_iter().filter(|path| path.ends_with(CMAKE)) {
                let text = self.workspace.file_at(pinned.start(), &path)?.unwrap_or_default();
                manifests.push((path, String::from_utf8_lossy(&text).into_owned()));
            }
        }
        let programs = programs(&manifests);
        let mut tests = Vec::new();
        for path in self.workspace.list(now)?.into_iter().filter(is_test) {
            let content = match entries.get(&path) {
                Some(Placement::File { content, .. }) => Some(content.clone()),
                Some(Placement::Absent | Placement::Link { .. }) => None,
                None => self.workspace.file_at(now, &path)?,
            };
            let Some(content) = content.filter(|content| content.len() <= MAX_SIZE) else { continue };
            let original = self.workspace.file_at(pinned.start(), &path)?;
            let reported_as = programs.get(&path).cloned().unwrap_or_default();
            // What CTest reports of a program that it is not known to start cannot be told.
            if is_ctest && path.ends_with(".c") && reported_as.is_empty() {
                continue;
            }
            tests.push(TestFile { path, content, original, reported_as });
        }
        // Files that the agent deleted are back for the check.
        for (path, placement) in entries {
            if let (Placement::File { content, .. }, true) = (placement, is_test(path))
                && !tests.iter().any(|known| known.path == *path)
            {
                let (path, content, reported_as) = (path.clone(), content.clone(), Vec::new());
                tests.push(TestFile { path, original: Some(content.clone()), content, reported_as });
            }
        }
        let texts: Vec<String> = pinned.texts().iter().map(|expanded| to_the_end(&expanded.text)).collect();
        let commands = claimed.verdict.checks.len();
        let selection = Selection::new(pinned.texts(), pinned.listings());
        let equality = pinned.equality(&self.workspace, now)?;
        let plan = Plan::new(&tests, &selection, claimed.baseline.as_ref(), &claimed.verdict, equality, seed());
        Ok((plan, stops_early(commands, &texts)))
    }

    /// The tests as they were at the start, without new files and without what was added to old ones, unless all tests are new.
    fn without_additions(&self, now: &TreeHash) -> Result<BTreeMap<String, Placement>, Error> {
        let Some(pinned) = &self.pinned else { return Ok(BTreeMap::new()) };
        let kind = |path: &str| pinned.pin(path).map(|pin| pin.kind);
        let is_frozen = |path: &str| matches!(kind(path), Some(PinKind::Frozen | PinKind::Steering));
        let is_test = |path: &String| is_code(path) && (is_frozen(path) || is_rust_test(path));
        let mut entries = BTreeMap::new();
        if pinned.runners().is_empty() {
            return Ok(entries);
        }
        let changes = self.workspace.changes(pinned.start(), now)?;
        let is_source = |change: &&Change| {
            change.kind == ChangeKind::Modified && change.path.ends_with(".rs") && !is_rust_test(&change.path)
        };
        for Change { path, .. } in changes.iter().filter(is_source) {
            let placements = (self.workspace.file_at(pinned.start(), path)?, self.workspace.placement_at(now, path)?);
            if let (Some(before), Some(Placement::File { content, mode })) = placements
                && let Some(content) = pins::without_new_tests(path, &before, &content)
            {
                entries.insert(path.clone(), Placement::File { content, mode });
            }
        }
        if !self.workspace.list(pinned.start())?.iter().any(is_test) {
            return Ok(entries);
        }
        let is_found = |change: &Change| {
            change.kind == ChangeKind::Added
                && change.path.ends_with(".py")
                && kind(&change.path) == Some(PinKind::Modules)
        };
        if changes.iter().any(is_found) {
            let new: Vec<String> =
                changes.iter().filter(|change| is_found(change)).map(|change| change.path.clone()).collect();
            entries.extend(self.unneeded(now, new)?.into_iter().map(|path| (path, Placement::Absent)));
        }
        for change in changes {
            let placement = match change.kind {
                ChangeKind::Added if is_frozen(&change.path) || is_rust_test(&change.path) => Some(Placement::Absent),
                ChangeKind::Modified | ChangeKind::Deleted if is_test(&change.path) => {
                    self.workspace.placement_at(pinned.start(), &change.path)?
                }
                ChangeKind::Added | ChangeKind::Modified | ChangeKind::Deleted | ChangeKind::Mode => None,
            };
            entries.extend(placement.map(|placement| (change.path, placement)));
        }
        Ok(entries)
    }

    /// New modules of Python that a runner finds by itself and that neither the work nor the old tests need.
    fn unneeded(&self, now: &TreeHash, new: Vec<String>) -> Result<Vec<String>, Error> {
        let Some(pinned) = &self.pinned else { return Ok(Vec::new()) };
        let read = |path: String| -> Result<(String, String), Error> {
            // What an agent added to a test file is left out as well.
            let tree = if holds_tests(&path, pinned.pin(&path)) { pinned.start() } else { now };
            let content = self.workspace.file_at(tree, &path)?.unwrap_or_default();
            Ok((path, String::from_utf8_lossy(&content).into_owned()))
        };
        let is_source = |path: &String| path.ends_with(".py") && !new.contains(path);
        let old = self.workspace.list(now)?.into_iter().filter(is_source).take(MAX_SOURCES).map(read);
        let old: Vec<(String, String)> = old.collect::<Result<_, _>>()?;
        let new: Vec<(String, String)> = new.iter().cloned().map(read).collect::<Result<_, _>>()?;
        Ok(unneeded_modules(&old, &new))
    }

    /// The files of the loop's start where the work has others.
    fn start_in_place_of(&self, now: &TreeHash) -> Result<BTreeMap<String, Placement>, Error> {
        let Some(pinned) = &self.pinned else { return Ok(BTreeMap::new()) };
        let mut entries = BTreeMap::new();
        // To move one aside changes its stamp, which is all that is known of it: the work would look changed afterwards.
        let large: BTreeSet<String> = self.workspace.large_files().into_iter().collect();
        for change in self.workspace.changes(pinned.start(), now)? {
            if large.contains(&change.path) {
                continue;
            }
            let placement = match change.kind {
                ChangeKind::Added => Placement::Absent,
                ChangeKind::Modified | ChangeKind::Deleted | ChangeKind::Mode => {
                    self.workspace.placement_at(pinned.start(), &change.path)?.unwrap_or(Placement::Absent)
                }
            };
            entries.insert(change.path, placement);
        }
        Ok(entries)
    }
}

/// Code cannot look for what is changed: it is something else every time.
fn seed() -> u64 {
    let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
    high ^ low
}
