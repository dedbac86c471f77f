//! `ralph mcp`: the tools for agents, on standard input and output. Prints nothing else there.

use ralph_host::{Claims, Host};
use ralph_mcp::{Remote, Tools, serve, stdio_pipes};
use ralph_model::exit_code;

use super::task::connect;
use crate::args::ConnectionArgs;
use crate::input::Signals;

/// Answers calls until the client goes away or a signal asks to end.
pub(crate) async fn run(args: &ConnectionArgs, around: Host) -> anyhow::Result<u8> {
    let mut signals = Signals::new()?;
    let stop = async move {
        signals.next().await;
    };
    let (input, output) = stdio_pipes();
    serve(tools(args, around), input, output, stop).await;
    Ok(exit_code::COMPLETED)
}

/// What a worker gives its agent is in the environment. Without a server the tools for tasks say what to set.
fn tools(args: &ConnectionArgs, around: Host) -> Tools {
    let variable = |name: &str| around.variable(name).and_then(|value| value.into_string().ok());
    let own = variable("RALPH_TASK_ID").and_then(|id| id.parse().ok());
    let claims = around.variable("RALPH_STATE_DIR").map(|folder| Claims::new(folder.into()));
    let server = connect(args, &around).ok();
    let mut tools = Tools::new(around);
    if let Some(claims) = claims {
        tools = tools.with_claims(claims);
    }
    match server {
        Some(client) => tools.with_server(Remote::new(client, own)),
        None => tools,
    }
}
