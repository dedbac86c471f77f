//! What is known about a well-known agent program: how to get it, how to log in, which variables are its own and which folders it
//! writes. Plain facts, one table in each kind's module; looks at nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ralph_model::{AgentSpec, Trouble, TroubleKind};

use crate::registry::{Behind, Kind};
use crate::request::Request;

/// Finds code from the workspace and the home folder.
type FindCode = fn(&Path, Option<&Path>) -> Option<PathBuf>;
type Variables = fn(&AgentSpec, &Request<'_>) -> Vec<(OsString, OsString)>;
/// More words for the command line of an agent.
type Words = fn(&AgentSpec, &Request<'_>) -> Vec<OsString>;

#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// The kind, and the usual name of the program.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    pub install: &'static str,
    pub login: &'static str,
    /// How to get credit, where it is known.
    pub credit: Option<&'static str>,
    /// How to choose another model.
    pub other_model: &'static str,
    /// Variables of which one is enough to be logged in.
    pub keys: &'static [&'static str],
    /// Files of which one is there after a login, relative to the home folder or to the folder that a variable names.
    pub logins: &'static [(Option<&'static str>, &'static str)],
    pub variables: &'static [&'static str],
    /// Beginnings of names of variables that are its own.
    pub families: &'static [&'static str],
    /// Clouds that it can work through: the variable that says so, and the beginnings of names that are its own then.
    pub clouds: &'static [(&'static str, &'static [&'static str])],
    /// Folders and files below the home folder that it writes.
    pub folders: &'static [&'static str],
    /// Those of them that have to be there before it is started.
    pub made: &'static [&'static str],
    /// Files and folders in them that say how it works: settings, hooks, plugins, instructions.
    pub settings: &'static [&'static str],
    /// Variables that move such a folder, and what of the place that they name it is.
    pub moved: &'static [(&'static str, &'static str)],
    /// Names of models that leave the choice to the program, which then says which one it took.
    pub model_choices: &'static [&'static str],
    /// The model that it takes by itself, where that has no price in the list; of the version that was tried.
    pub unpriced_default: Option<&'static str>,
    /// Finds code of a repository that it would run as part of itself, with no way to keep it from that; from the workspace and the
    /// home folder.
    pub(crate) foreign_code: Option<FindCode>,
    /// Its variables as a server of the Agent Client Protocol, where it has some.
    pub(crate) server_variables: Option<Variables>,
    /// Words that make it work as such a server with a key of the environment, where no variable does.
    pub(crate) server_words: Option<Words>,
}

/// How a way out of a closed network is named, and whose word for other servers' certificates counts.
const NETWORK: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "NODE_EXTRA_CA_CERTS",
];

impl Program {
    /// What is known about the program behind an agent; of a server, by the program that its command names.
    pub fn of(spec: &AgentSpec) -> Option<&'static Self> {
        match &Kind::of(spec)?.program {
            Behind::Program(program) => Some(program),
            Behind::NamedInCommand => {
                let name = server(spec.shell_line()?)?;
                let is_word =
                    |program: &&Self| name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == program.name);
                Self::all().find(is_word)
            }
            Behind::Unknown => None,
        }
    }

    /// The well-known programs, in the order in which they are looked for.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        Kind::all().filter_map(Kind::program)
    }

    /// The trouble with what a person can do about it.
    pub fn advised(&self, trouble: Trouble) -> Trouble {
        let advice = match trouble.kind {
            TroubleKind::Authentication => Some(self.login),
            TroubleKind::OutOfCredit => self.credit,
            TroubleKind::ModelNotFound => Some(self.other_model),
            TroubleKind::RateLimit
            | TroubleKind::Overload
            | TroubleKind::Unreachable
            | TroubleKind::ContextOverflow
            | TroubleKind::Setup => None,
        };
        Trouble { advice: advice.map(str::to_owned), ..trouble }
    }

    /// Whether a variable belongs to a cloud that the program is told to work through.
    pub fn reaches(&self, variable: &str, is_set: impl Fn(&str) -> bool) -> bool {
        let belongs = |families: &[&str]| families.iter().any(|family| variable.starts_with(family));
        self.clouds.iter().any(|(switch, families)| belongs(families) && is_set(switch))
    }

    pub fn owns(&self, variable: &str) -> bool {
        self.variables.contains(&variable)
            || self.keys.contains(&variable)
            || self.families.iter().any(|family| variable.starts_with(family))
            || NETWORK.contains(&variable)
    }
}

/// Programs that run another one, which is named behind them.
const RUNNERS: [&str; 13] =
    ["env", "exec", "nice", "npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "deno", "node", "nodejs"];
/// Words of theirs that come before it.
const VERBS: [&str; 6] = ["exec", "dlx", "run", "x", "start", "--"];

/// Whether words at the end of a line of shell go to the one program that it starts.
pub(crate) fn takes_words(command: &str) -> bool {
    !command.contains([';', '|', '&', '<', '>', '(', ')', '`', '#', '\n'])
}

/// The name of the program or package that a line of shell starts. Where it lies says nothing about what it is.
fn server(command: &str) -> Option<&str> {
    let is_setting = |word: &str| word.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let first = words.by_ref().find(|word| !is_setting(word))?;
    let mut name = file_name(first);
    while RUNNERS.contains(&name) {
        let behind = |word: &&str| !word.starts_with('-') && !is_setting(word) && !VERBS.contains(word);
        let word = words.by_ref().find(behind)?;
        name = match word.rsplit_once("node_modules/") {
            // The file in a package is an `index.js` more often than not.
            Some((_, package)) => package_name(package),
            None if word.starts_with('@') => package_name(word),
            None => file_name(word),
        };
    }
    Some(name)
}

/// The last part of a path, without the version that a package may be asked for in.
fn file_name(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.split('@').next().unwrap_or(name)
}

/// The name of a package, without whose it is.
fn package_name(path: &str) -> &str {
    let path = path.strip_prefix('@').and_then(|scoped| scoped.split_once('/')).map_or(path, |(_, name)| name);
    let name = path.split('/').next().unwrap_or(path);
    name.split('@').next().unwrap_or(name)
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
