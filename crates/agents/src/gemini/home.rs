//! A home of the run's own for the program's settings and state: who the user is, which model they chose and what they forbid
//! come from theirs, and nothing else does. Hooks, servers, extensions and commands of the user stay away, and the folder of the
//! user is not written, except where a login is renewed.
//!
//! A file of system settings would be less work, but the program takes one only where root owns it and every folder above it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::settings_folder;
use crate::dotenv;
use crate::files::{Links, MAX_BYTES, read_plain, write_private};
use crate::opencode::settings::object;
use crate::request::{Error, Request};

pub(super) const SETTINGS: &str = "settings.json";
/// Files with instructions, unless the user chose other names. The second is not read by default, but those who use it say so in
/// settings of the repository, which are not read here.
const INSTRUCTIONS: [&str; 2] = ["GEMINI.md", "AGENTS.md"];
/// What says who the user is, and what they forbid.
const LINKED: [&str; 5] =
    ["oauth_creds.json", "google_accounts.json", "gemini-credentials.json", "installation_id", "policies"];
/// Settings of the user that stay in effect: the login, the model, what is forbidden.
const KEPT: [&str; 10] = [
    "/security/auth",
    "/security/disableYoloMode",
    "/security/environmentVariableRedaction",
    "/security/toolSandboxing",
    "/model/name",
    "/modelConfigs",
    "/billing",
    "/context/fileName",
    "/tools/core",
    "/tools/exclude",
];
/// Variables that say how to reach the service, which a user can also keep in a file of their own.
const VARIABLES: [&str; 17] = [
    "GEMINI_API_KEY",
    "GEMINI_API_KEY_AUTH_MECHANISM",
    "GEMINI_MODEL",
    "GOOGLE_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_PROJECT_ID",
    "GOOGLE_GENAI_API_VERSION",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
    "CODE_ASSIST_ENDPOINT",
    "GEMINI_CLI_CUSTOM_HEADERS",
    "HTTPS_PROXY",
    "HTTP_PROXY",
];
/// Variables with the value that means the same as none, for those that the user has not set. A version that does not know how to
/// leave the repository's `.env` alone could send the user's key elsewhere with these, but it leaves alone what is set.
const PINNED: [(&str, &str); 11] = [
    ("CODE_ASSIST_ENDPOINT", "https://cloudcode-pa.googleapis.com"),
    ("GEMINI_CLI_CUSTOM_HEADERS", ""),
    ("GEMINI_SYSTEM_MD", ""),
    ("GOOGLE_GEMINI_BASE_URL", ""),
    ("GOOGLE_VERTEX_BASE_URL", ""),
    ("HTTPS_PROXY", ""),
    ("HTTP_PROXY", ""),
    ("NODE_TLS_REJECT_UNAUTHORIZED", ""),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", ""),
    ("http_proxy", ""),
    ("https_proxy", ""),
];
/// Variables that are Ralph's to decide in a run.
const DECIDED: [(&str, &str); 6] = [
    // Otherwise the repository's settings would be read.
    ("GEMINI_CLI_TRUST_WORKSPACE", ""),
    ("GEMINI_CLI_TRUSTED_FOLDERS_PATH", ""),
    ("GEMINI_RESTRICTED_MODE", ""),
    // A container is not in the tree of processes that Ralph ends.
    ("GEMINI_SANDBOX", ""),
    ("GEMINI_TELEMETRY_ENABLED", "false"),
    ("GEMINI_WRITE_SYSTEM_MD", ""),
];

/// The folder of settings that was made for a run.
pub(super) struct Own {
    pub(super) folder: PathBuf,
    /// What makes the program use it.
    pub(super) environment: Vec<(String, OsString)>,
}

/// The folder of the user's own settings, where the environment says that there is one.
pub(super) fn folder(request: &Request<'_>) -> Option<PathBuf> {
    home(request).map(settings_folder)
}

fn home<'a>(request: &'a Request<'_>) -> Option<&'a Path> {
    let named = |name| request.base.variable(name).filter(|value| !value.is_empty());
    named("GEMINI_CLI_HOME").or_else(|| named("HOME")).map(Path::new)
}

/// Makes the folder, from what the user's own one holds.
pub(super) fn prepare(request: &Request<'_>, user: Option<&Path>) -> Result<Own, Error> {
    let own_home = request.base.scratch.join("gemini");
    let own = settings_folder(&own_home);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Scratch { path, source }
    };
    if own_home.exists() {
        fs::remove_dir_all(&own_home).map_err(failed(&own_home))?;
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&own).map_err(failed(&own))?;

    let mut environment = from_file(request);
    let (settings, readable) = match user.map(|user| read_plain(&user.join(SETTINGS), Links::Follow, MAX_BYTES)) {
        None => (Value::Null, true),
        Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => (Value::Null, true),
        Some(Err(_)) => (Value::Null, false),
        Some(Ok(text)) => match object(&text) {
            Some(settings) => (Value::Object(settings), true),
            None => (Value::Null, false),
        },
    };
    let path = own.join(SETTINGS);
    match user.filter(|_| !readable) {
        // The program says better than Ralph could what is wrong with it.
        Some(user) => symlink(user.join(SETTINGS), &path).map_err(failed(&path))?,
        None => {
            let has = |name: &str| {
                let beside = environment.get(name).map(OsString::as_os_str);
                request.base.variable(name).or(beside).filter(|value| !value.is_empty()).map(OsStr::to_owned)
            };
            let mut settings = settings_for(&settings, has);
            if let Some(server) = &request.base.mcp_server {
                put(&mut settings, "/mcpServers", server.for_gemini());
            }
            // Settings can hold headers with keys in them.
            write_private(&path, &settings.to_string())?;
        }
    }
    if let Some(user) = user {
        link(user, &own, &settings)?;
    }
    for (name, value) in PINNED {
        if request.base.variable(name).is_none() {
            environment.entry(name.to_owned()).or_insert_with(|| value.into());
        }
    }
    for name in planted(request)? {
        if request.base.variable(&name).is_none() {
            environment.entry(name).or_default();
        }
    }
    for (name, value) in DECIDED {
        environment.insert(name.to_owned(), value.into());
    }
    environment.insert("GEMINI_CLI_HOME".to_owned(), own_home.into());
    Ok(Own { folder: own, environment: environment.into_iter().collect() })
}

