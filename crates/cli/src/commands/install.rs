//! `ralph install` and `ralph uninstall`: shows what would change in the settings of a client, asks, and changes it.

use std::path::{Path, PathBuf};

use ralph_config::trust::{Answer, shell_word};
use ralph_host::{Host, find_program};
use ralph_install::{Change, Client, Installer, Places, Scope, diff};
use ralph_model::exit_code;
use ratatui_core::text::Line;
use serde_json::{Value, json};

use crate::args::InstallArgs;
use crate::input::is_interactive;
use crate::page::Page;
use crate::screen::{Screen, ask_at_terminal, counted};
use crate::style::{BAD, GOOD, PLAIN, QUIET, TITLE, WARN};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Install,
    Uninstall,
}

/// Shows, asks and changes.
///
/// # Errors
/// When the settings cannot be changed; then nothing was.
pub(crate) fn run(
    args: &InstallArgs,
    direction: Direction,
    around: &Host,
    screen: &mut Screen<'_>,
) -> anyhow::Result<u8> {
    let project =
        ralph_host::existing_folder(&around.current.join(args.workspace.as_deref().unwrap_or(Path::new(""))))?;
    let InstallArgs { client, scope, .. } = *args;
    let installer = installer(project, scope, around)?;
    let changes = match direction {
        Direction::Install => installer.install(client, scope),
        Direction::Uninstall => installer.uninstall(client, scope),
    };
    let changes = match changes {
        Ok(changes) => changes,
        Err(error) => {
            screen.say(&format!("error: {error}"))?;
            return Ok(exit_code::USAGE);
        }
    };
    let number = changes.iter().filter(|change| change.is_change()).count();
    if !args.json {
        let mut page = Page::default();
        changes.iter().filter(|change| change.is_change()).for_each(|change| shown(change, &mut page));
        screen.page(page)?;
    }
    let is_wanted = match (number, args.dry_run, args.yes) {
        (_, true, _) => false,
        (0, _, _) | (_, _, true) => true,
        (_, false, false) if is_interactive() => {
            let question = format!("Change {}?", counted(number, "file", "files"));
            ask_at_terminal(&question)? == Answer::Yes
        }
        (_, false, false) => {
            screen.say("no terminal to prompt on: --yes makes these changes, --dry-run only shows them")?;
            return Ok(exit_code::USAGE);
        }
    };
    if is_wanted {
        installer.apply(&changes)?;
    }
    if args.json {
        screen.json(&json!({
            "client": client.name(),
            "scope": if scope == Scope::User { "user" } else { "project" },
            "applied": is_wanted,
            "changes": changes.iter().map(row).collect::<Vec<_>>(),
        }))?;
    } else {
        let (done, style) = match (number, is_wanted, direction) {
            (0, _, Direction::Install) => ("already installed", PLAIN),
            (0, _, Direction::Uninstall) => ("nothing to remove", PLAIN),
            (_, false, _) => ("nothing was changed", WARN),
            // Codex reads prompts from its user's folder alone.
            (_, true, Direction::Install) if client == Client::Codex && scope == Scope::Project => {
                ("installed: restart the program, then ask it to use the tool ralph_loop", GOOD)
            }
            (_, true, Direction::Install) => ("installed: restart the program, then type /ralph", GOOD),
            (_, true, Direction::Uninstall) => ("removed", GOOD),
        };
        let mut page = Page::default();
        page.line(Line::styled(done, style));
        screen.page(page)?;
    }
    Ok(exit_code::COMPLETED)
}

fn installer(project: PathBuf, scope: Scope, around: &Host) -> anyhow::Result<Installer> {
    let folder = |name: &str| around.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let own = std::env::current_exe()?.canonicalize()?;
    let found = find_program("ralph", &around.search_path()).and_then(|path| path.canonicalize().ok());
    // What others share names no path of this machine.
    let is_plain = scope == Scope::Project || found.as_ref() == Some(&own);
    let places = Places {
        home: around.user_home(),
        project,
        claude_config: folder("CLAUDE_CONFIG_DIR"),
        config_home: folder("XDG_CONFIG_HOME"),
        codex_home: folder("CODEX_HOME"),
        program: if is_plain { "ralph".to_owned() } else { shell_word(&own) },
    };
    Ok(Installer { places, records: around.dirs.state.join("installed") })
}

fn shown(change: &Change, page: &mut Page) {
    let (before, after) = (change.before.as_deref().unwrap_or_default(), change.after.as_deref().unwrap_or_default());
    page.line(Line::styled(format!("{} {}", change.action(), change.path.display()), TITLE));
    for line in diff(before, after).lines() {
        let style = match line.chars().nth(2) {
            Some('+') => GOOD,
            Some('-') => BAD,
            _ => QUIET,
        };
        page.whole(Line::styled(line.to_owned(), style));
    }
    page.line("");
}

fn row(change: &Change) -> Value {
    let (before, after) = (change.before.as_deref().unwrap_or_default(), change.after.as_deref().unwrap_or_default());
    let text = if change.is_change() { diff(before, after) } else { String::new() };
    json!({ "path": change.path, "action": change.action(), "diff": text })
}
