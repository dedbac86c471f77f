//! Which model services an agent asks with a key that can be replaced, and how it is made to ask at another address. A login that
//! cannot be moved stays with the agent. Starts nothing.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ralph_model::AgentSpec;
use serde_json::{Value, json};

use crate::files::{Links, MAX_BYTES, read_plain};
use crate::opencode::settings::{self as opencode, CONTENT};
use crate::programs::{Program, takes_words};
use crate::registry::Kind;

/// How the requests of an agent reach its services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Through addresses that take the place of these.
    Through(Vec<Service>),
    /// As the agent does it by itself, and why.
    Beside(String),
    /// Nothing is known to ask a service.
    Nothing,
}

/// A service that an agent asks with a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Service {
    /// Its address, as the agent would have it.
    pub base: String,
    pub key: String,
    settings: Settings,
}

/// Where an agent looks for address and key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Settings {
    Variables {
        keys: &'static [&'static str],
        addresses: &'static [&'static str],
    },
    /// In the settings of a provider of OpenCode, which has this id.
    Provider(String),
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("base", &self.base).finish_non_exhaustive()
    }
}

type Variables = Vec<(OsString, OsString)>;

const ANTHROPIC: &str = "https://api.anthropic.com";
const OPENAI: &str = crate::codex::SERVICE;
const GEMINI: &str = "https://generativelanguage.googleapis.com";
const OWN_LOGIN: &str = "it uses a login of its own";
const OTHER_SETTINGS: &str = "its own settings name a login or an address";
const CLOUD: &str = "it works through a cloud";

/// How the requests of this agent reach its services, with these variables in its environment.
pub fn route(spec: &AgentSpec, environment: &[(OsString, OsString)]) -> Route {
    let found = Found { environment };
    let is_server =
        spec.shell_line().is_some() && Kind::of(spec).is_some_and(|kind| kind.capabilities.streams_tool_calls);
    match Program::of(spec).map(|program| program.name) {
        Some("claude") => claude(&found),
        Some("codex") if is_server => codex_server(spec, &found),
        Some("codex") => codex(spec, &found),
        Some("gemini") => gemini(spec, &found, is_server),
        Some("opencode") => providers(spec, &found),
        Some(_) => Route::Beside("its address cannot be set".to_owned()),
        None if spec.kind == AgentSpec::COMMAND => command(&found),
        None if is_server => Route::Beside("which program it is cannot be seen".to_owned()),
        None => Route::Nothing,
    }
}

/// Whether the program's own settings name a key or a login, which no variable and no file of logins shows.
pub fn has_key_in_settings(program: &Program, environment: &[(OsString, OsString)]) -> bool {
    let found = Found { environment };
    match program.name {
        "claude" => names_a_login(&claude_settings(&found)),
        "opencode" => {
            let files = opencode::files(|name| found.path(name));
            let mut texts = files.iter().map(|path| text(path)).chain(found.value(CONTENT).map(str::to_owned));
            texts.any(|text| text.contains("\"apiKey\""))
        }
        _ => false,
    }
}

struct Found<'a> {
    environment: &'a [(OsString, OsString)],
}

impl Found<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        let value = self.environment.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value);
        value.and_then(|value| value.to_str()).map(str::trim).filter(|value| !value.is_empty())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.value(name).map(PathBuf::from)
    }

    fn is_on(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| !["0", "false"].contains(&value))
    }

    /// A service by its variables: the first key that is set, and the first address, or this one.
    fn service(
        &self,
        keys: &'static [&'static str],
        addresses: &'static [&'static str],
        usual: &str,
    ) -> Option<Service> {
        let key = keys.iter().find_map(|name| self.value(name))?.to_owned();
        let base = addresses.iter().find_map(|name| self.value(name)).unwrap_or(usual).to_owned();
        Some(Service { base, key, settings: Settings::Variables { keys, addresses } })
    }
}

fn through(service: Option<Service>) -> Route {
    service.map_or_else(|| Route::Beside(OWN_LOGIN.to_owned()), |service| Route::Through(vec![service]))
}

fn text(path: &Path) -> String {
    read_plain(path, Links::Follow, MAX_BYTES).unwrap_or_default()
}

fn claude_settings(found: &Found<'_>) -> String {
    let folder = found.path("CLAUDE_CONFIG_DIR").or_else(|| found.path("HOME").map(|home| home.join(".claude")));
    folder.map(|folder| text(&folder.join("settings.json"))).unwrap_or_default()
}

fn names_a_login(settings: &str) -> bool {
    ["apiKeyHelper", "\"ANTHROPIC_", "CLAUDE_CODE_USE_"].iter().any(|word| settings.contains(word))
}

