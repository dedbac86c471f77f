//! Figures, for dashboards as JSON and for Prometheus as text.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use axum::http::StatusCode;
use ralph_api::{LoopCount, Stats};
use ralph_model::{Millis, Timestamp};
use ralph_store::RunStatus as StoredStatus;
use ralph_view::RunStatus;

use crate::app::App;
use crate::call::{Answer, Call, json, text};
use crate::problem::Refusal;

/// An agent that was heard of in this time is there.
const ONLINE: Millis = Millis::minutes(2);

async fn stats(app: &App, now: Timestamp) -> Result<Stats, Refusal> {
    let (store, board) = (app.store(), app.board());
    let day = store.day_totals(&now.utc_date()).await?;
    let agents = board.agents(200).await?;
    let counts = store.run_counts().await?;
    Ok(Stats {
        tasks: board.task_counts().await?,
        loops: counts.into_iter().map(|(status, loops)| LoopCount { status: viewed(status), loops }).collect(),
        cost_today_usd: day.settled,
        reserved_today_usd: day.reserved,
        agents_online: agents.iter().filter(|agent| now.since(agent.last_seen_at) <= ONLINE).count() as u64,
        approvals_pending: board.approvals(true, 200, now).await?.len() as u64,
    })
}

const fn viewed(status: StoredStatus) -> RunStatus {
    match status {
        StoredStatus::Running => RunStatus::Running,
        StoredStatus::Completed => RunStatus::Completed,
        StoredStatus::Aborted => RunStatus::Aborted,
        StoredStatus::Error => RunStatus::Error,
    }
}

pub(crate) async fn show(call: Call) -> Answer {
    json(StatusCode::OK, &stats(&call.app, call.now()).await?)
}

/// The text format of Prometheus.
pub(crate) async fn metrics(call: Call) -> Answer {
    let (stats, counters) = (stats(&call.app, call.now()).await?, &call.app.counters);
    let mut page = Page::default();
    let tasks = stats.tasks.iter().map(|count| (format!("{{status=\"{}\"}}", count.status), count.tasks.to_string()));
    page.add("ralph_tasks", "gauge", "Tasks by status.", tasks);
    let loops = stats
        .loops
        .iter()
        .map(|count| (format!("{{status=\"{}\"}}", count.status.name().to_ascii_lowercase()), count.loops.to_string()));
    page.add("ralph_loops", "gauge", "Loops by status.", loops);
    let answers = counters.answers();
    let requests = answers.iter().map(|(status, count)| (format!("{{status=\"{status}\"}}"), count.to_string()));
    page.add("ralph_http_requests_total", "counter", "Answers of this server by HTTP status.", requests);
    for (name, kind, help, value) in [
        ("ralph_cost_today_usd", "gauge", "What all loops spent today (UTC).", stats.cost_today_usd.to_json_number()),
        (
            "ralph_reserved_today_usd",
            "gauge",
            "Reserved for iterations that run.",
            stats.reserved_today_usd.to_json_number(),
        ),
    ] {
        page.add(name, kind, help, [(String::new(), value.to_string())]);
    }
    for (name, kind, help, value) in [
        ("ralph_agents_online", "gauge", "Agents heard of in the last two minutes.", stats.agents_online),
        ("ralph_approvals_pending", "gauge", "Questions that wait for a person.", stats.approvals_pending),
        (
            "ralph_claims_total",
            "counter",
            "Tasks that were claimed from this server.",
            counters.claims.load(Ordering::Relaxed),
        ),
        (
            "ralph_connections",
            "gauge",
            "Open connections of this server.",
            counters.connections.load(Ordering::Relaxed),
        ),
        ("ralph_streams", "gauge", "Open streams of events of this server.", call.app.open_streams() as u64),
    ] {
        page.add(name, kind, help, [(String::new(), value.to_string())]);
    }
    text("text/plain; version=0.0.4; charset=utf-8", page.text)
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn add(&mut self, name: &str, kind: &str, help: &str, values: impl IntoIterator<Item = (String, String)>) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(self.text, "{name}{labels} {value}");
        }
    }
}
