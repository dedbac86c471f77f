//! The other process: this test program again, with a role. It says on standard output what was acknowledged to it.

use std::env;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use ralph_model::{Money, RunId};
use ralph_store::{Epoch, Error, Head, Lease, Seq, StoreHandle};

use crate::database::open;
use crate::{event, id, new_run, reserve};

/// What the other process does.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    /// Appends to its loop until it is killed.
    AppendForever,
    /// Appends so many events to a loop that others append to as well.
    AppendShared(u32),
    /// Reserves money so many times.
    Reserve(u32),
    /// Appends large events until it is refused.
    Fill,
}

const MARK: &str = "said:";

/// A started process with its words.
pub(crate) struct Helper {
    pub(crate) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Helper {
    /// Starts the role on a database. `wrap` is a line of shell that goes before it.
    pub(crate) fn start(address: &str, run: RunId, role: Role, wrap: &str) -> Self {
        let (name, count) = match role {
            Role::AppendForever => ("forever", 0),
            Role::AppendShared(count) => ("shared", count),
            Role::Reserve(count) => ("reserve", count),
            Role::Fill => ("fill", 0),
        };
        let mut child = Command::new("sh")
            .args(["-c", &format!("{wrap} exec \"$0\" --exact helper::other_process --nocapture")])
            .arg(env::current_exe().unwrap())
            .env("RALPH_STORE_TEST", format!("{name} {count} {run} {address}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next thing it said, or `None` at its end.
    pub(crate) fn next(&mut self) -> Option<String> {
        // libtest writes lines of its own in between, and the first of ours may stand behind its `test ... `.
        self.lines.find_map(|line| line.unwrap().split_once(MARK).map(|(_, said)| said.to_owned()))
    }

    /// Waits for its end, which has to be a good one.
    pub(crate) fn finish(mut self) -> Vec<String> {
        let said = std::iter::from_fn(|| self.next()).collect();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
        said
    }
}

fn say(what: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    // One write, so that a kill cannot leave half a line.
    out.write_all(format!("{MARK}{what}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Not a test by itself: the other process of the tests beside it, and nothing without its variable.
#[test]
fn other_process() {
    let Ok(words) = env::var("RALPH_STORE_TEST") else { return };
    let mut words = words.splitn(4, ' ');
    let mut word = || words.next().unwrap();
    let (role, count, run, path) = (word(), word().parse().unwrap(), word().parse().unwrap(), word());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = open(path).await;
        match role {
            "forever" => forever(&store, run).await,
            "shared" => shared(&store, run, count).await,
            "reserve" => reserve_many(&store, run, count).await,
            "fill" => fill(&store, run).await,
            other => panic!("{other} is no role"),
        }
    });
}

async fn opened(store: &StoreHandle, run: RunId) -> (Lease, Head) {
    match store.run(run).await {
        Ok(entry) => (store.acquire(run, None).await.unwrap(), entry.head),
        Err(Error::UnknownRun { .. }) => store.create_run(new_run(run), event("{}".to_owned())).await.unwrap(),
        Err(error) => panic!("{error}"),
    }
}

async fn forever(store: &StoreHandle, run: RunId) {
    let (lease, mut head) = opened(store, run).await;
    loop {
        // Several pages at times, so that a kill can hit a transaction of many writes.
        let payload = format!("\"{}\"", "x".repeat(if head.seq.0.is_multiple_of(7) { 40_000 } else { 100 }));
        head = store.append(lease, head.seq, event(payload).into()).await.unwrap();
        say(head.seq);
    }
}

async fn shared(store: &StoreHandle, own: RunId, count: u32) {
    let (lease, mut mine) = opened(store, own).await;
    let mut theirs = Seq(1);
    // All processes of the test share the first lease of this run.
    let common = Lease { run: id(0), epoch: Epoch(1) };
    for number in 0..count {
        mine = store.append(lease, mine.seq, event(number.to_string()).into()).await.unwrap();
        loop {
            match store.append(common, theirs, event(format!("\"{own} {number}\"")).into()).await {
                Ok(head) => break theirs = head.seq,
                Err(Error::Conflict { found, .. }) => theirs = found,
                Err(error) => panic!("{error}"),
            }
        }
    }
    say(count);
}

async fn reserve_many(store: &StoreHandle, run: RunId, count: u32) {
    let (lease, _) = opened(store, run).await;
    for attempt in 1..=count {
        let answer = store.reserve(lease, reserve(attempt, Money::from_micros(30_011))).await.unwrap();
        say(answer.granted.micros());
    }
}

async fn fill(store: &StoreHandle, run: RunId) {
    let (lease, mut head) = opened(store, run).await;
    loop {
        let payload = format!("\"{}\"", "x".repeat(10_000));
        match store.append(lease, head.seq, event(payload).into()).await {
            Ok(next) => head = next,
            Err(error) => {
                assert!(matches!(error, Error::Full { .. }), "{error:?}");
                break say(head.seq);
            }
        }
    }
}
