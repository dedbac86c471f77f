//! Random walks: answers, late answers, stops, faults and resumes in any order, against what must always hold.

use std::collections::BTreeSet;

use proptest::prelude::*;
use ralph_model::{
    AgentRun, AgentSpec, Attempt, Cost, Expectation, Iteration, Keep, LoopConfig, Millis, Money, OnBlocked, Outcome,
    Tamper, TamperKind, TreeHash, Tripwire, Trouble, TroubleKind, Turns, Verdict,
};

use super::*;
use crate::fixtures::*;
use crate::{DayBudget, EVENT_VERSION, JournalEvent as _, Limits, Lost, Refusal, Stop, StopBy, StopWhen};

/// Something that may happen to a loop at any time.
#[derive(Debug, Clone)]
enum Happening {
    /// The answer that is awaited, with this content.
    Answer(Content),
    /// An answer of this kind for another attempt.
    Late(u8, Attempt, Content),
    Stop(Stop),
    Resume {
        ran: bool,
        cost: Cost,
        accounted: bool,
        limits: Limits,
        gap: Millis,
    },
    Fault,
    /// Records that decide nothing.
    Record(u8),
    /// Somebody sets the clock back.
    SetBack(Millis),
}

#[derive(Debug, Clone)]
struct Content {
    tree: TreeHash,
    failing: usize,
    missing: bool,
    message: &'static str,
    cost: Cost,
    refusal: u8,
    violates: bool,
    /// How the checks were tampered with, and what the tripwire says.
    distrust: u8,
    grant: Money,
    day: DayBudget,
    took: Millis,
}

impl Content {
    fn verdict(&self, config: &LoopConfig) -> Verdict {
        let names = ["a", "b", "c"];
        let checks = match config.verification_commands.first() {
            Some(command) => vec![check(command, &names[..self.failing.min(names.len())])],
            None => vec![],
        };
        let missing = if self.missing { missing(&config.expects).missing } else { vec![] };
        let tampered = match self.distrust {
            0 => vec![Tamper::new("tests/a.rs", TamperKind::Changed)],
            1 => vec![Tamper::new("PATH", TamperKind::Program)],
            _ => vec![],
        };
        let moved = if self.distrust == 2 { vec!["src/lib.rs".to_owned()] } else { vec![] };
        Verdict { missing, tampered, moved, ..Verdict::new(self.tree.clone(), checks) }
    }

    fn tripwire(&self) -> Tripwire {
        match self.distrust % 5 {
            0 => Tripwire::Passed { planted: vec![], detail: String::new() },
            1 => Tripwire::OthersFail { failing: vec![] },
            2 => Tripwire::BaselineFails,
            3 => Tripwire::NotPossible { why: "no runner".into() },
            _ => reported(),
        }
    }

    fn run(&self) -> AgentRun {
        let violations = if self.violates { vec![touched(".env")] } else { vec![] };
        AgentRun {
            tree: self.tree.clone(),
            cost: self.cost,
            violations,
            trouble: self.trouble(),
            ..saying("", self.message)
        }
    }

    fn trouble(&self) -> Option<Trouble> {
        let kind = match self.refusal {
            30..=32 => TroubleKind::RateLimit,
            33 => TroubleKind::Overload,
            34 => TroubleKind::Authentication,
            35 => TroubleKind::ContextOverflow,
            _ => return None,
        };
        let until = self.distrust.is_multiple_of(2).then(|| Timestamp(i64::try_from(self.took.0).unwrap() * 10));
        Some(Trouble { kind, until, message: "no".into(), advice: None })
    }

