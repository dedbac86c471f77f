//! What can be wrong with a configuration. Every message says where, what, and what to do; all of them end Ralph with
//! exit code 2 before anything is started.

use std::io;
use std::path::PathBuf;

use ralph_model::ConfigError;

use super::{Key, Location, Spelling};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: could not be read: {source}\n  make it readable, or move it away", .path.display())]
    Read { path: PathBuf, source: io::Error },

    #[error("{}: {what}\n  allowed: an ordinary file of at most 256 KiB", .path.display())]
    NotOrdinary { path: PathBuf, what: &'static str },

    #[error("{}: is not UTF-8 text\n  save it as UTF-8", .path.display())]
    NotText { path: PathBuf },

    #[error("{at}: is not valid TOML: {message}\n{}", .at.snippet())]
    Syntax { at: Location, message: String },

    #[error("{at}: `{key}` is not a key\n{}\n  did you mean `{nearest}`?", .at.snippet())]
    UnknownKey { at: Location, key: String, nearest: String },

    #[error("{at}: `{key}` cannot be set in a file: {why}\n{}", .at.snippet())]
    NeverInAFile { at: Location, key: String, why: &'static str },

    #[error(
        "{at}: `{name}` cannot be the name of an agent\n{}\n  allowed: letters, digits, `-`, `_` and `.`",
        .at.snippet()
    )]
    AgentName { at: Location, name: String },

    #[error("{at}: `{key}`: {message}\n{}\n  example: {example}", .at.snippet())]
    Value { at: Location, key: String, message: String, example: &'static str },

    #[error(
        "{at}: `{key}` is not allowed in a repository: it {}\n{}\n  set it in your own configuration, or remove it here",
        .setting.effect(), .at.snippet()
    )]
    NotForRepositories { at: Location, key: String, setting: Key },

    #[error(
        "{at}: `{key}`: `{glob}` is not allowed in a repository: it would allow what is prohibited\n{}\n  \
         remove it, or pass --prohibit '{glob}' yourself",
        .at.snippet()
    )]
    Widens { at: Location, key: &'static str, glob: String },

    #[error("{name}: is not known\n  did you mean `{nearest}`?")]
    UnknownName { name: String, nearest: String },

    #[error("{name} is not allowed in a request: it {}\n  set it in your own configuration", .key.effect())]
    NotForRequests { name: String, key: Key },

    #[error("{name}: {message}")]
    RequestValue { name: String, message: String },

    #[error(
        "{at}: {}\n{}\n  allowed: {}",
        Spelling::File.text(&.rule.sentence(&format!("`{}`", .rule.key))), .at.snippet(), Spelling::File.text(&.rule.allowed)
    )]
    RuleInAFile { at: Location, rule: ConfigError },

    /// A rule over the whole configuration.
    #[error(transparent)]
    Rule(#[from] ConfigError),
}
