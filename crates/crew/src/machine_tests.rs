use std::collections::VecDeque;

use ralph_engine::{Stop, StopBy, StopWhen};
use ralph_llm::{Answer, Arguments, Message, Part, StopReason};
use ralph_model::{Status, Tokens, Trouble, TroubleKind};
use serde_json::{Value, json};

use super::*;
use crate::agent_file::built_in;
use crate::event::{Approve, Base, CrewError, Decision, MovedCrew};
use crate::stream::StreamEvent;
use ralph_tools::{Effect as ToolEffect, Outcome as ToolOutcome};

const AT: Timestamp = Timestamp(1_763_200_000_000);
const CENT: Money = Money::from_micros(10_000);

fn config() -> CrewConfig {
    use ToolEffect::{Outward, Reads, Runs, Writes};
    let tools = [
        ("fs_readFile", Reads),
        ("fs_grep", Reads),
        ("fs_edit", Writes),
        ("bash_execute", Runs),
        ("send_email", Outward),
        ("ralph_loop", Runs),
    ];
    CrewConfig {
        workspace: "/w".to_owned(),
        max_cost: Some(Money::dollars(2)),
        max_rounds: 20,
        approve: Approve::Ask,
        compact_at: 160_000,
        agents: built_in(),
        root: "chapo".to_owned(),
        tools: tools.into_iter().map(|(name, effect)| (name.to_owned(), effect)).collect(),
        targets: vec!["claude".to_owned()],
        models: vec!["anthropic:m".to_owned()],
        access: ralph_model::Access::default(),
    }
}

fn says(text: &str) -> Answer {
    let tokens = Some(Tokens { input: 100, output: 10, ..Tokens::default() });
    Answer { parts: vec![Part::Text(text.to_owned())], stop: StopReason::End, model: "m".to_owned(), tokens }
}

fn calls(calls: &[(&str, Value)]) -> Answer {
    let part = |(at, (name, input)): (usize, &(&str, Value))| {
        let arguments = match input {
            Value::String(text) => Arguments::Broken(text.clone()),
            input => Arguments::parse(&input.to_string()),
        };
        Part::Call(ToolCall { id: format!("c{at}"), name: (*name).to_owned(), arguments })
    };
    Answer { parts: calls.iter().enumerate().map(part).collect(), stop: StopReason::Calls, ..says("") }
}

/// What a model answers: by agent, by how often it answered in this conversation, and by the newest message.
type Mind = fn(&str, usize, &str) -> Result<Answer, TroubleKind>;
/// What a tool does.
type Hand = fn(&str, &Value) -> ToolOutcome;

fn fine(_: &str, _: &Value) -> ToolOutcome {
    ToolOutcome { success: true, text: "ok".to_owned(), summary: "ok".to_owned(), ..ToolOutcome::default() }
}

/// Drives a crew without any IO, with a journal.
struct Play {
    mind: Mind,
    hand: Hand,
    unmet: Vec<Unmet>,
    decision: Option<Decision>,
    journal: Vec<CrewEvent>,
    told: Vec<StreamEvent>,
    /// Tools that ran, and delegations that were opened.
    ran: Vec<String>,
    /// Nothing happens after this many events.
    most: usize,
}

impl Play {
    fn new(mind: Mind) -> Self {
        let (unmet, decision) = (Vec::new(), Some(Decision::Approved { comment: None }));
        let most = usize::MAX;
        Self { mind, hand: fine, unmet, decision, journal: Vec::new(), told: Vec::new(), ran: Vec::new(), most }
    }

    fn run(&mut self, config: CrewConfig) -> Crew {
        let event = CrewEvent::CrewStarted { config: Box::new(config), request: Some("the request".to_owned()) };
        self.journal.push(event.clone());
        let (crew, effects) = Crew::start(AT, event).unwrap();
        self.drive(crew, effects)
    }

    fn drive(&mut self, mut crew: Crew, effects: Vec<CrewEffect>) -> Crew {
        let mut queue = VecDeque::from(effects);
        let mut steps = 0;
        while let Some(effect) = queue.pop_front() {
            let Some(event) = self.perform(&crew, effect) else { continue };
            if self.journal.len() >= self.most {
                return crew;
            }
            steps += 1;
            assert!(steps < 10_000, "endless");
            self.journal.push(event.clone());
            queue.extend(crew.step(AT, event));
        }
        crew
    }

