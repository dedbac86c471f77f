//! Reads a request for an answer: what the client offers, says and wants, in whichever format. Answers nothing.

use std::path::PathBuf;

use serde_json::Value;

use super::Format;
use super::route::Address;

/// A request for an answer, without its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) format: Format,
    pub(super) model: String,
    pub(super) form: Form,
    pub(super) messages: usize,
    pub(super) offered: Vec<Offered>,
    pub(super) system: String,
    /// The last text of the user.
    pub(super) user: String,
    /// What the tools of the last turn gave.
    pub(super) results: Vec<String>,
    /// The folder that the agent works in, where it says so.
    pub(super) folder: Option<PathBuf>,
    /// The schema that the whole answer has to follow.
    pub(super) schema: Option<Value>,
    /// The most tokens that the answer may have.
    pub(super) most: Option<u64>,
}

/// How the answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Whole,
    Events(Totals),
}

/// Whether a stream of Chat Completions ends with the usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Totals {
    Sent,
    Left,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offered {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) kind: Kind,
    pub(super) description: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Function(Value),
    Free,
    /// Words for the shell tool that is built into OpenAI Responses.
    Shell,
    /// Whatever the service does by itself, such as a web search.
    Hosted,
}

struct Message {
    role: Role,
    texts: Vec<String>,
    results: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    System,
    User,
    Other,
}

impl Asked {
    pub(super) fn read(format: Format, address: &Address, body: &Value) -> Self {
        let (model, form) = match address {
            Address::InPath { model, is_streamed: false } => (model.clone(), Form::Whole),
            Address::InPath { model, is_streamed: true } => (model.clone(), Form::Events(Totals::Sent)),
            Address::InBody => (text(&body["model"]), form_in(body, format)),
        };
        let messages = messages(format, body);
        let of_role = |role| messages.iter().filter(move |message| message.role == role);
        let system = of_role(Role::System).flat_map(|message| &message.texts).cloned().collect::<Vec<_>>().join("\n");
        let user = of_role(Role::User).filter_map(|message| message.texts.last()).next_back().cloned();
        let results = messages.iter().rev().skip_while(|message| message.role == Role::System);
        let mut results: Vec<_> = results.take_while(|message| !message.results.is_empty()).collect();
        results.reverse();
        let folder = folder_in(&system).or_else(|| {
            let said = of_role(Role::User).flat_map(|message| &message.texts);
            said.filter_map(|text| folder_in(text)).next()
        });
        Self {
            format,
            model,
            form,
            messages: messages.iter().filter(|message| message.role != Role::System).count(),
            offered: offered(format, body),
            user: user.unwrap_or_default(),
            results: results.into_iter().flat_map(|message| message.results.clone()).collect(),
            folder,
            schema: schema(format, body).cloned(),
            most: ["max_tokens", "max_output_tokens"].iter().find_map(|key| body[*key].as_u64()),
            system,
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.offered.iter().map(|tool| tool.name.clone()).collect()
    }
}

fn form_in(body: &Value, format: Format) -> Form {
    if body["stream"] != Value::Bool(true) {
        return Form::Whole;
    }
    let left = format == Format::Chat && body["stream_options"]["include_usage"] != Value::Bool(true);
    Form::Events(if left { Totals::Left } else { Totals::Sent })
}

fn schema(format: Format, body: &Value) -> Option<&Value> {
    let places: &[&str] = match format {
        Format::Anthropic => &["/output_config/format/schema", "/output_format/schema"],
        Format::Responses => &["/text/format/schema"],
        Format::Chat => &["/response_format/json_schema/schema"],
        Format::Gemini => &["/generationConfig/responseJsonSchema", "/generationConfig/responseSchema"],
    };
    places.iter().find_map(|place| body.pointer(place))
}

fn messages(format: Format, body: &Value) -> Vec<Message> {
    let system = |value: &Value| Message { role: Role::System, texts: texts(value), results: Vec::new() };
    match format {
        Format::Anthropic => {
            let listed = list(&body["messages"]).iter().map(message);
            std::iter::once(system(&body["system"])).chain(listed).collect()
        }
        Format::Chat => list(&body["messages"]).iter().map(message).collect(),
        Format::Responses => {
            let listed = list(&body["input"]).iter().map(item);
            // The input may be a text alone.
            let alone = body["input"].as_str().map(|text| Message {
                role: Role::User,
                texts: vec![text.to_owned()],
                results: Vec::new(),
            });
            std::iter::once(system(&body["instructions"])).chain(alone).chain(listed).collect()
        }
        Format::Gemini => {
            let instruction = &body["systemInstruction"]["parts"];
            std::iter::once(system(instruction)).chain(list(&body["contents"]).iter().map(content)).collect()
        }
    }
}

fn role(value: &Value) -> Role {
    match value["role"].as_str() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        _ => Role::Other,
    }
}

