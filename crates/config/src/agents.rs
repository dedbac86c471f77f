//! Chooses the agents of a loop, their models, arguments and prices. Pure.

use std::collections::BTreeSet;

use ralph_agents::{Kind, Needs, Program, ReportsCost};
use ralph_model::{AgentSpec, ConfigError, Launch, LoopConfig, Price, PriceList, Rates, Turns};

use super::choose::{Chooser, Layers};
use super::keys::meant;
use super::layer::{NamedAgent, PriceTable, Whose};
use super::resolve::{Origin, Source};
use super::{Key, Layer};

/// The order in which agents are looked for when none is named. One that asks a paid service by itself is never taken unnamed.
pub fn usual_order() -> Vec<&'static str> {
    Kind::ready_made().map(|kind| kind.name).filter(|name| *name != AgentSpec::NATIVE).collect()
}

/// An agent that needs no configuration, by its name.
pub fn ready_made(name: &str) -> Option<AgentSpec> {
    Kind::find(name)?.ready_made_spec()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agents {
    pub(super) first: AgentSpec,
    pub(super) more: Vec<AgentSpec>,
    pub(super) turns: Turns,
    pub(super) failover: Vec<AgentSpec>,
}

impl Agents {
    pub(super) fn all(&self) -> impl Iterator<Item = &AgentSpec> {
        std::iter::once(&self.first).chain(&self.more).chain(&self.failover)
    }
}

/// How one place chooses agents.
enum Choice {
    Named(Vec<String>),
    Command(String),
    Both,
}

impl Choice {
    fn of(names: Option<Vec<String>>, command: Option<&String>) -> Option<Self> {
        match (names.filter(|names| !names.is_empty()), command) {
            (None, None) => None,
            (Some(names), None) => Some(Self::Named(names)),
            (None, Some(command)) => Some(Self::Command(command.clone())),
            (Some(_), Some(_)) => Some(Self::Both),
        }
    }
}

impl Chooser<'_> {
    /// `installed` are the programs that were found, in the order in which they are preferred.
    pub(super) fn agents(&mut self, installed: &[String]) -> Result<Agents, ConfigError> {
        let caller = self.layers.caller;
        let unmetered = self.required(Key::Unmetered, |layer| layer.unmetered, false);
        let args = self.optional(Key::AgentArgs, |layer| layer.agent_args.clone()).unwrap_or_default();
        let turns = self.turns();
        // Names and command are one choice: the weightiest place that makes it, makes it whole.
        let of = |layer: &Layer| Choice::of(layer.agent.clone().map(|names| names.0), layer.agent_command.as_ref());
        let choice = self.layers.pick(of);
        // A standing choice of a model belongs to the agents that are chosen standing, and never to a command of one's own.
        let origin = caller.callers_origin();
        let by_words =
            choice.as_ref().is_some_and(|(choice, from)| matches!(choice, Choice::Command(_)) || *from == origin);
        let model = match by_words {
            true => caller.model.clone().map(|model| self.note(Key::Model, origin, model)),
            false => self.optional(Key::Model, |layer| layer.model.clone()),
        };
        let mut agents = match choice {
            Some((Choice::Command(command), origin)) => {
                self.sources.push(Source { key: Key::AgentCommand, origin });
                vec![AgentSpec::command("command", command)]
            }
            Some((Choice::Named(names), origin)) => {
                self.sources.push(Source { key: Key::Agent, origin });
                names.iter().map(|name| self.named(name)).collect::<Result<Vec<_>, _>>()?
            }
            Some((Choice::Both, origin)) => {
                return Err(ConfigError::new(
                    "agent",
                    format!("is given together with @agent_command ({origin})"),
                    "either the name of an agent, or a command",
                ));
            }
            None => vec![self.usual(installed)?],
        };
        refuse_without_effect(caller, &agents)?;
        for agent in &mut agents {
            agent.unmetered |= unmetered;
            agent.args.extend(args.iter().cloned());
            let takes_it = caller.model.is_some() || Kind::of(agent).is_some_and(|kind| kind.capabilities.takes_model);
            if agent.model.is_none() && takes_it {
                agent.model.clone_from(&model);
            }
        }
        let failover = self.failover(unmetered)?;
        let mut agents = agents.into_iter();
        match agents.next() {
            Some(first) => Ok(Agents { first, more: agents.collect(), turns, failover }),
            None => Err(self.none_named()),
        }
    }

    /// Who takes over when a service is unavailable. `--model` and `--agent-args` are for the usual agents.
    fn failover(&mut self, unmetered: bool) -> Result<Vec<AgentSpec>, ConfigError> {
        let names = self.optional(Key::Failover, |layer| layer.failover.clone().map(|names| names.0));
        let agents = names.iter().flatten().map(|name| {
            let wrong = |error: ConfigError| ConfigError { key: "failover", ..error };
            let agent = self.named(name.trim()).map_err(wrong)?;
            Ok(AgentSpec { unmetered: agent.unmetered || unmetered, ..agent })
        });
        agents.collect()
    }

    fn turns(&mut self) -> Turns {
        let after = self.required(Key::EscalateAfter, |layer| layer.escalate_after, usual_escalate_after());
        // A user who sets the one does not want the other from a place of lower precedence.
        let of = |layer: &Layer| layer.rotate.or_else(|| layer.escalate_after.map(|_| false));
        let rotate = self.required(Key::Rotate, of, false);
        if rotate { Turns::Rotate } else { Turns::Escalate { after } }
    }

    /// An agent by its name, or by `NAME:MODEL`.
    fn named(&mut self, name: &str) -> Result<AgentSpec, ConfigError> {
        if let Some(agent) = self.known(name)? {
            return Ok(agent);
        }
        let (front, model) = name.split_once(':').map_or((name, None), |(front, model)| (front, Some(model.trim())));
        match (model, self.known(front)?) {
            (Some(""), Some(_)) => {
                let problem = format!("`{name}` has no model after the colon");
                let allowed = format!("{front}:MODEL, or {front} for its default model");
                return Err(ConfigError::new("agent", problem, allowed));
            }
            (Some(model), Some(agent)) => return Ok(AgentSpec { model: Some(model.to_owned()), ..agent }),
            (_, _) => {}
        }
        let own = self.layers.each().flat_map(|(layer, _)| layer.agents.keys().map(String::as_str));
        let hint = match meant(usual_order().into_iter().chain(own), front) {
            Some(meant) => format!(": did you mean `{}`?", name.replacen(front, meant, 1)),
            None => String::new(),
        };
        let allowed = format!("one of {}{}", usual_order().join(", "), self.configured());
        Err(ConfigError::new("agent", format!("`{name}` is not a known agent{hint}"), allowed))
    }

    fn known(&mut self, name: &str) -> Result<Option<AgentSpec>, ConfigError> {
        if let Some((agent, origin)) = self.layers.pick(|layer| layer.agents.get(name).cloned()) {
            let parts = [
                (Key::AgentsCommand, agent.command.is_some()),
                (Key::AgentsKind, agent.kind.is_some()),
                (Key::AgentsProgram, agent.program.is_some()),
                (Key::AgentsModel, agent.model.is_some()),
                (Key::AgentsArgs, !agent.args.is_empty()),
                (Key::AgentsSettings, agent.settings.is_some()),
                (Key::AgentsUnmetered, agent.unmetered),
                (Key::AgentsReportsCost, agent.reports_cost),
            ];
            self.sources.extend(parts.iter().filter(|(_, said)| *said).map(|(key, _)| Source { key: *key, origin }));
            return configured(name, agent).map(Some);
        }
        Ok(ready_made(name))
    }

    fn usual(&mut self, installed: &[String]) -> Result<AgentSpec, ConfigError> {
        let Some(name) = installed.first() else { return Err(self.none_named()) };
        self.sources.push(Source { key: Key::Agent, origin: Origin::Default });
        self.named(name)
    }

    fn none_named(&self) -> ConfigError {
        let problem = format!("no agent is named, and none of {} is installed", usual_order().join(", "));
        let configured = self.names();
        let configured = match configured.as_slice() {
            [] => String::new(),
            names => format!("@agent NAME with one of {}; ", names.join(", ")),
        };
        let allowed = format!(
            "{configured}one of these agents (`ralph agents` says how to install it); or any program that reads its prompt from \
             standard input, as @agent_command CMD"
        );
        ConfigError::new("agent", problem, allowed)
    }

    /// The agents of the user's own.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.layers.each().flat_map(|(layer, _)| layer.agents.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn configured(&self) -> String {
        match self.names().as_slice() {
            [] => " (no other is configured: add `[agents.NAME]` to your configuration)".to_owned(),
            names => format!(" (configured: {})", names.join(", ")),
        }
    }
}

