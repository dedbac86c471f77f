//! Refuses a model without a price that an agent takes by its own settings. OpenCode is asked for what only it knows: which models there
//! are, and what they cost.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ralph_agents::{LIST_MODELS, ListedModel, OwnChoice, Program, listed_models};
use ralph_config::agents::{nearest, unpriced};
use ralph_model::{AgentSpec, ConfigError, LoopConfig, PriceList};
use tokio::process::Command;

use crate::Host;

/// How long OpenCode may take to list its models: it takes four seconds on an idle machine.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn refuse_unpriced(config: &LoopConfig, prices: &PriceList, host: &Host) -> Result<(), ConfigError> {
    let is_asked =
        |agent: &&AgentSpec| !agent.unmetered && Program::of(agent).is_some_and(|program| program.name == "opencode");
    for agent in config.agents().filter(is_asked) {
        let environment = host.once_environment(agent, &config.env);
        let value = |name: &str| {
            let (_, value) = environment.iter().rev().find(|(known, _)| known == name)?;
            Some(value.to_string_lossy().into_owned())
        };
        let choice = OwnChoice::read(agent, value, Path::new(&config.workspace));
        if choice.named.as_deref().is_some_and(|name| prices.of(name).is_some()) {
            continue;
        }
        let listed = listed(agent, &environment, host, &config.workspace).await;
        let has_price =
            |name: &str| prices.of(name).is_some() || listed.iter().any(|model| model.name == name && model.has_price);
        let taken = choice.among(&listed);
        // Which one of several it takes is seen when it runs; one with a price may be it.
        let Some(model) = taken.first().filter(|_| !taken.iter().any(|name| has_price(name))) else { continue };
        let which = match (&agent.model, &choice.named) {
            (Some(_), _) => "model",
            (None, Some(_)) => "model in the settings",
            (None, None) => "default model",
        };
        let own: Vec<&str> = listed.iter().map(|model| model.name.as_str()).filter(|name| has_price(name)).collect();
        let priced = if own.is_empty() { nearest(model, prices.names()) } else { nearest(model, own.into_iter()) };
        return Err(unpriced(agent, model, which, config.agents().count(), &priced));
    }
    Ok(())
}

/// The models that OpenCode offers with this login and these settings; none where it does not say.
async fn listed(
    agent: &AgentSpec,
    environment: &[(OsString, OsString)],
    host: &Host,
    workspace: &str,
) -> Vec<ListedModel> {
    let is_it = |program: &std::path::PathBuf| {
        agent.shell_line().is_none() || program.file_name().is_some_and(|name| name == "opencode")
    };
    let Some(program) = host.program_of(agent).filter(is_it) else { return Vec::new() };
    let mut command = Command::new(program);
    command.args(LIST_MODELS).env_clear().envs(environment.iter().cloned());
    command.env("OPENCODE_DISABLE_AUTOUPDATE", "1").env("OPENCODE_DISABLE_MODELS_FETCH", "1");
    if agent.user_settings {
        command.current_dir(workspace);
    } else {
        // Nothing of the repository takes part, as when the agent runs.
        command.arg("--pure").env("OPENCODE_DISABLE_PROJECT_CONFIG", "1").current_dir("/");
    }
    let asked = command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).output();
    match tokio::time::timeout(LIST_TIMEOUT, asked).await {
        Ok(Ok(output)) => listed_models(&String::from_utf8_lossy(&output.stdout)),
        Ok(Err(error)) => {
            tracing::debug!(%error, agent = agent.name, "the models of an agent could not be listed");
            Vec::new()
        }
        Err(_) => {
            tracing::debug!(agent = agent.name, "an agent did not list its models in time");
            Vec::new()
        }
    }
}
