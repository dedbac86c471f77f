//! What belongs to each client: which files, and what in them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::settings::{Content, JsonEdit, Piece};

/// A program that Ralph can be added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Claude Code: the command, hooks and the server of tools.
    Claude,
    /// OpenCode: the command and the server of tools.
    Opencode,
    /// Codex: the prompt and the server of tools.
    Codex,
    /// Gemini CLI: the command and the server of tools.
    Gemini,
}

/// For whom it is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user, in every project.
    User,
    Project,
}

/// Where clients keep their settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub home: PathBuf,
    pub project: PathBuf,
    /// `CLAUDE_CONFIG_DIR`.
    pub claude_config: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub config_home: Option<PathBuf>,
    /// `CODEX_HOME`.
    pub codex_home: Option<PathBuf>,
    pub program: String,
}

impl Client {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Opencode => "opencode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    pub(crate) fn pieces(self, scope: Scope, places: &Places) -> Vec<Piece> {
        match self {
            Self::Claude => claude(scope, places),
            Self::Opencode => opencode(scope, places),
            Self::Codex => codex(scope, places),
            Self::Gemini => gemini(scope, places),
        }
    }
}

/// How long a client waits for a loop, in seconds: as long as the longest one that is sensible.
const TOOL_TIMEOUT: u64 = 6 * 60 * 60;

fn command_file(path: PathBuf, text: &str, places: &Places) -> Piece {
    Piece { path, content: Content::File { text: text.replace("RALPH", &places.program) } }
}

fn server(path: PathBuf, table: &str, value: Value) -> Piece {
    let edit = JsonEdit::Member { path: vec![table.to_owned(), "ralph".to_owned()], value };
    Piece { path, content: Content::Json { edits: vec![edit] } }
}

fn claude(scope: Scope, places: &Places) -> Vec<Piece> {
    let (folder, servers) = match (scope, &places.claude_config) {
        (Scope::Project, _) => (places.project.join(".claude"), places.project.join(".mcp.json")),
        (Scope::User, Some(folder)) => (folder.clone(), folder.join(".claude.json")),
        (Scope::User, None) => (places.home.join(".claude"), places.home.join(".claude.json")),
    };
    let program = &places.program;
    let hook = |event: &str, matcher: Option<&str>, timeout: Option<u32>| {
        let mut command = json!({ "type": "command", "command": format!("{program} hook") });
        if let Some(timeout) = timeout {
            command["timeout"] = json!(timeout);
        }
        let mut value = json!({ "hooks": [command] });
        if let Some(matcher) = matcher {
            value["matcher"] = json!(matcher);
        }
        JsonEdit::Element { path: vec!["hooks".to_owned(), event.to_owned()], value }
    };
    let hooks = vec![
        hook("Stop", None, Some(3600)),
        hook("PreToolUse", Some("Write|Edit|MultiEdit|NotebookEdit"), None),
        hook("PreCompact", None, None),
        hook("SessionStart", None, None),
    ];
    vec![
        command_file(folder.join("commands/ralph.md"), include_str!("../files/claude.md"), places),
        Piece { path: folder.join("settings.json"), content: Content::Json { edits: hooks } },
        server(servers, "mcpServers", json!({ "type": "stdio", "command": program, "args": ["mcp"] })),
    ]
}

fn opencode(scope: Scope, places: &Places) -> Vec<Piece> {
    let (folder, commands) = match scope {
        Scope::Project => (places.project.clone(), places.project.join(".opencode/command")),
        Scope::User => {
            let folder = places.config_home.clone().unwrap_or_else(|| places.home.join(".config")).join("opencode");
            (folder.clone(), folder.join("command"))
        }
    };
    let settings = first_existing(&folder, &["opencode.json", "opencode.jsonc"]);
    let timeout = TOOL_TIMEOUT * 1000;
    let value = json!({ "type": "local", "command": [places.program, "mcp"], "enabled": true, "timeout": timeout });
    vec![
        command_file(commands.join("ralph.md"), include_str!("../files/opencode.md"), places),
        server(settings, "mcp", value),
    ]
}

fn codex(scope: Scope, places: &Places) -> Vec<Piece> {
    let home = places.codex_home.clone().unwrap_or_else(|| places.home.join(".codex"));
    let program = toml::Value::from(places.program.as_str());
    let table =
        format!("[mcp_servers.ralph]\ncommand = {program}\nargs = [\"mcp\"]\ntool_timeout_sec = {TOOL_TIMEOUT}\n");
    let server = |folder: &Path| Piece {
        path: folder.join("config.toml"),
        content: Content::Toml { table, name: "mcp_servers.ralph".to_owned() },
    };
    match scope {
        // Codex reads prompts from the user's folder alone.
        Scope::Project => vec![server(&places.project.join(".codex"))],
        Scope::User => {
            let prompt = command_file(home.join("prompts/ralph.md"), include_str!("../files/codex.md"), places);
            vec![prompt, server(&home)]
        }
    }
}

fn gemini(scope: Scope, places: &Places) -> Vec<Piece> {
    let folder = match scope {
        Scope::Project => places.project.join(".gemini"),
        Scope::User => places.home.join(".gemini"),
    };
    let value = json!({ "command": places.program, "args": ["mcp"], "timeout": TOOL_TIMEOUT * 1000 });
    vec![
        command_file(folder.join("commands/ralph.toml"), include_str!("../files/gemini.toml"), places),
        server(folder.join("settings.json"), "mcpServers", value),
    ]
}

fn first_existing(folder: &Path, names: &[&str]) -> PathBuf {
    let all = names.iter().map(|name| folder.join(name));
    let found = all.clone().find(|path| path.symlink_metadata().is_ok());
    found.or_else(|| all.clone().next()).unwrap_or_else(|| folder.to_owned())
}
