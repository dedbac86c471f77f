//! `ralph agents`: which agents can be used here, how they would be called, and what is missing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ralph_agents::{Kind, command_line};
use ralph_model::{AgentSpec, PriceList};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::args::AgentsArgs;
use crate::screen::Screen;
use ralph_config::agents::prices;
use ralph_host::Host;
use ralph_host::agents::{Readiness, advice, listed, note};

/// How long a program may take to say its version: some start a whole runtime for it.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What is known of one agent on this computer.
struct Seen {
    spec: AgentSpec,
    readiness: Readiness,
    program: Option<PathBuf>,
    version: Option<String>,
    call: String,
}

impl Seen {
    const fn word(&self) -> &'static str {
        match self.readiness {
            Readiness::Usable => "usable",
            Readiness::NoLogin => "no login",
            Readiness::Missing => "missing",
        }
    }

    /// What a person can do about it.
    fn advice(&self) -> Option<String> {
        advice(&self.spec, self.readiness)
    }
}

/// Lists the agents.
///
/// # Errors
/// When the configuration cannot be read, or the answer cannot be printed.
pub(crate) async fn agents(args: &AgentsArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let user = around.user_settings()?;
    let prices = prices(&user)?;
    if args.prices {
        return list_prices(&prices, args.json, screen);
    }
    let specs = listed(&user)?;
    let mut asking = tokio::task::JoinSet::new();
    for (place, spec) in specs.iter().enumerate() {
        if let Some(program) = around.program_of(spec).filter(|_| spec.program_name().is_some()) {
            let environment = around.check_environment(&[]);
            asking.spawn(async move { (place, version(&program, environment).await) });
        }
    }
    let mut versions: Vec<Option<String>> = vec![None; specs.len()];
    while let Some(answered) = asking.join_next().await {
        if let Ok((place, version)) = answered {
            versions[place] = version;
        }
    }
    let default = around.usable_agents(&user).into_iter().next();
    let seen: Vec<Seen> = specs.into_iter().zip(versions).map(|(spec, version)| look(spec, version, around)).collect();
    if args.json {
        let list: Vec<Value> = seen.iter().map(|seen| as_json(seen, default.as_deref(), &prices)).collect();
        screen.json(&json!({ "agents": list, "default": default, "pricesAsOf": prices.as_of() }))?;
    } else {
        screen.result(&as_text(&seen, default.as_deref(), &prices))?;
    }
    Ok(0)
}

fn look(spec: AgentSpec, version: Option<String>, around: &Host) -> Seen {
    let call = command_line(&spec).unwrap_or_else(|error| format!("cannot be called: {error}"));
    Seen { readiness: around.readiness(&spec), program: around.program_of(&spec), version, call, spec }
}

async fn version(program: &Path, environment: Vec<(std::ffi::OsString, std::ffi::OsString)>) -> Option<String> {
    let asked = Command::new(program)
        .arg("--version")
        .env_clear()
        .envs(environment)
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(TIMEOUT, asked).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    // `codex-cli 0.166.0`, `2.1.325 (Claude Code)`, `1.18.33`.
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    text.split_whitespace().find(is_version).map(str::to_owned)
}

fn as_json(seen: &Seen, default: Option<&str>, prices: &PriceList) -> Value {
    let spec = &seen.spec;
    json!({
        "name": spec.name,
        "kind": spec.kind,
        "state": match seen.readiness {
            Readiness::Usable => "usable",
            Readiness::NoLogin => "notLoggedIn",
            Readiness::Missing => "missing",
        },
        "default": default == Some(spec.name.as_str()),
        "program": seen.program,
        "version": seen.version,
        "model": spec.model,
        "call": seen.call,
        "advice": seen.advice(),
        "note": note(spec, prices),
        "capabilities": Kind::of(spec).map(|kind| kind.capabilities),
    })
}

fn as_text(seen: &[Seen], default: Option<&str>, prices: &PriceList) -> String {
    let mut text = String::new();
    for seen in seen {
        let spec = &seen.spec;
        let mark = if default == Some(spec.name.as_str()) { "*" } else { " " };
        let version = seen.version.as_deref().unwrap_or("");
        let place = seen.program.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let _ = writeln!(text, "{mark} {:10} {:9} {version:10} {place}", spec.title(), seen.word());
        let _ = writeln!(text, "    called as  {}", seen.call);
        if let Some(advice) = seen.advice() {
            let _ = writeln!(text, "    to use it  {advice}");
        }
        if let Some(note) = note(spec, prices) {
            let _ = writeln!(text, "    model      {note}");
        }
    }
    let _ = match default {
        Some(name) => writeln!(text, "\n* is taken when no agent is named: {name}"),
        None => writeln!(text, "\nNone of them is installed; any other program works with --agent-command."),
    };
    let _ = writeln!(text, "Prices are those of {}; `ralph agents --prices` lists them.", prices.as_of());
    text
}

fn list_prices(prices: &PriceList, json: bool, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let rates = |name: &str| prices.of(name).map(|price| price.rates);
    if json {
        let models: serde_json::Map<String, Value> = prices
            .names()
            .filter_map(|name| {
                let rates = rates(name)?;
                let row = json!({
                    "input": rates.input.to_json_number(),
                    "cacheRead": rates.cache_read.to_json_number(),
                    "cacheWrite": rates.cache_write.to_json_number(),
                    "output": rates.output.to_json_number(),
                });
                Some((name.to_owned(), row))
            })
            .collect();
        screen.json(&json!({ "asOf": prices.as_of(), "unit": "USD per million tokens", "models": models }))?;
        return Ok(0);
    }
    let mut text = format!(
        "US dollars for a million tokens, as of {}; your own come first ([prices.\"MODEL\"])\n\n{:30} {:>9} {:>9} {:>9} {:>9}\n",
        prices.as_of(),
        "model",
        "read",
        "cached",
        "to cache",
        "written"
    );
    for name in prices.names() {
        if let Some(rates) = rates(name) {
            let _ = writeln!(
                text,
                "{name:30} {:>9} {:>9} {:>9} {:>9}",
                rates.input, rates.cache_read, rates.cache_write, rates.output
            );
        }
    }
    screen.result(&text)?;
    Ok(0)
}
