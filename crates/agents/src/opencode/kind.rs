//! What is known of OpenCode before it is called.

use crate::agent::{Capabilities, ReportsCost};
use crate::programs::Program;
use crate::registry::{Behind, Kind, Needs, Start};

pub(crate) static KIND: Kind = Kind {
    name: PROGRAM.name,
    needs: Needs::Program,
    capabilities: Capabilities {
        reports_cost: ReportsCost::Sometimes,
        reports_usage_while_working: true,
        // It is silent until the service begins to answer.
        announces_start: false,
        ..Capabilities::STREAMING
    },
    program: Behind::Program(&PROGRAM),
    start: Start::Program(|spec, program, request| Ok(super::invocation(spec, program, request))),
    log_parser: Some(|| super::parser(None)),
};

pub(crate) const PROGRAM: Program = Program {
    name: "opencode",
    title: "OpenCode",
    install: "npm install -g opencode-ai",
    login: "run `opencode auth login`, or set the key of your provider, such as ANTHROPIC_API_KEY",
    credit: None,
    other_model: "`opencode models` lists the models that this account has; name one as provider/model",
    keys: PROVIDER_KEYS,
    logins: &[(Some("XDG_DATA_HOME"), "opencode/auth.json"), (None, ".local/share/opencode/auth.json")],
    variables: PROVIDER_KEYS,
    families: &["OPENCODE_"],
    clouds: &[],
    folders: &[".opencode", ".config/opencode", ".local/share/opencode", ".local/state/opencode"],
    made: &[".config/opencode", ".local/share/opencode", ".local/state/opencode"],
    settings: &[
        ".config/opencode/config.json",
        ".config/opencode/opencode.json",
        ".config/opencode/opencode.jsonc",
        ".config/opencode/tui.json",
        ".config/opencode/AGENTS.md",
        ".config/opencode/plugin",
        ".config/opencode/plugins",
        ".config/opencode/command",
        ".config/opencode/commands",
        ".config/opencode/agent",
        ".config/opencode/agents",
        ".config/opencode/tool",
        ".config/opencode/tools",
        ".config/opencode/mode",
        ".config/opencode/modes",
        ".config/opencode/skill",
        ".config/opencode/skills",
        // Not the whole folder: packages of thousands of files are installed there.
        ".opencode/opencode.json",
        ".opencode/opencode.jsonc",
        ".opencode/bin",
        ".opencode/plugin",
        ".opencode/plugins",
        ".opencode/command",
        ".opencode/commands",
        ".opencode/agent",
        ".opencode/agents",
        ".opencode/tool",
        ".opencode/tools",
        ".opencode/mode",
        ".opencode/modes",
        ".opencode/skill",
        ".opencode/skills",
    ],
    moved: &[("XDG_CONFIG_HOME", "opencode"), ("XDG_DATA_HOME", "opencode"), ("XDG_STATE_HOME", "opencode")],
    model_choices: &[],
    unpriced_default: None,
    foreign_code: Some(super::foreign),
    server_variables: Some(super::environment),
    server_words: None,
};

/// Keys of the services that OpenCode speaks to.
const PROVIDER_KEYS: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "OPENROUTER_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "XAI_API_KEY",
    "CEREBRAS_API_KEY",
    "TOGETHER_API_KEY",
    "FIREWORKS_API_KEY",
    "MOONSHOT_API_KEY",
    "ZHIPU_API_KEY",
    "KIMI_API_KEY",
    "MINIMAX_API_KEY",
    "DEEPINFRA_API_KEY",
    "PERPLEXITY_API_KEY",
    "COHERE_API_KEY",
    "AI_GATEWAY_API_KEY",
    "OLLAMA_API_KEY",
];