/// The agents of a loop that goes on with others or with another model; none where neither is asked for.
///
/// # Errors
/// When one is not known, or a model would have no effect.
pub fn instead(
    user: &Layer,
    before: &LoopConfig,
    names: &[String],
    command: Option<&String>,
    model: Option<&String>,
) -> Result<Vec<AgentSpec>, ConfigError> {
    let mut agents = named(user, names)?;
    agents.extend(command.map(|command| AgentSpec::command("command", command)));
    let Some(model) = model else { return Ok(agents) };
    if agents.is_empty() {
        agents.extend(before.usual_agents().cloned().map(|agent| AgentSpec { model: None, ..agent }));
    }
    refuse_second_model(model, &agents)?;
    for agent in &mut agents {
        agent.model.get_or_insert_with(|| model.clone());
    }
    Ok(agents)
}

/// Agents by their names, as a loop that is continued is given them.
pub fn named(user: &Layer, names: &[String]) -> Result<Vec<AgentSpec>, ConfigError> {
    let nobody = Layer::default();
    let mut chooser = Chooser::new(Layers { caller: &nobody, repository: None, user });
    names.iter().map(|name| chooser.named(name.trim())).collect()
}

fn refuse_second_model(model: &str, agents: &[AgentSpec]) -> Result<(), ConfigError> {
    if agents.iter().any(|agent| agent.model.is_none()) {
        return Ok(());
    }
    let taken: Vec<String> = agents.iter().map(AgentSpec::title).collect();
    let names: Vec<String> = agents.iter().map(|agent| format!("@agent {}:{model}", agent.name)).collect();
    let problem = format!("`{model}` would have no effect: {} has a model already", taken.join(", "));
    let allowed = format!("one of the two: {}, or no @model", names.join(" "));
    Err(ConfigError::new("model", problem, allowed))
}

