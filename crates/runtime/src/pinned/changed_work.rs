//! What the changed work shows of itself: signs that it knows of the checks, and who decides what equals what.

use ralph_model::{Change, ChangeKind, PinKind, TreeHash};
use ralph_verify::confirm::is_rust_test;
use ralph_verify::detection;
use ralph_verify::tripwire::Equality;
use ralph_workspace::Workspace;

use super::{Looked, Pinned};
use crate::error::Error;

/// Changed files that are read, and bytes of each.
const MAX_READ: usize = 500;
const MAX_SIZE: usize = 1 << 20;

impl Pinned {
    /// What the work shows of itself. Tests may know that they are tests.
    pub(super) fn read_signs(&self, workspace: &Workspace, tree: &TreeHash, looked: &mut Looked) -> Result<(), Error> {
        self.for_changed_work(workspace, tree, &mut |path, before, now| {
            let signs = detection::signs(path, before, now);
            looked.signs.extend(signs.into_iter().map(|sign| format!("{path}: {sign}")));
        })
    }

    /// Who decides what equals what in the checks of this tree.
    pub(crate) fn equality(&self, workspace: &Workspace, tree: &TreeHash) -> Result<Equality, Error> {
        let mut equality = Equality::AsAtStart;
        self.for_changed_work(workspace, tree, &mut |path, before, now| {
            if detection::decides_equality(path, before, now) {
                equality = Equality::OfTheWork;
            }
        })?;
        Ok(equality)
    }

    /// Shows each changed file of the work, as it was at the start and as it is.
    fn for_changed_work(
        &self,
        workspace: &Workspace,
        tree: &TreeHash,
        show: &mut dyn FnMut(&str, Option<&str>, &str),
    ) -> Result<(), Error> {
        let is_work =
            |path: &str| !self.pin(path).is_some_and(|pin| matches!(pin.kind, PinKind::Frozen | PinKind::Steering));
        let changes = workspace.changes(&self.start, tree)?;
        let kept = changes.iter().filter(|change| change.kind != ChangeKind::Deleted && is_work(&change.path));
        for Change { path, .. } in kept.filter(|change| !is_rust_test(&change.path)).take(MAX_READ) {
            let text = |tree: &TreeHash| -> Result<Option<String>, Error> {
                let content = workspace.file_at(tree, path)?.filter(|content| content.len() <= MAX_SIZE);
                Ok(content.map(|content| String::from_utf8_lossy(&content).into_owned()))
            };
            if let Some(now) = text(tree)? {
                show(path, text(&self.start)?.as_deref(), &now);
            }
        }
        Ok(())
    }
}
