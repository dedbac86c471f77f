//! What agents and checks may write besides the workspace: temporary folders and caches of toolchains; agents also their own
//! settings. Pure over the variables that come in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ralph_agents::Program;
use ralph_model::AgentSpec;

/// Caches of toolchains, below the home folder; never whole folders in which programs or start-up files lie beside the
/// cache.
const BELOW_HOME: &[&str] = &[
    ".cache",
    ".npm",
    ".yarn/cache",
    ".yarn/berry/cache",
    ".local/share/pnpm/store",
    ".pnpm-store",
    ".bun/install/cache",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    "go/pkg",
    ".gradle/caches",
    ".gradle/daemon",
    ".gradle/native",
    ".gradle/notifications",
    ".gradle/workers",
    ".m2/repository",
    ".ivy2/cache",
    ".nuget/packages",
    ".bundle/cache",
    ".composer/cache",
    ".stack/pantry",
    ".stack/snapshots",
    ".cabal/packages",
    ".cabal/store",
    ".hex/packages",
    ".pub-cache/hosted",
    ".konan/cache",
    ".android/cache",
];

/// Settings of agents that Ralph knows nothing else about, below the home folder: they write them while they work. Some name
/// programs that the agent starts the next time, so only an agent may write them.
const OTHERS: &[&str] = &[
    ".config/goose",
    ".local/share/goose",
    ".aider",
    ".config/github-copilot",
    ".copilot",
    ".cursor",
    ".continue",
    ".qwen",
];

/// Keys, cloud logins and browser profiles below the home folder, which agents and checks have no business with; and the
/// beginnings of variables that mean, where a process gets one, that it works with what is there.
const SECRETS: &[(&str, &[&str])] = &[
    (".ssh", &[]),
    (".gnupg", &[]),
    (".password-store", &[]),
    (".local/share/keyrings", &[]),
    (".local/share/kwalletd", &[]),
    (".aws", &["AWS_"]),
    (".azure", &["AZURE_"]),
    (".config/gcloud", &["GOOGLE_CLOUD_", "GOOGLE_APPLICATION_", "GOOGLE_GENAI_USE_", "CLOUDSDK_", "CLOUD_ML_"]),
    (".oci", &["OCI_"]),
    (".kube", &["KUBECONFIG"]),
    (".config/doctl", &["DIGITALOCEAN_"]),
    (".config/hcloud", &["HCLOUD_"]),
    (".fly", &["FLY_"]),
    (".terraform.d/credentials.tfrc.json", &["TF_"]),
    (".vault-token", &["VAULT_"]),
    (".cargo/credentials.toml", &["CARGO_REGISTRY_", "CARGO_REGISTRIES_"]),
    (".cargo/credentials", &["CARGO_REGISTRY_", "CARGO_REGISTRIES_"]),
    (".pypirc", &["TWINE_"]),
    (".mozilla", &[]),
    (".thunderbird", &[]),
    (".config/google-chrome", &[]),
    (".config/chromium", &[]),
    (".config/BraveSoftware", &[]),
    (".config/microsoft-edge", &[]),
    (".config/vivaldi", &[]),
    (".config/opera", &[]),
    ("snap/firefox", &[]),
    ("snap/chromium", &[]),
    (".var/app/org.mozilla.firefox", &[]),
    (".var/app/com.google.Chrome", &[]),
    (".var/app/org.chromium.Chromium", &[]),
    (".config/1Password", &[]),
    (".config/Bitwarden", &[]),
];

/// Variables that say where such a folder is, and what of it may be written.
const BY_VARIABLE: &[(&str, &[&str])] = &[
    ("TMPDIR", &[""]),
    ("XDG_CACHE_HOME", &[""]),
    ("CARGO_HOME", &["registry", "git", ".package-cache", ".package-cache-mutate", ".global-cache"]),
    ("GOCACHE", &[""]),
    ("GOMODCACHE", &[""]),
    ("GOPATH", &["pkg"]),
    ("GRADLE_USER_HOME", &["caches", "daemon", "native", "notifications", "workers"]),
    ("UV_CACHE_DIR", &[""]),
    ("PIP_CACHE_DIR", &[""]),
    ("DENO_DIR", &[""]),
    ("COREPACK_HOME", &[""]),
    ("BUN_INSTALL", &["install/cache"]),
    ("npm_config_cache", &[""]),
];