    fn event(&self, kind: u8, attempt: Attempt, config: &LoopConfig) -> Event {
        let moved = if self.distrust == 3 { vec!["src/lib.rs".to_owned()] } else { vec![] };
        match kind % 10 {
            0 => Event::BaselineFinished { attempt, verdict: self.verdict(config) },
            1 => Event::IterationStarted { attempt, tree: self.tree.clone(), reserved: self.grant, day: self.day },
            2 => Event::IterationRefused {
                attempt,
                refusal: match self.refusal % 4 {
                    3 => Refusal::Race { spent: self.day.spent, cap: self.day.cap },
                    0 => Refusal::DailyBudget { day: self.day },
                    1 => Refusal::Prohibited { violations: vec![touched(".env.local")] },
                    _ => Refusal::Stopped,
                },
            },
            3 => Event::AgentFinished { attempt, run: Box::new(self.run()), day: self.day, claim: None },
            4 => {
                Event::ProhibitedRestored { attempt, violations: vec![touched(".env")], patch: "p".into(), tree: None }
            }
            5 => Event::ChecksFinished { attempt, verdict: self.verdict(config), tree: None },
            6 => Event::TreeRestored { attempt, tree: self.tree.clone() },
            8 => Event::TripwireFinished { attempt, tripwire: self.tripwire(), moved, outputs: vec![] },
            9 => Event::PinsRestored { attempt, patch: "p".into(), moved, tree: self.tree.clone() },
            _ => Event::WorkCommitted { attempt, commit: Some("abc123".into()), problem: None },
        }
    }

    /// The event that answers what the loop waits for, as a faithful runtime would.
    fn answer(&self, run: &Loop) -> Option<Event> {
        let (attempt, config) = (run.awaited()?, &run.facts().config);
        let kind = match run.phase() {
            Phase::Baseline(_) => 0,
            Phase::Pausing(_) if self.refusal < 4 => 2,
            Phase::Pausing(_) => 1,
            Phase::Working(_) => 3,
            Phase::Guarding(_) => 4,
            Phase::Verifying(_) => 5,
            Phase::Confirming(_) => 8,
            Phase::Restoring(_) => 6,
            Phase::Closing(closing) if closing.keep.is_none() && run.facts().has_pins_to_restore() => 9,
            Phase::Closing(closing) => 6 + u8::from(closing.keep.is_none()),
            Phase::Done(_) | Phase::Taken => return None,
        };
        let mut event = self.event(kind, attempt, config);
        if let Event::IterationStarted { reserved, .. } = &mut event {
            let wanted = if run.facts().next_agent().unmetered { Money::ZERO } else { run.facts().remaining() };
            *reserved = (*reserved).min(wanted);
        }
        Some(event)
    }
}

fn costs() -> impl Strategy<Value = Cost> {
    prop_oneof![
        6 => (0_i64..300).prop_map(|amount| known(cents(amount))),
        1 => Just(Cost::Unknown),
        1 => Just(Cost::Unmetered),
    ]
}

fn contents() -> impl Strategy<Value = Content> {
    let message = prop_oneof![
        4 => Just("I worked on it."),
        1 => Just(CLAIM),
        1 => Just("<blocked>no key</blocked>"),
        1 => Just(""),
    ];
    let day = (0_i64..6000).prop_map(|spent| DayBudget { spent: cents(spent), cap: Money::dollars(50) });
    let places = (0..5_u8).prop_map(|n| tree(["start", "b", "c", "d", "e"][usize::from(n)]));
    let ways = (0_usize..6, any::<bool>(), 0_u8..40, 0_u8..20, 0_u8..25);
    (places, ways, message, costs(), 1_i64..900, day, 0_u64..5000).prop_map(
        |(tree, (failing, missing, refusal, violates, distrust), message, cost, grant, day, took)| Content {
            tree,
            // Zero means that everything passes: rare, so that walks are long.
            failing: if failing == 0 { 0 } else { 1 + failing % 3 },
            missing,
            message,
            cost,
            refusal,
            violates: violates == 0,
            distrust,
            grant: cents(grant),
            day,
            took: Millis(took),
        },
    )
}

