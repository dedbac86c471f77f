//! `ralph init`: writes a `ralph.toml` that fits the project, with the reasons as comments. Asks the test runner of the suggested
//! command for its tests, in the sandbox of checks; runs nothing else of the project.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use ralph_checks::{Detection, Suggestion, detect, first_word_missing};
use ralph_model::{AgentSpec, LoopConfig, Money, TestListing, Timestamp, exit_code};
use ralph_workspace::exclude_ralph_folder;
use ratatui_core::text::{Line, Span};
use serde_json::json;

use super::explain::said;
use crate::args::InitArgs;
use crate::page::Page;
use crate::screen::Screen;
use crate::style::{TITLE, WARN};
use ralph_config::trust::Question;
use ralph_config::trust::shell_word;
use ralph_config::{FILE_NAME, Key, Owner, RepositoryFile, schema};
use ralph_host::{Dirs, Host, existing_folder};

/// Limits that let a first loop show something without costing much.
const LIMITS: [(Key, &str); 2] = [(Key::MaxIterations, "10"), (Key::MaxCostUsd, "5.00")];

/// Looks, writes, approves what it wrote, and says what to type next.
pub(crate) async fn init(
    args: &InitArgs,
    host: Option<&Host>,
    dirs: &Dirs,
    current: &Path,
    now: Timestamp,
    screen: &mut Screen<'_>,
) -> Result<u8> {
    if args.schema {
        screen.result(&format!("{:#}", schema(Owner::Repository)))?;
        return Ok(exit_code::COMPLETED);
    }
    let workspace = existing_folder(&current.join(args.directory.as_deref().unwrap_or(Path::new(""))))?;
    let detection = detect(&workspace);
    let text = file(&detection);
    if args.print {
        screen.result(&text)?;
        return Ok(exit_code::COMPLETED);
    }
    let path = workspace.join(FILE_NAME);
    let overwrite = if args.force { Overwrite::Allowed } else { Overwrite::Refused };
    match write(&path, &text, overwrite) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            screen.say(&format!(
                "error: {} exists already\n  --force replaces it, --print shows what would be written",
                path.display()
            ))?;
            return Ok(exit_code::USAGE);
        }
        Err(error) => return Err(error).with_context(|| format!("could not write {}", path.display())),
    }
    if let Err(error) = write_schema(&workspace) {
        screen.say(&format!("warning: editors cannot check ralph.toml: {SCHEMA} could not be written: {error}"))?;
    }
    // From the bytes that were written, not from the file: it may be another one by now.
    let written = RepositoryFile::from_bytes(path.clone(), text.into_bytes())?;
    if let Some(question) = Question::about_file(&written, &workspace) {
        question.approve(&ralph_host::database::open(dirs).await?, now).await?;
    }
    let next = next_command(&detection, &workspace, current);
    let listings = match (host, suggested_config(&detection, &workspace)) {
        (Some(host), Some(config)) => host.list_tests(&config).await,
        _ => Vec::new(),
    };
    if args.json {
        let suggestion =
            |one: &Suggestion| json!({ "command": one.command, "why": one.why, "stack": one.stack.name() });
        screen.json(&json!({
            "path": path.display().to_string(),
            "sha256": written.sha256(),
            "stacks": detection.stacks.iter().map(|stack| stack.name()).collect::<Vec<_>>(),
            "suggestions": detection.suggestions.iter().map(suggestion).collect::<Vec<_>>(),
            "listings": listings,
            "next": next,
        }))?;
    } else {
        screen.page(report(&path, &detection, &listings, &next))?;
        let missing = host.zip(detection.suggestions.first()).and_then(|(host, best)| {
            first_word_missing(&best.command, &host.search_path().to_string_lossy(), &workspace)
        });
        if let Some(missing) = missing {
            screen.say(&format!("warning: {missing}"))?;
        }
        let has_agent = host.is_none_or(|host| {
            host.user_settings().is_ok_and(|user| user.agent.is_some() || !host.usable_agents(&user).is_empty())
        });
        if !has_agent {
            screen.say("warning: no agent is installed: `ralph agents` says how to get one; --agent-command CMD takes any program")?;
        }
    }
    Ok(exit_code::COMPLETED)
}

/// What may happen to a file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overwrite {
    Allowed,
    Refused,
}

