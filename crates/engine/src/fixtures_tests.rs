//! A pretend runtime for tests: it answers what a loop asks for and keeps the journal. Starts nothing.

use proptest::prelude::ProptestConfig;
use ralph_model::{
    AbortCause, AbortReason, AgentRun, AgentSpec, Attempt, Best, Change, ChangeKind, CheckOutcome, Cost, Ended,
    Expectation, LoopConfig, Millis, Missing, Money, Outcome, OutputRef, Signature, Skill, Tamper, TamperKind,
    TestTally, Timestamp, TreeHash, Tripwire, Trouble, TroubleKind, Usage, Verdict, Violation,
};

use crate::{
    Alert, BEHAVIOUR, DayBudget, EVENT_VERSION, Effect, Event, JournalEvent as _, Limits, Loop, Lost, Machine as _,
    Refusal, StartPoint, Stop, StopBy, StopWhen,
};

/// How often a property is tried: a few times in a normal run, much more often with `RALPH_TEST_LONG=1`.
pub(crate) fn cases(normal: u32, long: u32) -> ProptestConfig {
    #[expect(clippy::disallowed_methods, reason = "a test may be asked to take longer")]
    let is_long = std::env::var_os("RALPH_TEST_LONG").is_some_and(|value| value == "1");
    let cases = if is_long { long } else { normal };
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 4000, ..ProptestConfig::default() }
}

pub(crate) const CLAIM: &str = "All done. <promise>COMPLETE</promise>";

/// A loop of five iterations and five dollars with one check.
pub(crate) fn config() -> LoopConfig {
    let agent = AgentSpec::command("worker", "./worker");
    LoopConfig {
        verification_commands: vec!["make test".into()],
        idle_timeout: None,
        prohibited_paths: vec![".env".into()],
        log_limit: 1 << 20,
        tripwire: false,
        ..LoopConfig::new("Fix the parser.".into(), 5, Money::dollars(5), agent, "/project".into())
    }
}

/// Its checks have to show that they can fail.
pub(crate) fn wired() -> LoopConfig {
    LoopConfig { tripwire: true, ..config() }
}

/// A verdict over checks that were tampered with.
pub(crate) fn tampered(verdict: Verdict, path: &str) -> Verdict {
    Verdict { tampered: vec![Tamper::new(path, TamperKind::Changed)], ..verdict }
}

pub(crate) fn reported() -> Tripwire {
    Tripwire::Reported { planted: vec!["tests/a.rs".into()] }
}

pub(crate) fn without_checks() -> LoopConfig {
    LoopConfig { verification_commands: vec![], ..config() }
}

pub(crate) fn unmetered(config: LoopConfig) -> LoopConfig {
    let agent = AgentSpec { unmetered: true, ..AgentSpec::command("worker", "./worker") };
    LoopConfig { agent, ..config }
}

pub(crate) fn debugging() -> Skill {
    Skill {
        name: "systematic-debugging".into(),
        text: "Find the cause first.".into(),
        promise: Some("<promise>BUG_FIXED</promise>".into()),
    }
}

pub(crate) fn tree(name: &str) -> TreeHash {
    TreeHash(name.to_owned())
}

pub(crate) fn cents(cents: i64) -> Money {
    Money::from_micros(cents * 10_000)
}

pub(crate) fn known(amount: Money) -> Cost {
    Cost::Known { amount }
}

/// A run of an opaque agent that leaves this tree behind, says nothing much and costs ten cents.
pub(crate) fn run(after: &str) -> AgentRun {
    AgentRun {
        agent: "worker".into(),
        ended: Ended::Exited { code: 0 },
        evidence: vec![],
        opaque: true,
        final_message: "I worked on it.".into(),
        escalation: None,
        faults: vec![],
        trouble: None,
        usage: Usage::default(),
        cost: known(cents(10)),
        duration: Millis(4000),
        output: OutputRef::default(),
        tree: tree(after),
        changed: vec![Change { path: "src/parser.c".into(), kind: ChangeKind::Modified }],
        commits: 0,
        violations: vec![],
    }
}

pub(crate) fn saying(after: &str, message: &str) -> AgentRun {
    AgentRun { final_message: message.into(), ..run(after) }
}

