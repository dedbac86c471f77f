//! `ralph run`: from arguments to a finished loop.

use ralph_config::Layer;
use ralph_host::{Host, Prepared, RunRequest};
use ralph_model::exit_code;

use super::follow::{self, Following, Hints};
use super::{detach, explain};
use crate::args::RunArgs;
use crate::objective::{checklist_file, objective};
use crate::screen::{Screen, asking, told};

/// Starts a loop and follows it to its end.
///
/// # Errors
/// When nothing could be started; what was started has a result.
pub(crate) async fn run(args: RunArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    if args.detached {
        detach::leave_terminal();
    }
    let Prepared { resolved, warnings } = match prepare(&args, around).await {
        Ok(prepared) => prepared,
        Err(error) => {
            screen.say(&format!("error: {}", told(&error)))?;
            let code = error.downcast_ref::<ralph_host::Error>().map_or(exit_code::USAGE, ralph_host::Error::exit_code);
            return Ok(code);
        }
    };
    if args.explain {
        return explain::explain(&resolved.config, around, args.screen, screen).await;
    }
    for warning in warnings {
        screen.say(&format!("warning: {warning}"))?;
    }
    if args.detach {
        let typed = args.objective.as_deref() == Some("-");
        let objective = typed.then_some(resolved.config.objective.as_str());
        return detach::run(objective, args.screen.json, around, screen).await;
    }
    let following = Following { around, args: args.screen, hints: Hints::Shown, activation: None };
    follow::start(following, resolved, screen).await
}

async fn prepare(args: &RunArgs, around: &Host) -> anyhow::Result<Prepared> {
    let objective = objective(args, &mut std::io::stdin().lock())?;
    let checklist_file = checklist_file(args, &objective, &around.current);
    let request = RunRequest {
        settings: Layer { checklist_file, ..args.into() },
        objective,
        workspace: args.workspace.clone(),
        race: args.race,
        agent: None,
    };
    Ok(around.prepare(request, asking()).await?)
}
