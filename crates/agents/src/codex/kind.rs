//! What is known of Codex before it is called.

use crate::agent::Capabilities;
use crate::programs::Program;
use crate::registry::{Behind, Kind, Needs, Start};

pub(crate) static KIND: Kind = Kind {
    name: PROGRAM.name,
    needs: Needs::Program,
    capabilities: Capabilities::STREAMING,
    program: Behind::Program(&PROGRAM),
    start: Start::Program(|spec, program, request| Ok(super::invocation(spec, program, request))),
    log_parser: Some(|| super::parser(super::Guard::Outer)),
};

pub(crate) const PROGRAM: Program = Program {
    name: "codex",
    title: "Codex",
    install: "npm install -g @openai/codex",
    login: "run `codex login`, or set CODEX_API_KEY or OPENAI_API_KEY",
    credit: Some("check the plan or the credit of the account, or run `codex login` with another"),
    other_model: "choose a model that the account can use",
    keys: &["OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"],
    logins: &[(Some("CODEX_HOME"), "auth.json"), (None, ".codex/auth.json")],
    variables: &["CODEX_HOME", "CODEX_ACCESS_TOKEN", "CODEX_CA_CERTIFICATE", "CODEX_SQLITE_HOME"],
    families: &["OPENAI_"],
    clouds: &[],
    folders: &[".codex"],
    made: &[".codex"],
    settings: &[
        ".codex/config.toml",
        ".codex/hooks.json",
        ".codex/AGENTS.md",
        ".codex/AGENTS.override.md",
        ".codex/.env",
        ".codex/managed_config.toml",
        ".codex/prompts",
        ".codex/rules",
        ".codex/hooks",
        ".codex/skills",
        ".codex/agents",
        ".codex/plugins",
    ],
    moved: &[("CODEX_HOME", "")],
    model_choices: &[],
    unpriced_default: Some("gpt-6.1-sol"),
    foreign_code: None,
    server_variables: None,
    server_words: Some(super::server_words),
};
