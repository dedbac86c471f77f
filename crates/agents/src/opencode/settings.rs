//! What OpenCode is told through its settings, and what of the user's own has to be known for that. Nothing here can make a
//! run fail: settings that cannot be read are OpenCode's to complain about.

use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use serde_json::{Map, Value, json};

use crate::files::{Links, MAX_BYTES, read_plain, within};
use crate::mcp_server::McpServer;
use crate::request::Request;

/// Files with which a project instructs agents. The first name that is found counts, as it does for OpenCode itself.
const INSTRUCTIONS: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"];

/// Settings that hold in every run, over those that the user gives in the variable. None when those cannot be read.
pub(super) fn of_every_run(request: &Request<'_>) -> Option<Map<String, Value>> {
    let mut settings = match request.base.variable(CONTENT) {
        Some(own) => object(&own.to_string_lossy())?,
        None => Map::new(),
    };
    settings.insert("autoupdate".into(), json!(false));
    settings.insert("share".into(), json!("disabled"));
    // Ralph has snapshots of its own, and OpenCode takes one before and after every request.
    settings.insert("snapshot".into(), json!(false));
    Some(settings)
}

/// Keeps a run apart from the user's servers, and puts the project's instructions back, which go with its settings.
pub(super) fn keep_apart(settings: &mut Map<String, Value>, request: &Request<'_>) {
    let mut names = servers(settings);
    names.extend(of_user(variable(request)).iter().flat_map(servers));
    if !names.is_empty() {
        // The only way: what OpenCode reads from the user's files, it merges with this.
        let off = names.into_iter().map(|name| (name, json!({"enabled": false})));
        settings.insert("mcp".into(), Value::Object(off.collect()));
    }
    let found = instructions(&request.base.directory);
    if !found.is_empty()
        && let Value::Array(known) = settings.entry("instructions").or_insert_with(|| json!([]))
    {
        known.extend(found.into_iter().map(Value::String));
    }
}

/// Adds the server of tools that the run is given.
pub(super) fn add_server(settings: &mut Map<String, Value>, request: &Request<'_>) {
    if let Some(server) = &request.base.mcp_server
        && let Value::Object(servers) = settings.entry("mcp").or_insert_with(|| json!({}))
    {
        servers.insert(McpServer::NAME.to_owned(), server.for_opencode());
    }
}

/// Permissions without subagents, over those that the user gives in the variable.
pub(super) fn without_subagents(request: &Request<'_>) -> Map<String, Value> {
    let own = request.base.variable("OPENCODE_PERMISSION").and_then(|own| object(&own.to_string_lossy()));
    let mut rules = own.unwrap_or_default();
    rules.insert("task".into(), json!("deny"));
    rules
}

fn servers(settings: &Map<String, Value>) -> Vec<String> {
    settings.get("mcp").and_then(Value::as_object).map(|mcp| mcp.keys().cloned().collect()).unwrap_or_default()
}

/// The model that the user's settings name.
pub(super) fn model(request: &Request<'_>) -> Option<String> {
    let all = of_user(variable(request));
    all.iter().rev().find_map(|settings| settings.get("model")?.as_str()).map(str::to_owned)
}

fn variable<'a>(request: &'a Request<'_>) -> impl Fn(&str) -> Option<String> + 'a {
    |name| {
        request.base.variable(name).filter(|value| !value.is_empty()).map(|value| value.to_string_lossy().into_owned())
    }
}

/// The variable with settings over those of all files.
pub(crate) const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";

/// The user's own settings; later ones weigh more.
pub(crate) fn of_user(variable: impl Fn(&str) -> Option<String>) -> Vec<Map<String, Value>> {
    let of_files = files(|name| variable(name).map(PathBuf::from)).into_iter();
    let texts = of_files.filter_map(|path| read_plain(&path, Links::Follow, MAX_BYTES).ok()).chain(variable(CONTENT));
    texts.filter_map(|text| object(&text)).collect()
}

/// Where OpenCode looks for the user's own settings.
pub(crate) fn files(path: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let settings = path("XDG_CONFIG_HOME").or_else(|| path("HOME").map(|home| home.join(".config")));
    let folders = settings.map(|settings| settings.join("opencode")).into_iter().chain(path("OPENCODE_CONFIG_DIR"));
    let names = ["config.json", "opencode.json", "opencode.jsonc"];
    folders.flat_map(|folder| names.map(|name| folder.join(name))).chain(path("OPENCODE_CONFIG")).collect()
}

/// The instructions of the project: in its folder, and above it up to the root of the repository.
fn instructions(directory: &Path) -> Vec<String> {
    let depth = directory.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    let folders: Vec<&Path> = directory.ancestors().take(depth + 1).collect();
    let top = folders.last().and_then(|top| top.canonicalize().ok()).unwrap_or_default();
    let named = |name: &&str| {
        let paths = folders.iter().filter_map(|folder| within(&top, &folder.join(name)));
        let found: Vec<String> = paths.filter_map(|path| path.into_os_string().into_string().ok()).collect();
        (!found.is_empty()).then_some(found)
    };
    INSTRUCTIONS.iter().find_map(named).unwrap_or_default()
}

/// An object of JSON, in which comments and trailing commas are allowed.
pub(crate) fn object(text: &str) -> Option<Map<String, Value>> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    match CstRootNode::parse(text, &options).ok()?.to_serde_value()? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
