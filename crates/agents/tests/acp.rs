//! Servers of the Agent Client Protocol as real processes under the real supervisor. They are lines of shell that print what
//! was prepared for them: the numbers of a client's requests are known.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ralph_agents::{AgentServices, AgentTask, Observed, ProcessBase, Prohibited, StopSignal, build};
use ralph_model::{
    AgentEvent, AgentSpec, Cost, Delegation, Domain, Ended, FaultKind, Launch, Millis, Money, PriceList, Timestamp,
    TroubleKind,
};
use ralph_process::{ReaperProgram, Stop, Supervisor};
use ralph_text::Redactor;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;

const TIMEOUT: Duration = Duration::from_secs(60);
/// Prints what was prepared and keeps what it is sent, up to the end of its input.
const OBEDIENT: &str = "cat script; exec cat > heard";

struct Lab {
    folder: TempDir,
    reaper: ReaperProgram,
    supervisor: Arc<Supervisor>,
    redactor: Arc<Redactor>,
    budget: Option<Money>,
    idle: Option<Millis>,
}

impl Lab {
    fn new(lines: &[Value]) -> Self {
        let shared = Path::new("/dev/shm");
        let folder = if shared.is_dir() { TempDir::new_in(shared).unwrap() } else { TempDir::new().unwrap() };
        let reaper = ReaperProgram { program: env!("CARGO_BIN_EXE_ralph-agents-reaper").into(), arguments: Vec::new() };
        let redactor: Arc<Redactor> = Arc::default();
        let supervisor = Arc::new(Supervisor::new(reaper.clone(), Arc::clone(&redactor)));
        let lab = Self { folder, reaper, supervisor, redactor, budget: None, idle: None };
        lab.script(lines);
        lab
    }

