//! Tools of MCP servers: programs that are spoken to over their standard input and output, or servers at an address.
//!
//! The protocol is rmcp's; what carries its messages is ours: a process of the supervisor, or the HTTP client of all crates.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_http::{Call as HttpCall, HeaderName, HeaderValue, Http, Method, header, read};
use ralph_model::Millis;
use ralph_process::{Feeder, Spec as ProcessSpec, Stdin, Stop, feed};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, PaginatedRequestParams, ProtocolVersion,
    ServerJsonRpcMessage, ServerResult, Tool,
};
use rmcp::service::{RunningService, RxJsonRpcMessage, ServiceError, TxJsonRpcMessage, serve_client};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

use crate::registry::{Answer, Registry};
use crate::shell::Shell;
use crate::{Effect, Outcome};

/// A version that all servers know, whatever newer ones they have.
const PROTOCOL: ProtocolVersion = ProtocolVersion::V_2025_06_18;
const START_TIMEOUT: Duration = Duration::from_secs(30);
const CALL_TIMEOUT: Duration = Duration::from_secs(120);
const MAX_MESSAGE: usize = 4 << 20;
const MAX_TOOLS: usize = 200;
/// The longest description and schema of a tool: a model pays for each of them with every message.
const MAX_SPEC: usize = 16 << 10;

#[derive(Clone)]
pub struct McpServer {
    /// What its tools are named after: `mcp__NAME__TOOL`.
    pub name: String,
    pub place: McpPlace,
}

#[derive(Clone)]
pub enum McpPlace {
    /// A line of shell that starts it, in the workspace and in the sandbox.
    Command(String),
    Url {
        url: String,
        /// Its key, which goes into the header `Authorization`.
        key: Option<String>,
    },
}

impl std::fmt::Debug for McpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpServer").field("name", &self.name).finish_non_exhaustive()
    }
}

pub(crate) async fn register(
    registry: &mut Registry,
    server: McpServer,
    shell: Option<&Arc<Shell>>,
    workspace: &std::path::Path,
) -> Result<(), String> {
    let is_name = |name: &str| !name.is_empty() && name.len() <= 64 && name.chars().all(is_name_part);
    if !is_name(&server.name) {
        return Err("the name has to be letters, digits, `_` and `-`".to_owned());
    }
    let link = match server.place {
        McpPlace::Command(line) => {
            let shell = shell.ok_or("there is nothing to run programs with")?;
            Link::start(shell, &line, workspace)?
        }
        McpPlace::Url { url, key } => Link::reach(url, key)?,
    };
    let opened = tokio::time::timeout(START_TIMEOUT, open(link)).await;
    let (client, tools) = opened.map_err(|_| format!("no answer within {} s", START_TIMEOUT.as_secs()))??;
    let client = Arc::new(client);
    for tool in tools.into_iter().take(MAX_TOOLS) {
        let (name, schema) = (tool.name.to_string(), Value::Object((*tool.input_schema).clone()));
        let description = tool.description.unwrap_or_default().into_owned();
        if !is_name(&name) || schema.to_string().len() + description.len() > MAX_SPEC {
            tracing::warn!(server = server.name, name, "a tool of an MCP server is left out");
            continue;
        }
        // What a server says of itself is no reason to let it act without approval.
        let client = Arc::clone(&client);
        let own = format!("mcp__{}__{name}", server.name);
        registry.add_raw(&own, Effect::Outward, &description, schema, move |arguments, _| {
            let (client, name) = (Arc::clone(&client), name.clone());
            async move { call(&client, name, arguments).await }
        });
    }
    Ok(())
}

fn is_name_part(part: char) -> bool {
    part.is_ascii_alphanumeric() || part == '_' || part == '-'
}

type Client = RunningService<RoleClient, ClientConfig>;

async fn open(link: Link) -> Result<(Client, Vec<Tool>), String> {
    let ralph = Implementation::new("ralph", env!("CARGO_PKG_VERSION"));
    let config = ClientConfig::new(ClientCapabilities::default(), ralph).with_protocol_version(PROTOCOL);
    let client = serve_client(config, link).await.map_err(|error| error.to_string())?;
    let (mut tools, mut page) = (Vec::new(), None);
    // Not all at once: a server could go on for ever.
    while tools.len() < MAX_TOOLS {
        let found = client.list_tools(page).await.map_err(|error| refused("tools/list", error))?;
        tools.extend(found.tools);
        match found.next_cursor {
            Some(next) => page = Some(PaginatedRequestParams::default().with_cursor(Some(next))),
            None => break,
        }
    }
    Ok((client, tools))
}

fn refused(what: &str, error: ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => format!("{what}: {}", error.message),
        ServiceError::TransportClosed => "the server has ended".to_owned(),
        error => format!("{what}: {error}"),
    }
}

async fn call(client: &Client, name: String, arguments: Value) -> Answer {
    let mut wanted = CallToolRequestParams::new(name.clone());
    wanted.arguments = arguments.as_object().cloned();
    let answer = tokio::time::timeout(CALL_TIMEOUT, client.call_tool(wanted)).await;
    let answer = answer.map_err(|_| format!("{name} did not answer within {} s", CALL_TIMEOUT.as_secs()))?;
    let answer = serde_json::to_value(answer.map_err(|error| refused(&name, error))?).unwrap_or_default();
    let texts = answer["content"].as_array().into_iter().flatten().map(|part| match part["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("[{} content]", part["type"].as_str().unwrap_or("unknown")),
    });
    let mut text = texts.collect::<Vec<_>>().join("\n");
    if text.is_empty() && !answer["structuredContent"].is_null() {
        text = answer["structuredContent"].to_string();
    }
    let success = answer["isError"] != true;
    let summary = format!("{name}: {}", text.lines().next().unwrap_or("done"));
    Ok(Outcome { success, ..Outcome::done(summary, text) })
}

