//! Which model OpenCode takes by its own settings, and whether it knows a price for it. Reads files; starts nothing.

use std::path::{Path, PathBuf};

use ralph_model::AgentSpec;
use serde_json::{Map, Value};

use super::settings::{CONTENT, object, of_user};
use crate::files::{Links, MAX_BYTES, read_plain};

/// A model that OpenCode can take, as `opencode models --verbose` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// Its provider and its name: `anthropic/claude-sonnet-5`.
    pub name: String,
    /// OpenCode knows what it costs, and more than nothing.
    pub has_price: bool,
}

impl ListedModel {
    fn provider(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }
}

/// What a user's own settings say of the model, before OpenCode is asked for its models.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnChoice {
    pub named: Option<String>,
    /// Without one: models that were used before, newest first.
    recent: Vec<String>,
    /// Without those: the providers that the settings describe. None means all.
    providers: Vec<String>,
}

impl OwnChoice {
    /// Reads the settings that a run of this agent finds through these variables.
    pub fn read(spec: &AgentSpec, variable: impl Fn(&str) -> Option<String>, workspace: &Path) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let mut settings = of_user(variable);
        if spec.user_settings {
            // Those of the project weigh more than the user's files, and less than the variable.
            let place = settings.len() - usize::from(variable(CONTENT).is_some_and(|text| object(&text).is_some()));
            settings.splice(place..place, project(workspace));
        }
        let state = variable("XDG_STATE_HOME").map(PathBuf::from);
        let state = state.or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".local/state")));
        Self {
            named: named(spec, &settings).and_then(|name| resolved(name, variable)),
            recent: state.map(|state| recent(&state.join("opencode/model.json"))).unwrap_or_default(),
            providers: settings.iter().filter_map(|one| one.get("provider")?.as_object()).flat_map(keys).collect(),
        }
    }

    /// Models of this list of which OpenCode takes one. Which one of several is its own rule, which changes.
    pub fn among<'a>(&'a self, listed: &'a [ListedModel]) -> Vec<&'a str> {
        let is_listed = |name: &&String| listed.iter().any(|model| model.name == **name);
        match self.named.as_ref().or_else(|| self.recent.iter().find(is_listed)) {
            Some(name) => vec![name],
            None => {
                let is_described = |model: &&ListedModel| {
                    self.providers.is_empty() || self.providers.iter().any(|id| id == model.provider())
                };
                listed.iter().filter(is_described).map(|model| model.name.as_str()).collect()
            }
        }
    }
}

/// The words that make OpenCode list its models with what they cost.
pub const LIST: [&str; 2] = ["models", "--verbose"];

/// Reads that list: a name on a line of its own, then an object.
pub fn listed_models(answer: &str) -> Vec<ListedModel> {
    let mut found = Vec::new();
    let mut rest = answer;
    while let Some((name, more)) = rest.split_once('\n') {
        rest = more;
        if name.contains(['{', ' ', '\t']) || !name.contains('/') || !more.starts_with('{') {
            continue;
        }
        let Some(Ok(about)) = serde_json::Deserializer::from_str(more).into_iter::<Value>().next() else { continue };
        let is_paid = |part: &str| about["cost"][part].as_f64().is_some_and(|price| price > 0.0);
        found.push(ListedModel { name: name.trim().to_owned(), has_price: is_paid("input") || is_paid("output") });
    }
    found
}

fn keys(object: &Map<String, Value>) -> impl Iterator<Item = String> {
    object.keys().cloned()
}

/// The model that is named: for the run, for the agent of OpenCode that it uses, or for all of them.
fn named(spec: &AgentSpec, settings: &[Map<String, Value>]) -> Option<String> {
    let of_settings = |path: &[&str]| {
        let at = |one: &Map<String, Value>| {
            let (first, more) = path.split_first()?;
            more.iter().try_fold(one.get(*first)?, |value, key| value.get(*key))?.as_str().map(str::to_owned)
        };
        settings.iter().rev().find_map(at)
    };
    let own = argument(&spec.args, &["--model", "-m"]).or_else(|| spec.model.clone());
    own.or_else(|| {
        let agent = argument(&spec.args, &["--agent"]).or_else(|| of_settings(&["default_agent"]));
        let agent = agent.unwrap_or_else(|| "build".to_owned());
        ["agent", "mode"].iter().find_map(|key| of_settings(&[key, &agent, "model"]))
    })
    .or_else(|| of_settings(&["model"]))
}

/// A value as OpenCode reads it: `{env:NAME}` is that variable. None for the content of a file.
fn resolved(value: String, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    match value.strip_prefix("{env:").and_then(|rest| rest.strip_suffix('}')) {
        Some(name) => variable(name),
        None => Some(value).filter(|value| !value.starts_with('{')),
    }
}

/// The last value of an option in these words.
fn argument(words: &[String], names: &[&str]) -> Option<String> {
    let value = |at: usize| {
        let word = &words[at];
        match word.split_once('=') {
            Some((name, value)) if names.contains(&name) => Some(value.to_owned()),
            _ if names.contains(&word.as_str()) => words.get(at + 1).cloned(),
            _ => None,
        }
    };
    (0..words.len()).rev().find_map(value)
}

/// Settings of the project, those of the root of its repository first.
fn project(workspace: &Path) -> Vec<Map<String, Value>> {
    let depth = workspace.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    let mut folders: Vec<&Path> = workspace.ancestors().take(depth + 1).collect();
    folders.reverse();
    let names = ["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"];
    let files = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files.filter_map(|path| object(&read_plain(&path, Links::Follow, MAX_BYTES).ok()?)).collect()
}

fn recent(path: &Path) -> Vec<String> {
    let text = read_plain(path, Links::Follow, MAX_BYTES).ok();
    let known = text.and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or_default();
    let name = |one: &Value| Some(format!("{}/{}", one["providerID"].as_str()?, one["modelID"].as_str()?));
    known["recent"].as_array().into_iter().flatten().filter_map(name).collect()
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
