//! `ralph run --explain`: what would be run, what the verdict would depend on and what is kept out. Starts neither agent nor check;
//! test runners are asked which tests there are.

use std::path::Path;

use anyhow::Result;
use ignore::WalkBuilder;
use ralph_agents::{Kind, command_line};
use ralph_model::{AgentNetwork, LoopConfig, Pin, PinKind, Sandboxing, TestListing, Verify, exit_code};
use ralph_runtime::{Plan, plan};
use ratatui_core::text::{Line, Span};
use serde_json::json;

use crate::args::ScreenArgs;
use crate::page::{Fit, Page, Table, cell};
use crate::screen::{Screen, counted};
use crate::style::{QUIET, WARN, fit_middle};
use ralph_host::Host;

/// More files than this are not looked at: an explanation is quick.
const MAX_FILES: usize = 200_000;

/// Test files of a runner that are shown.
const MAX_LISTED: usize = 6;

/// Characters of a glob that are shown.
const MAX_GLOB: usize = 60;

pub(super) async fn explain(
    config: &LoopConfig,
    around: &Host,
    args: ScreenArgs,
    screen: &mut Screen<'_>,
) -> Result<u8> {
    let files = files(Path::new(&config.workspace));
    let listings = around.list_tests(config).await;
    let plan = plan(config, &around.check_environment(&config.env), &files, &listings);
    let sandbox = match config.sandbox {
        Sandboxing::Off => "off".to_owned(),
        Sandboxing::On | Sandboxing::Require => around.level().to_string(),
    };
    if args.json {
        screen.json(&json!({
            "config": config,
            "sandbox": sandbox,
            "runners": plan.runners,
            "listings": listings,
            "pins": plan.pins,
            "pinnedFiles": plan.files,
            "notes": plan.notes,
        }))?;
    } else {
        screen.page(text(config, &plan, &listings, &sandbox))?;
    }
    Ok(exit_code::COMPLETED)
}

/// The files of a workspace, without what git ignores.
pub(crate) fn files(root: &Path) -> Vec<String> {
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| !matches!(entry.file_name().to_str(), Some(".git" | ".ralph")))
        .build();
    let files = walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()));
    let paths = files.filter_map(|entry| entry.path().strip_prefix(root).ok()?.to_str().map(str::to_owned));
    let mut paths: Vec<String> = paths.take(MAX_FILES).collect();
    paths.sort();
    paths
}

