//! What is known of Claude Code before it is called.

use crate::agent::{Capabilities, ReportsCost};
use crate::programs::Program;
use crate::registry::{Behind, Kind, Needs, Start};

pub(crate) static KIND: Kind = Kind {
    name: PROGRAM.name,
    needs: Needs::Program,
    capabilities: Capabilities {
        reports_cost: ReportsCost::Always,
        reports_usage_while_working: true,
        asks_permission: true,
        has_hooks: true,
        ..Capabilities::STREAMING
    },
    program: Behind::Program(&PROGRAM),
    start: Start::Program(super::invocation),
    log_parser: Some(super::parser),
};

pub(crate) const PROGRAM: Program = Program {
    name: "claude",
    title: "Claude Code",
    install: "npm install -g @anthropic-ai/claude-code",
    login: "run `claude` and type /login, or set ANTHROPIC_API_KEY",
    credit: Some("add credit to the account that pays for Claude, or log in to another one"),
    other_model: "choose a model that the account can use, or let Claude Code choose",
    keys: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
    ],
    logins: &[(Some("CLAUDE_CONFIG_DIR"), ".credentials.json"), (None, ".claude/.credentials.json")],
    // Not the whole family of CLAUDE_: some of it turns hooks and instructions off, or belongs to an outer session.
    variables: &[
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
        "CLAUDE_CODE_SKIP_VERTEX_AUTH",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
        "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
        "CLAUDE_CODE_CLIENT_CERT",
        "CLAUDE_CODE_CLIENT_KEY",
        "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
        "CLAUDE_CODE_SHELL",
        "API_TIMEOUT_MS",
        "BASH_DEFAULT_TIMEOUT_MS",
        "BASH_MAX_TIMEOUT_MS",
        "BASH_MAX_OUTPUT_LENGTH",
        "MAX_THINKING_TOKENS",
    ],
    families: &["ANTHROPIC_"],
    clouds: &[
        ("CLAUDE_CODE_USE_BEDROCK", &["AWS_"]),
        ("CLAUDE_CODE_USE_VERTEX", &["GOOGLE_", "CLOUD_ML_", "CLOUDSDK_CONFIG", "GCLOUD_PROJECT", "VERTEX_REGION_"]),
    ],
    folders: &[".claude", ".claude.json"],
    made: &[".claude"],
    settings: &[
        // Of this one only what steers: the rest is its state and changes in every run.
        ".claude.json",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/remote-settings.json",
        ".claude/CLAUDE.md",
        ".claude/statusline.sh",
        ".claude/statusline.py",
        ".claude/statusline.js",
        ".claude/statusline-command.sh",
        ".claude/commands",
        ".claude/agents",
        ".claude/skills",
        ".claude/hooks",
        ".claude/rules",
        ".claude/scripts",
        ".claude/workflows",
        ".claude/output-styles",
        ".claude/plugins",
    ],
    moved: &[("CLAUDE_CONFIG_DIR", "")],
    model_choices: &[],
    unpriced_default: None,
    foreign_code: None,
    server_variables: None,
    server_words: None,
};
