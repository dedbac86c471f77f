//! The programs, and what each needs to talk to a model on loopback.

use ralph_testkit::model::Usage;
use serde_json::json;

use crate::harness::User;

/// A program under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    Claude,
    Codex,
    Opencode,
    Gemini,
    /// The same once more, as servers of the Agent Client Protocol.
    ClaudeAcp,
    CodexAcp,
    OpencodeAcp,
    GeminiAcp,
}

/// The user's key, which no program is given.
pub const KEY: &str = "sk-test-0123456789";

/// A price that the user adds, for a model that nobody else knows.
const SCRIPTED: &str = "[prices.\"scripted-1\"]\ninput = 1\ncache_read = 0.1\ncache_write = 2\noutput = 10\n";

impl Client {
    /// The servers.
    pub const SERVERS: [Self; 4] = [Self::ClaudeAcp, Self::CodexAcp, Self::OpencodeAcp, Self::GeminiAcp];

    /// The words that choose it.
    pub const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["--agent", "claude", "--model", "claude-sonnet-4-5"],
            Self::Codex => &["--agent", "codex", "--model", "scripted-1"],
            Self::Opencode => &["--agent", "opencode", "--model", "scripted/scripted-1"],
            Self::Gemini => &["--agent", "gemini", "--model", "gemini-2.5-flash"],
            Self::ClaudeAcp | Self::CodexAcp | Self::OpencodeAcp | Self::GeminiAcp => &["--agent", "server"],
        }
    }

    /// Configures the user's machine for it and gives the variables that it needs.
    pub fn set_up(self, user: &User, url: &str) -> Vec<(&'static str, String)> {
        let (command, model) = match self {
            Self::CodexAcp => ("codex-acp", "scripted-1"),
            Self::OpencodeAcp => ("opencode acp", "scripted/scripted-1"),
            Self::GeminiAcp => ("gemini --acp --skip-trust --yolo -m gemini-2.5-flash", "gemini-2.5-flash"),
            _ => ("claude-agent-acp", "claude-sonnet-4-5"),
        };
        let server = format!("[agents.server]\nkind = \"acp\"\ncommand = \"{command}\"\nmodel = \"{model}\"\n");
        user.configure(&format!("backoff = \"1s\"\n{server}{SCRIPTED}"));
        if self == Self::GeminiAcp {
            choose_key(user);
        }
        match self {
            Self::Claude | Self::ClaudeAcp => {
                vec![("ANTHROPIC_BASE_URL", url.to_owned()), ("ANTHROPIC_API_KEY", KEY.into())]
            }
            Self::Codex | Self::CodexAcp => {
                vec![("OPENAI_BASE_URL", format!("{url}/v1")), ("OPENAI_API_KEY", KEY.into())]
            }
            Self::Gemini | Self::GeminiAcp => {
                vec![("GOOGLE_GEMINI_BASE_URL", url.to_owned()), ("GEMINI_API_KEY", KEY.into())]
            }
            Self::Opencode | Self::OpencodeAcp => {
                let options = json!({ "baseURL": format!("{url}/v1"), "apiKey": KEY });
                let provider = json!({
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "Scripted",
                    "options": options,
                    "models": { "scripted-1": { "name": "Scripted" } },
                });
                let settings = json!({ "provider": { "scripted": provider }, "model": "scripted/scripted-1" });
                let folder = user.home().join(".config/opencode");
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(folder.join("opencode.json"), settings.to_string()).unwrap();
                vec![("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned())]
            }
        }
    }

    /// What these tokens cost with it, in micro-dollars.
    pub fn price(self, usage: &Usage) -> u64 {
        // Dollars for a million tokens are micro-dollars for one; in hundredths, so that they are whole.
        let (input, cache_read, cache_write, output) = match self {
            Self::Claude | Self::ClaudeAcp => (300, 30, 375, 1500),
            Self::Codex | Self::CodexAcp | Self::Opencode | Self::OpencodeAcp => (100, 10, 200, 1000),
            Self::Gemini | Self::GeminiAcp => (30, 3, 30, 250),
        };
        let sum = usage.input * input
            + usage.cache_read * cache_read
            + usage.cache_write * cache_write
            + usage.output * output;
        assert_eq!(sum % 100, 0, "choose numbers of tokens that make whole micro-dollars");
        sum / 100
    }

    /// Usage of one answer, as far as its service can tell it.
    pub const fn usage(self) -> Usage {
        let cache_write = match self {
            Self::Claude | Self::ClaudeAcp => 400,
            _ => 0,
        };
        Usage { input: 1000, cache_read: 200, cache_write, output: 100, reasoning: 0 }
    }
}

/// Gemini's own settings say that the key of the environment is the login: without that it asks for one.
pub fn choose_key(user: &User) {
    let login = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
    std::fs::create_dir_all(user.home().join(".gemini")).unwrap();
    std::fs::write(user.home().join(".gemini/settings.json"), login.to_string()).unwrap();
}

/// One test for each program.
#[macro_export]
macro_rules! for_each_client {
    ($($name:ident: $test:expr;)+) => {
        $(mod $name {
            #[allow(unused_imports, reason = "not every test of this kind needs all of it")]
            use super::*;
            #[test]
            fn claude() { $test($crate::client::Client::Claude); }
            #[test]
            fn codex() { $test($crate::client::Client::Codex); }
            #[test]
            fn opencode() { $test($crate::client::Client::Opencode); }
            #[test]
            fn gemini() { $test($crate::client::Client::Gemini); }
        })+
    };
}