    fn perform(&mut self, crew: &Crew, effect: CrewEffect) -> Option<CrewEvent> {
        Some(match effect {
            CrewEffect::Ask { frame, attempt, .. } => {
                let (agent, conversation, _) = crew.frame(frame)?;
                let turns = conversation.messages().iter().filter(|m| matches!(m, Message::Assistant(_))).count();
                let newest = match conversation.messages().last()? {
                    Message::User(text) | Message::System(text) => text.clone(),
                    Message::Results(results) => {
                        results.iter().map(|r| r.content.as_str()).collect::<Vec<_>>().join("\n")
                    }
                    Message::Assistant(_) => panic!("a model is asked after its own answer"),
                };
                match (self.mind)(&agent.name, turns, &newest) {
                    Ok(answer) => CrewEvent::ModelAnswered { frame, attempt, answer: Box::new(answer), cost: CENT },
                    Err(kind) => {
                        let trouble = Trouble { kind, until: None, message: "status 529".to_owned(), advice: None };
                        CrewEvent::ModelFailed { frame, attempt, trouble, cost: Money::ZERO }
                    }
                }
            }
            CrewEffect::Compact { frame, attempt, .. } => {
                CrewEvent::Compacted { frame, attempt, summary: "short".to_owned(), cost: CENT }
            }
            CrewEffect::Review { attempt, .. } => {
                CrewEvent::Reviewed { attempt, doubts: vec!["is it?".to_owned()], cost: CENT }
            }
            CrewEffect::CallTool { call, tool, .. } => {
                self.ran.push(tool.name.clone());
                let outcome = (self.hand)(&tool.name, &tool.arguments.to_value());
                CrewEvent::tool_finished(call, outcome)
            }
            CrewEffect::BeginAction { call, key } => CrewEvent::ActionStarted { call, key },
            CrewEffect::OpenDelegation { frame, isolate } => {
                self.ran.push(format!("open isolate={isolate}"));
                let folder = isolate.then(|| format!("/t/{}", frame.0));
                CrewEvent::DelegationOpened { frame, base: Base { folder, ..Base::default() }, problem: None }
            }
            CrewEffect::CheckDelegation { frame, base, .. } => {
                let conflict = || ToolEvidence::error("merge", "conflict in a.txt");
                let evidence = base.folder.iter().filter(|folder| folder.ends_with('2')).map(|_| conflict()).collect();
                CrewEvent::DelegationChecked { frame, unmet: std::mem::take(&mut self.unmet), evidence }
            }
            CrewEffect::RunAgent { call, .. } | CrewEffect::RunLoop { call, .. } => {
                self.ran.push("program".to_owned());
                CrewEvent::ToolFinished { call, outcome: fine("", &json!({})), cost: CENT, result: None }
            }
            CrewEffect::AskPerson { question } => {
                CrewEvent::Decided { call: question.call, decision: self.decision.clone()? }
            }
            CrewEffect::Tell(told) => {
                self.told.push(told);
                return None;
            }
            CrewEffect::StopRunning | CrewEffect::Finish { .. } => return None,
        })
    }

    /// The results that the first agent was given, in order.
    fn results(crew: &Crew) -> Vec<String> {
        let (_, conversation, _) = crew.frame(FrameId::ROOT).unwrap();
        let results = conversation.messages().iter().filter_map(|message| match message {
            Message::Results(results) => Some(results.iter().map(|result| result.content.clone())),
            _ => None,
        });
        results.flatten().collect()
    }
}

