//! `ralph run --explain`: what would be run, what the verdict would depend on and what is kept out. Starts nothing.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use ignore::WalkBuilder;
use ralph_agents::{Kind, command_line};
use ralph_model::{LoopConfig, Pin, PinKind, Sandboxing, Verify, exit_code};
use ralph_runtime::{Plan, plan};
use serde_json::json;

use crate::args::ScreenArgs;
use crate::screen::Screen;
use ralph_host::Host;

/// More files than this are not looked at: an explanation is quick.
const MAX_FILES: usize = 200_000;

/// Characters of a glob that are shown.
const MAX_GLOB: usize = 60;

/// Prints the plan of a loop.
///
/// # Errors
/// When nothing can be printed.
pub(super) fn explain(config: &LoopConfig, around: &Host, args: ScreenArgs, screen: &mut Screen<'_>) -> Result<u8> {
    let files = files(Path::new(&config.workspace));
    let plan = plan(config, &around.check_environment(&config.env), &files);
    let sandbox = match config.sandbox {
        Sandboxing::Off => "off".to_owned(),
        Sandboxing::On | Sandboxing::Require => around.level().to_string(),
    };
    if args.json {
        screen.json(&json!({
            "config": config,
            "sandbox": sandbox,
            "runners": plan.runners,
            "pins": plan.pins,
            "pinnedFiles": plan.files,
            "notes": plan.notes,
        }))?;
    } else {
        screen.result(&text(config, &plan, &sandbox))?;
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

fn text(config: &LoopConfig, plan: &Plan, sandbox: &str) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<12}{value}");
    };
    line("workspace", &config.workspace);
    line("agent", &config.agent_titles());
    for agent in config.agents() {
        let call = command_line(agent).unwrap_or_else(|error| format!("cannot be called: {error}"));
        line("called as", &call);
        if Kind::of(agent).is_some_and(|kind| kind.capabilities.streams_tool_calls) {
            let whose =
                if agent.user_settings { "yours and the repository's" } else { "Ralph's alone; the login stays" };
            line("settings", whose);
        }
    }
    line("limits", &format!("{} iterations, {}", config.max_iterations, config.max_cost));
    for command in &config.verification_commands {
        line("check", command);
    }
    if config.verification_commands.is_empty() {
        line("check", "none: the loop ends when the agent reports completion, and the result says `verified: false`");
    }
    line(
        "verify",
        match config.verify {
            Verify::Guarded => "guarded: in the workspace, with protected files restored while the checks run",
            Verify::Isolated => "isolated: in a separate folder that the agent cannot write",
        },
    );
    let runners = if plan.runners.is_empty() { "none that is known".to_owned() } else { plan.runners.join(", ") };
    line("runners", &runners);
    let wire = match (config.tripwire, plan.runners.is_empty()) {
        (false, _) => "off",
        (true, false) => {
            "on: before the loop completes, tests are changed so that they must fail, and the checks have to report them"
        }
        (true, true) => "on: before the loop completes, the checks have to fail again on the files of the start",
    };
    line("tripwire", wire);
    line("sandbox", sandbox);
    line("network", if config.allow_network { "open to the checks" } else { "closed to the checks" });
    let shown: Vec<&Pin> = plan.pins.iter().filter(|pin| !pin.glob.starts_with('!')).collect();
    line("protected", &format!("{} files now, by {} globs", plan.files, shown.len()));
    let width = shown.iter().map(|pin| pin.glob.chars().count()).max().unwrap_or(0).min(44);
    for pin in shown {
        let _ = writeln!(text, "  {:<width$}  {:<9}  {}", short(&pin.glob), kind(pin.kind), pin.why);
    }
    if !plan.examples.is_empty() {
        let more = plan.files.saturating_sub(plan.examples.len());
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(text, "such as     {}{rest}", plan.examples.join(", "));
    }
    for glob in &config.allowed_test_changes {
        let _ = writeln!(text, "{:<12}{glob} may change, and the verdict will say so", "allowed");
    }
    for note in &plan.notes {
        let _ = writeln!(text, "{:<12}{note}", "note");
    }
    text.push_str(
        "\nfrozen: must not change, new files are allowed; steering: must not change, no new files; absent: must not\nappear; \
         built: made by the check, removed before it; parts: parts of the file must not change; packages: reported if they change with a lock\nfile; installed: watched, cannot be restored.\nNothing was started.",
    );
    text
}

/// A glob may name hundreds of modules; `--json` has all of it.
fn short(glob: &str) -> String {
    match glob.char_indices().nth(MAX_GLOB) {
        Some((at, _)) => format!("{}…", &glob[..at]),
        None => glob.to_owned(),
    }
}

const fn kind(kind: PinKind) -> &'static str {
    match kind {
        PinKind::Frozen => "frozen",
        PinKind::Steering => "steering",
        PinKind::Absent => "absent",
        PinKind::Built => "built",
        PinKind::Parts => "parts",
        PinKind::Packages => "packages",
        PinKind::Installed => "installed",
    }
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
