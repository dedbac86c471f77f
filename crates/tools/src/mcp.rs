//! Tools of MCP servers: programs that are spoken to over their standard input and output, or servers at an address.
//!
//! Only what tools need of the protocol: a handshake, the list of tools, calls. What a server asks of its client is refused.

use std::sync::Arc;
use std::time::Duration;

use ralph_http::{Call as HttpCall, HeaderName, HeaderValue, Http, Method, header, read};
use ralph_model::Millis;
use ralph_process::{Feeder, Spec as ProcessSpec, Stdin, Stop, feed};
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc, watch};
use uuid::Uuid;

use crate::registry::{Answer, Registry};
use crate::shell::Shell;
use crate::{Effect, Outcome};

/// A version that all servers know, whatever newer ones they have.
const PROTOCOL: &str = "2025-06-18";
const START_TIMEOUT: Duration = Duration::from_secs(30);
const CALL_TIMEOUT: Duration = Duration::from_secs(120);
const MAX_MESSAGE: usize = 4 << 20;
const MAX_TOOLS: usize = 200;
/// The longest description and schema of a tool: a model pays for each of them with every message.
const MAX_SPEC: usize = 16 << 10;

/// A server of tools.
#[derive(Clone)]
pub struct McpServer {
    /// What its tools are named after: `mcp__NAME__TOOL`.
    pub name: String,
    /// Where it is.
    pub place: McpPlace,
}

/// Where a server of tools is.
#[derive(Clone)]
pub enum McpPlace {
    /// A line of shell that starts it, in the workspace and in the sandbox.
    Command(String),
    /// At an address.
    Url {
        /// The address.
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

/// Adds the tools of a server.
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
    let mut connection = match server.place {
        McpPlace::Command(line) => {
            let shell = shell.ok_or("there is nothing to run programs with")?;
            Connection::Program(Program::start(shell, &line, workspace)?)
        }
        McpPlace::Url { url, key } => Connection::Address(Box::new(Address::new(url, key)?)),
    };
    let opened = tokio::time::timeout(START_TIMEOUT, open(&mut connection)).await;
    let tools = opened.map_err(|_| format!("no answer within {} s", START_TIMEOUT.as_secs()))??;
    let connection = Arc::new(Mutex::new(connection));
    for tool in tools.into_iter().take(MAX_TOOLS) {
        let (Some(name), schema) = (tool["name"].as_str().map(str::to_owned), tool["inputSchema"].clone()) else {
            continue;
        };
        let description = tool["description"].as_str().unwrap_or_default().to_owned();
        if !is_name(&name) || !schema.is_object() || schema.to_string().len() + description.len() > MAX_SPEC {
            tracing::warn!(server = server.name, name, "a tool of an MCP server is left out");
            continue;
        }
        // What a server says of itself is no reason to let it act without approval.
        let connection = Arc::clone(&connection);
        let own = format!("mcp__{}__{name}", server.name);
        registry.add_raw(&own, Effect::Outward, &description, schema, move |arguments, _| {
            let (connection, name) = (Arc::clone(&connection), name.clone());
            async move { call(&mut *connection.lock().await, &name, arguments).await }
        });
    }
    Ok(())
}

fn is_name_part(part: char) -> bool {
    part.is_ascii_alphanumeric() || part == '_' || part == '-'
}

async fn open(connection: &mut Connection) -> Result<Vec<Value>, String> {
    let client = json!({ "name": "ralph", "version": env!("CARGO_PKG_VERSION") });
    let hello = json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client });
    let server = connection.request("initialize", hello).await?;
    let version = server["protocolVersion"].as_str().unwrap_or(PROTOCOL).to_owned();
    connection.agree_on(version);
    connection.notify("notifications/initialized").await?;
    let mut tools = Vec::new();
    let mut cursor = Value::Null;
    while tools.len() < MAX_TOOLS {
        let page = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let answer = connection.request("tools/list", page).await?;
        tools.extend(answer["tools"].as_array().cloned().unwrap_or_default());
        cursor = answer["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    Ok(tools)
}

async fn call(connection: &mut Connection, name: &str, arguments: Value) -> Answer {
    let request = connection.request("tools/call", json!({ "name": name, "arguments": arguments }));
    let answer = tokio::time::timeout(CALL_TIMEOUT, request).await;
    let answer = answer.map_err(|_| format!("{name} did not answer within {} s", CALL_TIMEOUT.as_secs()))??;
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

enum Connection {
    Program(Program),
    Address(Box<Address>),
}

impl Connection {
    async fn request(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        let id = Uuid::now_v7().to_string();
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters });
        let answer = match self {
            Self::Program(program) => program.request(&id, &message).await?,
            Self::Address(address) => address.request(&id, &message).await?,
        };
        match answer.get("error") {
            Some(error) => Err(format!("{method}: {}", error["message"].as_str().unwrap_or("the server refused"))),
            None => Ok(answer["result"].clone()),
        }
    }

    async fn notify(&mut self, method: &str) -> Result<(), String> {
        let message = json!({ "jsonrpc": "2.0", "method": method });
        match self {
            Self::Program(program) => program.send(&message).await,
            Self::Address(address) => address.post(&message).await.map(drop),
        }
    }

    fn agree_on(&mut self, version: String) {
        if let Self::Address(address) = self {
            address.version = Some(version);
        }
    }
}