fn happenings() -> impl Strategy<Value = Happening> {
    let stop = (any::<bool>(), 0_u8..3).prop_map(|(now, by)| Stop {
        when: if now { StopWhen::Now } else { StopWhen::AfterIteration },
        by: [StopBy::Keyboard, StopBy::Request, StopBy::Signal][usize::from(by)],
    });
    let limits = (proptest::option::weighted(0.3, 1_u32..9), proptest::option::weighted(0.3, 1_i64..900))
        .prop_map(|(max_iterations, cost)| Limits { max_iterations, max_cost: cost.map(cents), ..Limits::default() });
    prop_oneof![
        30 => contents().prop_map(Happening::Answer),
        3 => (any::<u8>(), 0_u32..40, contents()).prop_map(|(kind, n, content)| Happening::Late(kind, Attempt(n), content)),
        1 => stop.prop_map(Happening::Stop),
        2 => (any::<bool>(), costs(), any::<bool>(), limits, 0_u64..9_000_000).prop_map(
            |(ran, cost, accounted, limits, gap)| Happening::Resume { ran, cost, accounted, limits, gap: Millis(gap) }
        ),
        1 => Just(Happening::Fault),
        1 => any::<u8>().prop_map(Happening::Record),
        1 => (0_u64..9_000_000).prop_map(|span| Happening::SetBack(Millis(span))),
    ]
}

fn configurations() -> impl Strategy<Value = LoopConfig> {
    let thresholds = (1_u32..7, 1_i64..900, 1_u32..4, 1_u32..4);
    let flags = proptest::array::uniform9(any::<bool>());
    let duration = proptest::option::weighted(0.2, 1_000_u64..60_000);
    (thresholds, flags, duration).prop_map(|((iterations, cost, stall, same), flags, duration)| {
        let [checks, expects, debug, best, ratchet, commit, explicit, metered, wired] = flags;
        let base = if checks { config() } else { without_checks() };
        let base = if metered { base } else { unmetered(base) };
        LoopConfig {
            max_iterations: iterations,
            max_cost: cents(cost),
            stall_threshold: stall,
            same_error_threshold: same,
            expects: if expects { vec![Expectation::Commit, Expectation::CleanTree] } else { vec![] },
            deep_debug: debug.then(debugging),
            keep: if best { Keep::Best } else { Keep::Last },
            ratchet: ratchet && checks,
            tripwire: wired,
            commit: commit && checks,
            promise_is_explicit: explicit,
            on_blocked: if explicit { OnBlocked::Continue } else { OnBlocked::Stop },
            max_duration: duration.map(Millis),
            more_agents: if best { vec![AgentSpec { unmetered: wired, ..base.agent.clone() }] } else { vec![] },
            turns: if explicit { Turns::Rotate } else { Turns::Escalate { after: 1 } },
            ..base
        }
    })
}

/// A loop under observation.
struct Walk {
    live: Loop,
    /// The same loop, fed only with what the journal keeps as text.
    replayed: Loop,
    journal: Vec<(Timestamp, String)>,
    now: Timestamp,
    awaited: Option<Attempt>,
    /// The most that the loop was ever allowed.
    most_iterations: u32,
    most_cost: Money,
    /// What agents used beyond their reservation.
    overshoot: Money,
    alerts: BTreeSet<crate::Alert>,
}

impl Walk {
    fn start(config: LoopConfig) -> Self {
        let scene = Scene::start(config.clone());
        let (now, first) = scene.journal[0].clone();
        let mut walk = Self {
            replayed: scene.run.clone(),
            live: scene.run,
            journal: vec![(now, first.encode().unwrap())],
            now,
            awaited: None,
            most_iterations: config.max_iterations,
            most_cost: config.max_cost,
            overshoot: Money::ZERO,
            alerts: BTreeSet::new(),
        };
        walk.follow(&scene.asked, None);
        walk
    }

