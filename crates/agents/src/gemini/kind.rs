//! What is known of Gemini CLI before it is called.

use std::path::Path;

use crate::agent::Capabilities;
use crate::programs::Program;
use crate::registry::{Behind, Kind, Needs, Start};

pub(crate) static KIND: Kind = Kind {
    name: PROGRAM.name,
    needs: Needs::Program,
    capabilities: Capabilities::STREAMING,
    program: Behind::Program(&PROGRAM),
    start: Start::Program(super::invocation),
    log_parser: Some(|| super::parser(Path::new(""), None)),
};

pub(crate) const PROGRAM: Program = Program {
    name: "gemini",
    title: "Gemini CLI",
    install: "npm install -g @google/gemini-cli",
    login: "run `gemini` and log in, or set GEMINI_API_KEY",
    credit: Some("turn on billing for the key's project in Google AI Studio, or use another key or model"),
    other_model: "choose a model that this account can use",
    keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    logins: &[(Some("GEMINI_CLI_HOME"), ".gemini/oauth_creds.json"), (None, ".gemini/oauth_creds.json")],
    variables: &[
        "GOOGLE_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_VERTEX_BASE_URL",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_CLOUD_LOCATION",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_GENAI_USE_GCA",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_CLOUD_PROJECT_ID",
        "GOOGLE_CLOUD_QUOTA_PROJECT",
        "GOOGLE_CLOUD_ACCESS_TOKEN",
        "GOOGLE_GENAI_API_VERSION",
        "CODE_ASSIST_ENDPOINT",
        "CLOUDSDK_CONFIG",
        "CLOUD_SHELL",
    ],
    families: &["GEMINI_"],
    clouds: &[],
    folders: &[".gemini"],
    made: &[".gemini"],
    settings: &[
        ".gemini/settings.json",
        ".gemini/.env",
        ".gemini/GEMINI.md",
        ".gemini/AGENTS.md",
        ".gemini/system.md",
        ".gemini/trustedFolders.json",
        ".gemini/trusted_hooks.json",
        ".gemini/commands",
        ".gemini/agents",
        ".gemini/skills",
        ".gemini/extensions",
        ".gemini/acknowledgments",
        ".gemini/policies",
        ".gemini/hooks",
    ],
    moved: &[("GEMINI_CLI_HOME", ".gemini")],
    model_choices: &super::CHOICES,
    unpriced_default: None,
    foreign_code: None,
    server_variables: None,
    server_words: None,
};
