//! Who could do the work: which agents are usable, which is the default, and what is missing.

use ralph_model::AgentSpec;

use super::{Finding, Subject};
use ralph_config::read_user;
use ralph_config::{Key, Layer, RepositoryFile};
use ralph_host::agents::{Readiness, advice, listed, preferred};

pub(super) const NAME: &str = "agents";

/// None where the configuration is broken: that is a finding of its own.
pub(super) fn finding(subject: &Subject<'_>) -> Option<Finding> {
    let user = read_user(&subject.dirs.config_file()).ok()?;
    let seen: Vec<(AgentSpec, Readiness)> = listed(&user)
        .ok()?
        .into_iter()
        .map(|spec| {
            let found = (subject.readiness)(&spec);
            (spec, found)
        })
        .collect();
    let with = |wanted: Readiness| seen.iter().filter(move |(_, found)| *found == wanted).map(|(spec, _)| spec);
    let names = |wanted: Readiness| with(wanted).map(|spec| spec.name.as_str()).collect::<Vec<_>>().join(", ");
    let mut parts = Vec::new();
    for (readiness, word) in
        [(Readiness::Usable, "usable"), (Readiness::NoLogin, "no login"), (Readiness::Missing, "missing")]
    {
        let names = names(readiness);
        if !names.is_empty() {
            parts.push(format!("{word}: {names}"));
        }
    }
    let chosen = chosen(subject, &user);
    let usual = preferred(&user, |spec| (subject.readiness)(spec));
    parts.push(match (&chosen, usual.first()) {
        (Some(Chosen::Agents(what) | Chosen::Command(what)), _) => what.clone(),
        (None, Some(name)) => format!("{name} is the default"),
        (None, None) => "there is no default".to_owned(),
    });
    let detail = parts.join("; ");
    if matches!(chosen, Some(Chosen::Command(_))) || with(Readiness::Usable).next().is_some() {
        return Some(Finding::ok(NAME, detail));
    }
    // One login is less than one installation.
    let nearest = with(Readiness::NoLogin).next().map(|spec| (spec, Readiness::NoLogin));
    let nearest = nearest.or_else(|| with(Readiness::Missing).next().map(|spec| (spec, Readiness::Missing)));
    let way = nearest.and_then(|(spec, found)| advice(spec, found).map(|advice| format!("{}: {advice}", spec.name)));
    let other = "`ralph agents` says how to get the others; any other program works with --agent-command";
    Some(Finding::warn(NAME, detail, [way.unwrap_or_default(), other.to_owned()].join("; ")))
}

/// What a file chooses for every loop here, in words.
enum Chosen {
    Agents(String),
    /// A command of the user's own, whose needs are unknown.
    Command(String),
}

fn chosen(subject: &Subject<'_>, user: &Layer) -> Option<Chosen> {
    let workspace = ralph_host::workspace(None, subject.current).ok()?;
    let repository = RepositoryFile::read(&workspace).ok().flatten();
    let says = |key: Key| repository.iter().any(|file| file.needing_approval().any(|present| present.key == key));
    if says(Key::AgentCommand) {
        return Some(Chosen::Command("ralph.toml names a command for this folder".to_owned()));
    }
    if says(Key::Agent) {
        return Some(Chosen::Agents("ralph.toml names one for this folder".to_owned()));
    }
    match (&user.agent, &user.agent_command) {
        (Some(names), _) => Some(Chosen::Agents(format!("your configuration takes {}", names.0.join(", ")))),
        (None, Some(command)) => Some(Chosen::Command(format!("your configuration takes `{command}`"))),
        (None, None) => None,
    }
}