fn settings_for(user: &Value, has: impl Fn(&str) -> Option<OsString>) -> Value {
    let mut own = json!({
        "general": {
            // Ralph waits out what lasts longer.
            "maxAttempts": 3,
            "enableAutoUpdate": false,
            "enableAutoUpdateNotification": false,
        },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "hooksConfig": { "enabled": false },
        // Only a folder that is not trusted keeps its settings to itself; the switch comes after they were read.
        "security": { "folderTrust": { "enabled": true } },
        // Every `@` in a prompt would otherwise become a search through the whole workspace.
        "context": { "fileName": INSTRUCTIONS, "fileFiltering": { "enableRecursiveFileSearch": false } },
        "tools": { "sandbox": false },
        // A `.env` of the repository, which could name a library to load.
        "advanced": { "ignoreLocalEnv": true },
        "ui": { "showCompatibilityWarnings": false },
    });
    for path in KEPT {
        if let Some(kept) = user.pointer(path) {
            put(&mut own, path, kept.clone());
        }
    }
    let is_set = |name| has(name).is_some_and(|value| value == "true");
    let chosen = own.pointer("/security/auth/selectedType").is_some_and(Value::is_string);
    // With a base URL beside the key, the program would take it for a gateway that needs no key, and refuse.
    if !chosen
        && has("GEMINI_API_KEY").is_some()
        && !is_set("GOOGLE_GENAI_USE_GCA")
        && !is_set("GOOGLE_GENAI_USE_VERTEXAI")
    {
        put(&mut own, "/security/auth/selectedType", "gemini-api-key".into());
    }
    own
}

/// Puts a value at a path, making the objects above it.
fn put(root: &mut Value, path: &str, value: Value) {
    let mut at = root;
    for part in path.split('/').skip(1) {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        let Value::Object(object) = at else { return };
        at = object.entry(part).or_insert(Value::Null);
    }
    *at = value;
}

/// Links what says who the user is, what they forbid, and their own instructions.
fn link(user: &Path, own: &Path, settings: &Value) -> Result<(), Error> {
    let chosen = settings.pointer("/context/fileName");
    let names = match chosen {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => INSTRUCTIONS.to_vec(),
    };
    // A name with a slash in it would lead out of the folder.
    let names = names.into_iter().filter(|name| !name.is_empty() && !name.contains('/') && !name.starts_with('.'));
    for name in LINKED.into_iter().chain(names) {
        let (there, here) = (user.join(name), own.join(name));
        if there.exists() && !here.exists() {
            symlink(&there, &here).map_err(|source| Error::Scratch { path: here, source })?;
        }
    }
    Ok(())
}

/// What the user keeps in the file that the program reads variables from. Not having one is no error.
fn from_file(request: &Request<'_>) -> BTreeMap<String, OsString> {
    let Some(home) = home(request) else { return BTreeMap::new() };
    let files = [settings_folder(home).join(".env"), home.join(".env")];
    let Some(text) = files.iter().find_map(|file| read_plain(file, Links::Follow, MAX_BYTES).ok()) else {
        return BTreeMap::new();
    };
    dotenv::variables(&text)
        .into_iter()
        .filter(|(name, _)| VARIABLES.contains(&name.as_str()) && request.base.variable(name).is_none())
        .map(|(name, value)| (name, value.into()))
        .collect()
}

/// Names that files of the repository could give a value, all of them with one that is none. The program reads such a file when it
/// is told to work in a folder that nobody trusts, and has no switch against it; but it leaves alone what is set.
fn planted(request: &Request<'_>) -> Result<Vec<String>, Error> {
    let homes = ["GEMINI_CLI_HOME", "HOME"].map(|name| request.base.variable(name).map(Path::new));
    let mut names = Vec::new();
    for folder in request.base.directory.ancestors().filter(|folder| !homes.contains(&Some(*folder))) {
        let file = settings_folder(folder).join(".env");
        // Whatever is no plain file is none for the program either, or keeps it waiting until it is ended.
        let Ok(text) = read_plain(&file, Links::Follow, MAX_BYTES) else { continue };
        if text.len() as u64 >= MAX_BYTES {
            return Err(Error::Unreadable { path: file });
        }
        names.extend(dotenv::possible_names(&text));
    }
    Ok(names)
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
