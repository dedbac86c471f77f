//! `ralph task`: tasks on a server.

use anyhow::bail;
use ralph_api::{Client, Error};
use ralph_host::Host;
use ralph_model::{NewTask, Task, TaskId, TaskStatus, exit_code};
use ralph_store::TaskEvent;
use serde_json::Value;
use uuid::Uuid;

use super::show::heading;
use super::token::read_first;
use crate::args::{ConnectionArgs, TaskAction, TaskAddArgs, TaskArgs, TaskListArgs, TaskLogsArgs};
use crate::clock::local;
use crate::input::now;
use crate::page::{Fit, Page, Table, age, cell, cost};
use crate::screen::Screen;
use crate::style::{BAD, GOOD, PLAIN};

/// Where a server listens if nothing else is said.
const LOCAL: &str = "http://127.0.0.1:3013";
/// Tasks among which a short id is looked for.
const RECENT: u32 = 200;

pub(crate) async fn run(args: TaskArgs, around: &Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let client = connect(&args.connection, around)?;
    let done = match args.action {
        TaskAction::Add(args) => add(&client, *args, screen).await,
        TaskAction::List(args) => list(&client, &args, screen).await,
        TaskAction::Show { task, json } => match find_or_newest(&client, task.as_deref()).await {
            Ok(id) => show(&client.task(id).await?, json, screen),
            Err(error) => Err(error),
        },
        TaskAction::Cancel { task, json } => cancel(&client, &task, json, screen).await,
        TaskAction::Logs(args) => logs(&client, &args, screen).await,
    };
    match done {
        Err(error) if is_usage(&error) => {
            screen.say(&format!("error: {error}"))?;
            Ok(exit_code::USAGE)
        }
        done => done.map(|()| 0),
    }
}

/// What the user can fix by typing something else.
fn is_usage(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<Error>().and_then(Error::status), Some(400 | 422))
}

/// The server that is meant. The token of the local server is sent to no other.
pub(crate) fn connect(args: &ConnectionArgs, around: &Host) -> anyhow::Result<Client> {
    let variable = |name: &str| around.variable(name).and_then(|value| value.into_string().ok());
    let given = |value: Option<String>| value.filter(|value| !value.trim().is_empty());
    let server = given(args.server.clone()).or_else(|| given(variable("RALPH_SERVER")));
    let server = server.unwrap_or_else(|| LOCAL.to_owned());
    let token = match given(args.token.clone()).or_else(|| given(variable("RALPH_TOKEN"))) {
        Some(token) => token,
        None if is_local(&server) => read_first(around)?,
        None => bail!("{server} needs a token: give one with --token or RALPH_TOKEN"),
    };
    Ok(Client::new(&server, &token)?)
}

fn is_local(server: &str) -> bool {
    let authority = server.split_once("://").map_or(server, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&host)
}

/// The task that a person means.
async fn find(client: &Client, name: &str) -> anyhow::Result<TaskId> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let wanted = name.to_ascii_lowercase();
    if wanted.len() < 4 || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
        bail!(
            "`{name}` is not the id of a task: give at least four characters from its end (`ralph task list` shows them)"
        );
    }
    let recent = client.tasks(&[], None, RECENT).await?.tasks;
    let found: Vec<TaskId> = recent.iter().map(|task| task.id).filter(|id| id.to_string().ends_with(&wanted)).collect();
    match found[..] {
        [id] => Ok(id),
        [] => bail!("none of the newest {RECENT} tasks ends in `{name}`: `ralph task list` shows them"),
        _ => bail!("`{name}` may mean several tasks: give more characters"),
    }
}

async fn find_or_newest(client: &Client, name: Option<&str>) -> anyhow::Result<TaskId> {
    match name {
        Some(name) => find(client, name).await,
        None => match client.tasks(&[], None, 1).await?.tasks.first() {
            Some(newest) => Ok(newest.id),
            None => bail!("the server has no task: `ralph task add` queues one"),
        },
    }
}

