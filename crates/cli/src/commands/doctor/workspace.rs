//! What the workspace has to offer, and what earlier loops left in it.

use std::path::Path;

use ralph_checks::{detect, first_word_missing};
use ralph_model::protected_patterns;
use ralph_runtime::{Home, plan};
use ralph_store::{Filter, RunStatus, StoreHandle};
use ralph_workspace::{Repository, holder};

use super::{Finding, Subject};
use crate::commands::explain;
use crate::commands::init::suggested_config;
use crate::screen::counted;
use ralph_config::RepositoryFile;
use ralph_config::trust::Question;
use ralph_config::trust::shell_word;

/// Everything about the folder that Ralph was started in.
pub(super) async fn findings(subject: &Subject<'_>, git: Option<&Path>) -> Vec<Finding> {
    let workspace = match ralph_host::workspace(None, subject.current) {
        Ok(workspace) => workspace,
        Err(error) => return vec![Finding::fail("workspace", error.to_string(), "change to a folder that exists")],
    };
    // A database that does not open has its own finding; here it only means that nothing is known.
    let store = ralph_host::database::open_existing(subject.dirs).await.ok().flatten();
    let mut findings = vec![repository(&workspace, git), file(&workspace, store.as_ref()).await];
    findings.push(verification(subject, &workspace));
    findings.extend(protection(subject, &workspace));
    findings.push(lock(subject, &workspace));
    findings.extend(leftovers(store.as_ref(), subject).await);
    findings
}

fn repository(workspace: &Path, git: Option<&Path>) -> Finding {
    let none =
        || Finding::ok("workspace", format!("{} (no git: --commit and --worktree need one)", workspace.display()));
    let Some(git) = git else { return none() };
    let Some(repository) = Repository::find(workspace, git, &std::env::temp_dir()) else { return none() };
    let place = workspace.display();
    match repository.head() {
        Ok(head) => {
            let stand = match (head.branch, head.commit) {
                (Some(branch), Some(_)) => format!("branch {branch}"),
                (Some(branch), None) => format!("branch {branch}, no commit yet"),
                (None, _) => "detached HEAD".to_owned(),
            };
            Finding::ok("workspace", format!("{place} (git, {stand})"))
        }
        Err(error) => {
            Finding::warn("workspace", format!("{place}: {error}"), "--commit and --worktree will not work here")
        }
    }
}

async fn file(workspace: &Path, store: Option<&StoreHandle>) -> Finding {
    let name = "ralph.toml";
    let file = match RepositoryFile::read(workspace) {
        Ok(Some(file)) => file,
        Ok(None) => return Finding::ok(name, "none; `ralph init` writes one"),
        Err(error) => return Finding::fail(name, error.to_string(), "fix it or move it away"),
    };
    let Some(question) = Question::about_file(&file, workspace) else {
        return Finding::ok(name, "only narrows, so it needs no approval");
    };
    let approved = match store {
        Some(store) => question.is_approved(store).await,
        None => Ok(false),
    };
    let command = format!("ralph trust {}", shell_word(workspace));
    match approved {
        Ok(true) => Finding::ok(name, "approved"),
        Ok(false) => Finding::warn(name, "not approved: loops without a terminal are refused here", command),
        Err(error) => Finding::warn(name, error.to_string(), command),
    }
}

fn verification(subject: &Subject<'_>, workspace: &Path) -> Finding {
    let name = "verification";
    let detection = detect(workspace);
    let Some(best) = detection.suggestions.first() else {
        return Finding::warn(name, "no command was recognised", "name one: --criteria CMD");
    };
    let path = subject.path.to_string_lossy();
    match first_word_missing(&best.command, &path, workspace) {
        None => Finding::ok(name, format!("`{}` ({})", best.command, best.why)),
        Some(missing) => Finding::warn(
            name,
            format!("`{}`: {missing}", best.command),
            "install it, or name another command: --criteria CMD",
        ),
    }
}

/// What the verdict of the suggested check would depend on.
fn protection(subject: &Subject<'_>, workspace: &Path) -> Option<Finding> {
    let config = suggested_config(&detect(workspace), workspace)?;
    let plan = plan(&config, &subject.environment, &explain::files(workspace), &[]);
    let runners = if plan.runners.is_empty() { "no known runner".to_owned() } else { plan.runners.join(", ") };
    let detail = format!(
        "{}, by {}; {runners}",
        counted(plan.files, "file", "files"),
        counted(protected_patterns(&plan.pins), "pattern", "patterns")
    );
    Some(if plan.files == 0 {
        Finding::warn("protection", format!("{detail}: no test file was recognised"), "name them: --protect GLOB")
    } else {
        Finding::ok("protection", detail)
    })
}

fn lock(subject: &Subject<'_>, workspace: &Path) -> Finding {
    let state = Home::new(subject.dirs.state.clone()).workspace(workspace);
    match holder(&state) {
        Ok(None) => Finding::ok("lock", "free"),
        Ok(Some(holder)) => {
            let id = holder.loop_id.short();
            let detail = format!("loop {id} works here (process {})", holder.pid);
            Finding::warn("lock", detail, format!("wait for it, or stop it: ralph stop {id}"))
        }
        Err(error) => Finding::warn("lock", error.to_string(), "remove that file when no loop runs"),
    }
}

/// Loops of any workspace that were running when their process died.
async fn leftovers(store: Option<&StoreHandle>, subject: &Subject<'_>) -> Vec<Finding> {
    let Some(store) = store else { return Vec::new() };
    let running = Filter { status: Some(RunStatus::Running), ..Filter::default() };
    let loops = match store.runs(&running).await {
        Ok(loops) => loops,
        Err(error) => return vec![Finding::warn("leftovers", error.to_string(), "see `database`")],
    };
    let found = loops.iter().filter(|entry| (subject.is_interrupted)(entry)).map(|entry| {
        let id = entry.id.short();
        let detail = format!("loop {id} in {} was interrupted", entry.workspace);
        Finding::warn("leftovers", detail, format!("ralph resume {id}"))
    });
    let mut findings: Vec<Finding> = found.collect();
    if findings.is_empty() {
        findings.push(Finding::ok("leftovers", "no interrupted loop"));
    }
    findings
}