fn text(config: &LoopConfig, plan: &Plan, listings: &[TestListing], sandbox: &str) -> Page {
    let mut page = Page::default();
    line(&mut page, "workspace", &config.workspace);
    line(&mut page, "agent", &config.agent_titles());
    for agent in config.agents() {
        let call = command_line(agent).unwrap_or_else(|error| format!("cannot be called: {error}"));
        line(&mut page, "called as", &call);
        if Kind::of(agent).is_some_and(|kind| kind.capabilities.streams_tool_calls) {
            let whose =
                if agent.user_settings { "yours and the repository's" } else { "Ralph's alone; the login stays" };
            line(&mut page, "settings", whose);
        }
    }
    line(&mut page, "limits", &format!("{} iterations, {}", config.max_iterations, config.max_cost));
    for command in &config.verification_commands {
        line(&mut page, "check", command);
    }
    if config.verification_commands.is_empty() {
        line(
            &mut page,
            "check",
            "none: the loop ends when the agent reports completion, and the result says `verified: false`",
        );
    }
    line(
        &mut page,
        "verify",
        match config.verify {
            Verify::Guarded => "guarded: in the workspace, with protected files restored while the checks run",
            Verify::Isolated => "isolated: in a separate folder that the agent cannot write",
        },
    );
    let runners = if plan.runners.is_empty() { "none that is known".to_owned() } else { plan.runners.join(", ") };
    line(&mut page, "runners", &runners);
    listings.iter().for_each(|listing| line(&mut page, "tests", &said(listing)));
    let wire = match (config.tripwire, plan.runners.is_empty()) {
        (false, _) => "off",
        (true, false) => {
            "on: before the loop completes, tests are changed so that they must fail, and the checks have to report them"
        }
        (true, true) => "on: before the loop completes, the checks have to fail again on the files of the start",
    };
    line(&mut page, "tripwire", wire);
    line(&mut page, "sandbox", sandbox);
    let checks = if config.allow_network { "open to the checks" } else { "closed to the checks" };
    let network = match config.access.agent_network {
        AgentNetwork::Full => checks.to_owned(),
        AgentNetwork::Model => {
            let hosts: String = config.access.allow_hosts.iter().map(|host| format!(", {host}")).collect();
            format!("{checks}; agents reach their model services{hosts}")
        }
    };
    line(&mut page, "network", &network);
    for path in &config.access.hide {
        line(&mut page, "hidden", path);
    }
    let shown: Vec<&Pin> = plan.pins.iter().filter(|pin| !pin.glob.starts_with('!')).collect();
    line(&mut page, "protected", &format!("{} files now, by {} patterns", plan.files, shown.len()));
    let mut table = Table::new([("", Fit::Name), ("", Fit::Left), ("", Fit::Words)]);
    for pin in shown {
        // A glob may name hundreds of modules; `--json` has all of it.
        let glob = format!("  {}", fit_middle(&pin.glob, MAX_GLOB));
        table.row([cell(glob), Span::styled(kind(pin.kind), WARN), cell(pin.why.to_string())]);
    }
    page.table(table);
    if !plan.examples.is_empty() {
        let more = plan.files.saturating_sub(plan.examples.len());
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        line(&mut page, "such as", &format!("{}{rest}", plan.examples.join(", ")));
    }
    for glob in &config.allowed_test_changes {
        line(&mut page, "allowed", &format!("{glob} may change, and the verdict will say so"));
    }
    plan.notes.iter().for_each(|note| line(&mut page, "note", note));
    page.line("");
    KINDS
        .iter()
        .for_each(|(name, meaning)| page.hanging(NAMES, Line::styled(format!("{name:NAMES$}{meaning}"), QUIET)));
    page.line("");
    let asked = if listings.iter().any(|listing| !listing.command.is_empty()) {
        "No agent and no check was started; runners were asked for their tests."
    } else {
        "Nothing was started."
    };
    page.line(asked);
    page
}

pub(crate) fn said(listing: &TestListing) -> String {
    let runner = listing.runner;
    if listing.command.is_empty() {
        return format!("{runner} cannot list its tests: its configuration and its defaults say what is protected");
    }
    if !listing.failed.is_empty() {
        let (why, command) = (&listing.failed, &listing.command);
        return format!(
            "{runner} did not list its tests (`{command}`: {why}): its configuration and its defaults say what is protected"
        );
    }
    let names = match listing.count() {
        0 => String::new(),
        count => format!("{} in ", counted(count, "test", "tests")),
    };
    let mut files: Vec<&str> = listing.tests.keys().take(MAX_LISTED).map(String::as_str).collect();
    if listing.tests.len() > files.len() {
        files.push("…");
    }
    let number = counted(listing.tests.len(), "file", "files");
    format!("{runner} lists {names}{number} ({})", files.join(", "))
}

/// The width of the names at the left.
const NAMES: usize = 12;

/// What the kinds of protected files mean.
const KINDS: [(&str, &str); 8] = [
    ("frozen", "must not change, new files are allowed"),
    ("steering", "must not change, no new files"),
    ("absent", "must not appear"),
    ("modules", "must not be found before what exists"),
    ("built", "made by the check, removed before it"),
    ("parts", "parts of the file must not change"),
    ("packages", "reported if they change with a lock file"),
    ("installed", "watched, cannot be restored"),
];

fn line(page: &mut Page, name: &str, value: &str) {
    let name = Span::styled(format!("{name:NAMES$}"), QUIET);
    page.hanging(NAMES, Line::from(vec![name, Span::raw(value.to_owned())]));
}

const fn kind(kind: PinKind) -> &'static str {
    match kind {
        PinKind::Frozen => "frozen",
        PinKind::Steering => "steering",
        PinKind::Absent => "absent",
        PinKind::Modules => "modules",
        PinKind::Built => "built",
        PinKind::Parts => "parts",
        PinKind::Packages => "packages",
        PinKind::Installed => "installed",
    }
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