fn claude(found: &Found<'_>) -> Route {
    if found.is_on("CLAUDE_CODE_USE_BEDROCK") || found.is_on("CLAUDE_CODE_USE_VERTEX") {
        return Route::Beside(CLOUD.to_owned());
    }
    if names_a_login(&claude_settings(found)) {
        return Route::Beside(OTHER_SETTINGS.to_owned());
    }
    let (key, token) = (found.value("ANTHROPIC_API_KEY"), found.value("ANTHROPIC_AUTH_TOKEN"));
    if key.is_some() && token.is_some() && key != token {
        return Route::Beside("two keys are set for it".to_owned());
    }
    through(found.service(&["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"], &["ANTHROPIC_BASE_URL"], ANTHROPIC))
}

/// Its address is an argument, so that it is moved only where one can be added.
fn codex_server(spec: &AgentSpec, found: &Found<'_>) -> Route {
    let line = spec.shell_line().unwrap_or_default();
    let settings = codex_home(found).map(|home| text(&home.join("config.toml"))).unwrap_or_default();
    if line.contains("model_provider") || settings.contains("model_provider") {
        return Route::Beside(OTHER_SETTINGS.to_owned());
    }
    if !takes_words(line) {
        return Route::Beside("its command is more than one program with arguments".to_owned());
    }
    codex(spec, found)
}

fn codex_home(found: &Found<'_>) -> Option<PathBuf> {
    found.path("CODEX_HOME").or_else(|| found.path("HOME").map(|home| home.join(".codex")))
}

fn codex(spec: &AgentSpec, found: &Found<'_>) -> Route {
    if spec.user_settings || spec.args.iter().any(|word| word.contains("model_provider")) {
        return Route::Beside(OTHER_SETTINGS.to_owned());
    }
    let home = codex_home(found);
    let has_login =
        found.value("CODEX_ACCESS_TOKEN").is_some() || home.is_some_and(|home| home.join("auth.json").exists());
    // The same choice as in the call of the program.
    let keys: &[&str] = if has_login { &["CODEX_API_KEY"] } else { &["CODEX_API_KEY", "OPENAI_API_KEY"] };
    through(found.service(keys, &["OPENAI_BASE_URL"], OPENAI))
}

fn gemini(spec: &AgentSpec, found: &Found<'_>, is_server: bool) -> Route {
    if found.is_on("GOOGLE_GENAI_USE_VERTEXAI") || found.is_on("GOOGLE_GENAI_USE_GCA") {
        return Route::Beside(CLOUD.to_owned());
    }
    let home = found.path("GEMINI_CLI_HOME").or_else(|| found.path("HOME")).unwrap_or_default();
    let files = [home.join(".gemini/.env"), home.join(".env")];
    if files.iter().any(|file| text(file).contains("BASE_URL")) {
        return Route::Beside(OTHER_SETTINGS.to_owned());
    }
    let settings = opencode::object(&text(&home.join(".gemini/settings.json"))).unwrap_or_default();
    let chosen =
        Value::Object(settings).pointer("/security/auth/selectedType").and_then(Value::as_str).map(str::to_owned);
    // With an address and without such a choice, the program by itself takes a way that needs no key, and fails.
    let has_way = match chosen.as_deref() {
        Some(chosen) => chosen == "gemini-api-key",
        None => !(is_server || spec.user_settings) || found.value("GOOGLE_GEMINI_BASE_URL").is_some(),
    };
    if !has_way {
        return Route::Beside(OTHER_SETTINGS.to_owned());
    }
    through(found.service(&["GEMINI_API_KEY"], &["GOOGLE_GEMINI_BASE_URL"], GEMINI))
}

/// Services that a command can be given a key of: the variables of the key and of the address, and the usual address.
const KNOWN: [(&[&str], &[&str], &str); 3] = [
    (&["ANTHROPIC_API_KEY"], &["ANTHROPIC_BASE_URL"], ANTHROPIC),
    (&["OPENAI_API_KEY"], &["OPENAI_BASE_URL", "OPENAI_API_BASE"], OPENAI),
    (&["GEMINI_API_KEY", "GOOGLE_API_KEY"], &["GOOGLE_GEMINI_BASE_URL"], GEMINI),
];

/// The variables that say where the service of this key is: who is given the key must not send it elsewhere.
pub fn addresses_of_key(key: &str) -> &'static [&'static str] {
    KNOWN.iter().find(|(keys, ..)| keys.contains(&key)).map_or(&[], |(_, addresses, _)| *addresses)
}

/// Any command that was given a key: it is expected to heed the address that goes with it.
fn command(found: &Found<'_>) -> Route {
    let services: Vec<Service> =
        KNOWN.into_iter().filter_map(|(keys, addresses, usual)| found.service(keys, addresses, usual)).collect();
    if services.is_empty() { Route::Nothing } else { Route::Through(services) }
}

