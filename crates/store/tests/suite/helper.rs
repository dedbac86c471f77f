//! The other process: this test program again, with a role. It says on standard output what was acknowledged to it.

use std::env;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use ralph_model::{Attempt, LoopId, Money};
use ralph_store::{Error, Head, Seq, Store};

use crate::{event, id, new_loop};

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

pub(crate) const DAY: &str = "2026-11-15";
pub(crate) const DAY_CAP: Money = Money::dollars(5);
const MARK: &str = "said:";

/// A started process with its words.
pub(crate) struct Helper {
    pub(crate) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Helper {
    /// Starts the role on a database. `wrap` is a line of shell that goes before it.
    pub(crate) fn start(path: &Path, loop_id: LoopId, role: Role, wrap: &str) -> Self {
        let (name, count) = match role {
            Role::AppendForever => ("forever", 0),
            Role::AppendShared(count) => ("shared", count),
            Role::Reserve(count) => ("reserve", count),
            Role::Fill => ("fill", 0),
        };
        let mut child = Command::new("sh")
            .args(["-c", &format!("{wrap} exec \"$0\" --exact helper::other_process --nocapture")])
            .arg(env::current_exe().unwrap())
            .env("RALPH_STORE_TEST", format!("{name} {count} {loop_id} {}", path.display()))
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
    let (role, count, loop_id, path) = (word(), word().parse().unwrap(), word().parse().unwrap(), word());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(Path::new(path)).await.unwrap();
        match role {
            "forever" => forever(&store, loop_id).await,
            "shared" => shared(&store, loop_id, count).await,
            "reserve" => reserve(&store, loop_id, count).await,
            "fill" => fill(&store, loop_id).await,
            other => panic!("{other} is no role"),
        }
    });
}

async fn head(store: &Store, loop_id: LoopId) -> Head {
    match store.get(loop_id).await {
        Ok(entry) => entry.head,
        Err(Error::UnknownLoop { .. }) => store.create_loop(new_loop(loop_id), event("{}".to_owned())).await.unwrap(),
        Err(error) => panic!("{error}"),
    }
}

async fn forever(store: &Store, loop_id: LoopId) {
    let mut head = head(store, loop_id).await;
    loop {
        // Several pages at times, so that a kill can hit a transaction of many writes.
        let payload = format!("\"{}\"", "x".repeat(if head.seq.0.is_multiple_of(7) { 40_000 } else { 100 }));
        head = store.append(loop_id, head.seq, &[event(payload)], None, None).await.unwrap();
        say(head.seq);
    }
}

async fn shared(store: &Store, own: LoopId, count: u32) {
    let mut mine = head(store, own).await;
    let mut theirs = Seq(1);
    for number in 0..count {
        mine = store.append(own, mine.seq, &[event(number.to_string())], None, None).await.unwrap();
        loop {
            match store.append(id(0), theirs, &[event(format!("\"{own} {number}\""))], None, None).await {
                Ok(head) => break theirs = head.seq,
                Err(Error::Conflict { found, .. }) => theirs = found,
                Err(error) => panic!("{error}"),
            }
        }
    }
    say(count);
}

async fn reserve(store: &Store, loop_id: LoopId, count: u32) {
    head(store, loop_id).await;
    for attempt in 1..=count {
        let want = Money::from_micros(30_011);
        let answer = store.reserve(DAY, loop_id, Attempt(attempt), want, DAY_CAP).await.unwrap();
        say(answer.granted.micros());
    }
}

async fn fill(store: &Store, loop_id: LoopId) {
    let mut head = head(store, loop_id).await;
    loop {
        let payload = format!("\"{}\"", "x".repeat(10_000));
        match store.append(loop_id, head.seq, &[event(payload)], None, None).await {
            Ok(next) => head = next,
            Err(error) => {
                assert!(matches!(error, Error::Full { .. }), "{error:?}");
                break say(head.seq);
            }
        }
    }
}
