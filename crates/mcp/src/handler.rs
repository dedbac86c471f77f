//! The server side of the protocol: who we are, which tools there are, and who answers a call.

use axum::http::request::Parts;
use ralph_host::{Claims, Host};
use ralph_model::{Caps, Timestamp};
use ralph_server::Caller;
use ralph_store::{BoardHandle, Role};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value};

use crate::answer::{Answer, Refused, refused};
use crate::arguments::parse;
use crate::catalog::{
    CANCEL_TASK, GET_TASK, GET_TASKS, RALPH_DECIDE, RALPH_LOOP, RALPH_STATUS, SEND_TASK, STORE_PROGRESS, is_of_task,
    tools,
};
use crate::http::session;
use crate::local::Local;
use crate::remote::Remote;
use crate::running::{CallKey, Running};
use crate::tasks::Tasks;
use crate::{complete, decide, ralph_loop, status, task_tools};

const INSTRUCTIONS: &str = "Ralph makes coding agents finish. Use ralph_loop for work with a command that shows whether it \
     is done: Ralph runs an agent, verifies from outside, feeds failures back and repeats. If you work on a task of a Ralph \
     server ($RALPH_TASK_ID), call ralph-complete when its promise is met.";

const NO_SERVER: &str = "no server is configured, so there are no tasks\n  start one with `ralph serve`, then set \
     RALPH_SERVER (such as http://127.0.0.1:3013) and RALPH_TOKEN (`ralph token` prints it) for `ralph mcp`";

/// The board of the server that the tools are part of.
#[derive(Clone)]
pub struct BoardAccess {
    pub board: BoardHandle,
    pub caps: Caps,
    pub now: fn() -> Timestamp,
}

#[derive(Clone)]
enum Source {
    None,
    /// On a server that is called over HTTP.
    Remote(Box<Remote>),
    /// On the board of this server; every request brings its own caller.
    Board(BoardAccess),
}

/// The tools, for one folder. Clones are the same.
#[derive(Clone)]
pub struct Tools {
    pub(crate) host: Host,
    pub(crate) running: Running,
    pub(crate) claims: Option<Claims>,
    source: Source,
}

impl Tools {
    /// For the current folder of a host, without tasks.
    pub fn new(host: Host) -> Self {
        Self { host, running: Running::new(), claims: None, source: Source::None }
    }

    #[must_use]
    pub fn with_server(self, server: Remote) -> Self {
        Self { source: Source::Remote(Box::new(server)), ..self }
    }

    /// With the folder in which a worker looks for the claims of its agent.
    #[must_use]
    pub fn with_claims(self, claims: Claims) -> Self {
        Self { claims: Some(claims), ..self }
    }

    /// As part of a server.
    #[must_use]
    pub fn on_board(self, board: BoardAccess) -> Self {
        Self { source: Source::Board(board), ..self }
    }

    /// Stops all loops that calls have started, and waits until they have ended.
    pub async fn close(&self) {
        self.running.close().await;
    }

    /// Whether callers of several roles share these tools.
    pub(crate) const fn is_shared(&self) -> bool {
        matches!(self.source, Source::Board(_))
    }

    /// Whether there is this tool here: the agent of a task gets those of its task.
    fn offers(&self, name: &str) -> bool {
        match &self.source {
            Source::Remote(remote) if remote.is_of_task() => is_of_task(name),
            Source::None | Source::Remote(_) | Source::Board(_) => true,
        }
    }

    /// By what a later request can cancel a call; none where calls are cancelled on their own connection.
    pub(crate) fn call_key(&self, context: &RequestContext<RoleServer>) -> Option<CallKey> {
        let parts = context.extensions.get::<Parts>()?;
        let id = serde_json::to_string(&context.id).ok()?;
        Some(CallKey { caller: caller(context)?.name, session: session(&parts.headers)?, id })
    }

    /// Tasks, as far as the caller may use them.
    fn tasks(&self, context: &RequestContext<RoleServer>) -> Result<Box<dyn Tasks>, Refused> {
        match &self.source {
            Source::None => Err(Refused::new(NO_SERVER)),
            Source::Remote(remote) => Ok(remote.clone()),
            Source::Board(access) => {
                let caller = caller(context).ok_or_else(|| Refused::new("the server does not know who calls"))?;
                let BoardAccess { board, caps, now } = access.clone();
                Ok(Box::new(Local { board, caps, now, caller }))
            }
        }
    }

    /// Loops run commands on this machine, so that a shared server runs them for its administrators alone.
    fn require(&self, context: &RequestContext<RoleServer>, roles: &[Role]) -> Result<(), Refused> {
        match caller(context) {
            _ if !self.is_shared() => Ok(()),
            Some(caller) if roles.contains(&caller.role) => Ok(()),
            Some(_) | None => Err(Refused::new("this token does not allow it: a token of role admin does")),
        }
    }

    async fn call(
        &self,
        name: &str,
        arguments: Option<Map<String, Value>>,
        context: &RequestContext<RoleServer>,
    ) -> Answer {
        match name {
            RALPH_LOOP => {
                self.require(context, &[Role::Admin])?;
                return ralph_loop::run(self, &parse(arguments)?, context).await;
            }
            RALPH_DECIDE => {
                self.require(context, &[Role::Admin, Role::Agent])?;
                return decide::run(self, &parse(arguments)?).await;
            }
            RALPH_STATUS => {
                self.require(context, &[Role::Admin, Role::Agent])?;
                return status::run(self, &parse(arguments)?).await;
            }
            _ => {}
        }
        let tasks = self.tasks(context)?;
        let tasks = tasks.as_ref();
        match name {
            SEND_TASK => task_tools::send(tasks, &parse(arguments)?).await,
            GET_TASKS => task_tools::list(tasks, &parse(arguments)?).await,
            GET_TASK => task_tools::get(tasks, &parse(arguments)?).await,
            CANCEL_TASK => task_tools::cancel(tasks, &parse(arguments)?).await,
            STORE_PROGRESS => task_tools::progress(tasks, parse(arguments)?).await,
            _ => complete::run(self, tasks, &parse(arguments)?, context).await,
        }
    }
}

/// Who calls, where the server that the tools are part of has found out.
fn caller(context: &RequestContext<RoleServer>) -> Option<Caller> {
    context.extensions.get::<Parts>()?.extensions.get::<Caller>().cloned()
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("ralph", self.host.version()))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools().into_iter().filter(|tool| self.offers(&tool.name)).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().into_iter().find(|tool| tool.name == name && self.offers(name))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name;
        if self.get_tool(&name).is_none() {
            return Err(ErrorData::invalid_params(format!("there is no tool {name}; tools/list names them"), None));
        }
        let answer = self.call(&name, request.arguments, &context).await;
        Ok(answer.unwrap_or_else(|error| refused(&error)).into())
    }
}