pub(crate) fn costing(after: &str, cost: Cost) -> AgentRun {
    AgentRun { cost, ..run(after) }
}

/// A run that the service cut short.
pub(crate) fn refused(after: &str, kind: TroubleKind, until: Option<Timestamp>) -> AgentRun {
    let trouble = Trouble { kind, until, message: "the service says no".into(), advice: None };
    AgentRun { opaque: false, trouble: Some(trouble), cost: known(cents(1)), ..run(after) }
}

/// A cheap agent first, and a strong one after two failures.
pub(crate) fn taking_turns() -> LoopConfig {
    let strong = AgentSpec { model: Some("strong".into()), ..AgentSpec::command("worker", "./worker") };
    LoopConfig { more_agents: vec![strong], ..config() }
}

pub(crate) fn touched(path: &str) -> Violation {
    Violation { path: path.into(), glob: ".env*".into(), kind: ChangeKind::Modified, commit: None }
}

pub(crate) fn check(command: &str, failing: &[&str]) -> CheckOutcome {
    let failed = u32::try_from(failing.len()).unwrap();
    let passed = failing.is_empty();
    CheckOutcome {
        command: command.into(),
        passed,
        ended: Ended::Exited { code: i32::from(!passed) },
        tests: Some(TestTally {
            passed: 10 - failed,
            failed,
            skipped: 0,
            failing: failing.iter().map(ToString::to_string).collect(),
            names: vec![],
        }),
        shrunk: None,
        flaky: false,
        retries: 0,
        duration: Millis(1500),
        excerpt: failing.iter().map(|name| format!("FAIL {name}\n")).collect(),
        signature: failing
            .first()
            .map(|name| Signature { hash: failing.join(","), headline: format!("{name} failed: expected 1, got 2") }),
        output: OutputRef::default(),
    }
}

/// All ten tests of `make test` pass.
pub(crate) fn green() -> Verdict {
    red(&[])
}

/// These of the ten tests of `make test` fail.
pub(crate) fn red(failing: &[&str]) -> Verdict {
    Verdict::new(TreeHash::default(), vec![check("make test", failing)])
}

/// No checks, and these expectations are not met.
pub(crate) fn missing(expectations: &[Expectation]) -> Verdict {
    let missing = expectations
        .iter()
        .map(|expectation| Missing { expectation: expectation.clone(), why: "not seen".into() })
        .collect();
    Verdict { missing, ..Verdict::new(TreeHash::default(), vec![]) }
}

/// A loop, its journal, and everything it asked for.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) run: Loop,
    pub(crate) journal: Vec<(Timestamp, Event)>,
    /// What the last event asked for.
    pub(crate) asked: Vec<Effect>,
    pub(crate) all: Vec<Effect>,
    pub(crate) now: Timestamp,
    /// What the loops of the day have spent, this one included.
    pub(crate) day: DayBudget,
    /// Whether every event is followed by a replay of the whole journal.
    pub(crate) replays: bool,
}

impl Scene {
    pub(crate) fn start(config: LoopConfig) -> Self {
        Self::with_behaviour(config, BEHAVIOUR)
    }

    /// A loop that decides as an earlier version did.
    pub(crate) fn with_behaviour(config: LoopConfig, behaviour: u32) -> Self {
        let start = StartPoint {
            tree: tree("start"),
            head: Some("c0ffee".into()),
            branch: Some("main".into()),
            ralph: "0.1.0".into(),
            behaviour,
            pins: vec![],
            runners: Some(vec!["pytest".into()]),
            computed: vec![],
            listings: vec![],
            sandbox: String::new(),
        };
        let (now, first) = (Timestamp(1_700_000_000_000), Event::LoopStarted { config: Box::new(config), start });
        let (run, asked) = Loop::start(now, first.clone()).unwrap();
        let day = DayBudget { spent: Money::ZERO, cap: Money::dollars(50) };
        Self { run, journal: vec![(now, first)], all: asked.clone(), asked, now, day, replays: true }
    }

    /// A loop whose check fails at the start in one test.
    pub(crate) fn red(config: LoopConfig) -> Self {
        let mut scene = Self::start(config);
        scene.baseline(red(&["a"]));
        scene
    }