/// Whole or not at all: a reader never sees half of it, and no file is lost in a race.
fn write(path: &Path, text: &str, overwrite: Overwrite) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file =
        tempfile::Builder::new().prefix(".ralph-").permissions(Permissions::from_mode(0o644)).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    match overwrite {
        Overwrite::Allowed => file.persist(path),
        Overwrite::Refused => file.persist_noclobber(path),
    }
    .map(drop)
    .map_err(|error| error.error)
}

/// Where the schema lies in a workspace: beside everything else that belongs to no commit, so that the same line serves
/// everybody who works on the repository.
const SCHEMA: &str = ".ralph/ralph.schema.json";

/// Writes the schema that the first line of the file names, for editors without a network.
fn write_schema(workspace: &Path) -> io::Result<()> {
    let path = workspace.join(SCHEMA);
    let folder = path.parent().unwrap_or(workspace);
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // A repository could have put a link there, to have a file written elsewhere.
    if !folder.symlink_metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    write(&path, &format!("{:#}\n", schema(Owner::Repository)), Overwrite::Allowed)?;
    exclude_ralph_folder(workspace).map(drop).map_err(io::Error::other)
}

fn file(detection: &Detection) -> String {
    let mut text = format!(
        "#:schema {SCHEMA}\n\
         # Ralph's configuration for this repository. `ralph run --help` explains the options.\n\
         # Each user must approve this file once: `ralph trust`.\n\n\
         # The check: it has to fail now, and to pass when the work is done.\n",
    );
    match detection.suggestions.split_first() {
        Some((best, others)) => {
            push_command(&mut text, "", best);
            for other in others {
                push_command(&mut text, "# ", other);
            }
        }
        None => text.push_str(
            "# Nothing was recognised here: name your own command.\n# verification_command = \"make test\"\n",
        ),
    }
    text.push_str("\n# The two limits that every loop needs.\n");
    for (key, value) in LIMITS {
        let _ = writeln!(text, "{} = {value}", key.name());
    }
    text.push_str(
        "\n# Paths that no agent may change, besides the usual ones (src/auth, src/payments, migrations, .env).\n\
         # prohibited_paths = [\"infra/**\"]\n\
         \n# An agent of your own: any program that reads its prompt from standard input. `ralph agents` lists the others.\n\
         # agent = \"helper\"\n\
         # [agents.helper]\n\
         # command = \"./my-agent\"\n",
    );
    text
}

fn push_command(text: &mut String, prefix: &str, suggestion: &Suggestion) {
    // Both come from files of the project: quoted, and kept on their line.
    let (command, why) = (quoted(&suggestion.command), suggestion.why.replace(char::is_control, " "));
    let _ = writeln!(text, "{prefix}{} = {command} # {why}", Key::VerificationCommand.name());
}

/// A TOML string on one line, whatever is in it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A loop with the suggested check: only the check and the place matter.
pub(crate) fn suggested_config(detection: &Detection, workspace: &Path) -> Option<LoopConfig> {
    let best = detection.suggestions.first()?;
    let config =
        LoopConfig::new(String::new(), 1, Money::ZERO, AgentSpec::command("", ""), workspace.to_str()?.to_owned());
    Some(LoopConfig { verification_commands: vec![best.command.clone()], ..config })
}

fn report(path: &Path, detection: &Detection, listings: &[TestListing], next: &str) -> Page {
    let mut page = Page::default();
    page.line(match detection.suggestions.first() {
        Some(best) => Line::raw(format!("Found {}: `{}` ({})", best.stack.name(), best.command, best.why)),
        None => Line::styled("Found no command that checks this project: name one as verification_command", WARN),
    });
    for listing in listings.iter().filter(|listing| !listing.tests.is_empty()) {
        page.line(format!("Protected from the agent: {}", said(listing)));
    }
    page.line(format!("Wrote {}, approved for you", path.display()));
    page.line(Line::from(vec![Span::raw("Next: "), Span::styled(next.to_owned(), TITLE)]));
    page
}

fn next_command(detection: &Detection, workspace: &Path, current: &Path) -> String {
    let here = current.canonicalize().is_ok_and(|current| current == workspace);
    let place = if here { String::new() } else { format!(" --workspace {}", shell_word(workspace)) };
    // Without a check the agent's word would complete the loop.
    let check = if detection.suggestions.is_empty() { " --criteria \"make test\"" } else { "" };
    format!("ralph run \"Fix the failing tests\"{check}{place}")
}

#[cfg(test)]
#[path = "init_tests.rs"]
mod tests;