/// An option that would do nothing is refused.
fn refuse_without_effect(caller: &Layer, agents: &[AgentSpec]) -> Result<(), ConfigError> {
    if let Some(model) = &caller.model {
        refuse_second_model(model, agents)?;
    }
    let flag = match (caller.rotate, caller.escalate_after) {
        (Some(true), _) => "rotate",
        (_, Some(_)) => "escalate_after",
        (_, None) => return Ok(()),
    };
    match agents {
        [only] => {
            let problem = format!("the only agent is {}", only.title());
            let allowed = format!("several agents, each with its own @agent, or no @{flag}");
            Err(ConfigError::new(flag, problem, allowed))
        }
        _ => Ok(()),
    }
}

/// The agent that a file describes.
pub fn configured(name: &str, agent: NamedAgent) -> Result<AgentSpec, ConfigError> {
    let wrong =
        |problem: String, allowed: &str| Err(ConfigError::new("agents", format!("[agents.{name}] {problem}"), allowed));
    let NamedAgent { kind, command, program, model, args, settings, unmetered, reports_cost } = agent;
    let named = ready_made(name).map(|spec| spec.kind);
    let kind = match kind.or_else(|| command.as_ref().map(|_| AgentSpec::COMMAND.to_owned())).or(named) {
        Some(kind) => kind,
        None => {
            return wrong("says neither `kind` nor `command`".into(), "kind = \"claude\", or command = \"./my-agent\"");
        }
    };
    let Some(known) = Kind::find(&kind) else {
        return wrong(format!("has the unknown kind `{kind}`"), &Kind::names());
    };
    let launch = match (known.needs, command, program) {
        (Needs::Command, Some(command), None) => Some(Launch::Command(command)),
        (Needs::Command, Some(_), Some(_)) => {
            return wrong("has both a `program` and a `command`".into(), "one of them");
        }
        (Needs::Command, None, _) => {
            return wrong(format!("is of kind {kind} and has no `command`"), "command = \"…\"");
        }
        (Needs::Program | Needs::Nothing, Some(_), _) => {
            let allowed = "program = \"PATH\" for another program";
            return wrong(format!("is of kind {kind}, which has no `command`"), allowed);
        }
        (Needs::Program, None, program) => Some(Launch::Program(program.unwrap_or_else(|| kind.clone()))),
        (Needs::Nothing, None, Some(_)) => {
            return wrong(format!("is of kind {kind}, which has no `program`"), "no `program`");
        }
        (Needs::Nothing, None, None) => None,
    };
    if reports_cost && !known.capabilities.writes_report {
        return wrong(format!("is of kind {kind}, which has no `reports_cost`"), "`reports_cost` for a command");
    }
    let user_settings = settings == Some(Whose::User);
    Ok(AgentSpec { name: name.to_owned(), kind, launch, model, args, user_settings, unmetered, reports_cost })
}