    /// A loop whose check passes at the start.
    pub(crate) fn green(config: LoopConfig) -> Self {
        let mut scene = Self::start(config);
        scene.baseline(green());
        scene
    }

    /// One second later this happens, and the journal tells the same story.
    pub(crate) fn event(&mut self, event: Event) -> &mut Self {
        self.now = Timestamp(self.now.0 + 1000);
        let text = event.encode().unwrap();
        assert_eq!(Event::decode(EVENT_VERSION, &text).unwrap(), event, "{text}");
        self.journal.push((self.now, event.clone()));
        self.asked = self.run.step(self.now, event);
        self.all.extend(self.asked.iter().cloned());
        if self.replays {
            self.replay();
        }
        self
    }

    /// The journal alone gives the same loop.
    pub(crate) fn replay(&self) {
        assert_eq!(Loop::replay(self.journal.clone()).unwrap(), self.run);
    }

    pub(crate) fn wait(&mut self, span: Millis) -> &mut Self {
        self.now = Timestamp(self.now.0 + i64::try_from(span.0).unwrap());
        self
    }

    /// The attempt whose answer the loop awaits.
    pub(crate) fn attempt(&self) -> Attempt {
        self.run.awaited().unwrap_or_else(|| panic!("nothing is awaited in {}", self.phase()))
    }

    pub(crate) fn baseline(&mut self, verdict: Verdict) -> &mut Self {
        let (attempt, verdict) = (self.attempt(), self.bound(verdict));
        self.event(Event::BaselineFinished { attempt, verdict })
    }

    /// Everything is in order: the agent may run.
    pub(crate) fn begin(&mut self) -> &mut Self {
        let reserved = self.asked.iter().find_map(|effect| match effect {
            Effect::BeginIteration { reserve, .. } => Some(*reserve),
            _ => None,
        });
        let (attempt, tree, day) = (self.attempt(), self.run.facts().tree.clone(), self.day);
        let reserved = reserved.unwrap_or_else(|| self.run.facts().remaining());
        self.event(Event::IterationStarted { attempt, tree, reserved, day })
    }

    pub(crate) fn refuse(&mut self, refusal: Refusal) -> &mut Self {
        let attempt = self.attempt();
        self.event(Event::IterationRefused { attempt, refusal })
    }

    pub(crate) fn agent(&mut self, run: AgentRun) -> &mut Self {
        let (attempt, day, claim) = (self.attempt(), self.day, self.run.claim(&run.final_message));
        self.event(Event::AgentFinished { attempt, run: Box::new(run), day, claim })
    }

    pub(crate) fn checks(&mut self, verdict: Verdict) -> &mut Self {
        let (attempt, verdict) = (self.attempt(), self.bound(verdict));
        self.event(Event::ChecksFinished { attempt, verdict, tree: None })
    }

    /// A verdict over the tree that is there, unless it names another.
    fn bound(&self, mut verdict: Verdict) -> Verdict {
        if verdict.tree == TreeHash::default() {
            verdict.tree = self.run.facts().tree.clone();
        }
        verdict
    }

    pub(crate) fn wire(&mut self, tripwire: Tripwire) -> &mut Self {
        self.wire_moving(tripwire, &[])
    }

    pub(crate) fn wire_moving(&mut self, tripwire: Tripwire, moved: &[&str]) -> &mut Self {
        let (attempt, moved) = (self.attempt(), moved.iter().map(ToString::to_string).collect());
        self.event(Event::TripwireFinished { attempt, tripwire, moved, outputs: vec![] })
    }

    pub(crate) fn pins_restored(&mut self, after: &str, moved: &[&str]) -> &mut Self {
        let (attempt, moved) = (self.attempt(), moved.iter().map(ToString::to_string).collect());
        self.event(Event::PinsRestored { attempt, patch: "pinned.patch".into(), moved, tree: tree(after) })
    }

    /// One whole iteration.
    pub(crate) fn pass(&mut self, run: AgentRun, verdict: Verdict) -> &mut Self {
        self.begin().agent(run).checks(verdict)
    }

    pub(crate) fn guard(&mut self, violations: Vec<Violation>) -> &mut Self {
        let (attempt, patch, tree) = (self.attempt(), "prohibited-1.patch".into(), Some(tree("put back")));
        self.event(Event::ProhibitedRestored { attempt, violations, patch, tree })
    }