fn answer(crew: &Crew) -> (&str, &[String]) {
    match crew.outcome() {
        Some(CrewOutcome::Answered { answer, doubts }) => (answer, doubts),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_delegation_whose_tests_fail_is_partial_and_is_delegated_again() {
    let mut play = Play::new(|agent, turn, newest| {
        Ok(match (agent, turn) {
            ("chapo", 0 | 1) => {
                let tries = if turn == 0 { "first" } else { "second" };
                assert!(
                    turn == 0 || newest.contains("Status: PARTIAL") && newest.contains("[MISSING] file:a.rs"),
                    "{newest}"
                );
                assert!(
                    turn == 0 || newest.contains("[ERROR] bash_execute: npm test (exit code 1, 2 tests failing)"),
                    "{newest}"
                );
                calls(&[(
                    "delegateToDevo",
                    json!({ "objective": format!("fix it, {tries}"), "expects": ["file:a.rs"] }),
                )])
            }
            ("chapo", _) => says("fixed"),
            ("devo", 0) => calls(&[
                ("fs_edit", json!({ "path": "a" })),
                ("bash_execute", json!({ "command": if newest.contains("first") { "npm test" } else { "true" } })),
            ]),
            _ => says("it works now"),
        })
    });
    play.hand = |name, input| match (name, input["command"].as_str()) {
        ("bash_execute", Some("npm test")) => ToolOutcome::failed("npm test (exit code 1, 2 tests failing)"),
        _ => fine(name, input),
    };
    play.unmet = vec![Unmet { what: "file:a.rs".to_owned(), why: "no such file was changed".to_owned() }];
    let crew = play.run(config());
    let statuses: Vec<_> = crew.delegations().iter().map(|record| record.result.as_ref().unwrap().status).collect();
    assert_eq!(statuses, [Status::Partial, Status::Success]);
    assert_eq!(answer(&crew), ("fixed", ["is it?".to_owned()].as_slice()));
    assert_eq!(crew.rounds(), 3);
    assert_eq!(crew.spent(), Money::from_micros(8 * 10_000), "seven answers and the self-check");
    let kinds: Vec<String> =
        play.told.iter().map(|told| serde_json::to_value(told).unwrap()["type"].as_str().unwrap().to_owned()).collect();
    for kind in ["agent_switch", "delegation", "tool_call", "tool_result", "agent_complete", "answer"] {
        assert!(kinds.iter().any(|own| own == kind), "{kind} in {kinds:?}");
    }
    let delegated = play.told.iter().find_map(|told| match told {
        StreamEvent::ToolResult { result: Some(result), success, .. } => {
            Some((result.status, result.delegated, *success))
        }
        _ => None,
    });
    assert_eq!(delegated, Some((Status::Partial, true, false)));
}

#[test]
fn status_and_envelope_come_from_what_was_done() {
    type Expected = (Status, &'static str);
    let cases: [(&str, Mind, Expected); 7] = [
        ("a word without a deed", |_, _, _| Ok(says("done")), (Status::Failed, "[MISSING] devo: no tool was called")),
        ("nothing at all", |_, _, _| Ok(says("")), (Status::Failed, "[MISSING] devo: no tool was called")),
        (
            "escalation",
            |_, turn, _| {
                Ok(match turn {
                    0 => calls(&[("fs_edit", json!({}))]),
                    _ => calls(&[("escalateToChapo", json!({ "reason": "no key", "result": "half of it" }))]),
                })
            },
            (Status::Escalated, "Agent Response:\nDEVO escalated: no key\nhalf of it"),
        ),
        ("the turn limit", |_, _, _| Ok(calls(&[("fs_edit", json!({}))])), (Status::Partial, "[OK] fs_edit: ok")),
        ("a service that fails", |_, _, _| Err(TroubleKind::Overload), (Status::Failed, "[ERROR] model: status 529")),
        (
            "an unknown tool and broken arguments",
            |_, turn, newest| {
                assert!(
                    turn == 0
                        || newest.contains("there is no tool `format_disk`") && newest.contains("not a JSON object"),
                    "{newest}"
                );
                Ok(if turn == 0 {
                    calls(&[("format_disk", json!({})), ("fs_edit", json!("{\"path\":"))])
                } else {
                    says("sorry")
                })
            },
            (Status::Failed, "[ERROR] format_disk: no such tool"),
        ),
        (
            "a thousand calls",
            |_, turn, _| Ok(if turn == 0 { calls(&vec![("fs_edit", json!({})); 1000]) } else { says("many") }),
            (Status::Partial, "[ERROR] fs_edit: not carried out: one answer may call at most 32 tools"),
        ),
    ];
    for (name, mind, (status, line)) in cases {
        let mut crew = Crew::start(AT, CrewEvent::CrewStarted { config: Box::new(config()), request: None }).unwrap().0;
        let mut play = Play::new(mind);
        // The coordinator delegates once and answers; what the delegate does is the case.
        let first = crew.step(AT, CrewEvent::UserSpoke { text: "go".to_owned() });
        let CrewEffect::Ask { frame, attempt, .. } = first[1] else { panic!() };
        let answer = calls(&[("delegateToDevo", json!({ "objective": "x" }))]);
        let effects = crew.step(AT, CrewEvent::ModelAnswered { frame, attempt, answer: Box::new(answer), cost: CENT });
        let mut queue = VecDeque::from(effects);
        let envelope = loop {
            let effect = queue.pop_front().unwrap();
            if let CrewEffect::Ask { frame: FrameId::ROOT, .. } = effect {
                break Play::results(&crew).pop().unwrap();
            }
            if let Some(event) = play.perform(&crew, effect) {
                queue.extend(crew.step(AT, event));
            }
        };
        let record = &crew.delegations()[0];
        assert_eq!(record.result.as_ref().unwrap().status, status, "{name}: {envelope}");
        assert!(
            envelope.starts_with("[DELEGATION RESULT — DEVO]\nObjective: x\n") && envelope.contains(line),
            "{name}: {envelope}"
        );
    }
}

#[test]
fn a_scout_has_one_row_of_evidence_five_calls_and_a_confidence() {
    let mut play = Play::new(|agent, turn, newest| {
        Ok(match (agent, turn) {
            ("chapo", 0) => calls(&[("delegateToScout", json!({ "objective": "where?", "scope": "codebase" }))]),
            ("chapo", _) => says(newest),
            (_, 0) => calls(&vec![("fs_grep", json!({ "pattern": "x" })); 7]),
            _ => {
                assert_eq!(newest.matches("may call at most 5 tools").count(), 2, "{newest}");
                says(
                    "```json\n{\"relevantFiles\":[\"a\",\"b\"],\"recommendations\":[\"use a\"],\"confidence\":\"low\"}\n```",
                )
            }
        })
    });
    let crew = play.run(config());
    assert_eq!(play.ran.len(), 5);
    let result = crew.delegations()[0].result.as_ref().unwrap();
    assert_eq!(result.status, Status::Partial, "a guess is no success");
    let row = ToolEvidence::ok("scout_research", "found 2 files, 1 recommendations (confidence: low)");
    assert_eq!(result.tool_evidence, [row]);
    assert!(answer(&crew).0.contains("Recommendations: use a"));
    assert!(answer(&crew).1[0].contains("SCOUT ended partial"), "{:?}", answer(&crew).1);
}

fn mail(agent: &str, turn: usize, newest: &str) -> Result<Answer, TroubleKind> {
    Ok(match (agent, turn) {
        ("chapo", 0) => calls(&[("delegateToCaio", json!({ "objective": "tell the team" }))]),
        ("chapo", _) => says(newest),
        ("caio", 0) => calls(&[("send_email", json!({ "to": "team@example.com" }))]),
        _ => says(newest),
    })
}

#[test]
fn outward_actions_wait_for_a_person_and_no_is_evidence() {
    let cases = [
        (Approve::Ask, Some(Decision::Approved { comment: None }), 1, Status::Success, "[OK] send_email: ok"),
        (
            Approve::Ask,
            Some(Decision::Refused { comment: Some("not now".to_owned()) }),
            0,
            Status::Failed,
            "not done: refused: not now",
        ),
        (Approve::Ask, Some(Decision::Expired), 0, Status::Failed, "the approval expired"),
        (Approve::All, None, 1, Status::Success, "[OK] send_email: ok"),
        (Approve::Never, None, 0, Status::Failed, "--approve never"),
    ];
    for (approve, decision, sent, status, line) in cases {
        let mut play = Play { decision, ..Play::new(mail) };
        let crew = play.run(CrewConfig { approve, ..config() });
        assert_eq!(play.ran.len(), sent, "{approve:?}");
        assert_eq!(crew.delegations()[0].result.as_ref().unwrap().status, status, "{approve:?}");
        assert!(answer(&crew).0.contains(line), "{approve:?}: {}", answer(&crew).0);
        // What acts is written down before it acts.
        let started = play.journal.iter().filter(|event| matches!(event, CrewEvent::ActionStarted { .. })).count();
        assert_eq!(started, sent);
    }
    // Without an answer the crew waits, and says for what.
    let mut play = Play { decision: None, ..Play::new(mail) };
    let crew = play.run(config());
    assert_eq!(crew.outcome(), None);
    assert!(crew.pending()[0].text.starts_with("send_email {\"to\""));
    let evidence = crew.evidence_of(&crew.delegations()[0]);
    assert!(evidence[0].is_pending(), "{evidence:?}");
}

#[test]
fn parallel_writers_have_worktrees_and_a_conflict_is_evidence() {
    let mut play = Play::new(|agent, turn, newest| {
        Ok(match (agent, turn) {
            ("chapo", 0) => calls(&[(
                "delegateParallel",
                json!({ "delegations": [{ "target": "devo", "objective": "a" }, { "target": "devo", "objective": "b" }, { "target": "scout", "objective": "c" }] }),
            )]),
            ("chapo", _) => says(newest),
            ("devo", 0) => calls(&[("fs_edit", json!({}))]),
            _ => says(&"long text ".repeat(500)),
        })
    });
    let crew = play.run(config());
    assert_eq!(play.ran.iter().filter(|ran| *ran == "open isolate=true").count(), 2, "{:?}", play.ran);
    let (text, _) = answer(&crew);
    assert!(text.starts_with("Parallel delegation completed: 2/3 successful.\n\n[DELEGATION RESULT — DEVO]"), "{text}");
    assert!(
        text.contains("[ERROR] merge: conflict in a.txt") && text.matches("[DELEGATION RESULT").count() == 3,
        "{text}"
    );
    assert!(text.len() < 5000, "long texts are cut: {}", text.len());
}

#[test]
fn limits_end_a_crew() {
    let forever: Mind = |_, _, _| Ok(calls(&[("fs_grep", json!({ "pattern": "x" }))]));
    let mut play = Play::new(forever);
    let crew = play.run(CrewConfig { max_rounds: 8, ..config() });
    assert_eq!(crew.outcome(), Some(&CrewOutcome::Aborted { cause: CrewAbort::Rounds { max: 8 } }));
    let mut play = Play::new(forever);
    let crew = play.run(CrewConfig { max_cost: Some(Money::from_micros(25_000)), ..config() });
    let spent = Money::from_micros(30_000);
    let cause = CrewAbort::Cost { spent, max: Money::from_micros(25_000) };
    assert_eq!(crew.outcome(), Some(&CrewOutcome::Aborted { cause }), "within one request to a model");
    let mut play = Play::new(|_, _, _| Err(TroubleKind::Authentication));
    let crew = play.run(config());
    assert!(matches!(crew.outcome(), Some(CrewOutcome::Failed { cause: CrewError::Model { .. } })));
    let mut play = Play::new(|_, _, _| Ok(says(" ")));
    let crew = play.run(config());
    assert_eq!(crew.outcome(), Some(&CrewOutcome::Failed { cause: CrewError::Silent }));
    // More of what ran out continues it.
    let mut play = Play::new(|_, turn, _| Ok(if turn < 3 { calls(&[("fs_grep", json!({}))]) } else { says("there") }));
    let mut crew = play.run(CrewConfig { max_rounds: 2, ..config() });
    let effects =
        crew.step(AT, CrewEvent::Resumed { lost: Money::ZERO, max_cost: None, max_rounds: Some(9), moved: None });
    assert_eq!(answer(&play.drive(crew, effects)).0, "there");
}

#[test]
fn a_long_conversation_is_compacted_and_continues() {
    let mut play = Play::new(|_, _, newest| {
        Ok(if newest.contains("[ORIGINAL") { says("done") } else { calls(&[("fs_readFile", json!({}))]) })
    });
    play.hand = |_, _| ToolOutcome { success: true, text: "x".repeat(40_000), ..ToolOutcome::default() };
    let crew = play.run(CrewConfig { compact_at: 9_000, ..config() });
    assert_eq!(crew.frame(FrameId::ROOT).unwrap().1.compactions(), 1);
    assert_eq!(answer(&crew).0, "done");
}

#[test]
fn a_conversation_goes_on_after_an_answer_and_after_a_stop() {
    let mut play = Play::new(|_, _, newest| {
        Ok(if newest == "wait" { calls(&[("askUser", json!({ "question": "which?" }))]) } else { says(newest) })
    });
    let mut crew = play.run(config());
    assert_eq!(answer(&crew).0, "the request");
    play.decision = None;
    let effects = crew.step(AT, CrewEvent::UserSpoke { text: "wait".to_owned() });
    let mut crew = play.drive(crew, effects);
    assert_eq!(crew.pending().len(), 1);
    let stop = Stop { when: StopWhen::Now, by: StopBy::Keyboard };
    let effects = crew.step(AT, CrewEvent::StopRequested { stop });
    let mut crew = play.drive(crew, effects);
    assert!(matches!(crew.outcome(), Some(CrewOutcome::Aborted { cause: CrewAbort::Stopped { .. } })));
    let effects = crew.step(AT, CrewEvent::UserSpoke { text: "again".to_owned() });
    let crew = play.drive(crew, effects);
    assert_eq!(answer(&crew).0, "again", "every call has a result, so that the model can be asked");
}

#[test]
fn a_crash_at_every_event_repeats_no_finished_delegation_and_no_outward_action() {
    let mind: Mind = |agent, turn, newest| {
        Ok(match (agent, turn) {
            ("chapo", 0) => calls(&[("delegateToDevo", json!({ "objective": "fix", "expects": ["commit"] }))]),
            ("chapo", 1) => calls(&[("delegateToCaio", json!({ "objective": "tell" }))]),
            ("chapo", 2) => calls(&[("delegateToDevo", json!({ "objective": "by program", "target": "claude" }))]),
            ("chapo", _) => says("all done"),
            ("devo", 0) => calls(&[("fs_edit", json!({})), ("bash_execute", json!({ "command": "true" }))]),
            ("caio", 0) => calls(&[("send_email", json!({}))]),
            _ => says(newest),
        })
    };
    let mut whole = Play::new(mind);
    let crew = whole.run(config());
    assert_eq!(answer(&crew).0, "all done");
    assert_eq!(
        Crew::replay(whole.journal.iter().cloned().map(|event| (AT, event))).unwrap(),
        crew,
        "the journal is the crew"
    );
    let here = MovedCrew { config: CrewConfig { workspace: "/other".to_owned(), ..config() }, base: Base::default() };
    let cases = (1..whole.journal.len()).flat_map(|events| [(events, None), (events, Some(Box::new(here.clone())))]);
    for (events, moved) in cases {
        // Whatever the last effect did was done, and the process died before it could write that down.
        let mut play = Play { most: events, ..Play::new(mind) };
        play.run(config());
        let mut crew = Crew::replay(play.journal.iter().cloned().map(|event| (AT, event))).unwrap();
        play.most = usize::MAX;
        let is_moved = moved.is_some();
        let resumed = CrewEvent::Resumed { lost: Money::ZERO, max_cost: None, max_rounds: None, moved };
        play.journal.push(resumed.clone());
        let effects = crew.step(AT, resumed);
        let crew = play.drive(crew, effects);
        assert_eq!(answer(&crew).0, "all done", "after {events} events");
        for once in ["send_email", "program", "bash_execute"] {
            let times = play.ran.iter().filter(|ran| *ran == once).count();
            assert!(times <= 1, "{once} after {events} events: {:?}", play.ran);
        }
        assert_eq!(crew.delegations().len(), 3, "after {events} events");
        assert_eq!(crew.config().workspace == "/other", is_moved);
        let spent = crew.spent();
        let replayed = Crew::replay(play.journal.iter().cloned().map(|event| (AT, event))).unwrap();
        assert_eq!((replayed.spent(), &replayed), (spent, &crew), "the journal is the crew after {events} events");
    }
}

/// The worktrees of writers are on the machine that is gone: their work is lost and said to be, and the first agent decides.
#[test]
fn a_crew_that_moves_ends_agents_in_worktrees_and_tells_the_others() {
    let mind: Mind = |agent, turn, newest| {
        Ok(match (agent, turn) {
            ("chapo", 0) => {
                let one = |objective| json!({ "target": "devo", "objective": objective });
                calls(&[("delegateParallel", json!({ "delegations": [one("a"), one("b")] }))])
            }
            ("chapo", 1) => {
                assert!(newest.starts_with("[CONTINUED ON ANOTHER MACHINE]"), "{newest}");
                says("they are lost")
            }
            ("devo", 0) => calls(&[("bash_execute", json!({ "command": "make" }))]),
            _ => says("done"),
        })
    };
    let mut play = Play { most: 5, ..Play::new(mind) };
    play.run(config());
    let mut crew = Crew::replay(play.journal.iter().cloned().map(|event| (AT, event))).unwrap();
    assert!(crew.folder(FrameId(1)).is_some() && crew.folder(FrameId(2)).is_some(), "{:?}", play.journal);
    let moved = Some(Box::new(MovedCrew { config: config(), base: Base::default() }));
    play.most = usize::MAX;
    let effects = crew.step(AT, CrewEvent::Resumed { lost: Money::ZERO, max_cost: None, max_rounds: None, moved });
    let asked = effects.iter().filter(|effect| matches!(effect, CrewEffect::Ask { .. })).count();
    assert_eq!(asked, 1, "only the first agent is left: {effects:?}");
    let crew = play.drive(crew, effects);
    assert_eq!(answer(&crew).0, "they are lost");
    let results = Play::results(&crew);
    assert!(results[0].contains("[ERROR] workspace: its worktree is on a machine that is gone"), "{results:?}");
}

/// An approval in a journal that another machine wrote is none: the server is asked.
#[test]
fn a_crew_that_moves_asks_again_for_an_action_that_had_not_begun() {
    let mind: Mind = |agent, turn, newest| {
        Ok(match (agent, turn) {
            ("chapo", 0) => calls(&[("delegateToCaio", json!({ "objective": "tell" }))]),
            ("caio", 0) => calls(&[("send_email", json!({}))]),
            _ => says(newest),
        })
    };
    let mut play = Play { most: 4, ..Play::new(mind) };
    play.run(config());
    assert!(matches!(play.journal.last(), Some(CrewEvent::Decided { .. })), "{:?}", play.journal);
    let mut crew = Crew::replay(play.journal.iter().cloned().map(|event| (AT, event))).unwrap();
    (play.most, play.decision) = (usize::MAX, Some(Decision::Refused { comment: None }));
    let moved = Some(Box::new(MovedCrew { config: config(), base: Base::default() }));
    let effects = crew.step(AT, CrewEvent::Resumed { lost: Money::ZERO, max_cost: None, max_rounds: None, moved });
    let crew = play.drive(crew, effects);
    assert!(!play.ran.contains(&"send_email".to_owned()), "{:?}", play.ran);
    assert!(Play::results(&crew)[0].contains("[ERROR] send_email"), "{:?}", Play::results(&crew));
}

/// A turn that is ended in the middle of an action: the next one knows what was done and what may have been.
#[test]
fn what_was_done_before_a_stop_is_not_forgotten() {
    let mind: Mind = |agent, turn, newest| {
        Ok(match (agent, turn) {
            ("chapo", 0) => calls(&[("delegateToCaio", json!({ "objective": "tell" }))]),
            ("caio", 0) => calls(&[("send_email", json!({ "to": "a" })), ("send_email", json!({ "to": "b" }))]),
            _ => says(newest),
        })
    };
    let mut play = Play { most: 8, ..Play::new(mind) };
    let mut crew = play.run(config());
    assert!(matches!(play.journal.last(), Some(CrewEvent::ActionStarted { .. })), "{:?}", play.journal);
    crew.step(AT, CrewEvent::StopRequested { stop: Stop { when: StopWhen::Now, by: StopBy::Keyboard } });
    let result = &Play::results(&crew)[0];
    assert!(result.contains("[OK] send_email: ok"), "{result}");
    assert!(
        result.contains("[ERROR] send_email id=call-") && result.contains("unknown whether it was done"),
        "{result}"
    );
}