/// A message of Anthropic or of Chat Completions.
fn message(value: &Value) -> Message {
    let parts = list(&value["content"]);
    let mut results: Vec<String> = parts
        .iter()
        .filter(|part| part["type"] == "tool_result")
        .map(|part| texts(&part["content"]).join("\n"))
        .collect();
    if value["role"] == "tool" {
        results.push(texts(&value["content"]).join("\n"));
        return Message { role: Role::Other, texts: Vec::new(), results };
    }
    Message { role: role(value), texts: texts(&value["content"]), results }
}

fn item(value: &Value) -> Message {
    let is_result = value["type"].as_str().is_some_and(|kind| kind.ends_with("_output"));
    let results = if is_result { vec![texts(&value["output"]).join("\n")] } else { Vec::new() };
    let role = if is_result || value["type"] == "additional_tools" { Role::Other } else { role(value) };
    Message { role, texts: texts(&value["content"]), results }
}

fn content(value: &Value) -> Message {
    let responses =
        list(&value["parts"]).iter().map(|part| &part["functionResponse"]).filter(|found| found.is_object());
    let results = responses.map(|response| response["response"].to_string()).collect();
    Message { role: role(value), texts: texts(&value["parts"]), results }
}

/// The texts of a content, which is a text or a list of parts in every format.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn offered(format: Format, body: &Value) -> Vec<Offered> {
    let mut found = Vec::new();
    match format {
        Format::Gemini => {
            for declared in list(&body["tools"]).iter().flat_map(|group| list(&group["functionDeclarations"])) {
                let schema = [&declared["parametersJsonSchema"], &declared["parameters"]];
                let schema = schema.into_iter().find(|schema| schema.is_object()).cloned().unwrap_or_default();
                found.push(function(declared, schema));
            }
        }
        Format::Anthropic => {
            found.extend(list(&body["tools"]).iter().map(|tool| function(tool, tool["input_schema"].clone())));
        }
        Format::Chat => {
            let functions = list(&body["tools"]).iter().map(|tool| &tool["function"]);
            found.extend(functions.map(|tool| function(tool, tool["parameters"].clone())));
        }
        Format::Responses => {
            collect(&body["tools"], None, &mut found);
            let more = list(&body["input"]).iter().filter(|item| item["type"] == "additional_tools");
            more.for_each(|item| collect(&item["tools"], None, &mut found));
        }
    }
    found
}

fn function(value: &Value, schema: Value) -> Offered {
    let (name, description) = (text(&value["name"]), text(&value["description"]));
    Offered { name, namespace: None, kind: Kind::Function(schema), description }
}

/// The tools of Responses, which come in namespaces too.
fn collect(tools: &Value, namespace: Option<&str>, found: &mut Vec<Offered>) {
    for tool in list(tools) {
        let kind = match tool["type"].as_str() {
            Some("namespace") => {
                collect(&tool["tools"], tool["name"].as_str(), found);
                continue;
            }
            Some("function") => Kind::Function(tool["parameters"].clone()),
            Some("custom") => Kind::Free,
            Some("local_shell") => Kind::Shell,
            _ => Kind::Hosted,
        };
        let named = tool["name"].as_str().or_else(|| tool["type"].as_str());
        found.push(Offered {
            name: named.unwrap_or_default().to_owned(),
            namespace: namespace.map(str::to_owned),
            kind,
            description: text(&tool["description"]),
        });
    }
}

/// The folder that an agent says it works in.
fn folder_in(text: &str) -> Option<PathBuf> {
    // In the words of Codex, of Claude Code and OpenCode, and of the Gemini CLI.
    let between = |start: &str, end: &str| {
        let rest = &text[text.find(start)? + start.len()..];
        Some(rest.split(end).next().unwrap_or(rest).trim())
    };
    let found = [
        between("<cwd>", "</cwd>"),
        between("orking directory: ", "\n"),
        between("**Workspace Directories:**\n  - ", "\n"),
        between("working in the directory: ", "\n"),
    ];
    found.into_iter().flatten().find(|path| path.starts_with('/')).map(PathBuf::from)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