    pub(crate) fn restore(&mut self, after: &str) -> &mut Self {
        let attempt = self.attempt();
        self.event(Event::TreeRestored { attempt, tree: tree(after) })
    }

    pub(crate) fn commit(&mut self, commit: Option<&str>, problem: Option<&str>) -> &mut Self {
        let attempt = self.attempt();
        let (commit, problem) = (commit.map(str::to_owned), problem.map(str::to_owned));
        self.event(Event::WorkCommitted { attempt, commit, problem })
    }

    pub(crate) fn stop(&mut self, when: StopWhen) -> &mut Self {
        self.event(Event::StopRequested { stop: Stop { when, by: StopBy::Keyboard } })
    }

    pub(crate) fn fault(&mut self) -> &mut Self {
        self.event(Event::Faulted { error: "no space left on device".into(), lost: None, stopped: false })
    }

    /// A new process goes on; whatever was awaited is lost and may have run, for 5 cents as far as anybody knows.
    pub(crate) fn resume(&mut self) -> &mut Self {
        let lost = self.run.awaited().map(|attempt| Lost { attempt, ran: true, cost: known(cents(5)), estimate: None });
        self.resume_with(lost, Limits::default())
    }

    pub(crate) fn resume_not_ran(&mut self) -> &mut Self {
        let lost = self.run.awaited().map(|attempt| Lost { attempt, ran: false, cost: Cost::Unknown, estimate: None });
        self.resume_with(lost, Limits::default())
    }

    /// A new process goes on and finds the workspace like this.
    pub(crate) fn resume_finding(&mut self, found: &str, lost: Option<Lost>) -> &mut Self {
        let limits = Limits::default();
        self.event(Event::Resumed {
            lost,
            limits,
            attempts: Attempt(0),
            tree: Some(tree(found)),
            rewound: false,
            settled: Money::ZERO,
        })
    }

    pub(crate) fn resume_with(&mut self, lost: Option<Lost>, limits: Limits) -> &mut Self {
        self.event(Event::Resumed {
            lost,
            limits,
            attempts: Attempt(0),
            tree: None,
            rewound: false,
            settled: Money::ZERO,
        })
    }

    pub(crate) fn phase(&self) -> &'static str {
        self.run.phase().name()
    }

    pub(crate) fn outcome(&self) -> &Outcome {
        self.run.outcome().unwrap_or_else(|| panic!("the loop is not over but {}", self.phase()))
    }

    pub(crate) fn reason(&self) -> AbortReason {
        self.outcome().reason().unwrap_or_else(|| panic!("the loop was not aborted: {:?}", self.outcome()))
    }

    pub(crate) fn cause(&self) -> &AbortCause {
        match self.outcome() {
            Outcome::Aborted { cause } => cause,
            other => panic!("the loop was not aborted: {other:?}"),
        }
    }

    /// The prompt that the last event led to.
    pub(crate) fn prompt(&self) -> &str {
        let prompt = self.asked.iter().find_map(|effect| match effect {
            Effect::RunAgent { prompt, .. } => Some(prompt.as_str()),
            _ => None,
        });
        prompt.unwrap_or_else(|| panic!("no agent is to run: {:?}", self.asked))
    }

    pub(crate) fn alerts(&self) -> Vec<Alert> {
        let alerts = self.all.iter().filter_map(|effect| match effect {
            Effect::RaiseAlert(alert) => Some(*alert),
            _ => None,
        });
        alerts.collect()
    }

    /// How many agents were asked for since the loop exists.
    pub(crate) fn agents(&self) -> usize {
        self.all.iter().filter(|effect| matches!(effect, Effect::RunAgent { .. })).count()
    }

    pub(crate) fn finishes(&self) -> usize {
        self.all.iter().filter(|effect| matches!(effect, Effect::Finish { .. })).count()
    }

    pub(crate) fn cuts_short(&self) -> bool {
        self.asked.iter().any(|effect| matches!(effect, Effect::StopRunning { .. }))
    }

    pub(crate) fn puts_back(&self) -> Option<&Best> {
        self.asked.iter().find_map(|effect| match effect {
            Effect::RestoreTree { to, .. } => Some(to),
            _ => None,
        })
    }
}
