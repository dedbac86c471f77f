//! What a worker's commit costs through a server on this machine, beside the same commit in SQLite. Below the folder that is
//! named, or the temporary one.
#![allow(clippy::print_stdout, missing_docs)] // a measurement prints

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ralph_api::Client;
use ralph_model::{Caps, RunId, RunKind, Timestamp};
use ralph_runtime::Home;
use ralph_server::{App, Limits, Secret, Server, ServerOptions};
use ralph_store::{Append, Database, Head, Lease, NewEvent, NewRun, Role, RunEntry, StoreHandle, Token};
use uuid::Uuid;

const ROUNDS: usize = 1000;

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result {
    let place = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::TempDir::new_in(place)?;
    let database = Database::open_sqlite(&folder.path().join("ralph.db")).await?;
    let (home, listing) = (Home::new(folder.path().to_owned()), Home::new(folder.path().to_owned()));
    let app = App::new(ServerOptions {
        store: Arc::clone(&database.store),
        board: Arc::clone(&database.board),
        listed: Arc::new(move |entry: &RunEntry| ralph_runtime::listed(entry, &listing)),
        home,
        git: None,
        caps: Caps::default(),
        version: "bench".to_owned(),
        now,
        allow_hosts: Vec::new(),
        allow_origins: Vec::new(),
        limits: Limits::default(),
        notifier: None,
        log: Arc::new(|text: &str| println!("{text}")),
    });
    let secret = Secret::generate()?;
    let token = Token { name: "bench".to_owned(), role: Role::Admin, created_at: now() };
    database.board.add_token(&token, &secret.hash()).await?;
    let server = Server::bind(app, ([127, 0, 0, 1], 0).into(), None, false).await?;
    let remote = Client::new(&server.url(), secret.reveal())?.store(None, Duration::from_secs(10));
    tokio::spawn(server.run(std::future::pending()));
    let mut direct = Writer::begin(Arc::clone(&database.store)).await?;
    let mut remote = Writer::begin(remote).await?;
    // Alternately, because machines are noisy.
    for _ in 0..ROUNDS {
        direct.append().await?;
        remote.append().await?;
    }
    let (direct, remote) = (direct.median(), remote.median());
    println!("append, SQLite: {direct:.3} ms");
    println!("append, through a server: {remote:.3} ms");
    println!("overhead: {:.3} ms", remote - direct);
    Ok(())
}

fn now() -> Timestamp {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    Timestamp(i64::try_from(millis).unwrap_or(i64::MAX))
}

/// A run that grows, and how long each commit took.
struct Writer {
    store: StoreHandle,
    lease: Lease,
    head: Head,
    times: Vec<f64>,
}

impl Writer {
    async fn begin(store: StoreHandle) -> Result<Self> {
        let new = NewRun {
            id: RunId::from_uuid(Uuid::now_v7()),
            kind: RunKind::Loop,
            parent: None,
            workspace: "/work/project".to_owned(),
            origin: None,
            objective: "grow".to_owned(),
            agent: "command".to_owned(),
            skill: None,
            holder: None,
            at: now(),
        };
        let (lease, head) = store.create_run(new, event()).await?;
        Ok(Self { store, lease, head, times: Vec::new() })
    }

    async fn append(&mut self) -> Result {
        let append = Append { events: vec![event()], ..Append::default() };
        let begun = Instant::now();
        self.head = self.store.append(self.lease, self.head.seq, append).await?;
        self.times.push(begun.elapsed().as_secs_f64() * 1000.0);
        Ok(())
    }

    fn median(mut self) -> f64 {
        self.times.sort_by(f64::total_cmp);
        self.times[self.times.len() / 2]
    }
}

/// As long as the event of an iteration.
fn event() -> NewEvent {
    let payload = format!(r#"{{"text":"{}"}}"#, "x".repeat(1000));
    NewEvent { at: now(), version: 1, kind: "bench".to_owned(), payload }
}
