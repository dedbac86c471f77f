//! `ralph rewind`: puts the workspace back to an earlier state, after it has kept the present one.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use ralph_engine::Facts;
use ralph_model::TreeHash;
use ralph_runtime::{SessionRecord, rewound_label, take_out_leftovers};
use ralph_store::RunStatus;
use ralph_workspace::{Holder, Labelled, Lock, Options, StopFlag, Workspace};

use crate::args::{RewindArgs, RewindTarget};
use crate::input::now;
use crate::journal::{chosen, read_to_end, single};
use crate::screen::{Screen, counted};
use ralph_host::Host;

/// Labels of what the workspace held before a rewind, an undo and a redo, each followed by the time.
const BEFORE_REWIND: &str = "before-rewind-";
const BEFORE_UNDO: &str = "before-undo-";
const BEFORE_REDO: &str = "before-redo-";

pub(crate) async fn run(args: RewindArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let store = around.existing_store().await?;
    let entry = single(&store, chosen(&store, args.loop_name.as_deref(), around).await?).await?;
    let (run, head) = read_to_end(&store, entry.id).await?;
    let root = Path::new(&entry.workspace);
    let state = around.home().workspace(root);
    let holder =
        Holder { loop_id: entry.id, pid: std::process::id(), started_at: now(), workspace: entry.workspace.clone() };
    let _lock = Lock::take(&state, &holder, Duration::from_secs(5))?;
    if let Some(record) = SessionRecord::read(&around.home(), root)?
        && store.run(record.loop_id).await.is_ok_and(|entry| entry.status == RunStatus::Running)
    {
        let (loop_id, workspace) = (record.loop_id, entry.workspace);
        return Err(ralph_runtime::Error::InSession { loop_id, workspace }.into());
    }
    let mut workspace = open(around, root)?;
    // A Ralph that died while checks ran left other files in the place of the workspace's own.
    take_out_leftovers(&around.home(), &mut workspace, root)?;
    workspace.set_start(&run.facts().start.tree)?;
    let tree = target(args.to, run.facts(), &workspace, entry.id)?;
    // Whatever the workspace holds now stays within reach.
    let kind = match args.to {
        RewindTarget::Start | RewindTarget::Iteration(_) => BEFORE_REWIND,
        RewindTarget::Undo => BEFORE_UNDO,
        RewindTarget::Redo => BEFORE_REDO,
    };
    workspace.snapshot(entry.id, &format!("{kind}{}", now().0))?;
    let changes = workspace.restore(&tree)?;
    workspace.snapshot(entry.id, &rewound_label(head.seq))?;
    for change in &changes {
        screen.result(&format!("{} {}", change.kind.letter(), change.path))?;
    }
    let short = entry.id.short();
    let files = counted(changes.len(), "file", "files");
    let back = if args.to == RewindTarget::Undo { "redo" } else { "undo" };
    screen.say(&format!("restored {files}; {back} with: ralph rewind {short} --to {back}"))?;
    Ok(0)
}

fn open(around: &Host, root: &Path) -> anyhow::Result<Workspace> {
    let state = around.home().workspace(root);
    let git = around.git()?;
    // What the loop's own snapshots left out has to be left out here, too: it would look new, and be taken away.
    let global_excludes = around.global_excludes(&git);
    let options = Options { root: root.to_owned(), state, git, global_excludes, stop: StopFlag::default() };
    Ok(Workspace::open(options)?)
}

fn target(
    wanted: RewindTarget,
    facts: &Facts,
    workspace: &Workspace,
    loop_id: ralph_model::LoopId,
) -> anyhow::Result<TreeHash> {
    match wanted {
        RewindTarget::Start => Ok(facts.start.tree.clone()),
        RewindTarget::Iteration(number) => {
            let Some(record) = facts.iteration(number) else {
                bail!("there is no iteration {number}: the loop has {}", facts.counted());
            };
            let run = record.run.as_ref().with_context(|| format!("iteration {number} was interrupted"))?;
            Ok(run.tree.clone())
        }
        RewindTarget::Undo => {
            steps(workspace.refs(loop_id)?).0.pop().context("nothing to undo: this loop was not rewound")
        }
        RewindTarget::Redo => {
            steps(workspace.refs(loop_id)?).1.pop().context("nothing to redo: no rewind of this loop was undone")
        }
    }
}

/// The states that can be returned to by `undo` and by `redo`, the next one last.
fn steps(kept: Vec<Labelled>) -> (Vec<TreeHash>, Vec<TreeHash>) {
    let step = |kept: Labelled| {
        let kind = [BEFORE_REWIND, BEFORE_UNDO, BEFORE_REDO].into_iter().find(|kind| kept.label.starts_with(kind))?;
        Some((kept.label[kind.len()..].parse::<i64>().ok()?, kind, kept.snapshot.tree))
    };
    let mut steps: Vec<_> = kept.into_iter().filter_map(step).collect();
    steps.sort_by_key(|(at, ..)| *at);
    let (mut undo, mut redo) = (Vec::new(), Vec::new());
    for (_, kind, tree) in steps {
        match kind {
            BEFORE_UNDO => {
                undo.pop();
                redo.push(tree);
            }
            BEFORE_REDO => {
                redo.pop();
                undo.push(tree);
            }
            _ => {
                redo.clear();
                undo.push(tree);
            }
        }
    }
    (undo, redo)
}
