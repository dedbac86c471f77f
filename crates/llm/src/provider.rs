//! Where a model is: which format its server speaks, at which address, with which key.

use std::fmt;

use ralph_http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use ralph_http::{HeaderName, HeaderValue, Uri};
use ralph_model::ConfigError;

use crate::conversation::Protocol;
use crate::wire::{self, ChatLimit};

/// The version of Anthropic's format that requests ask for.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A provider that Ralph knows by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Anthropic,
    /// `openai`, by Responses.
    Openai,
    /// `openai-chat`, by Chat Completions; with another address, any server that is compatible.
    OpenaiChat,
}

ralph_model::named!(Provider { Anthropic => "anthropic", Openai => "openai", OpenaiChat => "openai-chat" });

impl Provider {
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Anthropic => Protocol::AnthropicMessages,
            Self::Openai => Protocol::OpenaiResponses,
            Self::OpenaiChat => Protocol::OpenaiChat,
        }
    }

    /// Where it is unless somebody says otherwise.
    pub const fn base_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::Openai | Self::OpenaiChat => "https://api.openai.com",
        }
    }

    pub const fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Openai | Self::OpenaiChat => "OPENAI_API_KEY",
        }
    }

    pub const fn base_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::Openai | Self::OpenaiChat => "OPENAI_BASE_URL",
        }
    }
}

#[derive(Clone)]
pub struct Endpoint {
    pub(crate) protocol: Protocol,
    pub(crate) url: Uri,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) limit: ChatLimit,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers hold the key.
        f.debug_struct("Endpoint").field("protocol", &self.protocol).field("url", &self.url).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// A provider at this address, or at its own; a server of one's own may need no key.
    pub fn new(provider: Provider, base: Option<&str>, key: Option<&str>) -> Result<Self, ConfigError> {
        let protocol = provider.protocol();
        let own = provider.base_url();
        let address = wire::url(protocol, base.unwrap_or(own));
        let url = address.parse::<Uri>().ok().filter(ralph_http::is_address).ok_or_else(|| {
            let problem = format!("`{}` is not an address", base.unwrap_or_default());
            ConfigError::new(provider.base_variable(), problem, "an address such as http://127.0.0.1:8080")
        })?;
        let mut headers = vec![
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (ACCEPT, HeaderValue::from_static("text/event-stream, application/json")),
        ];
        if protocol == Protocol::AnthropicMessages {
            let version = HeaderName::from_static("anthropic-version");
            headers.push((version, HeaderValue::from_static(ANTHROPIC_VERSION)));
        }
        if let Some(key) = key {
            let (name, value) = match protocol {
                Protocol::AnthropicMessages => (HeaderName::from_static("x-api-key"), key.trim().to_owned()),
                Protocol::OpenaiResponses | Protocol::OpenaiChat => (AUTHORIZATION, format!("Bearer {}", key.trim())),
            };
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                ConfigError::new(provider.key_variable(), "the key has characters that no key has", "a key")
            })?;
            value.set_sensitive(true);
            headers.push((name, value));
        }
        let is_own = base.is_none_or(|base| base.trim_end_matches('/').starts_with(own));
        let limit = if is_own { ChatLimit::MaxCompletionTokens } else { ChatLimit::MaxTokens };
        Ok(Self { protocol, url, headers, limit })
    }
}
