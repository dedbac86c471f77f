//! Many workers on one board: no task is claimed twice, none is lost, and no worker writes to a task that was taken from it,
//! while workers vanish and the server is killed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ralph_model::{Millis, Money, NewTask, TaskId, TaskStatus, TaskType, Timestamp};
use ralph_store::{
    Change, Changes, Claim, Claimed, Database as Opened, Error, Progress, TaskEnd, TaskFilter, TaskLease,
};
use ralph_testkit::postgres::Cluster;
use uuid::Uuid;

use crate::database::Database;
use crate::id;

const WORKERS: u64 = 64;

/// The lease of a worker that lives: longer than the server is away.
const LEASE: Millis = Millis(5_000);

/// The lease of a worker that dies or sleeps.
const SHORT_LEASE: Millis = Millis(500);

/// How many tasks, and for how long at most.
fn size() -> (u32, Duration) {
    if is_long() { (20_000, Duration::from_secs(3_600)) } else { (200, Duration::from_secs(120)) }
}

fn is_long() -> bool {
    std::env::var_os("RALPH_TEST_LONG").is_some()
}

/// What a worker does with its next task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    Finish,
    /// Finish when the lease may be over.
    FinishLate(Duration),
    Release,
    /// Never come back, but for a write when another worker has the task.
    Vanish,
}

impl Plan {
    fn new(dice: &mut Dice) -> Self {
        match dice.roll(100) {
            0..5 => Self::Vanish,
            5..10 => Self::Release,
            10..20 => Self::FinishLate(Duration::from_millis(dice.roll(1_000))),
            _ => Self::Finish,
        }
    }

    const fn lease(self) -> Millis {
        match self {
            Self::Finish | Self::Release => LEASE,
            Self::FinishLate(_) | Self::Vanish => SHORT_LEASE,
        }
    }
}

/// What was acknowledged to the workers, and what they saw.
#[derive(Debug, Default)]
struct Ledger {
    /// Who got which epoch of a task.
    claims: Mutex<HashMap<LeaseKey, u64>>,
    /// The newest epoch that some worker got.
    newest: Mutex<HashMap<TaskId, u64>>,
    /// Whose completion of a task was acknowledged.
    completed: Mutex<HashMap<TaskId, String>>,
    vanished: AtomicU32,
    released: AtomicU32,
    stale: AtomicU32,
    late: AtomicU32,
    retries: AtomicU32,
    kills: AtomicU32,
    is_over: AtomicBool,
}

/// A lease as a key.
type LeaseKey = (TaskId, u64);

struct Campaign {
    ledger: Ledger,
    begun: Instant,
}

impl Campaign {
    fn now(&self) -> Timestamp {
        Timestamp(i64::try_from(self.begun.elapsed().as_millis()).unwrap())
    }

    fn count(counter: &AtomicU32) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.ledger.is_over.load(Ordering::Relaxed)
    }
}

