//! `ralph mcp`: the tools for agents, on standard input and output. Prints nothing else there.

use ralph_host::{Claims, Host};
use ralph_mcp::{Remote, Tools, serve, stdio_pipes};
use ralph_model::exit_code;
use tokio::signal::unix::{SignalKind, signal};

use super::task::connect;
use crate::args::McpArgs;

/// Answers calls until the client goes away or a signal asks to end.
pub(crate) async fn run(args: &McpArgs, around: Host) -> anyhow::Result<u8> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut hang_up = signal(SignalKind::hangup())?;
    let stop = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
    };
    let (input, output) = stdio_pipes();
    serve(tools(args, around), input, output, stop).await;
    Ok(exit_code::COMPLETED)
}

/// What a worker gives its agent is in the environment. Without a server the tools for tasks say what to set.
fn tools(args: &McpArgs, around: Host) -> Tools {
    let variable = |name: &str| around.variable(name).and_then(|value| value.into_string().ok());
    let own = variable("RALPH_TASK_ID").and_then(|id| id.parse().ok());
    let claims = around.variable("RALPH_STATE_DIR").map(|folder| Claims::new(folder.into()));
    let server = connect(&args.connection, &around).ok();
    let mut tools = Tools::new(around);
    if let Some(claims) = claims {
        tools = tools.with_claims(claims);
    }
    match server {
        Some(client) => tools.with_server(Remote::new(client, own)),
        None => tools,
    }
}
