//! The settings of one run: the hook that refuses prohibited paths, and whatever of the user's settings the login needs.
//! Secrets in them go into the environment, never into a file.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use super::kind::PROGRAM;

const WRITERS: &str = "Edit|MultiEdit|NotebookEdit|Write";
/// Seconds for an answer of the hook; after that the call goes on, and the guard looks afterwards.
const HOOK_SECONDS: u32 = 10;

/// Settings of the user that a run goes without. Everything else stays, so that a way to log in that is newer than this list
/// works too.
const LEFT_OUT: [&str; 15] = [
    "$schema",
    "agent",
    "allowedHttpHookUrls",
    "disableAllHooks",
    "enableAllProjectMcpServers",
    "enabledMcpjsonServers",
    "enabledPlugins",
    "env",
    "extraKnownMarketplaces",
    "fileSuggestion",
    "hooks",
    "outputStyle",
    "pluginConfigs",
    "skillOverrides",
    "statusLine",
];
/// Variables of the clouds that it can log in through.
const CLOUDS: [&str; 3] = ["AWS_", "GOOGLE_", "CLOUD_ML_"];
/// Permissions of the user that only take something away.
const NARROWING: [&str; 2] = ["deny", "disableBypassPermissionsMode"];

#[derive(Debug)]
pub(super) struct RunSettings {
    pub(super) json: String,
    pub(super) environment: Vec<(OsString, OsString)>,
}

impl RunSettings {
    /// With a line of shell that is asked before a file is written, and the paths that are refused by the program itself: it also
    /// recognises them in many lines of shell.
    pub(super) fn new(hook: Option<&str>, prohibited: &[String]) -> Self {
        let mut settings = Map::new();
        // A list with exceptions in it would mean something else there; the hook and the guard know it.
        if !prohibited.is_empty() && !prohibited.iter().any(|glob| glob.starts_with('!')) {
            let deny: Vec<String> = prohibited.iter().map(|glob| format!("Edit({glob})")).collect();
            settings.insert("permissions".into(), json!({ "deny": deny }));
        }
        if let Some(command) = hook {
            let hook = json!({"type": "command", "command": command, "timeout": HOOK_SECONDS});
            settings.insert("hooks".into(), json!({"PreToolUse": [{"matcher": WRITERS, "hooks": [hook]}]}));
        }
        Self { json: Value::Object(settings).to_string(), environment: Vec::new() }
    }

    /// And with what the user's settings say about models and the login. Settings that are not readable say nothing, as for the
    /// program itself.
    pub(super) fn with_login(self, user: Option<&str>) -> Self {
        let Some(Ok(Value::Object(mut user))) = user.map(serde_json::from_str) else { return self };
        // Only what is the program's own: other names would reach every command that it runs.
        let is_clouds = |name: &str| CLOUDS.iter().any(|cloud| name.starts_with(cloud));
        let is_own = |name: &OsString| name.to_str().is_some_and(|name| PROGRAM.owns(name) || is_clouds(name));
        let mut environment = user.get("env").and_then(Value::as_object).map(variables).unwrap_or_default();
        environment.retain(|(name, _)| is_own(name));
        user.retain(|key, _| !LEFT_OUT.contains(&key.as_str()));
        match user.get_mut("permissions") {
            Some(Value::Object(permissions)) => permissions.retain(|key, _| NARROWING.contains(&key.as_str())),
            // The program would not start with it, or start without any rule.
            Some(other) => *other = json!({}),
            None => {}
        }
        if let Ok(Value::Object(mut own)) = serde_json::from_str::<Value>(&self.json) {
            let denied = user.get("permissions").and_then(|permissions| permissions.get("deny")?.as_array().cloned());
            if let Some(Value::Object(ours)) = own.remove("permissions") {
                let rules = ours.get("deny").and_then(Value::as_array).into_iter().flatten().cloned();
                let all: Vec<Value> = denied.into_iter().flatten().chain(rules).collect();
                if let Some(permissions) = user.entry("permissions").or_insert_with(|| json!({})).as_object_mut() {
                    permissions.insert("deny".into(), Value::Array(all));
                }
            }
            user.extend(own);
        }
        Self { json: Value::Object(user).to_string(), environment }
    }
}

fn variables(map: &Map<String, Value>) -> Vec<(OsString, OsString)> {
    let can_be_set = |text: &str| !text.contains('\0');
    let is_name = |name: &str| !name.is_empty() && !name.contains('=') && can_be_set(name);
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let known = map.iter().filter(|(name, _)| is_name(name)).filter_map(|(name, value)| Some((name, text(value)?)));
    known.filter(|(_, text)| can_be_set(text)).map(|(name, text)| (name.into(), text.into())).collect()
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