/// The characters that people type.
fn short(id: TaskId) -> String {
    let id = id.to_string();
    id[id.len() - 8..].to_owned()
}

async fn add(client: &Client, args: TaskAddArgs, screen: &mut Screen<'_>) -> anyhow::Result<()> {
    let mut depends_on = Vec::new();
    for name in &args.after {
        depends_on.push(find(client, name).await?);
    }
    let new = NewTask {
        task: args.text,
        task_type: args.task_type,
        priority: args.priority,
        tags: args.tag,
        depends_on,
        repo: args.repo,
        base_ref: args.base_ref,
        ralph_promise: args.promise,
        ralph_max_iterations: args.max_iterations,
        verification_command: args.criteria,
        max_cost_usd: args.max_cost,
        ..NewTask::default()
    };
    let key = Uuid::now_v7().to_string();
    let task = client.create_task(&new, &key).await.map_err(name_flag)?;
    if args.json {
        screen.json(&task)?;
    } else {
        screen.result(&task.id.to_string())?;
        screen.say(&format!("queued; follow it with: ralph task logs {} --follow", short(task.id)))?;
    }
    Ok(())
}

/// The server names a field; people typed a flag.
fn name_flag(error: Error) -> Error {
    let Error::Refused(mut problem) = error else { return error };
    let flag = match problem.field.as_deref() {
        Some("ralphPromise") => "--promise",
        Some("ralphMaxIterations") => "--max",
        Some("maxCostUsd") => "--max-cost",
        Some("verificationCommand") => "--criteria",
        Some("dependsOn") => "--after",
        Some("tags") => "--tag",
        Some("baseRef") => "--base-ref",
        Some("priority") => "--priority",
        _ => return Error::Refused(problem),
    };
    let field = problem.field.as_deref().unwrap_or_default();
    problem.detail = match problem.detail.strip_prefix(field) {
        Some(rest) => format!("{flag}{rest}"),
        None => format!("{}\n  the flag is {flag}", problem.detail),
    };
    Error::Refused(problem)
}