/// The built-in prices and the user's own.
pub fn prices(user: &Layer) -> Result<PriceList, ConfigError> {
    let mut own = Vec::new();
    for (model, table) in &user.prices {
        own.push((model.clone(), price(model, table)?));
    }
    Ok(PriceList::default().with(own))
}

fn price(model: &str, table: &PriceTable) -> Result<Price, ConfigError> {
    let (Some(input), Some(output)) = (table.input, table.output) else {
        let problem = format!("[prices.\"{model}\"] needs both `input` and `output`");
        return Err(ConfigError::new(
            "prices",
            problem,
            "US dollars per million tokens, such as input = 3 and output = 15",
        ));
    };
    // Without a price for caches there is no discount.
    let rates = Rates {
        input: input.0,
        output: output.0,
        cache_read: table.cache_read.map_or(input.0, |price| price.0),
        // Where putting tokens into a cache has a price of its own, it is the higher one.
        cache_write: table.cache_write.map_or(input.0.percent(125), |price| price.0),
    };
    Ok(Price { rates, long: None })
}

/// The model that an agent takes when none is named, where that has no price in the list.
pub fn unpriced_default(agent: &AgentSpec, prices: &PriceList) -> Option<&'static str> {
    let is_its_own_choice = agent.model.is_none() && !agent.unmetered && !agent.user_settings;
    let program = Program::of(agent).filter(|_| is_its_own_choice && never_tells_its_cost(agent))?;
    program.unpriced_default.filter(|model| prices.of(model).is_none())
}

/// Models that are named in an error.
const MAX_NAMED: usize = 6;

/// Models with a price whose names are nearest to this one.
fn priced_like<'a>(model: &str, prices: &'a PriceList) -> Vec<&'a str> {
    nearest(model, prices.names())
}

/// The names that are nearest to this one, so many as an error names.
pub fn nearest<'a>(model: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_by_key(|name| strsim::levenshtein(name, model));
    names.truncate(MAX_NAMED);
    names
}

/// Whether only prices tell what an agent costs.
pub fn never_tells_its_cost(agent: &AgentSpec) -> bool {
    Kind::of(agent).is_some_and(|kind| kind.capabilities.reports_cost == ReportsCost::Never)
}

/// A model without a price is refused before it costs anything.
pub fn refuse_unpriced(agents: &[&AgentSpec], prices: &PriceList) -> Result<(), ConfigError> {
    for agent in agents.iter().filter(|agent| !agent.unmetered && never_tells_its_cost(agent)) {
        let is_choice = |model: &&str| Program::of(agent).is_some_and(|program| program.model_choices.contains(model));
        let named = agent.model.as_deref().filter(|model| prices.of(model).is_none() && !is_choice(model));
        if let Some(model) = named.or_else(|| unpriced_default(agent, prices)) {
            let which = if agent.model.is_some() { "model" } else { "default model" };
            return Err(unpriced(agent, model, which, agents.len(), &priced_like(model, prices)));
        }
    }
    Ok(())
}

