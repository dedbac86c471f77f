//! `ralph-status`: the newest loops of the folder, or one loop.

use ralph_host::database::open_existing;
use ralph_model::RunKind;
use ralph_runtime::read_loop;
use ralph_store::{Filter, Lookup, StoreHandle};
use ralph_view::{ListEntry, RunState, dollars};
use serde_json::json;

use crate::answer::{Answer, Refused, structured};
use crate::arguments::StatusArguments;
use crate::handler::Tools;

const MAX_LOOPS: usize = 10;
const MAX_OBJECTIVE: usize = 80;

pub(crate) async fn run(tools: &Tools, arguments: &StatusArguments) -> Answer {
    arguments.check()?;
    let store = open_existing(&tools.host.dirs).await.map_err(|error| Refused::new(error.to_string()))?;
    match (store, &arguments.loop_id) {
        (Some(store), Some(name)) => one(tools, &store, name).await,
        (None, Some(name)) => Err(unknown(name)),
        (Some(store), None) => all(tools, &store).await,
        (None, None) => structured("no loops in this folder yet", &json!({"loops": []})),
    }
}

async fn all(tools: &Tools, store: &StoreHandle) -> Answer {
    let folder = tools.host.current.canonicalize().unwrap_or_else(|_| tools.host.current.clone());
    let workspace = Some(folder.to_string_lossy().into_owned());
    let filter = Filter { workspace, kind: Some(RunKind::Loop), ..Filter::default() };
    let entries = store.runs(&filter).await.map_err(|error| Refused::new(error.to_string()))?;
    let loops: Vec<ListEntry> = entries.iter().take(MAX_LOOPS).map(|entry| tools.host.listed(entry)).collect();
    let lines: Vec<String> = loops.iter().map(line).collect();
    let text = if lines.is_empty() { "no loops in this folder yet".to_owned() } else { lines.join("\n") };
    structured(&text, &json!({"loops": loops}))
}

async fn one(tools: &Tools, store: &StoreHandle, name: &str) -> Answer {
    let failed = |error: ralph_store::Error| Refused::new(error.to_string());
    let entry = match store.find(name).await.map_err(failed)? {
        Lookup::One(entry) => entry,
        Lookup::None => return Err(unknown(name)),
        Lookup::Several(_) => {
            return Err(Refused::new(format!("more than one loop matches {name}: give more characters")));
        }
    };
    let listed = tools.host.listed(&entry);
    let state = match entry.kind {
        RunKind::Loop => {
            let (run, _) = read_loop(store, entry.id).await.map_err(|error| Refused::new(error.chain()))?;
            Some(RunState::new(entry.id, &run))
        }
        RunKind::Race | RunKind::Crew => None,
    };
    let failing = state.as_ref().map(|state| {
        let counts = state.failing.iter().map(|failing| failing.map_or("?".to_owned(), |count| count.to_string()));
        format!("\nfailing before the first iteration and after each: {}", counts.collect::<Vec<_>>().join(" "))
    });
    let text = format!("{}{}", line(&listed), failing.unwrap_or_default());
    structured(&text, &json!({"loop": listed, "state": state}))
}

fn unknown(name: &str) -> Refused {
    Refused::new(format!("no loop matches {name}: call ralph-status without loop_id to list the newest"))
}

fn line(entry: &ListEntry) -> String {
    let objective: String = entry.objective.lines().next().unwrap_or_default().chars().take(MAX_OBJECTIVE).collect();
    let (state, cost) = (entry.state(), dollars(entry.cost));
    format!("{} {state}: {} iterations, {cost}: {objective}", entry.short, entry.iterations)
}
