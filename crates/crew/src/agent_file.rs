//! Agents as files: a prompt, and before it which model, tools and limits the agent has.

use std::path::{Path, PathBuf};

use ralph_config::skills::split_front_matter;
use ralph_config::trust::Question;
use ralph_config::{Links, read};
use ralph_engine::Conduct;
use ralph_model::{Domain, ModelTier};
use serde::{Deserialize, Serialize};

const BUILT_IN: [(&str, &str); 4] = [
    ("chapo", include_str!("../agents/chapo.md")),
    ("devo", include_str!("../agents/devo.md")),
    ("caio", include_str!("../agents/caio.md")),
    ("scout", include_str!("../agents/scout.md")),
];
/// The folder of a workspace that holds agents.
const REPOSITORY_FOLDER: &str = ".ralph/agents";
/// Turns of an agent that names no limit.
const DEFAULT_TURNS: u32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It talks to the user and hands work to others.
    Coordinator,
    /// It has to act: without a tool call it has done nothing.
    Acting,
    Talking,
}

impl Role {
    pub const fn conduct(self) -> Conduct {
        match self {
            Self::Acting => Conduct::Acting,
            Self::Coordinator | Self::Talking => Conduct::Talking,
        }
    }
}

/// An agent of the crew. A journal keeps it as it was when the crew began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentFile {
    pub name: String,
    pub description: String,
    pub role: Role,
    pub domain: Domain,
    /// How strong a model it needs, where it names none.
    pub tier: ModelTier,
    /// Its own model, as `PROVIDER:MODEL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model that is asked where the first cannot answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    pub tools: Vec<String>,
    /// How often its model is asked for one delegation.
    pub max_turns: u32,
    /// How many tools it may call for one delegation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    pub prompt: String,
}

/// What stands before the prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Head {
    name: Option<String>,
    description: String,
    role: Option<Role>,
    domain: Option<Domain>,
    tier: Option<ModelTier>,
    model: Option<String>,
    fallback: Option<String>,
    tools: Vec<String>,
    max_turns: Option<u32>,
    max_tool_calls: Option<u32>,
}

#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", .path.display())]
pub struct BrokenAgent {
    pub path: PathBuf,
    pub why: String,
}

impl AgentFile {
    /// Reads the text of a file. `name` is what the file is called.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let (head, body) = split_front_matter::<Head>(text)?;
        let prompt = body.trim().to_owned();
        if prompt.is_empty() {
            return Err("has no prompt after its front matter".to_owned());
        }
        let own = head.name.unwrap_or_else(|| name.to_owned()).to_ascii_lowercase();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if own.is_empty() || !own.chars().all(is_word) {
            return Err(format!("`{own}` cannot be the name of an agent: use letters, digits, `-` and `_`"));
        }
        if head.max_turns == Some(0) || head.max_tool_calls == Some(0) {
            return Err("maxTurns and maxToolCalls are whole numbers from 1 on".to_owned());
        }
        Ok(Self {
            name: own,
            description: head.description,
            role: head.role.unwrap_or(Role::Acting),
            domain: head.domain.unwrap_or(Domain::Development),
            tier: head.tier.unwrap_or(ModelTier::Standard),
            model: head.model,
            fallback: head.fallback,
            tools: head.tools,
            max_turns: head.max_turns.unwrap_or(DEFAULT_TURNS),
            max_tool_calls: head.max_tool_calls,
            prompt,
        })
    }

    /// Its name as people see it.
    pub fn title(&self) -> String {
        self.name.to_ascii_uppercase()
    }
}

/// The agents that are part of the program.
pub fn built_in() -> Vec<AgentFile> {
    #[expect(clippy::expect_used, reason = "constants, tested")]
    let parse = |(name, text): &(&str, &str)| AgentFile::parse(name, text).expect("a built-in agent");
    BUILT_IN.iter().map(parse).collect()
}

/// The agents of a crew: those of the program, and the user's own from `folder`, which replace others of the same name.
pub fn read_agents(folder: &Path) -> Result<Vec<AgentFile>, BrokenAgent> {
    let mut agents = built_in();
    for (_, _, agent) in files(folder, Links::Follow) {
        let agent = agent?;
        match agents.iter_mut().find(|known| known.name == agent.name) {
            Some(known) => *known = agent,
            None => agents.push(agent),
        }
    }
    Ok(agents)
}

/// An agent of a repository: its text counts only after the user approved it.
#[derive(Debug, Clone)]
pub struct RepositoryAgent {
    pub question: Question,
    pub agent: AgentFile,
}

/// The agents that a workspace adds. One that has the name of an agent in `known` is left out: a repository cannot take the
/// place of an agent that the user knows.
pub fn repository_agents(workspace: &Path, known: &[AgentFile]) -> Vec<Result<RepositoryAgent, BrokenAgent>> {
    let found = files(&workspace.join(REPOSITORY_FOLDER), Links::Refuse).into_iter();
    let candidate = |(path, text, agent): (PathBuf, String, Result<AgentFile, BrokenAgent>)| {
        let agent = match agent {
            Ok(agent) if known.iter().any(|known| known.name == agent.name) => return None,
            Ok(agent) => agent,
            Err(error) => return Some(Err(error)),
        };
        let effects = vec![
            "the text is the prompt of an agent of the crew".to_owned(),
            format!("the agent may call: {}", agent.tools.join(", ")),
        ];
        Some(Ok(RepositoryAgent { question: Question::about_text(path, text, workspace, effects), agent }))
    };
    found.filter_map(candidate).collect()
}

/// The files of a folder, each with its text and the agent that it is.
fn files(folder: &Path, links: Links) -> Vec<(PathBuf, String, Result<AgentFile, BrokenAgent>)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    paths.sort_unstable();
    let one = |path: PathBuf| {
        let text = read(&path, links).map_err(|error| error.to_string()).and_then(|bytes| {
            String::from_utf8(bytes.unwrap_or_default()).map_err(|_| "is not text in UTF-8".to_owned())
        });
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let agent = text.as_ref().map_err(Clone::clone).and_then(|text| AgentFile::parse(name, text));
        let agent = agent.map_err(|why| BrokenAgent { path: path.clone(), why });
        (path, text.unwrap_or_default(), agent)
    };
    paths.into_iter().map(one).collect()
}

#[cfg(test)]
#[path = "agent_file_tests.rs"]
mod tests;