    fn happen(&mut self, happening: Happening) {
        let event = match happening {
            Happening::Answer(content) => {
                self.now.0 += i64::try_from(content.took.0).unwrap();
                match content.answer(&self.live) {
                    Some(event) => event,
                    None => return,
                }
            }
            Happening::Late(kind, attempt, content) => {
                let event = content.event(kind, attempt, &self.live.facts().config);
                if Some(attempt) == self.awaited {
                    return;
                }
                let before = self.live.phase().clone();
                self.step(event);
                assert_eq!(self.live.phase(), &before, "a late answer moved the loop");
                return;
            }
            Happening::Stop(stop) => Event::StopRequested { stop },
            Happening::Resume { ran, cost, accounted, limits, gap } => {
                self.now.0 += i64::try_from(gap.0).unwrap();
                let lost =
                    self.awaited.filter(|_| accounted).map(|attempt| Lost { attempt, ran, cost, estimate: None });
                Event::Resumed { lost, limits, attempts: Attempt(0), tree: None, rewound: false, settled: Money::ZERO }
            }
            Happening::SetBack(span) => {
                self.now.0 -= i64::try_from(span.0).unwrap();
                return;
            }
            Happening::Fault => Event::Faulted { error: "broken".into(), lost: None, stopped: false },
            Happening::Record(n) if n % 2 == 0 => Event::AlertRaised { alert: crate::Alert::Day80 },
            Happening::Record(_) => Event::LoopFinished { outcome: Outcome::Completed { verified: true } },
        };
        self.step(event);
    }

    fn step(&mut self, event: Event) {
        let text = event.encode().unwrap();
        let decoded = Event::decode(EVENT_VERSION, &text).unwrap();
        assert_eq!(decoded, event, "an event is the same after it was written down");
        self.journal.push((self.now, text));
        let before = self.live.clone();
        if let Event::Resumed { .. } = &event {
            // Whatever nobody was told of may be raised by the new process.
            self.alerts.clone_from(&before.facts().alerted);
        }
        let effects = self.live.step(self.now, event.clone());
        assert_eq!(self.replayed.step(self.now, decoded), effects);
        assert_eq!(self.replayed, self.live, "the journal tells another story");
        self.overshoot += self.beyond_reservation(&before, &event);
        let config = &self.live.facts().config;
        self.most_iterations = self.most_iterations.max(config.max_iterations);
        self.most_cost = self.most_cost.max(config.max_cost);
        self.follow(&effects, Some(&before));
    }

    fn beyond_reservation(&self, before: &Loop, event: &Event) -> Money {
        let Phase::Working(working) = before.phase() else { return Money::ZERO };
        let cost = match event {
            Event::AgentFinished { attempt, run, .. } if *attempt == working.attempt => run.cost,
            Event::Resumed { lost: Some(lost), .. } if lost.attempt == working.attempt && lost.ran => lost.cost,
            _ => return Money::ZERO,
        };
        cost.charge(working.reserved).less(working.reserved)
    }

