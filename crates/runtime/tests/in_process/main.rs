//! Loops with a scripted agent that is no process: only checks are. What the compiled program alone can show is tested there.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test that cannot go on has failed")]

mod scripted;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ralph_agents::AgentServices;
use ralph_engine::{Limits, Stop, StopBy, StopWhen};
use ralph_model::{
    AbortReason, AgentEvent, AgentSpec, Caps, Expectation, LoopConfig, LoopId, Millis, Money, PriceList, Sandboxing,
    Timestamp, Trouble, TroubleKind,
};
use ralph_process::{Level, ReaperProgram, Supervisor};
use ralph_runtime::{Home, Opened, Resume, Services, begin, resume, stops, verify_run};
use ralph_store::{ArtifactKind, Machine, StopMode, open_postgres, open_sqlite};
use ralph_testkit::postgres::Cluster;
use ralph_view::{Delta, Progress, RunResult, RunStatus, Update, What};
use sha2::{Digest as _, Sha256};
use sqlx::Connection as _;
use tempfile::TempDir;

use scripted::{Script, Turn};

const TIMEOUT: Duration = Duration::from_secs(120);
const CLAIM: &str = "All done. <promise>COMPLETE</promise>";
const CHECK: &str = "#!/bin/sh\ngrep -q right answer\n";

/// A workspace whose check wants `right` in the file `answer`, a store, and an agent.
struct Lab {
    folder: TempDir,
    script: Arc<Script>,
    updates: Arc<Mutex<Vec<Update>>>,
    /// Which start of the machine it is.
    boot: &'static str,
    /// A server to use instead of a file.
    server: Option<String>,
}

