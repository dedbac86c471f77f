//! `ralph config`: every setting that a run here would get, and where it comes from.

use anyhow::Result;
use ralph_config::trust::Question;
use ralph_config::{Effective, Origin, Owner, RepositoryFile, effective, read_user_document, schema};
use ralph_host::{Host, workspace};
use ralph_text::Redactor;
use ratatui_core::text::Span;
use serde_json::{Value, json};

use crate::args::ConfigArgs;
use crate::page::{Fit, Table, cell};
use crate::screen::Screen;
use crate::style::{PLAIN, QUIET};

pub(crate) async fn run(args: ConfigArgs, around: &Host, screen: &mut Screen<'_>) -> Result<u8> {
    if args.schema {
        screen.result(&format!("{:#}", schema(Owner::User)))?;
        return Ok(0);
    }
    let workspace = workspace(args.directory.as_deref(), &around.current)?;
    let user = read_user_document(&around.dirs.config_file())?;
    let file = RepositoryFile::read(&workspace)?;
    let is_approved = match file.as_ref().and_then(|file| Question::about_file(file, &workspace)) {
        Some(question) => match ralph_host::database::open_existing(&around.dirs).await? {
            Some(store) => question.is_approved(&store).await?,
            None => false,
        },
        // Nothing in it needs approval.
        None => true,
    };
    let repository = file.as_ref().map(|file| (file.document(), is_approved));
    let all = effective(user.as_ref(), repository);
    let waiting: Vec<&str> = match &file {
        Some(file) if !is_approved => file.needing_approval().map(|present| present.name.as_str()).collect(),
        Some(_) | None => Vec::new(),
    };
    let redactor = around.redactor();
    if args.json {
        let keys: Vec<Value> = all.iter().map(as_json).collect();
        let text = json!({
            "workspace": workspace.display().to_string(),
            "userFile": around.dirs.config_file().display().to_string(),
            "keys": keys,
            "waitingForApproval": waiting,
        });
        let text: Value = serde_json::from_str(&redactor.text(&text.to_string())).unwrap_or(text);
        screen.json(&text)?;
        return Ok(0);
    }
    let is_shown = |one: &&Effective| args.all || !one.value.is_null();
    let mut table = Table::new([("KEY", Fit::Left), ("VALUE", Fit::Name), ("FROM", Fit::Words)]);
    let home = around.user_home();
    let short = |place: &str| {
        let in_workspace = place.strip_prefix(&format!("{}/", workspace.display())).map(str::to_owned);
        let in_home = || place.strip_prefix(&format!("{}/", home.display())).map(|rest| format!("~/{rest}"));
        in_workspace.or_else(in_home).unwrap_or_else(|| place.to_owned())
    };
    all.iter().filter(is_shown).for_each(|one| table.row(row(one, &redactor, short)));
    screen.page(table.into())?;
    if !waiting.is_empty() {
        screen.say(&format!(
            "ralph.toml is not approved, so these have no effect: {}\n  to look at it and approve it: ralph trust",
            waiting.join(", ")
        ))?;
    }
    if !args.all {
        screen.say("`ralph config --all` lists keys without a value, too")?;
    }
    Ok(0)
}

fn row(one: &Effective, redactor: &Redactor, short: impl Fn(&str) -> String) -> [Span<'static>; 3] {
    let value = match &one.value {
        Value::Null => "-".to_owned(),
        Value::Number(bytes) if ["log_limit", "max_file_size"].contains(&one.name.as_str()) => {
            format!("{bytes}{}", bytes.as_u64().and_then(size).unwrap_or_default())
        }
        value => redactor.text(&value.to_string()).into_owned(),
    };
    // What somebody set stands out.
    let style = if one.origin == Origin::Default { QUIET } else { PLAIN };
    let from = one.place.as_deref().map_or_else(|| one.origin.to_string(), short);
    [cell(one.name.clone()), Span::styled(value, style), Span::styled(from, style)]
}

fn as_json(one: &Effective) -> Value {
    json!({
        "key": one.name,
        "value": one.value,
        "source": one.origin.to_string(),
        "place": one.place,
        "flag": one.key.flag(),
        "effect": one.key.effect(),
    })
}

/// Bytes as `--max-file-size` takes them, in brackets, where that is exact.
fn size(bytes: u64) -> Option<String> {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let (shift, unit) = units.into_iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift))?;
    Some(format!(" ({}{unit})", bytes >> shift))
}
