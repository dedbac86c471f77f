//! `ralph skills`: lists, shows, begins and checks skills. Runs nothing of them.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use ralph_config::skills::{self, Candidate, Found, Listed, Lookup, Problem};
use ralph_config::trust::Question;
use ralph_config::{Links, read};
use ralph_host::Host;
use ralph_model::exit_code;
use ralph_store::StoreHandle;
use ratatui_core::text::{Line, Span};
use serde_json::{Value, json};

use crate::args::{SkillsAction, SkillsArgs, SkillsNewArgs};
use crate::page::{Fit, Page, Table, cell};
use crate::screen::Screen;
use crate::style::{BAD, GOOD, PLAIN, QUIET, WARN};

/// Does what was asked for and gives the exit code.
pub(crate) async fn run(args: SkillsArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    match args.action {
        SkillsAction::List(place) => {
            let folder = ralph_host::workspace(place.workspace.as_deref(), &around.current)?;
            list(&folder, place.json, around, screen).await
        }
        SkillsAction::Show(args) => {
            let folder = ralph_host::workspace(args.place.workspace.as_deref(), &around.current)?;
            show(&args.name, &folder, args.place.json, around, screen).await
        }
        SkillsAction::New(args) => new(&args, around, screen),
        SkillsAction::Check(args) => check(args.path.as_deref(), args.json, around, screen),
    }
}

async fn list(folder: &Path, json: bool, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let store = ralph_host::database::open_existing(&around.dirs).await?;
    let mut rows = Vec::new();
    for listed in skills::all(&around.dirs.skills(), folder) {
        rows.push(row(&listed, folder, store.as_ref()).await?);
    }
    if json {
        screen.json(&Value::Array(rows))?;
        return Ok(exit_code::COMPLETED);
    }
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let mut table = Table::new([("NAME", Fit::Left), ("SOURCE", Fit::Left), ("DESCRIPTION", Fit::Words)]);
    for row in &rows {
        let (note, style) = match (row["problem"].as_str(), row["approved"].as_bool()) {
            (Some(problem), _) => (format!("cannot be used: {problem}"), BAD),
            (None, Some(false)) => (format!("{} (not approved: ralph trust)", text(row, "description")), WARN),
            (None, _) => (text(row, "description"), PLAIN),
        };
        table.row([cell(text(row, "name")), Span::styled(text(row, "source"), QUIET), Span::styled(note, style)]);
    }
    screen.page(table.into())?;
    Ok(exit_code::COMPLETED)
}

async fn row(listed: &Listed, folder: &Path, store: Option<&StoreHandle>) -> anyhow::Result<Value> {
    let mut row = json!({
        "name": listed.name,
        "source": listed.provenance.name(),
        "path": listed.path,
        "approved": true,
        "problem": null,
    });
    match &listed.lookup {
        Ok(Lookup::Ready(found)) => describe(found, &mut row),
        Ok(Lookup::NeedsApproval(candidate)) => {
            describe(candidate.found(), &mut row);
            row["approved"] = json!(is_approved(candidate, folder, store).await?);
        }
        Err(error) => row["problem"] = json!(error.to_string()),
    }
    Ok(row)
}

fn describe(found: &Found, row: &mut Value) {
    row["description"] = json!(found.description);
    row["promise"] = json!(found.skill.promise);
    row["verify"] = json!(found.verify);
    row["supportsRalph"] = json!(found.supports_loops);
    row["taskTypes"] = json!(found.task_types);
}

async fn is_approved(candidate: &Candidate, folder: &Path, store: Option<&StoreHandle>) -> anyhow::Result<bool> {
    match store {
        Some(store) => Ok(Question::about_skill(candidate, folder).is_approved(store).await?),
        None => Ok(false),
    }
}

async fn show(name: &str, folder: &Path, json: bool, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let user = around.dirs.skills();
    let Some(listed) = skills::all(&user, folder).into_iter().find(|listed| listed.name == name) else {
        // The error lists what there is.
        skills::find(name, &user, folder).map_err(ralph_host::Error::from)?;
        bail!("no skill `{name}`");
    };
    let text = match &listed.path {
        Some(path) => file(path)?,
        None => skills::built_in_text(name).unwrap_or_default().to_owned(),
    };
    if json {
        let store = ralph_host::database::open_existing(&around.dirs).await?;
        let mut row = row(&listed, folder, store.as_ref()).await?;
        row["text"] = json!(text);
        screen.json(&row)?;
    } else {
        screen.result(&text)?;
    }
    Ok(exit_code::COMPLETED)
}