impl Lab {
    fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        let folder = ralph_testkit::scratch();
        let lab = Self { folder, script: Script::new(turns), updates: Arc::default(), boot: "1", server: None };
        fs::create_dir(lab.workspace()).unwrap();
        fs::write(lab.workspace().join("answer"), "wrong\n").unwrap();
        fs::write(lab.workspace().join("check.sh"), CHECK).unwrap();
        lab
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("work")
    }

    fn config(&self) -> LoopConfig {
        let agent = AgentSpec::new("scripted", "scripted", None);
        let workspace = self.workspace().to_string_lossy().into_owned();
        LoopConfig {
            verification_commands: vec!["sh check.sh".into()],
            pause: Millis(0),
            backoff: Millis(10),
            tripwire: false,
            sandbox: Sandboxing::Off,
            ..LoopConfig::new("Make it right.".into(), 5, Money::dollars(5), agent, workspace)
        }
    }

    async fn services(&self) -> Services {
        let home = Home::new(self.folder.path().canonicalize().unwrap().join("state"));
        Home::make_private(home.root()).unwrap();
        let reaper =
            ReaperProgram { program: env!("CARGO_BIN_EXE_ralph-runtime-reaper").into(), arguments: Vec::new() };
        let (script, updates) = (Arc::clone(&self.script), Arc::clone(&self.updates));
        let path = std::env::var_os("PATH").unwrap();
        Services {
            store: match &self.server {
                Some(url) => open_postgres(url).await.unwrap(),
                None => open_sqlite(&home.database()).await.unwrap(),
            },
            home,
            machine: Machine { host: "here".into(), boot: self.boot.into() },
            supervisor: Arc::new(Supervisor::new(reaper, Arc::default())),
            build_agent: Arc::new(move |spec: &AgentSpec, services: AgentServices| match spec.kind.as_str() {
                "scripted" => Ok(script.build(services)),
                _ => ralph_agents::build(spec, services),
            }),
            redactor: Arc::default(),
            git: "git".into(),
            user_git: ralph_runtime::UserGit::default(),
            environment: vec![("PATH".into(), path)],
            agent_variables: Arc::new(|_| Vec::new()),
            egress: ralph_gateway::Egress::default(),
            prices: Arc::default(),
            hook: None,
            ledger: ralph_runtime::Ledger::Written,
            mcp_server: None,
            settings: Arc::new(|_| Vec::new()),
            kept: Arc::new(|_| Vec::new()),
            hidden: Arc::new(|_, _| Vec::new()),
            writable: Vec::new(),
            level: Level::none("a test"),
            caps: Caps::default(),
            metrics: None,
            notify: None,
            notifier: None,
            version: "0.0.0".into(),
            watcher: Arc::new(move |update| updates.lock().unwrap().push(update)),
            now,
            signals: ralph_runtime::AgentSignals::default(),
            crash: None,
        }
    }

    async fn open(&self, config: LoopConfig) -> Opened {
        begin(self.services().await, config.validate(&Caps::default()).unwrap(), stops().1).await.unwrap()
    }

    async fn run(&self, config: LoopConfig) -> RunResult {
        let result = finished(self.open(config).await).await;
        self.proven(result.loop_id).await;
        result
    }

    async fn resumed(&self, loop_id: LoopId) -> RunResult {
        let opened = resume(self.services().await, loop_id, Resume::default(), stops().1).await.unwrap();
        let result = finished(opened).await;
        self.proven(loop_id).await;
        result
    }

    /// Whatever came of a loop, its journal leads to it.
    async fn proven(&self, loop_id: LoopId) {
        let services = self.services().await;
        let proof = verify_run(&services.home, &services.store, loop_id).await.unwrap();
        assert!(proof.holds, "{proof:?}");
    }

    fn was_shown(&self, wanted: impl Fn(&What) -> bool) -> bool {
        self.updates.lock().unwrap().iter().any(|update| wanted(&update.what))
    }

    fn was_recorded(&self, wanted: impl Fn(&Delta) -> bool) -> bool {
        self.was_shown(|what| matches!(what, What::Recorded { deltas, .. } if deltas.iter().any(&wanted)))
    }

    /// Changes the database behind the store's back.
    async fn execute(&self, statement: &'static str) {
        let path = self.folder.path().join("state/ralph.db");
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
        let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
        sqlx::query(statement).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    /// As if the process had died before its agent began.
    async fn forget_that_the_agent_began(&self, loop_id: LoopId) {
        let attempts = self.services().await.store.attempts(loop_id).await.unwrap();
        assert!(attempts.len() == 1 && attempts[0].began_at.is_some(), "{attempts:?}");
        self.execute("UPDATE attempts SET began_at = NULL").await;
    }

    /// Runs the loop until its agent waits, and drops it there, as a crash would.
    async fn crash_while_the_agent_waits(&self) -> LoopId {
        let opened = self.open(self.config()).await;
        let loop_id = opened.loop_id();
        tokio::select! {
            result = opened.run() => panic!("it was to die before it ended: {result:?}"),
            () = async {
                self.script.waiting.notified().await;
                let store = self.services().await.store;
                // A crash in the moment before would leave the whole reservation to pay.
                while store.attempts(loop_id).await.unwrap().iter().all(|attempt| attempt.cost.is_none()) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            } => {}
            () = tokio::time::sleep(TIMEOUT) => panic!("the agent never began"),
        }
        loop_id
    }
}

async fn finished(opened: Opened) -> RunResult {
    tokio::time::timeout(TIMEOUT, opened.run()).await.expect("the loop ends").unwrap()
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp(i64::try_from(since.as_millis()).unwrap())
}

fn fix() -> Turn {
    Turn::write("answer", "right\n")
}

#[tokio::test]
async fn verified_work_completes_and_is_told_step_by_step() {
    let lab = Lab::new([fix().costing(7)]);
    let result = lab.run(lab.config()).await;
    assert_eq!((result.status, result.verified, result.iterations), (RunStatus::Completed, true, 1), "{result:?}");
    assert_eq!(result.cost, Money::from_micros(70_000));
    let told = |wanted: fn(&AgentEvent) -> bool| {
        lab.was_shown(|what| matches!(what, What::Progress { progress: Progress::Agent { event } } if wanted(event)))
    };
    assert!(told(|event| matches!(event, AgentEvent::ToolFinished { tool, success: true, .. } if tool == "write")));
    assert!(told(|event| matches!(event, AgentEvent::Usage { cost, .. } if *cost == Money::from_micros(70_000))));
}

