//! `ralph trust`: shows what a repository asks for, and approves it, lists approvals, or takes one back.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use ralph_model::{Timestamp, exit_code};
use ralph_store::Trusted;
use ratatui_core::text::{Line, Span};
use serde_json::json;

use crate::args::TrustArgs;
use crate::clock::local;
use crate::page::{Fit, Page, Table, cell};
use crate::screen::{Screen, counted};
use crate::style::{GOOD, QUIET};
use ralph_config::RepositoryFile;
use ralph_config::skills::candidates;
use ralph_config::trust::{Answer, Asking, Error, Question};
use ralph_crew::{AgentFile, RepositoryAgent, built_in, read_agents, repository_agents};
use ralph_host::Dirs;
use ralph_host::workspace;

/// Does what the words ask for and gives the exit code.
pub(crate) async fn trust(
    args: &TrustArgs,
    dirs: &Dirs,
    current: &Path,
    mut asking: Asking<'_>,
    now: Timestamp,
    screen: &mut Screen<'_>,
) -> Result<u8> {
    // The parser lets none of these be typed together.
    match (&args.revoke, args.list, args.yes) {
        (Some(start), ..) => revoke(start, args, dirs, screen).await,
        (None, true, _) => list(args, dirs, screen).await,
        (None, false, true) => {
            let mut yes = |_: &str| Ok(Answer::Yes);
            approve(args, dirs, current, &mut Asking::Person(&mut yes), now, screen).await
        }
        (None, false, false) => approve(args, dirs, current, &mut asking, now, screen).await,
    }
}

async fn approve(
    args: &TrustArgs,
    dirs: &Dirs,
    current: &Path,
    asking: &mut Asking<'_>,
    now: Timestamp,
    screen: &mut Screen<'_>,
) -> Result<u8> {
    let workspace = workspace(args.directory.as_deref(), current)?;
    // Only an agent with a name of its own can be added.
    let agents = read_agents(&dirs.agents()).unwrap_or_else(|_| built_in());
    let (questions, mut problems) = questions(&workspace, &agents);
    for problem in &problems {
        screen.say(problem)?;
    }
    let store = ralph_host::database::open(dirs).await?;
    let mut approved = Vec::new();
    for question in &questions {
        if question.is_approved(&store).await? {
            approved.push(question);
            continue;
        }
        screen.say(&question.shown())?;
        let answer = match asking {
            Asking::Nobody => {
                problems.push(format!("{}: not approved", question.path.display()));
                screen
                    .say("There is no terminal to prompt on. When you have read the above, approve it with --yes.")?;
                continue;
            }
            Asking::Person(ask) => ask("Approve?").map_err(Error::Ask)?,
        };
        match answer {
            Answer::Yes => {
                question.approve(&store, now).await?;
                approved.push(question);
            }
            Answer::No => problems.push(format!("{}: not approved", question.path.display())),
        }
    }
    if args.json {
        let files = approved
            .iter()
            .map(|question| json!({ "path": question.path.display().to_string(), "sha256": question.sha256 }));
        let workspace = workspace.display().to_string();
        screen.json(&json!({ "workspace": workspace, "approved": files.collect::<Vec<_>>(), "problems": problems }))?;
    } else if questions.is_empty() && problems.is_empty() {
        screen.result(&format!("{}: nothing here needs approval", workspace.display()))?;
    } else {
        let mut page = Page::default();
        for question in &approved {
            let what = format!(": {} ({})", question.path.display(), short(&question.sha256));
            page.line(Line::from(vec![Span::styled("approved", GOOD), Span::raw(what)]));
        }
        screen.page(page)?;
    }
    Ok(if problems.is_empty() { exit_code::COMPLETED } else { exit_code::USAGE })
}

/// Everything in the workspace that needs approval, and what cannot be approved at all.
fn questions(workspace: &Path, agents: &[AgentFile]) -> (Vec<Question>, Vec<String>) {
    let (mut questions, mut problems) = (Vec::new(), Vec::new());
    match RepositoryFile::read(workspace) {
        Ok(file) => questions.extend(file.and_then(|file| Question::about_file(&file, workspace))),
        Err(error) => problems.push(error.to_string()),
    }
    for (_, candidate) in candidates(workspace) {
        match candidate {
            Ok(candidate) => questions.push(Question::about_skill(&candidate, workspace)),
            Err(error) => problems.push(error.to_string()),
        }
    }
    for agent in repository_agents(workspace, agents) {
        match agent {
            Ok(RepositoryAgent { question, .. }) => questions.push(question),
            Err(error) => problems.push(error.to_string()),
        }
    }
    (questions, problems)
}

async fn list(args: &TrustArgs, dirs: &Dirs, screen: &mut Screen<'_>) -> Result<u8> {
    let trusted = match ralph_host::database::open_existing(dirs).await? {
        Some(store) => store.trusted().await?,
        None => Vec::new(),
    };
    if args.json {
        let rows =
            trusted.iter().map(|one| json!({ "sha256": one.hash, "path": one.path, "approvedAt": one.at.rfc3339() }));
        screen.json(&rows.collect::<Vec<_>>())?;
    } else if trusted.is_empty() {
        screen.result("nothing is approved")?;
    } else {
        let mut table = Table::new([("SHA-256", Fit::Left), ("APPROVED", Fit::Left), ("FILE", Fit::Words)]);
        for one in &trusted {
            table.row([cell(short(&one.hash)), Span::styled(local(one.at), QUIET), cell(one.path.clone())]);
        }
        screen.page(table.into())?;
    }
    Ok(exit_code::COMPLETED)
}

async fn revoke(start: &str, args: &TrustArgs, dirs: &Dirs, screen: &mut Screen<'_>) -> Result<u8> {
    let store = ralph_host::database::open_existing(dirs).await?.context("nothing is approved yet")?;
    let mut hashes: Vec<Trusted> = store.trusted().await?;
    hashes.retain(|one| !start.is_empty() && one.hash.starts_with(&start.to_ascii_lowercase()));
    hashes.dedup_by(|left, right| left.hash == right.hash);
    let hash = match hashes.as_slice() {
        [one] => one.hash.clone(),
        [] => bail!("no approval begins with `{start}`: `ralph trust --list` shows all of them"),
        several => bail!("{} approvals begin with `{start}`: type more of the hash", several.len()),
    };
    let places = store.revoke(&hash).await?;
    let text = format!("revoked {} in {}", short(&hash), counted(places, "place", "places"));
    screen.answer(args.json, &json!({ "revoked": hash, "places": places }), &text)?;
    Ok(exit_code::COMPLETED)
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