/// A server that is a program. It ends when this is dropped.
struct Program {
    feeder: Feeder,
    lines: mpsc::UnboundedReceiver<String>,
    _running: Running,
}

/// Ends the program.
struct Running(watch::Sender<Option<Stop>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_replace(Some(Stop::Requested));
    }
}

impl Program {
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
        let (sender, lines) = mpsc::unbounded_channel();
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
                    // The caller no longer waits for it.
                    let _ = sender.send(line);
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
        Ok(Self { feeder, lines, _running: Running(stopper) })
    }

    async fn send(&mut self, message: &Value) -> Result<(), String> {
        self.feeder.send(format!("{message}\n")).await.map_err(|_| "the server has ended".to_owned())
    }

    async fn request(&mut self, id: &str, message: &Value) -> Result<Value, String> {
        self.send(message).await?;
        loop {
            let line = self.lines.recv().await.ok_or("the server has ended")?;
            // What is no message is the server's own chatter.
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if message["id"] == *id {
                return Ok(message);
            }
            if message.get("method").is_some() && message.get("id").is_some() {
                let error = json!({ "code": -32601, "message": "not supported" });
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "error": error })).await?;
            }
        }
    }
}

/// A server at an address.
struct Address {
    url: String,
    http: Http,
    key: Option<HeaderValue>,
    session: Option<HeaderValue>,
    version: Option<String>,
}

impl Address {
    fn new(url: String, key: Option<String>) -> Result<Self, String> {
        let http = Http::new(url.starts_with("https:")).map_err(|error| error.to_string())?;
        let key = key.map(|key| HeaderValue::from_str(&format!("Bearer {key}"))).transpose();
        let key = key.map_err(|_| "the key is no header".to_owned())?;
        Ok(Self { url, http, key, session: None, version: None })
    }

    async fn post(&mut self, message: &Value) -> Result<String, String> {
        let mut headers = vec![
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream")),
        ];
        headers.extend(self.key.clone().map(|key| (header::AUTHORIZATION, key)));
        let session = HeaderName::from_static("mcp-session-id");
        headers.extend(self.session.clone().map(|value| (session.clone(), value)));
        let version = self.version.as_ref().and_then(|version| HeaderValue::from_str(version).ok());
        headers.extend(version.map(|version| (HeaderName::from_static("mcp-protocol-version"), version)));
        let call = HttpCall { method: Method::POST, url: self.url.clone(), headers, body: message.to_string().into() };
        let answer = self.http.send(call, CALL_TIMEOUT).await.map_err(|error| error.to_string())?;
        if let Some(value) = answer.headers().get(session) {
            self.session = Some(value.clone());
        }
        let status = answer.status();
        if !status.is_success() {
            return Err(format!("the server answered {status}"));
        }
        let body = read(answer.into_body(), MAX_MESSAGE, CALL_TIMEOUT).await.map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// The answer is one JSON object, or one of the events of a stream that ends with it.
    async fn request(&mut self, id: &str, message: &Value) -> Result<Value, String> {
        let body = self.post(message).await?;
        let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
        let messages =
            std::iter::once(body.as_str()).chain(events).filter_map(|text| serde_json::from_str(text.trim()).ok());
        let answer = messages.into_iter().find(|message: &Value| message["id"] == *id);
        answer.ok_or_else(|| "the server did not answer with a message of the protocol".to_owned())
    }
}