#[tokio::test]
async fn the_agent_is_given_the_delegation_and_what_is_left_of_the_money() {
    let lab = Lab::new([Turn::idle().costing(100), fix()]);
    let config = LoopConfig { expects: vec![Expectation::File("answer".into())], ..lab.config() };
    lab.run(config).await;
    let tasks = lab.script.tasks.lock().unwrap();
    assert_eq!(tasks[0].delegation.objective, "Make it right.");
    assert_eq!(tasks[0].delegation.expected_outcome.as_deref(), Some("these checks pass: sh check.sh"));
    assert_eq!(tasks[0].delegation.expects, [Expectation::File("answer".into())]);
    let budgets: Vec<_> = tasks.iter().map(|task| task.budget).collect();
    assert_eq!(budgets, [Some(Money::dollars(5)), Some(Money::dollars(4))]);
}

#[tokio::test]
async fn a_false_claim_is_counted_and_the_failure_goes_back_to_the_agent() {
    let lab = Lab::new([Turn::idle().saying(CLAIM), fix().saying(CLAIM)]);
    let result = lab.run(lab.config()).await;
    assert_eq!((result.status, result.iterations, result.false_claims), (RunStatus::Completed, 2, 1), "{result:?}");
    let prompts = lab.script.prompts();
    assert_eq!(prompts[0], "Make it right.");
    assert!(prompts[1].contains("sh check.sh") && prompts[1].contains("attempt #2"), "{}", prompts[1]);
}

#[tokio::test]
async fn used_up_iterations_and_money_abort() {
    let lab = Lab::new([Turn::write("notes", "1"), Turn::write("notes", "2")]);
    let result = lab.run(LoopConfig { max_iterations: 2, ..lab.config() }).await;
    assert_eq!((result.status, result.reason), (RunStatus::Aborted, Some(AbortReason::MaxIterations)), "{result:?}");

    let lab = Lab::new([Turn::write("notes", "1").costing(60), Turn::write("notes", "2").costing(60)]);
    let result = lab.run(LoopConfig { max_cost: Money::dollars(1), ..lab.config() }).await;
    assert_eq!((result.reason, result.iterations), (Some(AbortReason::CostLimit), 2), "{result:?}");
}

#[tokio::test]
async fn a_request_to_stop_reaches_the_agent_and_ends_the_loop() {
    let lab = Lab::new([Turn { waits: true, ..Turn::idle() }]);
    let (stopper, requests) = stops();
    let opened = begin(lab.services().await, lab.config().validate(&Caps::default()).unwrap(), requests).await.unwrap();
    let (result, ()) = tokio::join!(finished(opened), async {
        lab.script.waiting.notified().await;
        stopper.stop(StopWhen::Now, StopBy::Keyboard);
    });
    assert_eq!(result.reason, Some(AbortReason::Cancelled), "{result:?}");
    assert!(lab.was_recorded(|delta| matches!(delta, Delta::Stopping { stop: Stop { when: StopWhen::Now, .. } })));
    lab.proven(result.loop_id).await;
}

/// How long it takes from a request of another process to the end of a loop whose agent waits.
async fn time_to_stop(lab: &Lab) -> Duration {
    let opened = lab.open(lab.config()).await;
    let loop_id = opened.loop_id();
    let other = lab.services().await.store;
    let (result, asked) = tokio::join!(finished(opened), async {
        lab.script.waiting.notified().await;
        // Long after the look at the start.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let asked = Instant::now();
        other.request_stop(loop_id, StopMode::Now, now()).await.unwrap();
        asked
    });
    assert_eq!(result.reason, Some(AbortReason::Cancelled), "{result:?}");
    asked.elapsed()
}

#[tokio::test]
async fn a_request_of_another_process_arrives_within_a_second() {
    let cluster = Cluster::start();
    for server in [None, Some(cluster.create_database("stops"))] {
        const TRIES: usize = 20;
        let mut lab = Lab::new((0..TRIES).map(|_| Turn { waits: true, ..Turn::idle() }));
        lab.server = server;
        let mut took = Vec::new();
        // A busy machine may be late several times.
        while took.iter().all(|time| *time >= Duration::from_secs(1)) {
            assert!(took.len() < TRIES, "{took:?} with {:?}", lab.server);
            took.push(time_to_stop(&lab).await);
        }
    }
}

