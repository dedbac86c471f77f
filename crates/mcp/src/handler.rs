//! The server side of the protocol: who we are, which tools there are, and who answers a call.

use ralph_host::Host;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use crate::answer::{Answer, refused};
use crate::arguments::parse;
use crate::catalog::{RALPH_LOOP, RALPH_STATUS, tools};
use crate::running::Running;
use crate::{ralph_loop, status};

const INSTRUCTIONS: &str = "Ralph makes coding agents finish. Use ralph_loop for work with a command that shows whether it \
     is done: Ralph runs an agent, verifies from outside, feeds failures back and repeats.";

/// The tools, for one folder. Clones are the same.
#[derive(Debug, Clone)]
pub struct Tools {
    pub(crate) host: Host,
    pub(crate) running: Running,
}

impl Tools {
    /// For the current folder of a host.
    #[must_use]
    pub fn new(host: Host) -> Self {
        Self { host, running: Running::new() }
    }

    /// Stops all loops that calls have started, and waits until they have ended.
    pub async fn close(&self) {
        self.running.close().await;
    }

    /// None where there is no such tool.
    async fn call(&self, request: CallToolRequestParams, context: &RequestContext<RoleServer>) -> Option<Answer> {
        let arguments = request.arguments;
        Some(match request.name.as_ref() {
            RALPH_LOOP => match parse(arguments) {
                Ok(arguments) => ralph_loop::run(self, &arguments, context).await,
                Err(error) => Err(error),
            },
            RALPH_STATUS => match parse(arguments) {
                Ok(arguments) => status::run(self, &arguments).await,
                Err(error) => Err(error),
            },
            _ => return None,
        })
    }
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
        Ok(ListToolsResult::with_all_items(tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.clone();
        match self.call(request, &context).await {
            Some(answer) => Ok(answer.unwrap_or_else(|error| refused(&error)).into()),
            None => Err(ErrorData::invalid_params(format!("there is no tool {name}; tools/list names them"), None)),
        }
    }
}
