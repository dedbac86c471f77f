//! Which changes of pinned files are tampering.

use crate::work::LOCK_FILES;
use ralph_model::{ChangeKind, Pin, PinKind, Tamper, TamperKind};

/// More tampered files than this are counted, not listed: the list goes into the journal and into prompts.
const MAX_TAMPERED: usize = 200;

#[derive(Debug, Clone, Copy)]
pub struct PinnedChange<'a> {
    pub path: &'a str,
    pub kind: ChangeKind,
    pub pin: Option<&'a Pin>,
    pub is_allowed: bool,
    /// It was only formatted, or tests were added: all that was there is still there.
    pub keeps_tests: bool,
    /// Which test is not as it was, where that is known.
    pub what: &'a str,
    /// A manifest or a lock file changed, too.
    pub is_declared: bool,
    /// It can be put in place as it was while the checks run.
    pub can_be_restored: bool,
}

/// What a change of a pinned file means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeJudgement {
    Harmless,
    /// It was changed with the user's permission.
    Allowed,
    /// A build product: moved away for the check, and not counted as tampering.
    PutAside,
    /// An installed package that changed, which is reported.
    Reported,
    Tampered(Tamper),
}

pub fn judge_change(change: PinnedChange<'_>) -> ChangeJudgement {
    if change.is_allowed {
        return ChangeJudgement::Allowed;
    }
    if change.keeps_tests {
        return ChangeJudgement::Harmless;
    }
    if change.pin.is_some_and(|pin| pin.kind == PinKind::Packages)
        && let Some(judgement) = judge_package(&change)
    {
        return judgement;
    }
    if change.can_be_restored && change.pin.is_some_and(|pin| pin.kind == PinKind::Built) {
        return ChangeJudgement::PutAside;
    }
    if !change.can_be_restored {
        let why = change.pin.map(|pin| pin.why.clone()).unwrap_or_default();
        return ChangeJudgement::Tampered(Tamper::with(change.path, TamperKind::Installed, why));
    }
    let kind = match change.kind {
        ChangeKind::Added => TamperKind::Appeared,
        ChangeKind::Modified => TamperKind::Changed,
        ChangeKind::Deleted => TamperKind::Deleted,
        ChangeKind::Mode => TamperKind::Mode,
    };
    ChangeJudgement::Tampered(Tamper::with(change.path, kind, change.what))
}

/// What a change among installed packages means, where it is no tampering. Packages that link into the work are work.
fn judge_package(change: &PinnedChange<'_>) -> Option<ChangeJudgement> {
    if package_of(change.path).is_none() {
        return Some(ChangeJudgement::Harmless);
    }
    // A new one is found by name, unless it registers itself or is compiled with what lies beside it.
    let is_found = change.path.ends_with("/entry_points.txt") || change.path.ends_with(".go");
    let is_harmless = change.kind == ChangeKind::Added && !is_found;
    (change.is_declared || is_harmless).then_some(ChangeJudgement::Reported)
}

/// The package that a file belongs to: `left-pad`, `@types/node`.
pub fn package_of(path: &str) -> Option<String> {
    let folder =
        ["node_modules/", "site-packages/"].into_iter().filter_map(|folder| Some((path.rfind(folder)?, folder.len())));
    let folder = folder.max();
    let is_vendored = folder.is_none();
    let start =
        folder.map(|(at, length)| at + length).or_else(|| path.starts_with("vendor/").then_some("vendor/".len()))?;
    let mut parts = path[start..].split('/');
    let name = parts.next()?;
    match parts.next() {
        Some(rest) if name.starts_with('@') || is_vendored => Some(format!("{name}/{rest}")),
        _ => Some(name.to_owned()),
    }
}

/// Whether a file says which packages there are: a change of packages is to be expected with a change of it.
pub fn declares_packages(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    LOCK_FILES.contains(&name)
        || matches!(
            name,
            "package.json"
                | "pyproject.toml"
                | "setup.py"
                | "setup.cfg"
                | "Pipfile"
                | "go.mod"
                | "Cargo.toml"
                | "composer.json"
                | "Gemfile"
        )
        || (name.starts_with("requirements") && name.ends_with(".txt"))
}

/// Leaves out what would only make the list longer; never what voids a verdict.
pub fn shorten(tampered: &mut Vec<Tamper>) {
    tampered.sort();
    tampered.sort_by_key(Tamper::was_undone);
    let void = tampered.iter().filter(|tamper| !tamper.was_undone()).count();
    let most = MAX_TAMPERED.max(void);
    if tampered.len() > most {
        let more = tampered.len() - most;
        tampered.truncate(most);
        tampered.push(Tamper::with(format!("{more} more files"), TamperKind::Changed, "not listed"));
    }
}

#[cfg(test)]
#[path = "tampering_tests.rs"]
mod tests;
