//! What agents and checks may not read, where this machine can hide files.

use std::cell::LazyCell;
use std::ffi::OsString;
use std::path::PathBuf;

use ralph_model::{Access, AgentNetwork, AgentSpec, ConfigError, HostRule, Sandboxing};
use ralph_process::{Network, NetworkLevel, ReadLevel, Sandbox, Unenforceable};

use crate::services::Services;

/// What a process may not read besides Ralph's state: what the user named, and the usual places of keys and logins except
/// those that the user allows or that the process may write.
pub(crate) fn hidden(
    services: &Services,
    who: Option<&AgentSpec>,
    environment: &[(OsString, OsString)],
    access: &Access,
    writable: &[PathBuf],
) -> Vec<PathBuf> {
    if services.level.reads != ReadLevel::Hidden {
        return Vec::new();
    }
    // Most of the usual places do not exist, which one call tells; to resolve a path takes one for each of its parts.
    let resolved = |path: PathBuf| path.exists().then(|| path.canonicalize().ok()).flatten();
    let allowed =
        LazyCell::new(|| access.allow_read.iter().map(PathBuf::from).filter_map(resolved).collect::<Vec<_>>());
    let writable = LazyCell::new(|| writable.iter().cloned().filter_map(resolved).collect::<Vec<_>>());
    let is_allowed =
        |path: &PathBuf| allowed.iter().any(|allowed| path.starts_with(allowed)) || writable.contains(path);
    let usual = (services.hidden)(who, environment).into_iter().filter_map(resolved);
    access.hide.iter().map(PathBuf::from).chain(usual.filter(|path| !is_allowed(path))).collect()
}

/// Refuses a run that would hide what its processes have to write, or that requires what this machine cannot hide. Else how
/// agents are restricted besides, in words.
pub(crate) fn ensure_possible(
    services: &Services,
    access: &Access,
    sandbox: Sandboxing,
    own: impl Iterator<Item = PathBuf>,
) -> Result<String, ConfigError> {
    if sandbox == Sandboxing::Off {
        return Ok(String::new());
    }
    if !access.hide.is_empty() {
        ensure_hideable(services, access, sandbox, own)?;
    }
    if access.agent_network == AgentNetwork::Full || services.level.network != NetworkLevel::Namespace {
        return Ok(String::new());
    }
    let hosts: Vec<String> = access.allow_hosts.iter().map(HostRule::to_string).collect();
    let besides = if hosts.is_empty() { String::new() } else { format!(" and {}", hosts.join(", ")) };
    Ok(format!(", agents reach only their model services{besides}"))
}

fn ensure_hideable(
    services: &Services,
    access: &Access,
    sandbox: Sandboxing,
    own: impl Iterator<Item = PathBuf>,
) -> Result<(), ConfigError> {
    if let (Sandboxing::Require, ReadLevel::Open { why }) = (sandbox, &services.level.reads) {
        let problem = format!("this machine cannot hide files: {why}");
        return Err(ConfigError::new("hide", problem, "bubblewrap, or user namespaces; @sandbox on starts without it"));
    }
    let sandbox = Sandbox {
        writable: services.writable.iter().cloned().chain(own).collect(),
        hidden: access.hide.iter().map(PathBuf::from).collect(),
        network: Network::Allowed,
        level: services.level.clone(),
    };
    match sandbox.check() {
        Err(Unenforceable::Contradiction { path }) => {
            let problem = format!("{} is where agent and checks write", path.display());
            Err(ConfigError::new("hide", problem, "a path that the work does not need"))
        }
        Ok(()) | Err(Unenforceable::Exposed { .. }) => Ok(()),
    }
}
