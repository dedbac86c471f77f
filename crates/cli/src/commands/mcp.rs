//! `ralph mcp`: the tools for agents, on standard input and output. Prints nothing else there.

use ralph_host::Host;
use ralph_mcp::{Tools, serve, stdio_pipes};
use ralph_model::exit_code;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::McpArgs;

/// Answers calls until the client goes away or a signal asks to end.
///
/// # Errors
/// When signals cannot be heard.
pub(crate) async fn run(_args: &McpArgs, around: Host) -> anyhow::Result<u8> {
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
    serve(Tools::new(around), input, output, stop).await;
    Ok(exit_code::COMPLETED)
}
