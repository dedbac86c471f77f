//! Which environment variables agents and checks get. A list of what is allowed, never of what is forbidden: a variable
//! that is on no list stays out. Pure over the variables that come in.

use std::ffi::{OsStr, OsString};

use ralph_agents::dotenv;

/// Variables that programs need to run at all, and where toolchains keep their things.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "JDK_HOME",
    "MAVEN_HOME",
    "M2_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "NVM_DIR",
    "NVM_BIN",
    "FNM_DIR",
    "VOLTA_HOME",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "COREPACK_HOME",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "UV_CACHE_DIR",
    "PIP_CACHE_DIR",
    "POETRY_HOME",
    "RBENV_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "COMPOSER_HOME",
    "DOTNET_ROOT",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "SDKMAN_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Families of such variables.
const ALLOWED_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// Parts of a name that say that the value is a secret.
const SECRET_PARTS: [&str; 11] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
    "CUSTOM_HEADERS",
    "CONFIG_CONTENT",
];
/// Ends of a name that say the same. `PWD` alone is the current folder.
const SECRET_ENDS: [&str; 2] = ["_PWD", "_PAT"];

/// What a process gets, and what has to be hidden wherever it turns up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Environment {
    /// For agents and checks, complete: nothing else is inherited.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// Secrets that the user named: for agents only, because what a check runs is the agent's to write.
    pub(crate) for_agents: Vec<(OsString, OsString)>,
    /// Name and value of every variable that looks like a secret, handed over or not.
    pub(crate) secrets: Vec<(String, String)>,
    /// Names that were asked for and that are not set.
    pub(crate) absent: Vec<String>,
}

/// Chooses from all variables: the usual ones, and those `named` by the user.
///
/// `NODE_PATH`, `PYTHONPATH`, `LD_LIBRARY_PATH` and the like are left out on purpose: they put code of other places into
/// every process, and a check that passes because of them proves nothing about the workspace.
pub(crate) fn choose(variables: impl IntoIterator<Item = (OsString, OsString)>, named: &[String]) -> Environment {
    let mut chosen =
        Environment { variables: Vec::new(), for_agents: Vec::new(), secrets: Vec::new(), absent: named.to_vec() };
    for (name, value) in variables {
        let is_named = named.iter().any(|wanted| OsStr::new(wanted) == name);
        chosen.absent.retain(|wanted| OsStr::new(wanted) != name);
        let secret = is_secret(&name);
        if secret {
            // Lossy is right here: output is compared with it as text.
            chosen.secrets.push((name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
        }
        match (secret, is_named) {
            (true, true) => chosen.for_agents.push((name, value)),
            (false, true) => chosen.variables.push((name, value)),
            (false, false) if is_usual(&name) => chosen.variables.push((name, value)),
            (_, false) => {}
        }
    }
    if !chosen.variables.iter().any(|(name, _)| name == "TERM") {
        // There is no terminal: whatever asks is told so, and prints no colours.
        chosen.variables.push(("TERM".into(), "dumb".into()));
    }
    chosen.variables.sort();
    chosen
}

/// Variables that agents keep in files of their own and that reach their environment from there: the `env` of Claude Code's
/// settings, and the `.env` files of Gemini CLI.
pub(crate) fn written(claude: Option<&str>, gemini: &[String]) -> Vec<(String, String)> {
    let settings: Option<serde_json::Value> = claude.and_then(|text| serde_json::from_str(text).ok());
    let table = settings.as_ref().and_then(|settings| settings.get("env")?.as_object());
    let from_table = table.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    let from_table = from_table.map(|(name, value)| (name.to_owned(), value.to_owned()));
    from_table.chain(gemini.iter().flat_map(|text| dotenv::variables(text))).collect()
}

pub(crate) fn secrets(variables: Vec<(String, String)>) -> Vec<(String, String)> {
    variables.into_iter().filter(|(name, value)| is_secret(OsStr::new(name)) && !value.is_empty()).collect()
}

fn is_usual(name: &OsStr) -> bool {
    // There the sockets of the user's session lie: a way out of the sandbox.
    name != "XDG_RUNTIME_DIR"
        && name.to_str().is_some_and(|name| {
            ALLOWED.contains(&name) || ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        })
}

fn is_secret(name: &OsStr) -> bool {
    // Who wrote a commit is no secret.
    let name = name.to_string_lossy().to_ascii_uppercase().replace("AUTHOR_", "");
    SECRET_PARTS.iter().any(|part| name.contains(part)) || SECRET_ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
