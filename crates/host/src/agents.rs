//! The agents that the user can name: the well-known programs and those of the user's own file, in the user's order, and how
//! usable each is. Pure: the caller looks at the machine.

use ralph_agents::Program;
use ralph_config::Layer;
use ralph_config::agents::{configured, ready_made, unpriced_default, usual_order};
use ralph_model::{AgentSpec, ConfigError, Launch, PriceList};

/// How usable an agent is on this computer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Everything that can be seen from outside is there.
    Usable,
    /// The program is here, and neither a key nor the trace of a login.
    NoLogin,
    Missing,
}

/// All agents that can be named.
///
/// # Errors
/// When the user's file describes one that cannot be.
pub fn listed(user: &Layer) -> Result<Vec<AgentSpec>, ConfigError> {
    let known = usual_order().into_iter().chain([AgentSpec::NATIVE]);
    let known = known.filter(|name| !user.agents.contains_key(*name));
    let mut specs: Vec<AgentSpec> = known.filter_map(ready_made).collect();
    for (name, agent) in &user.agents {
        specs.push(configured(name, agent.clone())?);
    }
    let order = order(user);
    specs.sort_by_key(|spec| order.iter().position(|name| *name == spec.name).unwrap_or(usize::MAX));
    Ok(specs)
}

/// The agents that may be taken when none is named, the first that is ready first.
pub fn preferred(user: &Layer, readiness: impl Fn(&AgentSpec) -> Readiness) -> Vec<String> {
    let spec = |name: &String| match user.agents.get(name) {
        Some(agent) => configured(name, agent.clone()).ok(),
        None => ready_made(name),
    };
    let seen: Vec<(Readiness, String)> =
        order(user).into_iter().filter_map(|name| spec(&name).map(|spec| (readiness(&spec), name))).collect();
    let of = |wanted: Readiness| seen.iter().filter(move |(found, _)| *found == wanted).map(|(_, name)| name.clone());
    of(Readiness::Usable).chain(of(Readiness::NoLogin)).collect()
}

fn order(user: &Layer) -> Vec<String> {
    user.agent_order.clone().unwrap_or_else(|| usual_order().into_iter().map(str::to_owned).collect())
}

/// What a person can do about an agent that is not ready.
pub fn advice(spec: &AgentSpec, readiness: Readiness) -> Option<String> {
    let known = Program::of(spec);
    match (readiness, known) {
        (Readiness::Usable, _) => None,
        (_, None) if spec.kind == AgentSpec::NATIVE => {
            Some("set ANTHROPIC_API_KEY or OPENAI_API_KEY, or add a [models.NAME] to your configuration".to_owned())
        }
        (Readiness::NoLogin, known) => known.map(|known| known.login.to_owned()),
        (Readiness::Missing, Some(known)) if first_word(spec) == Some(known.name) => {
            Some(format!("install it with `{}`", known.install))
        }
        (Readiness::Missing, _) => {
            let program = first_word(spec).unwrap_or_default();
            let place = if program.contains('/') { "not there" } else { "not in PATH" };
            Some(format!("`{program}` is {place}: install it, or fix `{}` in [agents.{}]", key(spec), spec.name))
        }
    }
}

/// The key of `[agents.NAME]` that says which program it is.
const fn key(spec: &AgentSpec) -> &'static str {
    match &spec.launch {
        Some(Launch::Command(_)) => "command",
        Some(Launch::Program(_)) | None => "program",
    }
}

fn first_word(spec: &AgentSpec) -> Option<&str> {
    match &spec.launch {
        Some(Launch::Command(line)) => line.split_whitespace().next(),
        Some(Launch::Program(program)) => Some(program),
        None => None,
    }
}

/// What should be known of the model that an agent takes when none is named.
pub fn note(spec: &AgentSpec, prices: &PriceList) -> Option<String> {
    let model = unpriced_default(spec, prices)?;
    let example = prices.of(PRICED_EXAMPLE).map(|_| format!(", such as {}:{PRICED_EXAMPLE}", spec.name));
    let example = example.unwrap_or_default();
    Some(format!("its own default model ({model}) has no price in the list: name one{example}"))
}

/// A model with a price that Codex knows.
const PRICED_EXAMPLE: &str = "gpt-6-sol";

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
