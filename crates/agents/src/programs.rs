//! What is known about the well-known agent programs: how to get them, how to log in, which variables are theirs and which
//! folders they write. Plain facts; looks at nothing.

use ralph_model::AgentKind;

/// What is known about one program.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// The kind, and the usual name of the program.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// A command that installs it.
    pub install: &'static str,
    /// How to log in.
    pub login: &'static str,
    /// Variables of which one is enough to be logged in.
    pub keys: &'static [&'static str],
    /// Files of which one is there after a login, relative to the home folder or to the folder that a variable names.
    pub logins: &'static [(Option<&'static str>, &'static str)],
    /// Variables that are its own.
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
}

/// The programs, in the order in which they are looked for.
pub const PROGRAMS: [Program; 4] = [
    Program {
        name: "claude",
        title: "Claude Code",
        install: "npm install -g @anthropic-ai/claude-code",
        login: "run `claude` and type /login, or set ANTHROPIC_API_KEY",
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
            (
                "CLAUDE_CODE_USE_VERTEX",
                &["GOOGLE_", "CLOUD_ML_", "CLOUDSDK_CONFIG", "GCLOUD_PROJECT", "VERTEX_REGION_"],
            ),
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
    },
    Program {
        name: "codex",
        title: "Codex",
        install: "npm install -g @openai/codex",
        login: "run `codex login`, or set CODEX_API_KEY or OPENAI_API_KEY",
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
    },
    Program {
        name: "opencode",
        title: "OpenCode",
        install: "npm install -g opencode-ai",
        login: "run `opencode auth login`, or set the key of your provider, such as ANTHROPIC_API_KEY",
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
    },
    Program {
        name: "gemini",
        title: "Gemini CLI",
        install: "npm install -g @google/gemini-cli",
        login: "run `gemini` and log in, or set GEMINI_API_KEY",
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
    },
];

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
    /// What is known about a kind; of a server, by the program that its command names.
    #[must_use]
    pub fn of(kind: &AgentKind) -> Option<&'static Self> {
        let named = |name: &str| PROGRAMS.iter().find(|program| program.name == name);
        match kind {
            AgentKind::Command { .. } => None,
            AgentKind::Acp { command } => {
                let name = server(command)?;
                PROGRAMS
                    .iter()
                    .find(|program| name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == program.name))
            }
            AgentKind::Claude { .. }
            | AgentKind::Codex { .. }
            | AgentKind::Opencode { .. }
            | AgentKind::Gemini { .. } => named(kind.name()),
        }
    }

    /// Whether a variable belongs to a cloud that the program is told to work through.
    pub fn reaches(&self, variable: &str, is_set: impl Fn(&str) -> bool) -> bool {
        let belongs = |families: &[&str]| families.iter().any(|family| variable.starts_with(family));
        self.clouds.iter().any(|(switch, families)| belongs(families) && is_set(switch))
    }

    /// The model that it takes by itself, where that has no price in the list; of the version that was tried.
    #[must_use]
    pub fn unpriced_default(&self) -> Option<&'static str> {
        (self.name == "codex").then_some("gpt-6.1-sol")
    }

    /// Whether a variable is the program's own.
    #[must_use]
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
