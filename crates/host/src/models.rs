//! The models that agents of the crew ask: `PROVIDER:MODEL`, or a name from the user's configuration.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ralph_config::{Layer, ModelTable};
use ralph_crew::{AgentFile, AskModel, ModelName};
use ralph_llm::{Egress, Endpoint, Failed, Model, Provider, ask};
use ralph_model::{ConfigError, Timestamp, Trouble, TroubleKind};

use crate::Host;

/// The models for those who have a key and name none: of each provider the standard and the fast one.
const USUAL: [(Provider, &str, &str); 2] =
    [(Provider::Anthropic, "claude-sonnet-5-5", "claude-haiku-4-5"), (Provider::Openai, "gpt-5.5", "gpt-5.4-mini")];

/// Knows where each model is.
#[derive(Debug, Clone)]
pub(crate) struct Models {
    own: BTreeMap<String, ModelTable>,
    /// Keys and addresses, by the name of their variable.
    variables: BTreeMap<String, String>,
    pub(crate) names: [String; 2],
    egress: Egress,
    now: fn() -> Timestamp,
}

impl Models {
    /// The models that are named, or usual ones for which there is a key.
    pub(crate) fn new(host: &Host, user: &Layer, named: [Option<String>; 2]) -> Result<Self, ConfigError> {
        let own = user.models.clone();
        let usual = Provider::ALL.iter().flat_map(|provider| [provider.key_variable(), provider.base_variable()]);
        let names = usual.map(str::to_owned).chain(own.values().filter_map(|table| table.key_env.clone()));
        let value = |name: String| {
            let value = host.variable(&name)?.into_string().ok().filter(|value| !value.is_empty())?;
            Some((name, value))
        };
        let variables: BTreeMap<String, String> = names.filter_map(value).collect();
        let [standard, fast] = named;
        let (standard, usual_fast) = match standard {
            Some(standard) => (standard.clone(), standard),
            None => {
                let has_key =
                    |(provider, _, _): &&(Provider, &str, &str)| variables.contains_key(provider.key_variable());
                let (provider, standard, fast) = USUAL.iter().find(has_key).ok_or_else(|| {
                    let problem = "no model is named and neither ANTHROPIC_API_KEY nor OPENAI_API_KEY is set";
                    ConfigError::new("model", problem, "PROVIDER:MODEL, such as anthropic:claude-sonnet-5-5")
                })?;
                (format!("{}:{standard}", provider.name()), format!("{}:{fast}", provider.name()))
            }
        };
        let names = [standard, fast.unwrap_or(usual_fast)];
        let models = Self { own, variables, names, egress: host.egress(), now: host.clock() };
        for name in &models.names {
            models.model(name)?;
        }
        Ok(models)
    }

    pub(crate) fn model(&self, name: &str) -> Result<Model, ConfigError> {
        let allowed = "PROVIDER:MODEL with anthropic, openai or openai-chat, or the NAME of a [models.NAME] of yours";
        let wrong = |problem: String| ConfigError::new("model", problem, allowed);
        let (provider, base, model, key) = match (self.own.get(name), name.split_once(':')) {
            (Some(table), _) => {
                let provider = table.provider.as_deref().unwrap_or(Provider::OpenaiChat.name());
                let provider = Provider::parse(provider)
                    .ok_or_else(|| wrong(format!("[models.{name}]: there is no provider `{provider}`")))?;
                let model = table.model.as_deref().ok_or_else(|| wrong(format!("[models.{name}] needs `model`")))?;
                let key = table.key_env.as_deref().unwrap_or(provider.key_variable());
                (provider, table.base_url.as_ref(), model, self.variables.get(key))
            }
            (None, Some((provider, model))) if !model.is_empty() => {
                let known = Provider::parse(provider);
                let provider = known.ok_or_else(|| wrong(format!("there is no provider `{provider}`")))?;
                let base = self.variables.get(provider.base_variable());
                (provider, base, model, self.variables.get(provider.key_variable()))
            }
            (None, _) => return Err(wrong(format!("`{name}` is no model"))),
        };
        if key.is_none() && base.is_none() {
            return Err(wrong(format!("{name} needs a key: {} is not set", provider.key_variable())));
        }
        let endpoint = Endpoint::new(provider, base.map(String::as_str), key.map(String::as_str))?;
        Model::new(endpoint, model, &self.egress, self.now).map_err(|error| wrong(error.to_string()))
    }

    /// The name that an agent's request goes to.
    fn chosen<'a>(&'a self, agent: &'a AgentFile, is_fast: bool) -> &'a str {
        agent.model.as_deref().unwrap_or(&self.names[usize::from(is_fast)])
    }

    pub(crate) fn priced(&self) -> ModelName {
        let models = self.clone();
        Arc::new(move |agent, is_fast| {
            let name = models.chosen(agent, is_fast);
            let own = models.own.get(name).and_then(|table| table.model.clone());
            own.unwrap_or_else(|| name.split_once(':').map_or(name, |(_, model)| model).to_owned())
        })
    }

    /// Asks the model of an agent, and its fallback where that one cannot answer.
    pub(crate) fn asking(&self) -> AskModel {
        let models = self.clone();
        let made: Arc<Mutex<BTreeMap<String, Model>>> = Arc::default();
        Arc::new(move |asked, watch| {
            let names = [Some(models.chosen(&asked.agent, asked.is_fast).to_owned()), asked.agent.fallback.clone()];
            let mut chosen = Vec::new();
            for name in names.into_iter().flatten() {
                let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
                let known = made.get(&name).cloned();
                match known.map_or_else(|| models.model(&name), Ok) {
                    Ok(model) => {
                        made.insert(name, model.clone());
                        chosen.push(model);
                    }
                    Err(error) if chosen.is_empty() => {
                        let trouble =
                            Trouble { kind: TroubleKind::Setup, until: None, message: error.to_string(), advice: None };
                        return Box::pin(async move { Err(Failed { trouble, lost: 0 }) });
                    }
                    Err(error) => tracing::warn!(%error, "a fallback model cannot be used"),
                }
            }
            Box::pin(async move { ask(&chosen, &asked.request(), &mut |seen| watch(seen)).await })
        })
    }
}
