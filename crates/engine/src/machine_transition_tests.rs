//! Every phase against every event: a new phase or event without an entry here does not pass.

use ralph_model::{AgentRun, Attempt, Best, Cost, LoopConfig, Money, Outcome, Tripwire};

use super::*;
use crate::fixtures::*;
use crate::{Alert, JournalEvent as _, Limits, Lost, Refusal, StopWhen};

/// A loop in each phase. A new phase fails to compile here.
fn scenes() -> Vec<Scene> {
    let mut restoring = Scene::red(LoopConfig { ratchet: true, ..config() });
    restoring.pass(run("b"), red(&["a", "b"]));
    let mut closing = Scene::red(LoopConfig { commit: true, ..config() });
    closing.pass(run("b"), green());
    let mut guarding = Scene::red(config());
    guarding.begin().agent(AgentRun { violations: vec![touched(".env")], ..run("b") });
    let mut working = Scene::red(config());
    working.begin();
    let mut verifying = Scene::red(config());
    verifying.begin().agent(run("b"));
    let mut confirming = Scene::red(wired());
    confirming.pass(run("b"), green());
    let mut aborted = Scene::red(config());
    aborted.begin().stop(StopWhen::Now).agent(run("b"));
    let scenes = vec![
        Scene::start(config()),
        Scene::red(config()),
        working,
        guarding,
        verifying,
        restoring,
        closing,
        aborted,
        confirming,
    ];
    for (place, scene) in scenes.iter().enumerate() {
        let expected = match scene.run.phase() {
            Phase::Baseline(_) => 0,
            Phase::Pausing(_) => 1,
            Phase::Working(_) => 2,
            Phase::Guarding(_) => 3,
            Phase::Verifying(_) => 4,
            Phase::Restoring(_) => 5,
            Phase::Closing(_) => 6,
            Phase::Done(_) => 7,
            Phase::Confirming(_) => 8,
            Phase::Taken => panic!("no caller ever sees this"),
        };
        assert_eq!(place, expected);
    }
    scenes
}

/// One event of each kind for this attempt. A new kind fails to compile here.
fn events(scene: &Scene, attempt: Attempt) -> Vec<Event> {
    let day = scene.day;
    let (_, start) = scene.journal[0].clone();
    let events = vec![
        start,
        Event::BaselineFinished { attempt, verdict: red(&["a"]) },
        Event::IterationStarted { attempt, tree: tree("start"), reserved: Money::dollars(1), day },
        Event::IterationRefused { attempt, refusal: Refusal::DailyBudget { day } },
        Event::AgentFinished { attempt, run: Box::new(run("c")), day, claim: None },
        Event::ProhibitedRestored { attempt, violations: vec![], patch: "p".into(), tree: None },
        Event::ChecksFinished { attempt, verdict: red(&["a"]), tree: None },
        Event::TreeRestored { attempt, tree: tree("start") },
        Event::WorkCommitted { attempt, commit: None, problem: None },
        Event::StopRequested { stop: crate::Stop { when: StopWhen::Now, by: crate::StopBy::Request } },
        Event::Resumed {
            lost: Some(Lost { attempt, ran: true, cost: Cost::Unmetered, estimate: None }),
            limits: Limits::default(),
            attempts: Attempt(0),
            tree: None,
            rewound: false,
            settled: Money::ZERO,
        },
        Event::AlertRaised { alert: Alert::Cost80 },
        Event::Faulted { error: "broken".into(), lost: None, stopped: false },
        Event::LoopFinished { outcome: Outcome::Completed { verified: true } },
        Event::TripwireFinished { attempt, tripwire: Tripwire::BaselineFails, moved: vec![], outputs: vec![] },
        Event::PinsRestored { attempt, patch: "p".into(), moved: vec![], tree: tree("b") },
        Event::HintGiven { number: 1, text: "try the other file".into() },
    ];
    for (place, event) in events.iter().enumerate() {
        let expected = match event {
            Event::LoopStarted { .. } => 0,
            Event::BaselineFinished { .. } => 1,
            Event::IterationStarted { .. } => 2,
            Event::IterationRefused { .. } => 3,
            Event::AgentFinished { .. } => 4,
            Event::ProhibitedRestored { .. } => 5,
            Event::ChecksFinished { .. } => 6,
            Event::TreeRestored { .. } => 7,
            Event::WorkCommitted { .. } => 8,
            Event::StopRequested { .. } => 9,
            Event::Resumed { .. } => 10,
            Event::AlertRaised { .. } => 11,
            Event::Faulted { .. } => 12,
            Event::LoopFinished { .. } => 13,
            Event::TripwireFinished { .. } => 14,
            Event::PinsRestored { .. } => 15,
            Event::HintGiven { .. } => 16,
        };
        assert_eq!(place, expected);
    }
    events
}

