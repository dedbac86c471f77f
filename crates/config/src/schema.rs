//! The JSON schema of a configuration file, made from the table of keys, so that editors complete and check it.

use ralph_agents::Kind;
use ralph_model::Grade;
use serde_json::{Map, Value, json};

use crate::{Class, Key};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A repository's `ralph.toml`: keys that only users may set are named and refused.
    Repository,
    User,
}

pub fn schema(owner: Owner) -> Value {
    let mut root = table();
    for key in Key::ALL {
        insert(&mut root, &key.segments().collect::<Vec<_>>(), property(*key, owner));
    }
    let (title, description) = match owner {
        Owner::Repository => ("ralph.toml", "Configuration of Ralph for a repository."),
        Owner::User => ("config.toml", "Configuration of Ralph for a user."),
    };
    root["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    root["title"] = json!(title);
    root["description"] = json!(description);
    root
}

fn table() -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": {} })
}

/// Puts a property where its name says; below a name that the user chooses, every name has the same properties.
fn insert(table: &mut Value, segments: &[&str], property: Value) {
    match segments {
        [] => {}
        [name] => table["properties"][*name] = property,
        ["*", rest @ ..] => {
            if !table["additionalProperties"].is_object() {
                table["additionalProperties"] = self::table();
            }
            insert(&mut table["additionalProperties"], rest, property);
        }
        [name, rest @ ..] => {
            if table["properties"].get(*name).is_none() {
                table["properties"][*name] = self::table();
            }
            insert(&mut table["properties"][*name], rest, property);
        }
    }
}

fn property(key: Key, owner: Owner) -> Value {
    let kind = match (owner, key.class()) {
        (Owner::Repository, Class::UserOnly) => json!({ "not": {} }),
        // `!GLOB` would allow what others prohibit.
        (Owner::Repository, Class::NarrowsOnly) => {
            json!({ "type": "array", "items": { "type": "string", "pattern": "^[^!]" } })
        }
        _ => kind(key),
    };
    let Value::Object(kind) = kind else { return Value::Null };
    let effect = key.effect();
    let mut description: String =
        effect.chars().take(1).flat_map(char::to_uppercase).chain(effect.chars().skip(1)).collect();
    description += match key.class() {
        Class::UserOnly => ". Only in your own configuration, ~/.config/ralph/config.toml.",
        Class::NarrowsOnly => ". Takes effect in a repository without approval.",
        Class::NeedsApproval => ".",
    };
    if let Some(flag) = key.flag() {
        description += &format!(" On the command line: {flag}.");
    }
    let mut property = Map::from_iter([("description".to_owned(), Value::String(description))]);
    property.extend(kind);
    Value::Object(property)
}

fn kind(key: Key) -> Value {
    let text = || json!({ "type": "string" });
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let one_or_more = || json!({ "anyOf": [text(), texts()] });
    let count = |least: u32| json!({ "type": "integer", "minimum": least });
    let dollars =
        || json!({ "anyOf": [{ "type": "number", "minimum": 0 }, { "type": "string", "pattern": r"^\$?[0-9]" }] });
    let span = || json!({ "type": "string", "pattern": "^[0-9]" });
    let one_of = |names: &[&str]| json!({ "enum": names });
    match key {
        Key::MaxIterations
        | Key::MaxTokens
        | Key::StallDetectionThreshold
        | Key::SameErrorThreshold
        | Key::EscalateAfter
        | Key::CapsIterations => count(1),
        Key::CrewCompactAt => count(1000),
        Key::MaxFileSize => json!({ "type": "integer", "minimum": 1 << 20, "maximum": 1 << 30 }),
        Key::MaxWindow => json!({ "type": "integer", "minimum": 1, "maximum": 100 }),
        Key::Retries | Key::LogLimit => count(0),
        Key::MaxCostUsd
        | Key::CapsLoopCostUsd
        | Key::CapsDailyCostUsd
        | Key::PricesInput
        | Key::PricesOutput
        | Key::PricesCacheRead
        | Key::PricesCacheWrite => dollars(),
        Key::MaxDuration
        | Key::IterationTimeout
        | Key::VerificationTimeout
        | Key::IdleTimeout
        | Key::MaxWait
        | Key::Backoff => span(),
        Key::PauseMs => json!({ "anyOf": [count(0), span()] }),
        Key::EscalateToDeepDebug
        | Key::Rotate
        | Key::AgentsReportsCost
        | Key::AgentsUnmetered
        | Key::Unmetered
        | Key::CostAfterRun
        | Key::RecordRequests
        | Key::ContextInjection
        | Key::Commit
        | Key::Ratchet
        | Key::Tripwire
        | Key::AllowNetwork
        | Key::NotifyDesktop => json!({ "type": "boolean" }),
        Key::VerificationCommand | Key::Agent | Key::Failover | Key::Setup => one_or_more(),
        Key::Expects
        | Key::Junit
        | Key::AgentArgs
        | Key::AgentsArgs
        | Key::ProhibitedPaths
        | Key::ProtectedPaths
        | Key::AllowTestChange
        | Key::SandboxWritable
        | Key::AllowHost
        | Key::Hide
        | Key::AllowRead
        | Key::Env
        | Key::NotifyEmailTo
        | Key::WebAllowHosts
        | Key::AgentOrder => texts(),
        Key::OnBlocked => one_of(&["stop", "continue"]),
        Key::Isolation => one_of(&["in-place", "worktree"]),
        Key::Keep => one_of(&["last", "best"]),
        Key::Verify => one_of(&["guarded", "isolated"]),
        Key::Meter => one_of(&["auto", "stream"]),
        Key::Require => one_of(&Grade::ALL.map(Grade::name)),
        Key::AgentNetwork => one_of(&["full", "model"]),
        Key::Sandbox => one_of(&["off", "on", "require"]),
        Key::AgentsKind => one_of(&Kind::all().map(|kind| kind.name).collect::<Vec<_>>()),
        Key::ModelsProvider => one_of(&["anthropic", "openai", "openai-chat"]),
        Key::AgentsSettings => one_of(&["own", "user"]),
        Key::CompletionPromise
        | Key::Model
        | Key::AgentCommand
        | Key::AgentsCommand
        | Key::AgentsProgram
        | Key::AgentsModel
        | Key::Skill
        | Key::ModelsBaseUrl
        | Key::ModelsModel
        | Key::ModelsKeyEnv
        | Key::NotifyCommand
        | Key::NotifyWebhook
        | Key::NotifySmtp
        | Key::NotifySmtpPasswordEnv
        | Key::NotifyEmailFrom
        | Key::WebSearchUrl
        | Key::WebSearchKeyEnv
        | Key::McpCommand
        | Key::McpUrl
        | Key::McpKeyEnv
        | Key::MetricsPath
        | Key::DatabaseUrl => text(),
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
