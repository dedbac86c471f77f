//! `ralph run`: from words to a finished loop.

use std::path::Path;

use ralph_checks::first_word_missing;
use ralph_model::{AgentSpec, ConfigError, LoopConfig, exit_code};

use super::follow::{self, Following, Hints};
use crate::prepare::{self, Context};
use crate::screen::{Asking, Screen, ask_at_terminal};
use crate::surroundings::{Surroundings, Wants, is_interactive, now};
use crate::words::RunWords;

/// Starts a loop and follows it to its end.
///
/// # Errors
/// When nothing could be started; what was started has a result.
pub(crate) async fn run(words: RunWords, around: &Surroundings, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let resolved = match resolve(&words, around).await {
        Ok(resolved) => resolved,
        Err(error) => {
            screen.say(&format!("error: {error:#}"))?;
            return Ok(error.downcast_ref::<prepare::Error>().map_or(exit_code::USAGE, prepare::Error::exit_code));
        }
    };
    let wants = Wants {
        env: resolved.config.env.clone(),
        caps: resolved.caps,
        metrics: Some(resolved.metrics_path),
        notify: resolved.notify,
    };
    follow::start(Following { around, wants, words: words.screen, hints: Hints::Shown }, resolved.config, screen).await
}

async fn resolve(words: &RunWords, around: &Surroundings) -> anyhow::Result<crate::settings::Resolved> {
    let workspace = prepare::workspace(words.workspace.as_deref(), &around.current)?;
    let objective = prepare::objective(words, &mut std::io::stdin().lock())?;
    let store = around.store().await?;
    let mut ask = ask_at_terminal;
    let asking = if is_interactive() { Asking::Person(&mut ask) } else { Asking::Nobody };
    let context = Context { places: &around.places, store: &store, asking, now: now() };
    let resolved = prepare::prepare(words, objective, &workspace, context).await?;
    resolved.config.validate(&resolved.caps)?;
    refuse_missing_programs(&resolved.config, &workspace, around)?;
    Ok(resolved)
}

/// A misspelt program would fail in every iteration; it is refused before anything costs money.
fn refuse_missing_programs(config: &LoopConfig, workspace: &Path, around: &Surroundings) -> Result<(), ConfigError> {
    let path = around.search_path();
    let path = path.to_string_lossy();
    for command in &config.verification_commands {
        if let Some(program) = first_word_missing(command, &path, workspace) {
            let problem = format!("{program} (in `{command}`)");
            return Err(ConfigError::new("--criteria", problem, "a command that can be run in the workspace"));
        }
    }
    let AgentSpec::Command { command, .. } = &config.agent;
    let first = command.split_whitespace().next().unwrap_or_default();
    let is_path = first.contains('/') && first.chars().all(|c| c.is_alphanumeric() || "/._-+@".contains(c));
    let missing = first_word_missing(command, &path, workspace).map(|missing| missing.to_string()).or_else(|| {
        (is_path && !workspace.join(first).exists()).then(|| format!("`{first}` is not in {}", workspace.display()))
    });
    match missing {
        Some(problem) => {
            Err(ConfigError::new("--agent-command", problem, "a program that reads its prompt from standard input"))
        }
        None => Ok(()),
    }
}
