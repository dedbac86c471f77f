//! Which format a request speaks and what it is for, by its method and path. Reads no body.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Anthropic Messages: `POST /v1/messages`.
    Anthropic,
    /// OpenAI Responses: `POST /v1/responses`.
    Responses,
    /// OpenAI Chat Completions: `POST /v1/chat/completions`.
    Chat,
    /// Gemini: `POST /v1beta/models/M:generateContent` and `:streamGenerateContent`.
    Gemini,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    /// It wants an answer of the model.
    Generate(Format, Address),
    /// It wants to know how many tokens a text has.
    CountTokens(Format),
    /// It wants to know which models there are.
    Models,
    /// It wants to know whether anybody is there.
    Hello,
    Unknown,
}

/// What a path says about the answer that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// Nothing: the body does.
    InBody,
    InPath {
        model: String,
        is_streamed: bool,
    },
}

impl Route {
    pub(super) fn of(method: &str, path: &str, query: Option<&str>) -> Self {
        // Clients differ in whether their base address ends with the version.
        let path = path.trim_end_matches('/');
        match method {
            "POST" => Self::posted(path, query),
            "GET" | "HEAD" if path.ends_with("/models") => Self::Models,
            "GET" | "HEAD" if path.is_empty() || path.ends_with("/api/hello") => Self::Hello,
            _ => Self::Unknown,
        }
    }

    fn posted(path: &str, query: Option<&str>) -> Self {
        if path.ends_with("/messages/count_tokens") {
            Self::CountTokens(Format::Anthropic)
        } else if path.ends_with("/messages") {
            Self::Generate(Format::Anthropic, Address::InBody)
        } else if path.ends_with("/responses") {
            Self::Generate(Format::Responses, Address::InBody)
        } else if path.ends_with("/chat/completions") {
            Self::Generate(Format::Chat, Address::InBody)
        } else {
            Self::gemini(path, query).unwrap_or(Self::Unknown)
        }
    }

    fn gemini(path: &str, query: Option<&str>) -> Option<Self> {
        let (model, method) = path.rsplit_once("/models/")?.1.rsplit_once(':')?;
        let as_events = query.is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse"));
        let is_streamed = match method {
            "countTokens" => return Some(Self::CountTokens(Format::Gemini)),
            "generateContent" => false,
            "streamGenerateContent" if as_events => true,
            _ => return None,
        };
        Some(Self::Generate(Format::Gemini, Address::InPath { model: model.to_owned(), is_streamed }))
    }
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