#[tokio::test]
async fn an_agent_that_may_have_run_uses_up_its_iteration_and_is_charged_what_it_reported() {
    let lab = Lab::new([Turn { waits: true, ..Turn::idle() }.costing(30), fix()]);
    let loop_id = lab.crash_while_the_agent_waits().await;
    let result = lab.resumed(loop_id).await;
    assert_eq!((result.status, result.iterations), (RunStatus::Completed, 2), "{result:?}");
    assert_eq!(result.cost, Money::from_micros(300_000));
}

#[tokio::test]
async fn an_agent_that_never_started_is_started_again_in_the_same_iteration() {
    let lab = Lab::new([Turn { waits: true, ..Turn::idle() }.costing(30), fix()]);
    let loop_id = lab.crash_while_the_agent_waits().await;
    lab.forget_that_the_agent_began(loop_id).await;
    let result = lab.resumed(loop_id).await;
    assert_eq!((result.status, result.iterations), (RunStatus::Completed, 1), "{result:?}");
    assert_eq!(result.cost, Money::ZERO);
}

#[tokio::test]
async fn after_a_reboot_an_agent_may_have_run_whose_start_was_not_recorded() {
    let mut lab = Lab::new([Turn { waits: true, ..Turn::idle() }.costing(30), fix()]);
    let loop_id = lab.crash_while_the_agent_waits().await;
    lab.forget_that_the_agent_began(loop_id).await;
    // A reboot takes longer than a lease lasts.
    lab.execute("UPDATE loops SET lease_until = 0").await;
    lab.boot = "2";
    let result = lab.resumed(loop_id).await;
    assert_eq!((result.status, result.iterations), (RunStatus::Completed, 2), "{result:?}");
    assert_eq!(result.cost, Money::from_micros(300_000));
}

#[tokio::test]
async fn a_loop_that_an_earlier_version_left_is_resumed_by_its_files() {
    // An unknown cost is charged as one request.
    let usual = PriceList::default().usual_request(None);
    for (file, iterations, cost) in
        [(Some("120000"), 2, Money::from_micros(120_000)), (Some("unknown"), 2, usual), (None, 1, Money::ZERO)]
    {
        let lab = Lab::new([Turn { waits: true, ..Turn::idle() }.costing(30), fix()]);
        let loop_id = lab.crash_while_the_agent_waits().await;
        let store = lab.services().await.store;
        let attempt = store.attempts(loop_id).await.unwrap()[0].attempt;
        lab.execute("DELETE FROM attempts").await;
        if let Some(text) = file {
            let folder = lab.folder.path().join("state/loops").join(loop_id.to_string()).join("attempts");
            fs::write(folder.join(format!("{attempt}.started")), "").unwrap();
            fs::write(folder.join(format!("{attempt}.cost")), text).unwrap();
        }
        let limits = Limits { max_cost: Some(Money::dollars(10)), ..Limits::default() };
        let opened =
            resume(lab.services().await, loop_id, Resume { limits, ..Resume::default() }, stops().1).await.unwrap();
        let result = finished(opened).await;
        assert_eq!((result.status, result.iterations), (RunStatus::Completed, iterations), "{result:?}");
        assert_eq!(result.cost, cost, "{file:?}");
    }
}

#[tokio::test]
async fn outputs_and_prompts_are_recorded_with_their_hashes() {
    let lab = Lab::new([fix().saying(CLAIM)]);
    let result = lab.run(lab.config()).await;
    let services = lab.services().await;
    let artifacts = services.store.artifacts(result.loop_id).await.unwrap();
    let names: Vec<_> = artifacts.iter().map(|one| (one.kind, one.iteration.map(|number| number.0))).collect();
    let expected = [(ArtifactKind::Log, None), (ArtifactKind::Log, Some(1)), (ArtifactKind::Log, Some(1))];
    assert_eq!(names, [&expected[..], &[(ArtifactKind::Prompt, Some(1))]].concat(), "{artifacts:?}");
    for artifact in artifacts {
        let content = fs::read(services.home.loop_folder(result.loop_id).root().join(&artifact.name)).unwrap();
        assert_eq!(artifact.sha256, format!("{:x}", Sha256::digest(&content)), "{}", artifact.name);
        assert_eq!(artifact.bytes, content.len() as u64, "{}", artifact.name);
    }
}