    /// What its server prints, after the answers to the first requests.
    fn script(&self, lines: &[Value]) {
        let opening =
            [json!({"id": 1, "result": {"protocolVersion": 1}}), json!({"id": 2, "result": {"sessionId": "s"}})];
        let script: String = opening.iter().chain(lines).map(|line| format!("{line}\n")).collect();
        fs::write(self.path("script"), script).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn heard(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("heard")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    async fn run(&self, command: &str) -> Observed {
        let (_keep, stop) = watch::channel(None);
        self.run_until(command, "Do it.", stop, &mut |_| {}).await
    }

    async fn run_until(
        &self,
        command: &str,
        prompt: &str,
        stop: StopSignal,
        observe: &mut (dyn FnMut(AgentEvent) + Send),
    ) -> Observed {
        let auth = self.path("src/auth");
        let matches = move |path: &Path| path.starts_with(&auth).then(|| "src/auth/**".to_owned());
        let base = ProcessBase {
            directory: self.folder.path().to_owned(),
            environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
            scratch: self.folder.path().to_owned(),
            log: self.path("log"),
            log_limit: 1 << 20,
            idle: self.idle,
            sandbox: None,
            hold: Vec::new(),
            redactor: Arc::clone(&self.redactor),
            prices: Arc::new(PriceList::default()),
            prohibited: Prohibited { matches: Arc::new(matches), ..Prohibited::default() },
            mcp_server: None,
            counted: Arc::default(),
            now: || Timestamp(1_794_744_000_000),
        };
        let spec = AgentSpec::new("server", "acp", Launch::Command(command.into()));
        let services = AgentServices { supervisor: Arc::clone(&self.supervisor), base };
        let task = AgentTask {
            delegation: Delegation::new("server", Domain::Development, "Do it."),
            prompt: prompt.to_owned(),
            budget: self.budget,
            timeout: Millis(50_000),
        };
        let agent = build(&spec, services).unwrap();
        tokio::time::timeout(TIMEOUT, agent.run(&task, stop, observe)).await.expect("the run ends").unwrap()
    }
}

fn update(update: &Value) -> Value {
    json!({"method": "session/update", "params": {"sessionId": "s", "update": update}})
}

fn says(text: &str) -> Value {
    update(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

fn done(reason: &str) -> Value {
    json!({"id": 3, "result": {"stopReason": reason}})
}

fn asks(id: u32, path: &Path) -> Value {
    let options = json!([{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]);
    let call = json!({"toolCallId": id.to_string(), "title": "write", "kind": "edit", "locations": [{"path": path}]});
    json!({"id": id, "method": "session/request_permission", "params": {"options": options, "toolCall": call}})
}

fn kinds(observed: &Observed) -> Vec<FaultKind> {
    observed.faults.iter().map(|fault| fault.kind).collect()
}

#[tokio::test]
async fn a_session_from_its_first_word_to_its_end() {
    let lab = Lab::new(&[]);
    let ended = json!({"sessionUpdate": "tool_call_update", "toolCallId": "7", "status": "completed"});
    let (good, bad) = (asks(7, &lab.path("src/main")), asks(8, &lab.path("src/x/../auth/key")));
    lab.script(&[good, update(&ended), bad, says("All "), says("done."), done("end_turn")]);
    let mut seen = Vec::new();
    let (_keep, stop) = watch::channel(None);
    let observed = lab.run_until(OBEDIENT, "Do it.", stop, &mut |event| seen.push(event)).await;
    assert_eq!((&observed.ended, observed.final_message.as_str()), (&Ended::Exited { code: 0 }, "All done."));
    assert_eq!(kinds(&observed), [FaultKind::Denied]);
    assert_eq!((observed.evidence[0].success, observed.evidence[1].success), (true, false));
    assert!(observed.evidence[1].summary.contains("prohibited by src/auth/**"), "{observed:?}");
    assert!(seen.contains(&AgentEvent::Output { text: "done.".into() }));

    let heard = lab.heard();
    let methods: Vec<&str> = heard.iter().filter_map(|line| line["method"].as_str()).collect();
    assert_eq!(methods, ["initialize", "session/new", "session/prompt"]);
    let answers: Vec<_> = heard.iter().filter_map(|line| line.pointer("/result/outcome/optionId")).collect();
    assert_eq!(answers, ["yes", "no"]);
}

#[tokio::test]
async fn a_secret_that_comes_in_pieces_is_nowhere() {
    let secret = "hunter2-very-long-secret-value";
    let redactor = Arc::new(Redactor::new([("MY_API_KEY", secret)]));
    let mut lab = Lab::new(&[]);
    lab.supervisor = Arc::new(Supervisor::new(lab.reaper.clone(), Arc::clone(&redactor)));
    lab.redactor = redactor;
    let thinks = |text: &str| {
        update(&json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}}))
    };
    let used = update(&json!({"sessionUpdate": "usage_update", "used": 1, "size": 2}));
    lab.script(&[
        thinks("I saw hunter2-very-lo"),
        says("MY_API_KEY=hunter2-ve"),
        thinks("ng-secret-value there. Is it hun"),
        used,
        says("ry-long-secret-value is it.\n"),
        says("Not hunt"),
        done("end_turn"),
    ]);
    let mut shown = String::new();
    let (_keep, stop) = watch::channel(None);
    let mut observe = |event| {
        if let AgentEvent::Output { text } = event {
            shown.push_str(&text);
        }
    };
    let observed = lab.run_until(OBEDIENT, "Do it.", stop, &mut observe).await;
    let message = "MY_API_KEY=[redacted:MY_API_KEY] is it.\nNot hunt";
    assert_eq!((observed.final_message.as_str(), shown.as_str()), (message, message));
    let log = fs::read_to_string(lab.path("log")).unwrap();
    for part in ["hunter2", "very-lo", "ry-long", "ng-secret", "secret-value"] {
        assert!(!log.contains(part), "{part}: {log}");
    }
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = |kind: &str| -> String {
        let updates = lines.iter().filter_map(|line| line.pointer("/params/update"));
        let of_kind = updates.filter(|update| update["sessionUpdate"] == kind);
        of_kind.map(|update| update["content"]["text"].as_str().unwrap()).collect()
    };
    assert_eq!(told("agent_message_chunk"), message);
    assert_eq!(told("agent_thought_chunk"), "I saw [redacted:MY_API_KEY] there. Is it hun");
    assert_eq!(lines.last().unwrap()["id"], 3, "what was held back comes before the end of the turn");
}

#[tokio::test]
async fn a_large_prompt_arrives_whole() {
    let lab = Lab::new(&[says("done"), done("end_turn")]);
    let (_keep, stop) = watch::channel(None);
    let prompt = "größer\n\"".repeat(200_000);
    let observed = lab.run_until(OBEDIENT, &prompt, stop, &mut |_| {}).await;
    assert_eq!(observed.faults, []);
    let heard = lab.heard();
    let prompted = heard.iter().find(|line| line["method"] == "session/prompt").unwrap();
    assert!(prompted["params"]["prompt"][0]["text"] == prompt);
}

#[tokio::test]
async fn a_server_that_stays_when_all_is_said_is_ended() {
    let lab = Lab::new(&[says("done"), done("end_turn")]);
    for command in ["cat script; sleep 1000", "trap '' TERM; cat script; while :; do sleep 0.1; done"] {
        let observed = lab.run(command).await;
        assert_eq!((observed.ended, observed.faults.as_slice()), (Ended::Exited { code: 0 }, &[][..]), "{command}");
    }
}

#[tokio::test]
async fn a_server_that_dies_is_told_from_one_that_is_none() {
    let lab = Lab::new(&[says("half")]);
    let observed = lab.run("cat script; kill -9 $$").await;
    assert_eq!((&observed.ended, kinds(&observed)), (&Ended::Signalled { signal: 9 }, vec![FaultKind::CutStream]));
    assert_eq!(observed.final_message, "half");
    assert_eq!(observed.cost, Cost::Unknown);

    for (command, words) in [
        (
            "echo 'usage: tool'; echo 'bad option' >&2; exit 3",
            "(exit code 3), and printed 1 lines that are not messages: usage: tool; bad option",
        ),
        ("no-such-server", "not found"),
        ("exit 0", "it ended before it accepted a prompt (exit code 0)"),
    ] {
        let trouble = lab.run(command).await.trouble.unwrap();
        assert!(trouble.kind == TroubleKind::Setup && trouble.message.contains(words), "{trouble:?}");
    }
}

#[tokio::test]
async fn a_flood_is_given_up() {
    let lab = Lab::new(&[]);
    let observed = lab.run("yes 'no message'").await;
    assert!(observed.faults[0].detail.contains("lines that are not messages: no message"), "{observed:?}");
    // It asks without end and reads nothing.
    let observed = lab.run("cat script; exec yes '{\"id\":9,\"method\":\"odd\"}'").await;
    assert!(observed.faults[0].detail.contains("does not read the answers"), "{observed:?}");
}

#[tokio::test]
async fn a_server_that_says_nothing_hangs() {
    let mut lab = Lab::new(&[]);
    lab.idle = Some(Millis(500));
    let observed = lab.run("sleep 1000").await;
    assert_eq!((&observed.ended, kinds(&observed)), (&Ended::Idle { after: Millis(500) }, vec![FaultKind::Hang]));
}

#[tokio::test]
async fn a_spent_budget_ends_the_server_at_once() {
    let cost =
        json!({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 0.5, "currency": "USD"}});
    let mut lab = Lab::new(&[update(&cost)]);
    lab.budget = Some(Money::from_micros(400_000));
    let observed = lab.run("trap '' TERM; cat script; while :; do sleep 0.1; done").await;
    assert_eq!(
        (observed.ended, observed.cost),
        (Ended::BudgetSpent, Cost::Known { amount: Money::from_micros(500_000) })
    );
}

#[tokio::test]
async fn a_request_to_stop_cancels_the_turn_first() {
    let polite = "cat script; while read -r line; do echo \"$line\" >> heard; case $line in *session/cancel*) cat end;; esac; done";
    let rude = "trap '' TERM; cat script; while :; do sleep 0.1; done";
    for command in [polite, rude] {
        let lab = Lab::new(&[says("working.")]);
        fs::write(lab.path("end"), format!("{}\n", done("cancelled"))).unwrap();
        let (sender, stop) = watch::channel(None);
        let mut observe = |event| {
            if event == (AgentEvent::Output { text: "working.".into() }) {
                sender.send_replace(Some(Stop::Requested));
            }
        };
        let observed = lab.run_until(command, "Do it.", stop, &mut observe).await;
        assert_eq!(observed.ended, Ended::Stopped, "{command}");
        if command == polite {
            assert_eq!(lab.heard().last().unwrap()["method"], "session/cancel");
        }
    }
}

#[tokio::test]
async fn a_stop_that_came_before_the_start_starts_nothing() {
    let lab = Lab::new(&[]);
    let (_keep, stop) = watch::channel(Some(Stop::Requested));
    let observed = lab.run_until("touch ran", "Do it.", stop, &mut |_| {}).await;
    assert_eq!(observed.ended, Ended::Stopped);
    assert!(!lab.path("ran").exists());
}