/// What carries messages to a server and back. A program ends when this is dropped.
struct Link {
    to: To,
    from: mpsc::UnboundedReceiver<ServerJsonRpcMessage>,
    _running: Option<Running>,
}

#[derive(Clone)]
enum To {
    Program(Feeder),
    Address(Arc<Address>),
}

/// Ends the program.
struct Running(watch::Sender<Option<Stop>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_replace(Some(Stop::Requested));
    }
}

impl Transport<RoleClient> for Link {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let to = self.to.clone();
        async move {
            let text = serde_json::to_string(&message)?;
            match to {
                To::Program(feeder) => feeder.send(format!("{text}\n")).await.map_err(io::Error::other),
                To::Address(address) => address.post(text).await.map_err(io::Error::other),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.from.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.from.close();
        Ok(())
    }
}

impl Link {
    fn start(shell: &Arc<Shell>, line: &str, workspace: &std::path::Path) -> Result<Self, String> {
        std::fs::create_dir_all(&shell.logs).map_err(|error| error.to_string())?;
        let (feeder, input) = feed(16);
        let spec = ProcessSpec {
            program: ProcessSpec::shell(line),
            directory: workspace.to_owned(),
            environment: shell.environment.clone(),
            stdin: Stdin::Fed(input),
            log: shell.logs.join(format!("mcp-{}.log", Uuid::now_v7())),
            pieces: None,
            log_limit: 1 << 20,
            tail: 0,
            timeout: None,
            idle: None,
            grace: Millis::secs(3),
            hold: shell.hold.clone(),
            sandbox: shell.sandbox.clone(),
        };
        let (stopper, stop) = watch::channel(None);
        let (sender, from) = mpsc::unbounded_channel();
        let (supervisor, log) = (Arc::clone(&shell.supervisor), spec.log.clone());
        tokio::spawn(async move {
            let mut buffer = String::new();
            let mut observe = |stream, piece: &str| {
                if stream != ralph_process::Stream::Stdout {
                    return;
                }
                buffer.push_str(piece);
                while let Some(end) = buffer.find('\n') {
                    let line: String = buffer.drain(..=end).collect();
                    // What is no message is the server's own chatter.
                    if let Ok(message) = serde_json::from_str(line.trim()) {
                        let _ = sender.send(message);
                    }
                }
                if buffer.len() > MAX_MESSAGE {
                    buffer.clear();
                }
            };
            if let Err(error) = supervisor.run(spec, stop, &mut observe).await {
                tracing::warn!(%error, "an MCP server could not be run");
            }
            if let Err(error) = std::fs::remove_file(&log) {
                tracing::debug!(%error, ?log, "the output of an MCP server could not be removed");
            }
        });
        Ok(Self { to: To::Program(feeder), from, _running: Some(Running(stopper)) })
    }

    /// Reaches a server at an address.
    fn reach(url: String, key: Option<String>) -> Result<Self, String> {
        let http = Http::new(url.starts_with("https:")).map_err(|error| error.to_string())?;
        let key = key.map(|key| HeaderValue::from_str(&format!("Bearer {key}"))).transpose();
        let key = key.map_err(|_| "the key is no header".to_owned())?;
        let (answers, from) = mpsc::unbounded_channel();
        let address = Address { url, http, key, answers, agreed: Mutex::default() };
        Ok(Self { to: To::Address(Arc::new(address)), from, _running: None })
    }
}

struct Address {
    url: String,
    http: Http,
    key: Option<HeaderValue>,
    answers: mpsc::UnboundedSender<ServerJsonRpcMessage>,
    /// The headers of the session and of the version that both sides speak.
    agreed: Mutex<Vec<(HeaderName, HeaderValue)>>,
}

impl Address {
    /// Sends a message. The answer is one JSON object, or the events of a stream that ends with it.
    async fn post(&self, message: String) -> Result<(), String> {
        let agreed = || self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut headers = vec![
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream")),
        ];
        headers.extend(self.key.clone().map(|key| (header::AUTHORIZATION, key)));
        headers.extend(agreed().iter().cloned());
        let call = HttpCall { method: Method::POST, url: self.url.clone(), headers, body: message.into() };
        let answer = self.http.send(call, CALL_TIMEOUT).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        if !status.is_success() {
            return Err(format!("the server answered {status}"));
        }
        let name = HeaderName::from_static("mcp-session-id");
        let session = answer.headers().get(&name).cloned().map(|value| (name, value));
        let body = read(answer.into_body(), MAX_MESSAGE, CALL_TIMEOUT).await.map_err(|error| error.to_string())?;
        let body = String::from_utf8_lossy(&body);
        let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
        for message in std::iter::once(&*body).chain(events).filter_map(|text| serde_json::from_str(text.trim()).ok()) {
            if let ServerJsonRpcMessage::Response(response) = &message
                && let ServerResult::InitializeResult(hello) = &response.result
            {
                let version = HeaderValue::from_str(hello.protocol_version.as_str());
                let version = version.ok().map(|value| (HeaderName::from_static("mcp-protocol-version"), value));
                *agreed() = session.iter().cloned().chain(version).collect();
            }
            // Nobody waits for an answer any more when the client is gone.
            let _ = self.answers.send(message);
        }
        Ok(())
    }
}