async fn list(client: &Client, args: &TaskListArgs, screen: &mut Screen<'_>) -> anyhow::Result<()> {
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let (mut tasks, mut before) = (Vec::new(), None);
    while tasks.len() < limit {
        let size = u32::try_from(limit - tasks.len()).unwrap_or(RECENT).min(RECENT);
        let page = client.tasks(&args.status, before, size).await?;
        tasks.extend(page.tasks);
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    if args.json {
        screen.json(&tasks)?;
    } else if tasks.is_empty() {
        screen.say("no tasks")?;
    } else {
        screen.page(table(&tasks).into())?;
    }
    Ok(())
}

fn table(tasks: &[Task]) -> Table {
    let mut table = Table::new([
        ("TASK", Fit::Left),
        ("STATUS", Fit::Left),
        ("RUNS", Fit::Right),
        ("COST", Fit::Right),
        ("AGE", Fit::Right),
        ("AGENT", Fit::Name),
        ("TEXT", Fit::Cut),
    ]);
    for task in tasks {
        let cells = [
            short(task.id),
            task.status.to_string(),
            format!("{} of {}", task.ralph_iterations, task.ralph_max_iterations),
            cost(task.cost_usd),
            age(now().since(task.created_at)),
            task.agent_id.clone().unwrap_or_default(),
            task.task.lines().next().unwrap_or_default().to_owned(),
        ];
        table.row(cells.map(cell));
    }
    table
}

fn show(task: &Task, as_json: bool, screen: &mut Screen<'_>) -> anyhow::Result<()> {
    if as_json {
        return Ok(screen.json(task)?);
    }
    Ok(screen.page(as_text(task))?)
}

fn as_text(task: &Task) -> Page {
    let style = match task.status {
        TaskStatus::Completed if task.verified => GOOD,
        TaskStatus::Failed => BAD,
        _ => PLAIN,
    };
    let verified = if task.verified { ", verified" } else { "" };
    let mut page = Page::default();
    page.line(heading("task", &short(task.id), format!("{}{verified}", task.status), style));
    let tags = Some(task.tags.join(", ")).filter(|tags| !tags.is_empty());
    let fields = [
        ("id", Some(task.id.to_string())),
        ("created", Some(local(task.created_at))),
        ("finished", task.finished_at.map(local)),
        ("agent", task.agent_id.clone()),
        ("run", task.run_id.map(|run| run.short())),
        ("iterations", Some(format!("{} of {}", task.ralph_iterations, task.ralph_max_iterations))),
        ("cost", Some(format!("{} of {}", task.cost_usd, task.max_cost_usd))),
        ("repository", task.repo.clone()),
        ("base", task.base_ref.clone()),
        ("promise", task.ralph_promise.clone()),
        ("check", task.verification_command.clone()),
        ("tags", tags),
        ("reason", task.failure_reason.clone()),
    ];
    for (name, value) in fields {
        value.iter().for_each(|value| page.field(name, value, PLAIN));
    }
    for (name, value) in outputs(task) {
        page.field(&name, value.trim(), PLAIN);
    }
    page.line("");
    page.text(2, &task.task, PLAIN);
    page
}

/// What came of a task. A worker reports an object, and each of its members is a field, unless another field says the same.
fn outputs(task: &Task) -> Vec<(String, String)> {
    let Some(output) = &task.output else { return Vec::new() };
    let Ok(Value::Object(members)) = serde_json::from_str(output) else {
        return vec![("output".to_owned(), output.clone())];
    };
    let is_repeated = |name: &str, value: &str| match name {
        "loopId" | "runId" => task.run_id.is_some(),
        "result" => task.failure_reason.as_deref() == Some(value),
        // A worker whose agent said nothing of its own repeats the result.
        "summary" => members.get("result").and_then(Value::as_str) == Some(value),
        _ => false,
    };
    let said = members.iter().filter(|(_, value)| !value.is_null());
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    said.map(|(name, value)| (name.clone(), text(value))).filter(|(name, value)| !is_repeated(name, value)).collect()
}

async fn cancel(client: &Client, task: &str, as_json: bool, screen: &mut Screen<'_>) -> anyhow::Result<()> {
    let task = client.cancel_task(find(client, task).await?).await?;
    let text = if task.status.is_final() { "cancelled" } else { "asked its worker to stop" };
    Ok(if as_json { screen.json(&task) } else { screen.say(text) }?)
}

async fn logs(client: &Client, args: &TaskLogsArgs, screen: &mut Screen<'_>) -> anyhow::Result<()> {
    let id = find_or_newest(client, args.task.as_deref()).await?;
    // Without --follow everything up to now: the stream itself would wait for more.
    let last = if args.follow { None } else { Some(client.task(id).await?.last_updated_at) };
    let (mut seq, mut breaks) = (0, 0);
    let mut events = client.events(id, seq).await?;
    loop {
        let next = match last {
            Some(_) => match tokio::time::timeout(std::time::Duration::from_millis(500), events.next()).await {
                Ok(next) => next,
                Err(_) => return Ok(()),
            },
            None => events.next().await,
        };
        match next {
            Ok(Some(event)) => {
                (seq, breaks) = (event.seq, 0);
                line(&event, args.json, screen)?;
            }
            Ok(None) => return Ok(()),
            // A server that restarts is back in a moment, and the stream continues after the last event.
            Err(_) if breaks < 5 => {
                breaks += 1;
                events = client.events(id, seq).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn line(event: &TaskEvent, as_json: bool, screen: &mut Screen<'_>) -> anyhow::Result<()> {
    let text = if as_json {
        serde_json::to_string(event)?
    } else {
        let details = event.details.as_object().into_iter().flatten();
        let shown = details.filter(|(_, value)| !value.is_null()).map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            value => format!("{name}={value}"),
        });
        format!("{}  {:15} {}", local(event.at), event.kind, shown.collect::<Vec<_>>().join("  "))
    };
    screen.result(&text)?;
    Ok(screen.out.flush()?)
}

#[cfg(test)]
#[path = "task_tests.rs"]
mod tests;
