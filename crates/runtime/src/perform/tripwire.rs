//! Asks checks that passed to fail: plants failing tests in the tree that they passed on, runs them once more with nothing
//! kept from earlier builds, and takes the plants out again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use ralph_engine::Event;
use ralph_model::{Attempt, ChangeKind, CheckOutcome, Iteration, OutputRef, PinKind, TreeHash, Tripwire, Verdict};
use ralph_process::Stop;
use ralph_verify::confirm::{
    Confirmation, Fallback, Role, fallback, is_code, is_rust_test, judge_original, judge_run, role, stopped, to_the_end,
};
use ralph_verify::tripwire::{Plant, mentions};
use ralph_verify::work::moved_work;
use ralph_workspace::Placement;
use tokio::sync::watch;

use super::place::Caches;
use super::{Answer, Context, WorkspaceState};
use crate::error::Error;

/// As much of the output of one check is searched for what was planted.
const MAX_OUTPUT: u64 = 32 << 20;
/// Larger files are no tests that anybody wrote.
const MAX_SIZE: usize = 1 << 20;

/// What has to be confirmed.
#[derive(Debug, Clone)]
pub(crate) struct Claimed {
    /// The workspace.
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
        let (tripwire, moved) = self.confirm(prefix, &claimed, &mut tried, stop).await?;
        Ok(Event::TripwireFinished { attempt, tripwire, moved, outputs: tried }.into())
    }

    async fn confirm(
        &self,
        prefix: String,
        claimed: &Claimed,
        tried: &mut Vec<OutputRef>,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<(Tripwire, Vec<String>), Error> {
        let looked = self.look_at(claimed.now.clone()).await?;
        let (now, mut entries) = (claimed.now.clone(), looked.entries);
        if !looked.allowed.iter().any(|path| is_code(path)) {
            // What is new among the tests may help the old ones to pass: they have to do so by themselves.
            let now = claimed.now.clone();
            let new = self.with_workspace(move |ground| ground.new_among_tests(&now)).await?;
            entries.extend(new.into_iter().map(|path| (path, Placement::Absent)));
        }
        let pinned = entries.clone();
        let planted = self
            .with_workspace(move |ground| {
                let mut planted = Vec::new();
                for plant in ground.plants(&now, &pinned)? {
                    planted.push((ground.mode_of(&now, &pinned, &plant)?, plant));
                }
                Ok(planted)
            })
            .await?;
        if !planted.is_empty() {
            let mut entries = entries.clone();
            for (mode, plant) in &planted {
                entries.insert(plant.path.clone(), Placement::File { content: plant.content.clone(), mode: *mode });
            }
            let plants: Vec<Plant> = planted.into_iter().map(|(_, plant)| plant).collect();
            let (outcomes, moved) = self.try_with(format!("{prefix}-planted"), claimed, entries, stop.clone()).await?;
            tried.extend(outcomes.iter().map(|outcome| outcome.output.clone()));
            if let Some(stopped) = stopped(&outcomes) {
                return Ok((stopped, moved));
            }
            let root = self.folder.root().to_owned();
            let (verdict, planted) = (claimed.verdict.clone(), plants);
            let baseline = claimed.baseline.clone();
            let judged = tokio::task::spawn_blocking(move || {
                let paths: Vec<String> = planted.iter().map(|plant| plant.path.clone()).collect();
                judge_run(&Confirmation {
                    plants: &planted,
                    outcomes: &outcomes,
                    verdict: &verdict,
                    baseline: baseline.as_ref(),
                    output: &telling_lines(&root, &outcomes, &planted),
                    shown: &shown_files(&root, &verdict, &paths),
                })
            });
            if let Some(tripwire) = judged.await.map_err(|_| Error::Vanished("the judgement of the tripwire"))? {
                return Ok((tripwire, moved));
            }
        }
        if let Fallback::None(tripwire) = fallback(claimed.baseline.as_ref()) {
            return Ok((tripwire, Vec::new()));
        }
        // The tree of the start, in place of the work: there they failed, and there they have to fail again.
        let now = claimed.now.clone();
        let start = self.with_workspace(move |ground| ground.start_in_place_of(&now)).await?;
        let (outcomes, moved) = self.try_with(format!("{prefix}-baseline"), claimed, start, stop).await?;
        tried.extend(outcomes.iter().map(|outcome| outcome.output.clone()));
        Ok((judge_original(&outcomes), moved))
    }

    /// Runs the checks with these files in place, and says which of the others changed meanwhile.
    async fn try_with(
        &self,
        prefix: String,
        claimed: &Claimed,
        entries: BTreeMap<String, Placement>,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Result<(Vec<CheckOutcome>, Vec<String>), Error> {
        let mut env = self.check_env(&claimed.now, entries.into_iter().collect(), Caches::Cold, stop.clone()).await?;
        if let Some(failed) = env.failed_setup.take() {
            self.leave(env).await?;
            return Err(self.set_up_failed(&failed));
        }
        for command in &mut env.commands {
            *command = to_the_end(command);
        }
        let ran = self.check(&env, prefix, stop).await;
        let isolated = env.is_isolated();
        // What was planted is thrown away, whatever a formatter among the checks did to it.
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

/// The lines of the outputs that name anything planted. The rest of a long output is of no use here.
fn telling_lines(root: &Path, outcomes: &[CheckOutcome], plants: &[Plant]) -> String {
    let marks: Vec<&str> = plants.iter().flat_map(|plant| &plant.marks).map(String::as_str).collect();
    let mut telling = String::new();
    for_lines(root, outcomes, |line| {
        if telling.len() < MAX_SIZE && marks.iter().any(|mark| line.contains(mark)) {
            telling.push_str(line);
            telling.push('\n');
        }
    });
    telling
}

/// Which of these files the checks of a verdict show to have run.
fn shown_files(root: &Path, verdict: &Verdict, paths: &[String]) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    for_lines(root, &verdict.checks, |line| {
        for path in paths {
            if !shown.contains(path) && mentions(path, line) {
                shown.push(path.clone());
            }
        }
    });
    shown
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
    /// Failing tests for the files that the checks run, as those have to be for a check.
    fn plants(&self, now: &TreeHash, entries: &BTreeMap<String, Placement>) -> Result<Vec<Plant>, Error> {
        let Some(pinned) = &self.pinned else { return Ok(Vec::new()) };
        if pinned.runners().is_empty() {
            return Ok(Vec::new());
        }
        let (mut tests, mut sources) = (Vec::new(), Vec::new());
        for path in self.workspace.list(now)? {
            let Some(role) = role(&path, pinned.pin(&path)) else { continue };
            let content = match entries.get(&path) {
                Some(Placement::File { content, .. }) => Some(content.clone()),
                Some(Placement::Absent | Placement::Link { .. }) => None,
                None => self.workspace.file_at(now, &path)?,
            };
            let Some(content) = content.filter(|content| content.len() <= MAX_SIZE) else { continue };
            match role {
                Role::Test => tests.push((path, content)),
                Role::Source => sources.push((path, content)),
            }
        }
        // Files that the agent deleted are back for the check.
        for (path, placement) in entries {
            if let (Placement::File { content, .. }, Some(Role::Test)) = (placement, role(path, pinned.pin(path)))
                && !tests.iter().any(|(known, _)| known == path)
            {
                tests.push((path.clone(), content.clone()));
            }
        }
        let texts: Vec<String> = pinned.texts().iter().map(|expanded| to_the_end(&expanded.text)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        Ok(ralph_verify::tripwire::plants(pinned.runners(), &texts, &files(&tests), &files(&sources), seed()))
    }

    /// The permissions of what a planted file stands for: a script that is executed has to stay one.
    fn mode_of(&self, now: &TreeHash, entries: &BTreeMap<String, Placement>, plant: &Plant) -> Result<u32, Error> {
        let there = match entries.get(&plant.path) {
            Some(placement) => Some(placement.clone()),
            None => self.workspace.placement_at(now, &plant.path)?,
        };
        Ok(match there {
            Some(Placement::File { mode, .. }) => mode,
            Some(Placement::Absent | Placement::Link { .. }) | None => 0o644,
        })
    }

    /// Files among the tests that were not there at the start, unless all tests are new.
    fn new_among_tests(&self, now: &TreeHash) -> Result<Vec<String>, Error> {
        let Some(pinned) = &self.pinned else { return Ok(Vec::new()) };
        let is_test = |path: &String| matches!(role(path, pinned.pin(path)), Some(Role::Test));
        if pinned.runners().is_empty() || !self.workspace.list(pinned.start())?.iter().any(is_test) {
            return Ok(Vec::new());
        }
        let is_among = |path: &str| {
            let frozen = pinned.pin(path).is_some_and(|pin| pin.kind == PinKind::Frozen);
            frozen || is_rust_test(path)
        };
        let changes = self.workspace.changes(pinned.start(), now)?.into_iter();
        let new = changes.filter(|change| change.kind == ChangeKind::Added && is_among(&change.path));
        Ok(new.map(|change| change.path).collect())
    }

    /// The files of the loop's start where the work has others.
    fn start_in_place_of(&self, now: &TreeHash) -> Result<BTreeMap<String, Placement>, Error> {
        let Some(pinned) = &self.pinned else { return Ok(BTreeMap::new()) };
        let mut entries = BTreeMap::new();
        for change in self.workspace.changes(pinned.start(), now)? {
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

fn files(files: &[(String, Vec<u8>)]) -> Vec<ralph_verify::tripwire::File<'_>> {
    files.iter().map(|(path, content)| ralph_verify::tripwire::File { path, content }).collect()
}

/// Nobody can look for what is planted: its names are others every time.
fn seed() -> u64 {
    let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
    high ^ low
}
