//! `ralph-decide`: whether a request is work for a loop. Starts nothing.

use ralph_config::Layer;
use ralph_decide::Mode;
use ralph_host::DecideRequest;

use crate::answer::{Answer, Refused, structured};
use crate::arguments::DecideArguments;
use crate::handler::Tools;

pub(crate) async fn run(tools: &Tools, arguments: &DecideArguments) -> Answer {
    arguments.check()?;
    let failed = |error: ralph_host::Error| Refused::new(error.to_string());
    let workspace = ralph_host::workspace(None, &tools.host.current).map_err(failed)?;
    let settings = Layer::default();
    let request =
        DecideRequest { text: &arguments.request, settings: &settings, workspace: &workspace, mode: Mode::Auto };
    let decided = tools.host.decide(request).await.map_err(failed)?;
    let decision = &decided.decision;
    let what = if decision.is_loop { "work for ralph_loop" } else { "one pass, no loop" };
    let mut lines = vec![format!("{what}: {}, risk {}", decision.task_type.name(), decision.risk.name())];
    lines.extend(decision.why.iter().map(|why| format!("- {why}")));
    structured(&lines.join("\n"), decision)
}