/// What came of an event: nothing, a note, a wish to cut short, the same asked again, or another phase.
fn reaction(before: &Scene, event: Event) -> String {
    let mut scene = before.clone();
    scene.event(event);
    let same_phase = scene.phase() == before.phase();
    let mut after = scene.run.clone();
    (after.facts.active, after.facts.last) = (before.run.facts.active, before.run.facts.last);
    // That an alert was told of is remembered in every phase and moves none.
    after.facts.alerted.clone_from(&before.run.facts.alerted);
    // The same holds for what a user told it.
    after.facts.hints.clone_from(&before.run.facts.hints);
    if after == before.run && scene.asked.is_empty() {
        return "-".into();
    }
    match (same_phase, scene.cuts_short(), scene.asked.is_empty()) {
        (true, true, _) => "cut short".into(),
        (true, false, true) => "noted".into(),
        (true, false, false) => "again".into(),
        (false, _, _) => scene.phase().into(),
    }
}

#[test]
fn every_phase_answers_every_event_as_the_table_says() {
    let mut table = String::new();
    for (column, scene) in scenes().iter().enumerate() {
        let attempt = scene.run.awaited().unwrap_or_default();
        let reactions: Vec<String> = events(scene, attempt)
            .into_iter()
            .map(|event| (event.kind(), reaction(scene, event)))
            .filter(|(_, reaction)| reaction != "-")
            .map(|(kind, reaction)| format!("  {kind}: {reaction}\n"))
            .collect();
        table.push_str(&format!("{column} {}\n{}", scene.phase(), reactions.concat()));
    }
    // What is not listed changes nothing but the clock.
    assert_eq!(table, TABLE);
}

const TABLE: &str = "\
0 baseline
  baselineFinished: pausing
  stopRequested: cut short
  resumed: again
  faulted: done
1 pausing
  iterationStarted: working
  iterationRefused: done
  stopRequested: cut short
  resumed: again
  faulted: done
2 working
  agentFinished: verifying
  stopRequested: cut short
  resumed: pausing
  faulted: done
3 guarding
  prohibitedRestored: done
  stopRequested: noted
  resumed: again
  faulted: done
4 verifying
  checksFinished: pausing
  stopRequested: cut short
  resumed: again
  faulted: done
5 restoring
  treeRestored: pausing
  stopRequested: noted
  resumed: again
  faulted: done
6 closing
  treeRestored: done
  workCommitted: done
  stopRequested: noted
  resumed: again
  faulted: done
7 done
  resumed: verifying
8 confirming
  stopRequested: cut short
  resumed: again
  faulted: done
  tripwireFinished: done
";

#[test]
fn no_phase_takes_the_answer_of_another_attempt() {
    for scene in scenes() {
        let awaited = scene.run.awaited().unwrap_or_default();
        for attempt in [Attempt(awaited.0.wrapping_sub(1)), awaited.next(), Attempt(u32::MAX)] {
            for event in events(&scene, attempt) {
                let kind = event.kind();
                if matches!(event, Event::StopRequested { .. } | Event::Resumed { .. } | Event::Faulted { .. }) {
                    continue;
                }
                assert_eq!(reaction(&scene, event), "-", "{kind} of attempt {attempt} while {}", scene.phase());
            }
        }
    }
}

#[test]
fn what_is_put_back_at_the_end_is_what_was_asked_for() {
    let mut scene = Scene::red(LoopConfig { keep: ralph_model::Keep::Best, max_iterations: 1, ..config() });
    scene.pass(run("b"), red(&["a", "b"]));
    let Phase::Closing(closing) = scene.run.phase() else { panic!("{}", scene.phase()) };
    let Some(Best { tree: to, .. }) = &closing.keep else { panic!("{closing:?}") };
    assert_eq!(to, &tree("start"));
}