    /// Everything that must hold after every event.
    fn follow(&mut self, effects: &[Effect], before: Option<&Loop>) {
        let facts = self.live.facts();
        self.awaited = self.live.awaited();
        assert_ne!(self.live.phase(), &Phase::Taken);
        let mut finishes = 0;
        for effect in effects {
            match effect {
                Effect::RunAgent { iteration, attempt, agent, budget, prompt, .. } => {
                    assert!(iteration.0 <= facts.config.max_iterations, "iteration {iteration} was not allowed");
                    assert!(budget.is_none_or(|budget| budget <= facts.remaining()));
                    assert_eq!(budget.is_none(), agent.unmetered);
                    assert!(prompt.starts_with(&facts.config.objective));
                    assert!(*iteration > Iteration(1) || !prompt.contains("Ralph Loop Context"));
                    assert_eq!(Some(*attempt), self.awaited);
                    assert!(facts.stop.is_none(), "an agent was started after a stop");
                }
                Effect::RunBaseline { attempt }
                | Effect::BeginIteration { attempt, .. }
                | Effect::RestoreProhibited { attempt }
                | Effect::RunChecks { attempt, .. }
                | Effect::TripWire { attempt, .. }
                | Effect::RestorePinned { attempt }
                | Effect::RestoreTree { attempt, .. }
                | Effect::CommitWork { attempt } => {
                    let earlier = before.and_then(|before| before.facts().wait.clone());
                    if let Effect::BeginIteration { wait: Some(wait), .. } = effect
                        && earlier.as_ref() != Some(wait)
                    {
                        assert!(wait.most <= facts.config.max_wait);
                        assert_eq!(wait.most, wait.until.since(self.now), "it waits from now on");
                    }
                    assert_eq!(Some(*attempt), self.awaited);
                    assert!(before.is_none_or(|before| *attempt > before.facts().attempt), "an attempt came twice");
                }
                Effect::StopRunning { attempt } => assert_eq!(Some(*attempt), self.awaited),
                Effect::RaiseAlert(alert) => assert!(self.alerts.insert(*alert), "{alert:?} was raised twice"),
                Effect::Finish { outcome } => {
                    finishes += 1;
                    assert_eq!(Some(outcome), self.live.outcome());
                }
            }
        }
        let moved = effects.iter().any(|effect| !matches!(effect, Effect::RaiseAlert(_)));
        let ends = self.live.outcome().is_some() && (before.is_none_or(|before| before.outcome().is_none()) || moved);
        assert_eq!(finishes, usize::from(ends), "the end comes once: {effects:?}");
        let used = facts.counted();
        assert!(used <= self.most_iterations);
        assert_eq!(facts.spent, facts.iterations.iter().map(|record| record.charged).sum());
        assert!(facts.config.is_unmetered() || facts.spent <= self.most_cost + self.overshoot);
        let counted = facts.iterations.iter().filter(|record| !record.uncounted);
        let numbers: Vec<u32> = counted.map(|record| record.iteration.0).collect();
        assert_eq!(numbers, (1..=used).collect::<Vec<u32>>());
        if self.live.outcome() == Some(&Outcome::Completed { verified: true }) {
            let last = facts.last_iteration().unwrap();
            let verdict = last.verdict.as_ref().unwrap();
            assert!(verdict.passed() && verdict.tripwire.is_some());
            assert!(!facts.has_pins_to_restore(), "what was verified is what is there");
        }
    }

    fn finish(self) {
        let events = self.journal.iter().map(|(at, text)| (*at, Event::decode(EVENT_VERSION, text).unwrap()));
        assert_eq!(Loop::replay(events).unwrap(), self.live);
    }
}

proptest! {
    #![proptest_config(cases(60, 10_000))]

    #[test]
    fn whatever_happens_a_loop_keeps_its_promises(
        config in configurations(),
        happenings in proptest::collection::vec(happenings(), 0..60),
    ) {
        let mut walk = Walk::start(config);
        for happening in happenings {
            walk.happen(happening);
        }
        walk.finish();
    }

    #[test]
    fn a_loop_that_is_answered_always_ends(
        config in configurations(),
        answers in proptest::collection::vec(contents(), 1..12),
    ) {
        let mut walk = Walk::start(config);
        // Each pass takes at most seven events, and the end three more.
        for content in answers.iter().cycle().take(7 * 7 + 4) {
            walk.happen(Happening::Answer(content.clone()));
            if walk.live.outcome().is_some() {
                break;
            }
        }
        prop_assert!(walk.live.outcome().is_some() || only_stopped_waits(&answers), "{:?}", walk.live.phase());
    }
}

/// A runtime that says without end that somebody stopped the wait keeps a loop waiting without end.
fn only_stopped_waits(answers: &[Content]) -> bool {
    answers.iter().any(|content| content.refusal == 2)
}