fn new(args: &SkillsNewArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    if !skills::is_name(&args.name) {
        screen.say(&format!(
            "error: `{}` cannot be the name of a skill\n  allowed: letters, digits, `-`, `_` and `.`",
            args.name
        ))?;
        return Ok(exit_code::USAGE);
    }
    let folder = match args.project {
        true => ralph_host::workspace(args.place.workspace.as_deref(), &around.current)?.join(".ralph/skills"),
        false => around.dirs.skills(),
    };
    let path = folder.join(&args.name).join("SKILL.md");
    let parent = path.parent().unwrap_or(&folder);
    std::fs::create_dir_all(parent).with_context(|| format!("could not make {}", parent.display()))?;
    let written =
        std::fs::File::create_new(&path).and_then(|mut file| file.write_all(skills::template(&args.name).as_bytes()));
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            screen.say(&format!("error: {} exists already", path.display()))?;
            return Ok(exit_code::USAGE);
        }
        written => written.with_context(|| format!("could not write {}", path.display()))?,
    }
    if args.place.json {
        screen.json(&json!({ "name": args.name, "path": path }))?;
    } else {
        let approve = if args.project { "approve it with: ralph trust, then " } else { "" };
        let mut page = Page::default();
        page.line(Line::from(vec![Span::styled("Wrote ", GOOD), Span::raw(path.display().to_string())]));
        page.line(format!("Next: edit it, {approve}use it with: ralph run … --skill {}", args.name));
        screen.page(page)?;
    }
    Ok(exit_code::COMPLETED)
}

fn check(path: Option<&Path>, json: bool, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let files = match path {
        Some(path) => files_at(&around.current.join(path))?,
        None => skills::all(&around.dirs.skills(), &around.current).into_iter().filter_map(|one| one.path).collect(),
    };
    let mut rows = Vec::new();
    let mut is_usable = true;
    for path in files {
        let name = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let problems = match file(&path) {
            Ok(text) => skills::check(&name, &text),
            Err(error) => vec![Problem { is_fatal: true, text: format!("{error:#}") }],
        };
        is_usable &= !problems.iter().any(|problem| problem.is_fatal);
        let listed: Vec<Value> = problems
            .iter()
            .map(|problem| json!({ "level": if problem.is_fatal { "error" } else { "warning" }, "text": problem.text }))
            .collect();
        rows.push(json!({ "name": name, "path": path, "problems": listed }));
    }
    if json {
        screen.json(&Value::Array(rows))?;
    } else if rows.is_empty() {
        screen.result("no skills of your own or of this workspace; the built-in ones are always fine")?;
    } else {
        let mut page = Page::default();
        for row in &rows {
            let problems = row["problems"].as_array().map(Vec::as_slice).unwrap_or_default();
            let path = Span::raw(row["path"].as_str().unwrap_or_default().to_owned());
            let verdict = if problems.is_empty() { Span::styled(": ok", GOOD) } else { Span::raw("") };
            page.line(Line::from(vec![path, verdict]));
            for problem in problems {
                let (level, text) = (problem["level"].as_str(), problem["text"].as_str());
                let style = if level == Some("error") { BAD } else { WARN };
                let level = Span::styled(format!("  {}", level.unwrap_or_default()), style);
                page.line(Line::from(vec![level, Span::raw(format!(": {}", text.unwrap_or_default()))]));
            }
        }
        screen.page(page)?;
    }
    Ok(if is_usable { exit_code::COMPLETED } else { exit_code::ERROR })
}

/// The skills at a path: a file, its folder, or a folder of such folders.
fn files_at(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let own = path.join("SKILL.md");
    if own.symlink_metadata().is_ok() {
        return Ok(vec![own]);
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("could not read {}", path.display()))?;
    let files = entries.flatten().map(|entry| entry.path().join("SKILL.md"));
    let mut files: Vec<PathBuf> = files.filter(|file| file.symlink_metadata().is_ok()).collect();
    files.sort_unstable();
    if files.is_empty() {
        bail!("{}: there is no SKILL.md", path.display());
    }
    Ok(files)
}

fn file(path: &Path) -> anyhow::Result<String> {
    let bytes = read(path, Links::Follow)?.with_context(|| format!("{} is gone", path.display()))?;
    String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8 text", path.display()))
}