/// Providers of OpenCode whose address is known without their settings: the id, the variables of the key, the address.
const PROVIDERS: [(&str, &[&str], &str); 3] = [
    ("anthropic", &["ANTHROPIC_API_KEY"], "https://api.anthropic.com/v1"),
    ("openai", &["OPENAI_API_KEY"], OPENAI),
    ("google", &["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"], "https://generativelanguage.googleapis.com/v1beta"),
];

fn providers(spec: &AgentSpec, found: &Found<'_>) -> Route {
    let settings = opencode::of_user(|name| found.value(name).map(str::to_owned));
    let settings: Vec<Value> = settings.into_iter().map(Value::Object).collect();
    let of_settings = |pointer: &str| settings.iter().rev().find_map(|one| one.pointer(pointer)?.as_str());
    let model = spec.model.as_deref().or_else(|| of_settings("/model"));
    let Some((id, _)) = model.and_then(|model| model.split_once('/')) else {
        return Route::Beside("its model is not named with its provider".to_owned());
    };
    let data = found.path("XDG_DATA_HOME").or_else(|| found.path("HOME").map(|home| home.join(".local/share")));
    let logins = data.map(|data| text(&data.join("opencode/auth.json"))).and_then(|text| opencode::object(&text));
    if logins.is_some_and(|logins| logins.contains_key(id)) {
        return Route::Beside(OWN_LOGIN.to_owned());
    }
    let known = PROVIDERS.iter().find(|(name, ..)| *name == id);
    let escaped = id.replace('~', "~0").replace('/', "~1");
    let option = |name: &str| of_settings(&format!("/provider/{escaped}/options/{name}"));
    let base = option("baseURL").or(known.map(|(.., base)| *base));
    let key = match option("apiKey") {
        Some(key) => match key.strip_prefix("{env:").and_then(|rest| rest.strip_suffix('}')) {
            Some(name) => found.value(name),
            None => Some(key).filter(|key| !key.starts_with('{')),
        },
        None => known.and_then(|(_, names, _)| names.iter().find_map(|name| found.value(name))),
    };
    match (base, key) {
        (Some(base), Some(key)) if base.starts_with("http") => {
            let settings = Settings::Provider(id.to_owned());
            Route::Through(vec![Service { base: base.to_owned(), key: key.to_owned(), settings }])
        }
        _ => Route::Beside(format!("the address and the key of its provider `{id}` are not known")),
    }
}

impl Service {
    /// Makes the agent ask at this address with this token. The key leaves its environment.
    pub fn redirect(&self, environment: &mut Variables, address: &str, token: &str) {
        for (_, value) in environment.iter_mut() {
            if value.as_os_str() == OsStr::new(&self.key) {
                *value = token.into();
            }
        }
        match &self.settings {
            Settings::Variables { keys, addresses } => {
                let is_other = |name: &OsString| keys.iter().any(|key| name == key);
                for (_, value) in environment.iter_mut().filter(|(name, _)| is_other(name)) {
                    *value = token.into();
                }
                for name in *addresses {
                    set(environment, name, address);
                }
            }
            Settings::Provider(id) => {
                let known = environment.iter().rev().find(|(name, _)| name == CONTENT).map(|(_, value)| value);
                let mut settings = known.and_then(|text| opencode::object(text.to_str()?)).unwrap_or_default();
                let mut provider = settings.remove("provider").unwrap_or_else(|| json!({}));
                if !provider[id]["options"].is_object() {
                    provider[id]["options"] = json!({});
                }
                provider[id]["options"]["baseURL"] = address.into();
                provider[id]["options"]["apiKey"] = token.into();
                settings.insert("provider".into(), provider);
                set(environment, CONTENT, &Value::Object(settings).to_string());
            }
        }
        exempt_loopback(environment);
    }
}

fn set(environment: &mut Variables, name: &str, value: &str) {
    environment.retain(|(known, _)| known != name);
    environment.push((name.into(), value.into()));
}

/// A proxy for the way out is none for the way to loopback.
fn exempt_loopback(environment: &mut Variables) {
    const PROXIES: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    if !environment.iter().any(|(name, value)| PROXIES.iter().any(|proxy| name == proxy) && !value.is_empty()) {
        return;
    }
    for name in ["NO_PROXY", "no_proxy"] {
        let known = environment.iter().rev().find(|(known, _)| known == name).and_then(|(_, value)| value.to_str());
        let list = known
            .filter(|list| !list.is_empty())
            .map_or_else(|| LOOPBACK.to_owned(), |list| format!("{list},{LOOPBACK}"));
        set(environment, name, &list);
    }
}

const LOOPBACK: &str = "127.0.0.1,localhost";

#[cfg(test)]
#[path = "routes_tests.rs"]
mod tests;