/// The user's home; none where it is the root of everything, of which no folder is the user's own.
fn home(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute() && home != Path::new("/"))
}

/// What an agent may write besides that: its own settings. A command may be any of them.
pub(crate) fn settings(agent: &AgentSpec, variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let (programs, others): (Vec<&Program>, &[&str]) = match Program::of(agent) {
        Some(program) => (vec![program], &[]),
        None => (Program::all().collect(), OTHERS),
    };
    let home = home(&variable);
    let folders = programs.iter().flat_map(|program| program.folders).chain(others);
    let usual = home.iter().flat_map(|home| folders.clone().map(|below| home.join(below)));
    let named = programs.iter().flat_map(|program| program.moved).filter_map(|(name, below)| {
        let place = PathBuf::from(variable(name)?);
        (place.is_absolute() && place.parent().is_some()).then(|| place.join(below))
    });
    usual.chain(named).collect()
}

/// What an agent, or a check where there is none, may not read: keys, cloud logins, browser profiles, and the folders of other
/// agents. A command of the user's own may be any agent, so that none is hidden from it.
pub(crate) fn hidden(
    who: Option<&AgentSpec>,
    environment: &[(OsString, OsString)],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<PathBuf> {
    let Some(home) = home(&variable) else { return Vec::new() };
    let has = |prefix: &&str| environment.iter().any(|(name, _)| name.to_string_lossy().starts_with(prefix));
    let secrets = SECRETS.iter().filter(|(_, users)| !users.iter().any(&has));
    let mut paths: Vec<PathBuf> = secrets.map(|(below, _)| home.join(below)).collect();
    let own = match who.map(Program::of) {
        Some(None) => return paths,
        Some(Some(program)) => Some(program.name),
        None => None,
    };
    for program in Program::all().filter(|program| Some(program.name) != own) {
        paths.extend(program.folders.iter().map(|below| home.join(below)));
        let moved = program.moved.iter().filter_map(|(name, below)| Some((PathBuf::from(variable(name)?), below)));
        // A variable of another program may name a folder that is not only its own.
        let moved = moved.filter(|(place, _)| place.is_absolute() && !home.starts_with(place));
        paths.extend(moved.map(|(place, below)| place.join(below)).filter(|place| !home.starts_with(place)));
    }
    paths.extend(OTHERS.iter().map(|below| home.join(below)));
    paths
}

/// What of that says how an agent works: settings, hooks, plugins, instructions, wherever they were moved to.
pub(crate) fn kept(agent: &AgentSpec, variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    // What a command of the user's own has to change is unknown.
    let Some(program) = Program::of(agent) else { return Vec::new() };
    let home = home(&variable);
    let mut paths: Vec<PathBuf> =
        home.iter().flat_map(|home| program.settings.iter().map(|below| home.join(below))).collect();
    for (name, below) in program.moved {
        let Some(place) = variable(name).map(PathBuf::from).filter(|place| place.is_absolute()) else { continue };
        // The same names, in the folder that the variable names instead of the usual one.
        let moved = program.settings.iter().filter_map(|path| Path::new(path).file_name());
        paths.extend(moved.map(|file| place.join(below).join(file)));
    }
    paths
}

/// Caches that nearly every toolchain wants to make. They cannot be made inside the sandbox, so they are made before.
pub(crate) const MADE_BEFORE: [&str; 2] = [".cache", ".npm"];

pub(crate) fn writable(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    if let Some(home) = home(&variable) {
        paths.extend(BELOW_HOME.iter().map(|below| home.join(below)));
    }
    for (name, folders) in BY_VARIABLE {
        // A relative folder, or the root of everything, is a mistake and no permission.
        let place = variable(name).map(PathBuf::from).filter(|place| place.is_absolute() && place.parent().is_some());
        if let Some(place) = place {
            paths.extend(folders.iter().map(|below| if below.is_empty() { place.clone() } else { place.join(below) }));
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

#[cfg(test)]
#[path = "sandbox_tests.rs"]
mod tests;
