//! What one append costs, in milliseconds, on the disk of the folder that is named (or the temporary one).
#![allow(clippy::print_stdout, missing_docs)] // a measurement prints

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use ralph_model::{RunId, RunKind, Timestamp};
use ralph_store::{NewEvent, NewRun, open_sqlite};
use uuid::Uuid;

const APPENDS: u32 = 300;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let place = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::TempDir::new_in(place)?;
    let begun = Instant::now();
    let store = open_sqlite(&folder.path().join("ralph.db")).await?;
    println!("open a new database: {:.2} ms", millis(begun));
    store.close().await?;

    let begun = Instant::now();
    let store = open_sqlite(&folder.path().join("ralph.db")).await?;
    println!("open it again:       {:.2} ms", millis(begun));

    let event = || NewEvent {
        at: Timestamp(1),
        version: 1,
        kind: "checksFinished".to_owned(),
        payload: format!("\"{}\"", "x".repeat(2_000)),
    };
    let id = RunId::from_uuid(Uuid::from_u128(1));
    let text = str::to_owned;
    let new = NewRun {
        id,
        kind: RunKind::Loop,
        parent: None,
        origin: None,
        workspace: text("/w"),
        objective: text("o"),
        agent: text("a"),
        skill: None,
        holder: None,
        at: Timestamp(1),
    };
    let (lease, mut head) = store.create_run(new, event()).await?;
    let mut costs = Vec::new();
    for _ in 0..APPENDS {
        let begun = Instant::now();
        head = store.append(lease, head.seq, event().into()).await?;
        costs.push(millis(begun));
    }
    costs.sort_by(f64::total_cmp);
    let mean = costs.iter().sum::<f64>() / f64::from(APPENDS);
    println!(
        "append, one commit:  {mean:.2} ms mean, {:.2} ms median, {:.2} ms worst",
        costs[costs.len() / 2],
        costs[costs.len() - 1]
    );

    let begun = Instant::now();
    let events = store.journal(id).await?.len();
    println!("read {events} events with proof: {:.2} ms", millis(begun));
    let status = std::fs::read_to_string("/proc/self/status")?;
    println!("{}", status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("no figure for memory"));
    store.close().await?;
    Ok(())
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