/// Calls until there is an answer: what a worker does whose server is away for a moment. A macro, because the futures of
/// closures that borrow cannot be sent to another thread.
macro_rules! until_answered {
    ($campaign:expr, $call:expr) => {
        loop {
            match $call.await {
                Err(error) if is_away(&error) => {
                    Campaign::count(&$campaign.ledger.retries);
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                answered => break answered,
            }
        }
    };
}

/// A killed server also says what it was doing, or breaks the connection in the middle of an answer.
fn is_away(error: &Error) -> bool {
    matches!(error, Error::Unreachable { .. } | Error::Busy { .. } | Error::Database { .. })
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn claim(worker: u64, plan: Plan, at: Timestamp) -> Claim {
    let types = TaskType::ALL.to_vec();
    Claim { agent: format!("worker-{worker}"), token: None, types, without_repo: true, lease: plan.lease(), at }
}

/// Creates its share of the tasks; every fifth waits for one before it. A creation without an answer is repeated.
async fn creator(campaign: Arc<Campaign>, board: Opened, number: u32, tasks: u32) {
    let mut before: Option<TaskId> = None;
    for task in 0..tasks {
        let new = NewTask {
            task: format!("task {task} of creator {number}"),
            priority: i32::try_from(task % 5).unwrap(),
            depends_on: before.into_iter().filter(|_| task % 5 == 4).collect(),
            repo: (task % 2 == 0).then(|| "repo".to_owned()),
            ..NewTask::default()
        };
        let key = format!("{number} {task}");
        let id = || TaskId::from_uuid(Uuid::now_v7());
        let created = until_answered!(campaign, board.board.create_task(id(), &new, Some(&key), campaign.now()));
        before = Some(created.unwrap().0.id);
    }
}

async fn worker(campaign: Arc<Campaign>, opened: Opened, number: u64) {
    let mut dice = Dice(number);
    let mut changes = opened.store.subscribe();
    while !campaign.is_over() {
        let plan = Plan::new(&mut dice);
        match opened.board.claim_task(&claim(number, plan, campaign.now())).await {
            Ok(Some(claimed)) => work(&campaign, &opened, number, claimed, plan).await,
            Ok(None) => drop(tokio::time::timeout(Duration::from_millis(500), claimable(&mut changes)).await),
            Err(error) if is_away(&error) => {
                Campaign::count(&campaign.ledger.retries);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Waits until there may be a task to claim.
async fn claimable(changes: &mut Changes) {
    loop {
        match changes.next().await {
            Some(Change::Task { status, .. }) if status.is_final() || status.is_claimed() => {}
            _ => return,
        }
    }
}

async fn work(campaign: &Arc<Campaign>, opened: &Opened, worker: u64, claimed: Claimed, plan: Plan) {
    let Claimed { task, lease, .. } = claimed;
    let (ledger, epoch) = (&campaign.ledger, lease.epoch.0);
    let other = ledger.claims.lock().unwrap().insert((task.id, epoch), worker);
    assert_eq!(other, None, "task {} was claimed twice with epoch {epoch}", task.id);
    ledger.newest.lock().unwrap().entry(task.id).and_modify(|newest| *newest = epoch.max(*newest)).or_insert(epoch);
    assert!(!ledger.completed.lock().unwrap().contains_key(&task.id), "a completed task was claimed again");
    let board = &opened.board;
    let progress = Progress { run: Some(id(worker.into())), iterations: Some(1), ..Progress::default() };
    let begun = until_answered!(campaign, board.report_progress(lease, &progress, campaign.now()));
    if is_stale(ledger, begun) {
        return;
    }
    if let Plan::FinishLate(delay) = plan {
        tokio::time::sleep(delay).await;
    }
    match plan {
        Plan::Vanish => {
            Campaign::count(&ledger.vanished);
            tokio::spawn(ghost(campaign.clone(), opened.clone(), lease));
        }
        Plan::Release => {
            let released = until_answered!(campaign, board.release_task(lease, campaign.now()));
            if !is_stale(ledger, released) {
                Campaign::count(&ledger.released);
            }
        }
        Plan::Finish | Plan::FinishLate(_) => {
            let end = TaskEnd {
                status: TaskStatus::Completed,
                output: Some(format!("worker-{worker} {epoch}")),
                failure_reason: None,
                verified: true,
                iterations: 2,
                cost: Money::from_micros(7),
            };
            let finished = until_answered!(campaign, board.finish_task(lease, &end, campaign.now()));
            if !is_stale(ledger, finished) {
                let other = ledger.completed.lock().unwrap().insert(task.id, end.output.unwrap());
                assert_eq!(other, None, "task {} was completed twice", task.id);
            }
        }
    }
}

/// Whether a worker lost its task. Any other refusal is wrong: a release that is repeated after a lost answer is stale, too.
fn is_stale<T>(ledger: &Ledger, answer: Result<T, Error>) -> bool {
    match answer {
        Ok(_) => false,
        Err(Error::StaleTaskLease { .. }) => {
            Campaign::count(&ledger.stale);
            true
        }
        Err(error) => panic!("{error}"),
    }
}

/// Writes with a lease that another worker has followed: all of it has to be refused.
async fn ghost(campaign: Arc<Campaign>, opened: Opened, lease: TaskLease) {
    let is_followed =
        || campaign.ledger.newest.lock().unwrap().get(&lease.task).is_some_and(|epoch| *epoch > lease.epoch.0);
    while !is_followed() {
        if campaign.is_over() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (board, at) = (&opened.board, campaign.now());
    let end = TaskEnd {
        status: TaskStatus::Failed,
        output: Some("written by a ghost".to_owned()),
        failure_reason: None,
        verified: false,
        iterations: 99,
        cost: Money::dollars(99),
    };
    let progress = Progress { iterations: Some(99), message: Some("a ghost".to_owned()), ..Progress::default() };
    for refused in [
        until_answered!(campaign, board.renew_lease(lease, LEASE, at)).map(drop),
        until_answered!(campaign, board.report_progress(lease, &progress, at)).map(drop),
        until_answered!(campaign, board.set_checkpoint(lease, None, at)).map(drop),
        until_answered!(campaign, board.release_task(lease, at)).map(drop),
        until_answered!(campaign, board.finish_task(lease, &end, at)).map(drop),
    ] {
        assert!(matches!(refused, Err(Error::StaleTaskLease { .. })), "a stale write was accepted: {refused:?}");
        Campaign::count(&campaign.ledger.late);
    }
}

/// Runs the campaign on the servers, and checks what the database holds at its end.
async fn run(name: &str, database: &Database, servers: Vec<Opened>, campaign: Arc<Campaign>) {
    let (tasks, limit) = size();
    let creators = u32::try_from(servers.len()).unwrap();
    let mut all = Vec::new();
    for (opened, number) in servers.iter().zip(0..) {
        all.push(tokio::spawn(creator(campaign.clone(), opened.clone(), number, tasks / creators)));
    }
    let mut workers = Vec::new();
    for (number, opened) in (1..=WORKERS).zip(servers.iter().cycle()) {
        workers.push(tokio::spawn(worker(campaign.clone(), opened.clone(), number)));
    }
    for creator in all {
        creator.await.unwrap();
    }
    let board = &servers[0].board;
    loop {
        let counts = until_answered!(campaign, board.task_counts()).unwrap();
        let open: u64 = counts.iter().filter(|count| !count.status.is_final()).map(|count| count.tasks).sum();
        if open == 0 || workers.iter().any(tokio::task::JoinHandle::is_finished) {
            break;
        }
        assert!(campaign.begun.elapsed() < limit, "{counts:?} after {:?}", campaign.begun.elapsed());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    campaign.ledger.is_over.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.unwrap();
    }
    let took = campaign.begun.elapsed();
    check(name, database, &servers[0], &campaign, tasks, took).await;
}

#[expect(clippy::print_stdout, reason = "the figures are worth reading")]
async fn check(name: &str, database: &Database, opened: &Opened, campaign: &Campaign, tasks: u32, took: Duration) {
    let ledger = &campaign.ledger;
    let (mut completed, mut failed, mut filter) = (0, 0, TaskFilter { limit: 1_000, ..TaskFilter::default() });
    let acknowledged = ledger.completed.lock().unwrap().clone();
    loop {
        let page = until_answered!(campaign, opened.board.tasks(&filter)).unwrap();
        let Some(last) = page.last() else { break };
        filter.before = Some(last.id);
        for task in &page {
            match task.status {
                TaskStatus::Completed => {
                    completed += 1;
                    assert_eq!(task.output.as_ref(), acknowledged.get(&task.id), "another worker's end is stored");
                    assert_eq!((task.ralph_iterations, task.cost_usd), (2, Money::from_micros(7)));
                }
                TaskStatus::Failed => {
                    failed += 1;
                    let reason = task.failure_reason.as_deref().unwrap();
                    assert!(reason.starts_with("quarantined") || reason.ends_with("failed"), "{reason}");
                }
                status => panic!("task {} was lost: it is {status}", task.id),
            }
        }
    }
    assert_eq!(completed + failed, tasks, "each task exactly once");
    assert_eq!(acknowledged.len(), usize::try_from(completed).unwrap(), "what was acknowledged is stored");
    assert!(completed > tasks / 2, "{completed} of {tasks}");
    let claims = ledger.claims.lock().unwrap().len();
    let epochs = database.pairs("SELECT CAST(SUM(epoch) AS BIGINT), CAST(MAX(epoch) AS BIGINT) FROM tasks").await[0];
    let events = database
        .pairs(
            "SELECT CAST(SUM(CASE WHEN kind = 'claimed' THEN 1 ELSE 0 END) AS BIGINT), \
             CAST(SUM(CASE WHEN kind = 'completed' THEN 1 ELSE 0 END) AS BIGINT) FROM task_events",
        )
        .await[0];
    assert_eq!(events, (epochs.0, completed.into()), "one event for each claim and each end");
    assert!(i64::try_from(claims).unwrap() <= epochs.0);
    let count = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
    println!(
        "{name}: {tasks} tasks, {WORKERS} workers, {took:.1?}: {completed} completed, {failed} failed; {} claims, {claims} of \
         them answered, at most {} of one task; {} vanished, {} released, {} lost their task, {} late writes refused, \
         {} calls repeated, server killed {} times",
        epochs.0,
        epochs.1,
        count(&ledger.vanished),
        count(&ledger.released),
        count(&ledger.stale),
        count(&ledger.late),
        count(&ledger.retries),
        count(&ledger.kills),
    );
}

fn campaign() -> Arc<Campaign> {
    Arc::new(Campaign { ledger: Ledger::default(), begun: Instant::now() })
}

async fn servers(database: &Database, count: u32) -> Vec<Opened> {
    let mut servers = Vec::new();
    for _ in 0..count {
        servers.push(database.open_all().await);
    }
    servers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_workers_share_a_file() {
    let database = Database::sqlite();
    let servers = servers(&database, 2).await;
    run("sqlite", &database, servers, campaign()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_workers_share_a_server_that_is_killed() {
    let mut cluster = Cluster::start();
    let database = Database::postgres(&cluster, "campaign");
    let servers = servers(&database, 4).await;
    let campaign = campaign();
    let killer = tokio::task::spawn_blocking({
        let campaign = campaign.clone();
        move || {
            let (_, limit) = size();
            // Soon for the first time, and in a short campaign not again.
            while campaign.ledger.claims.lock().unwrap().len() < 10 && campaign.begun.elapsed() < limit {
                std::thread::sleep(Duration::from_millis(1));
            }
            while !campaign.is_over() && campaign.begun.elapsed() < limit {
                if !campaign.is_over() {
                    cluster.kill();
                    cluster.restart();
                    Campaign::count(&campaign.ledger.kills);
                }
                if !is_long() {
                    break;
                }
                std::thread::sleep(Duration::from_secs(4));
            }
            cluster
        }
    });
    run("postgresql", &database, servers, campaign.clone()).await;
    drop(killer.await.unwrap());
    assert!(campaign.ledger.kills.load(Ordering::Relaxed) > 0, "the server was never killed");
}
