//! What tasks cost: their creation, and a claim with few and with many tasks in the queue. In SQLite below the folder that is
//! named (or the temporary one), and in a PostgreSQL server that is started for it.
#![allow(clippy::print_stdout, missing_docs)] // a measurement prints

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use ralph_model::{Millis, NewTask, TaskId, TaskStatus, TaskType, Timestamp};
use ralph_store::{Claim, Database, SqlStore, TaskEnd};
use ralph_testkit::postgres::Cluster;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};
use uuid::Uuid;

/// Tasks that are created one after the other, and as many at once.
const FEW: u32 = 5_000;
const MANY: u32 = 1_000_000;
const CLAIMS: u32 = 500;
/// Clients that create tasks at the same time.
const CLIENTS: u32 = 50;

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result {
    let place = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::TempDir::new_in(place)?;
    let path = folder.path().join("ralph.db");
    println!("SQLite in {}", folder.path().display());
    measure(&Database::open_sqlite(&path).await?, Raw::Sqlite(path)).await?;
    let cluster = Cluster::start();
    let url = cluster.create_database("board");
    println!("PostgreSQL");
    measure(&Database::open_postgres(&url).await?, Raw::Postgres(url)).await
}

/// The database without the board, to fill it fast.
enum Raw {
    Sqlite(PathBuf),
    Postgres(String),
}

async fn measure(database: &Database, raw: Raw) -> Result {
    let board = &*database.board;
    let new = NewTask { task: "x".repeat(500), ralph_promise: Some("done".to_owned()), ..NewTask::default() };
    let (begun, used) = (Instant::now(), cpu()?);
    for _ in 0..FEW {
        board.create_task(TaskId::from_uuid(Uuid::now_v7()), &new, None, Timestamp(1)).await?;
    }
    let each = |millis: f64| millis / f64::from(FEW);
    println!("  create: {:.3} ms, {:.3} ms CPU of this process", each(millis(begun)), each(cpu()? - used));
    let (begun, used) = (Instant::now(), cpu()?);
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        let (board, new) = (database.board.clone(), new.clone());
        clients.spawn(async move {
            for _ in 0..FEW / CLIENTS {
                board.create_task(TaskId::from_uuid(Uuid::now_v7()), &new, None, Timestamp(1)).await?;
            }
            Ok::<_, ralph_store::Error>(())
        });
    }
    for ended in clients.join_all().await {
        ended?;
    }
    println!(
        "  by {CLIENTS} at once: {:.3} ms, {:.3} ms CPU of this process",
        each(millis(begun)),
        each(cpu()? - used)
    );
    let few = claims(board, 2 * FEW).await?;
    fill(&raw).await?;
    let many = claims(board, MANY).await?;
    println!("  ratio of the medians: {:.2}", many / few);
    database.store.close().await?;
    Ok(())
}

/// Claims and finishes tasks, and returns the median time of a claim.
async fn claims(board: &SqlStore, queued: u32) -> Result<f64> {
    let claim = Claim {
        agent: "worker".to_owned(),
        token: None,
        types: TaskType::ALL.to_vec(),
        without_repo: true,
        lease: Millis::minutes(1),
        at: Timestamp(2),
    };
    let (mut times, mut used) = (Vec::new(), 0.0);
    for _ in 0..CLAIMS {
        let (begun, before) = (Instant::now(), cpu()?);
        let claimed = board.claim_task(&claim).await?.ok_or("nothing to claim")?;
        times.push(millis(begun));
        used += cpu()? - before;
        let end = TaskEnd {
            status: TaskStatus::Completed,
            output: None,
            failure_reason: None,
            verified: true,
            iterations: 1,
            cost: ralph_model::Money::ZERO,
        };
        board.finish_task(claimed.lease, &end, Timestamp(3)).await?;
    }
    times.sort_by(f64::total_cmp);
    let (mean, median) = (times.iter().sum::<f64>() / f64::from(CLAIMS), times[times.len() / 2]);
    println!(
        "  claim with {queued} queued: {median:.3} ms median, {mean:.3} ms mean, {:.3} ms at 99 %, {:.3} ms CPU of this process",
        times[times.len() * 99 / 100],
        used / f64::from(CLAIMS)
    );
    Ok(median)
}

/// Copies the newest task until so many are queued, in several queues and with several priorities.
async fn fill(raw: &Raw) -> Result {
    let begun = Instant::now();
    let columns = "request, type, status, agent, offered_to, tags, depends_on, blocked_by, repo, base_ref, output, \
         failure_reason, created_at, updated_at, finished_at, promise, iterations, max_iterations, checkpoint, plan_path, \
         verification_command, max_cost_micros, cost_micros, verified, run, worker_deaths, epoch, lease_until, \
         cancel_requested, events";
    let copy = |id: &str, series: &str| {
        format!(
            "{series} INSERT INTO tasks (id, queue, priority, {columns}) SELECT {id}, \
             CASE i % 4 WHEN 0 THEN 'ralph repo' WHEN 1 THEN 'crew local' WHEN 2 THEN 'ralph local stranger' \
             ELSE 'ralph local' END, i % 11 - 5, {columns} \
             FROM series, (SELECT * FROM tasks WHERE status = 'unassigned' ORDER BY id DESC LIMIT 1) AS one"
        )
    };
    match raw {
        Raw::Sqlite(path) => {
            let series =
                format!("WITH RECURSIVE series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < {MANY})");
            let mut connection =
                SqliteConnection::connect_with(&sqlx::sqlite::SqliteConnectOptions::new().filename(path)).await?;
            let sql = copy("printf('01ffffff-0000-7000-8000-%012x', i)", &series);
            sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await?;
            connection.close().await?;
        }
        Raw::Postgres(url) => {
            let series = format!("WITH series (i) AS (SELECT generate_series(1, {MANY}))");
            let mut connection = PgConnection::connect(url).await?;
            sqlx::raw_sql("SET search_path TO ralph").execute(&mut connection).await?;
            let sql = copy("'01ffffff-0000-7000-8000-' || lpad(to_hex(i), 12, '0')", &series);
            sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await?;
            connection.close().await?;
        }
    }
    println!("  filled in {:.1} s", millis(begun) / 1000.0);
    // The thread of that connection ends by then, and its time no longer counts among those of this process.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    Ok(())
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// Processor time of all threads of this process, in milliseconds.
fn cpu() -> Result<f64> {
    let mut all = 0.0;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let nanos: f64 = text.split(' ').next().ok_or("no figure")?.parse()?;
        all += nanos / 1e6;
    }
    Ok(all)
}