/// The error about a model without a price, of an agent that is one of so many; it names these that have one.
pub fn unpriced(agent: &AgentSpec, model: &str, which: &str, agents: usize, priced: &[&str]) -> ConfigError {
    let problem = format!("there is no price for `{model}`, the {which} of {}: its cost cannot be tracked", agent.name);
    let several = if agents > 1 { "a model for each agent, as @agent NAME:MODEL; " } else { "" };
    let allowed = format!(
        "{several}a model with a price: @agent {}:MODEL with MODEL such as {} (`ralph agents --prices` lists all); [prices.\"{model}\"] with `input` and `output` in \
         dollars per million tokens in your configuration; or @unmetered",
        agent.name,
        priced.join(", ")
    );
    ConfigError::new("model", problem, allowed)
}

/// Whether the cost of an agent counts, and nothing but its word after a run says what it is: no spent budget can stop it.
pub fn reports_cost_late(agent: &AgentSpec) -> bool {
    let Some(Kind { capabilities, .. }) = Kind::of(agent) else { return false };
    let is_late = if capabilities.writes_report { !agent.reports_cost } else { capabilities.reports_only_after_run() };
    is_late && !agent.unmetered
}

/// An agent that no spent budget can stop is refused unless the user permits it, or its requests are counted on their way.
pub fn refuse_late_cost(config: &LoopConfig, is_counted: impl Fn(&AgentSpec) -> bool) -> Result<(), ConfigError> {
    let is_late = |agent: &&AgentSpec| reports_cost_late(agent) && !is_counted(agent);
    let Some(agent) = config.agents().find(is_late).filter(|_| !config.cost_after_run) else { return Ok(()) };
    let name = &agent.name;
    let free = "@unmetered, if it costs nothing or a flat rate pays for it";
    let between = "@cost_after_run, to accept that @max_cost_usd is checked only between runs";
    let (problem, allowed) = if agent.kind == AgentSpec::COMMAND {
        (
            format!("nothing shows what `{name}` spends while it runs, so that one run can exceed @max_cost_usd"),
            format!(
                "{free}; @env ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, to send its requests through Ralph's gateway, which counts \
                 them; `reports_cost = true` in [agents.NAME], if it writes its cost to $RALPH_RESULT_FILE while it runs (a script that \
                 names that variable needs no more); or {between}"
            ),
        )
    } else {
        let native = Program::of(agent).filter(|_| agent.shell_line().is_some());
        let native = native.map(|program| format!("@agent {} instead; ", program.name)).unwrap_or_default();
        (
            format!(
                "`{name}` reports its cost only after a run, and its requests do not pass Ralph's gateway, so that one run can exceed \
                 @max_cost_usd"
            ),
            format!("{native}an API key, so that they do; {free}; or {between}"),
        )
    };
    Err(ConfigError::new("agent", problem, allowed))
}

/// What is wrong with the order in which the user prefers agents: an unknown name.
pub fn unknown_in_order(user: &Layer) -> Option<String> {
    let names = || usual_order().into_iter().chain(user.agents.keys().map(String::as_str));
    let unknown = user.agent_order.iter().flatten().find(|wanted| names().all(|name| name != *wanted))?;
    let hint = meant(names(), unknown).map(|meant| format!(": did you mean `{meant}`?")).unwrap_or_default();
    let known = names().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ");
    Some(format!("`{unknown}` is not a known agent{hint}\n  allowed: {known}, or a name defined as [agents.NAME]"))
}

/// After how many failed iterations the next agent takes over by default.
pub(crate) fn usual_escalate_after() -> u32 {
    match Turns::default() {
        Turns::Escalate { after } => after,
        Turns::Rotate => 1,
    }
}

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