#[tokio::test]
async fn a_certificate_in_the_store_counts_without_its_file_and_has_to_be_true() {
    let lab = Lab::new([fix()]);
    let result = lab.run(lab.config()).await;
    let services = lab.services().await;
    fs::remove_file(services.home.loop_folder(result.loop_id).certificate()).unwrap();
    lab.proven(result.loop_id).await;
    lab.execute("UPDATE loops SET certificate = REPLACE(certificate, 'COMPLETED', 'ABORTED')").await;
    let proof = verify_run(&services.home, &services.store, result.loop_id).await.unwrap();
    let broken: Vec<_> = proof.findings.iter().filter(|finding| !finding.holds).map(|found| &found.what).collect();
    assert_eq!(broken, ["certificate"]);
}

#[tokio::test]
async fn a_check_that_the_agent_rewrote_does_not_complete_the_loop() {
    let lab = Lab::new([Turn::write("check.sh", "#!/bin/sh\nexit 0\n").saying(CLAIM), Turn::idle()]);
    let result = lab.run(LoopConfig { max_iterations: 2, ..lab.config() }).await;
    assert_eq!((result.status, result.verified), (RunStatus::Aborted, false), "{result:?}");
    assert!(result.tampered > 0, "{result:?}");
    assert!(lab.was_recorded(|delta| matches!(delta, Delta::Tampered { .. })));
}

#[tokio::test]
async fn a_service_that_refused_for_a_while_costs_no_iteration() {
    let trouble = Trouble { kind: TroubleKind::RateLimit, until: None, message: "429".into(), advice: None };
    let lab = Lab::new([Turn { trouble: Some(trouble), ..Turn::idle() }, fix()]);
    let result = lab.run(LoopConfig { max_iterations: 1, ..lab.config() }).await;
    assert_eq!((result.status, result.iterations), (RunStatus::Completed, 1), "{result:?}");
    assert_eq!(lab.script.prompts().len(), 2);
}

#[tokio::test]
async fn a_kind_that_nobody_knows_ends_the_loop_with_its_name() {
    let lab = Lab::new([]);
    let result = lab.run(LoopConfig { agent: AgentSpec::new("x", "of-tomorrow", None), ..lab.config() }).await;
    assert_eq!(result.status, RunStatus::Error);
    assert!(result.error.as_ref().is_some_and(|error| error.contains("`of-tomorrow`")), "{result:?}");
}

/// A webhook that takes one notification after the other.
async fn webhook() -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (sender, bodies) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut received = Vec::new();
            while !received.ends_with(b"}") && stream.read_buf(&mut received).await.unwrap_or(0) > 0 {}
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer.as_bytes()).await.unwrap();
            sender.send(String::from_utf8(received).unwrap()).unwrap();
        }
    });
    (url, bodies)
}

#[tokio::test]
async fn the_end_of_a_loop_is_notified_and_a_failing_channel_is_a_warning() {
    let (url, mut bodies) = webhook().await;
    for (url, works) in [(url, true), ("http://127.0.0.1:1/nobody".to_owned(), false)] {
        let lab = Lab::new([Turn::write("answer", "right\n").saying(CLAIM)]);
        let webhook = Some(ralph_notify::Webhook { url });
        let settings = ralph_notify::Settings { webhook, ..ralph_notify::Settings::default() };
        let notifier = Some(Arc::new(ralph_notify::Notifier::new(settings).unwrap()));
        let services = Services { notifier, ..lab.services().await };
        let config = lab.config().validate(&Caps::default()).unwrap();
        let result = finished(begin(services, config, stops().1).await.unwrap()).await;
        assert_eq!(result.status, RunStatus::Completed);
        let warned = lab.was_shown(|what| match what {
            What::Progress { progress: Progress::Warning { text } } => {
                text.contains("the notification by webhook failed")
            }
            _ => false,
        });
        assert_eq!(warned, !works);
        if works {
            let body = bodies.recv().await.unwrap();
            assert!(body.contains(&format!("Ralph: {} finished", result.loop_id.short())), "{body}");
        }
    }
}
