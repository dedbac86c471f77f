//! `ralph agents`: which agents can be used here, how they would be called, and what is missing.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ralph_agents::{Kind, command_line};
use ralph_model::{AgentSpec, PriceList};
use ralph_view::{AgentState, AgentView, AgentsView, PriceView, PricesView};
use ratatui_core::text::{Line, Span};
use tokio::process::Command;

use crate::args::AgentsArgs;
use crate::page::{Fit, Page, Table, cell};
use crate::screen::Screen;
use crate::style::{GOOD, PLAIN, QUIET, TITLE, WARN};
use ralph_config::agents::prices;
use ralph_host::Host;
use ralph_host::agents::{Readiness, advice, listed, note};

/// How long a program may take to say its version: some start a whole runtime for it.
const TIMEOUT: Duration = Duration::from_secs(8);

struct Seen {
    spec: AgentSpec,
    readiness: Readiness,
    program: Option<PathBuf>,
    version: Option<String>,
    call: String,
}

impl Seen {
    fn word(&self) -> &'static str {
        match self.readiness {
            Readiness::Usable => "usable",
            Readiness::NoLogin => "no login",
            Readiness::Missing if self.spec.kind == AgentSpec::NATIVE => "no key",
            Readiness::Missing => "missing",
        }
    }

    /// What a person can do about it.
    fn advice(&self) -> Option<String> {
        advice(&self.spec, self.readiness)
    }
}

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
        let agents = seen.iter().map(|seen| as_json(seen, default.as_deref(), &prices)).collect::<Result<_, _>>()?;
        let view = AgentsView { agents, default, prices_as_of: PriceList::as_of().to_string() };
        screen.json(&view)?;
    } else {
        screen.page(as_text(&seen, default.as_deref(), &prices))?;
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

fn as_json(seen: &Seen, default: Option<&str>, prices: &PriceList) -> serde_json::Result<AgentView> {
    let spec = &seen.spec;
    let capabilities = Kind::of(spec).map(|kind| serde_json::to_value(kind.capabilities)).transpose()?;
    Ok(AgentView {
        name: spec.name.clone(),
        kind: spec.kind.clone(),
        state: match seen.readiness {
            Readiness::Usable => AgentState::Usable,
            Readiness::NoLogin => AgentState::NotLoggedIn,
            Readiness::Missing => AgentState::Missing,
        },
        default: default == Some(spec.name.as_str()),
        program: seen.program.as_ref().map(|path| path.to_string_lossy().into_owned()),
        version: seen.version.clone(),
        model: spec.model.clone(),
        call: seen.call.clone(),
        advice: seen.advice(),
        note: note(spec, prices),
        capabilities: capabilities.map(serde_json::from_value).transpose()?,
    })
}

fn as_text(seen: &[Seen], default: Option<&str>, prices: &PriceList) -> Page {
    let mut page = Page::default();
    for seen in seen {
        let spec = &seen.spec;
        let mark = if default == Some(spec.name.as_str()) { "*" } else { " " };
        let version = seen.version.as_deref().unwrap_or("");
        let place = seen.program.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let is_here = seen.readiness != Readiness::Missing;
        let style = match seen.readiness {
            Readiness::Usable => GOOD,
            Readiness::NoLogin => WARN,
            Readiness::Missing => QUIET,
        };
        page.hanging(
            4,
            Line::from(vec![
                Span::styled(format!("{mark} {:10} ", spec.title()), TITLE),
                Span::styled(format!("{:9}", seen.word()).trim_end().to_owned(), style),
                Span::raw(
                    format!("{:1$} {version:10} {place}", "", 9 - seen.word().len().min(9)).trim_end().to_owned(),
                ),
            ]),
        );
        let details = [
            ("called as", (is_here && spec.kind != AgentSpec::NATIVE).then(|| seen.call.clone())),
            ("to use it", seen.advice()),
            ("model", note(spec, prices)),
        ];
        for (name, detail) in details.into_iter().filter_map(|(name, detail)| Some((name, detail?))) {
            let style = if name == "called as" { QUIET } else { PLAIN };
            page.hanging(
                15,
                Line::from(vec![Span::styled(format!("    {name:11}"), QUIET), Span::styled(detail, style)]),
            );
        }
    }
    page.line("");
    page.line(match default {
        Some(name) => format!("* {name} is used when no agent is named."),
        None if seen.iter().any(|seen| seen.readiness == Readiness::Usable) => {
            "No agent is the default: name one with --agent.".to_owned()
        }
        None => "None of them is installed; any other program works with --agent-command.".to_owned(),
    });
    page.line(format!("Prices are those of {}; `ralph agents --prices` lists them.", PriceList::as_of()));
    page
}

fn list_prices(prices: &PriceList, json: bool, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let rates = |name: &str| prices.of(name).map(|price| price.rates);
    if json {
        let price = |name: &str| {
            let rates = rates(name)?;
            let (cache_read, cache_write) = (rates.cache_read, rates.cache_write);
            Some((name.to_owned(), PriceView { input: rates.input, cache_read, cache_write, output: rates.output }))
        };
        let models = prices.names().filter_map(price).collect();
        let unit = "USD per million tokens".to_owned();
        screen.json(&PricesView { as_of: PriceList::as_of().to_string(), unit, models })?;
        return Ok(0);
    }
    let mut page = Page::default();
    page.line(format!(
        "US dollars for a million tokens, as of {}; your own come first ([prices.\"MODEL\"])",
        PriceList::as_of()
    ));
    page.line("");
    let figure = Fit::Right;
    let mut table = Table::new([
        ("MODEL", Fit::Name),
        ("INPUT", figure),
        ("CACHE READ", figure),
        ("CACHE WRITE", figure),
        ("OUTPUT", figure),
    ]);
    for (name, rates) in prices.names().filter_map(|name| Some((name, rates(name)?))) {
        let figures =
            [rates.input, rates.cache_read, rates.cache_write, rates.output].map(|rate| cell(rate.to_string()));
        let [input, cache_read, cache_write, output] = figures;
        table.row([cell(name), input, cache_read, cache_write, output]);
    }
    page.table(table);
    screen.page(page)?;
    Ok(0)
}
