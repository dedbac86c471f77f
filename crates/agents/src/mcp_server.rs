//! A server of tools that an agent is given for a run, in the form that each program takes. Values of variables are named and not
//! written down: the program has them in its own environment.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::request::ProcessBase;

/// A server of the Model Context Protocol on standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Variables of the agent's environment that it needs. Most programs keep theirs from servers.
    pub variables: Vec<String>,
}

impl McpServer {
    pub(crate) const NAME: &'static str = "ralph";

    fn command(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    /// The file for `--mcp-config` of Claude Code.
    pub(crate) fn for_claude(&self) -> Value {
        let variables = self.references(|name| format!("${{{name}}}"));
        let server = json!({"command": self.command(), "args": self.arguments, "env": variables});
        json!({"mcpServers": {Self::NAME: server}})
    }

    /// `mcpServers` in the settings of Gemini CLI.
    pub(crate) fn for_gemini(&self) -> Value {
        let variables = self.references(|name| format!("${name}"));
        let server = json!({"command": self.command(), "args": self.arguments, "env": variables, "trust": true});
        json!({Self::NAME: server})
    }

    /// An entry of `mcp` in the settings of OpenCode, whose servers get all of its environment.
    pub(crate) fn for_opencode(&self) -> Value {
        let words: Vec<String> = std::iter::once(self.command()).chain(self.arguments.iter().cloned()).collect();
        json!({"type": "local", "command": words, "enabled": true})
    }

    /// An entry of `mcpServers` in a session of the Agent Client Protocol. It takes values, and it takes them on standard input.
    pub(crate) fn for_acp(&self, base: &ProcessBase) -> Value {
        let variables: Vec<Value> = self
            .variables
            .iter()
            .filter_map(|name| Some(json!({"name": name, "value": base.variable(name)?.to_string_lossy()})))
            .collect();
        json!({"name": Self::NAME, "command": self.command(), "args": self.arguments, "env": variables})
    }

    /// The table `mcp_servers` of Codex: keys with values in TOML.
    pub(crate) fn for_codex(&self, quoted: fn(&str) -> String) -> Vec<(String, String)> {
        let list =
            |items: &[String]| format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(","));
        let fields = [
            ("command", quoted(&self.command())),
            ("args", list(&self.arguments)),
            ("env_vars", list(&self.variables)),
            // There is no user to ask.
            ("default_tools_approval_mode", quoted("approve")),
        ];
        fields.into_iter().map(|(field, value)| (format!("mcp_servers.{}.{field}", Self::NAME), value)).collect()
    }

    /// The variables with what the program replaces by their values.
    fn references(&self, reference: impl Fn(&str) -> String) -> Map<String, Value> {
        self.variables.iter().map(|name| (name.clone(), Value::String(reference(name)))).collect()
    }
}
