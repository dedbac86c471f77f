//! What the tests of the view share: an ordinary loop, step by step through the engine, and a terminal to look at.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use ralph_engine::{DayBudget, Event, Phase, Refusal, StartPoint, Stop};
use ralph_model::{
    AgentEvent, AgentRun, AgentSpec, CheckOutcome, Cost, Ended, LoopConfig, LoopId, Millis, Money, OutputRef,
    TestTally, Timestamp, TreeHash, Trouble, Usage, Verdict,
};
use ralph_view::{Delta, Progress, RunFold, Update, What};

/// Something that happens to a loop.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "a script is short")]
pub(super) enum Step {
    /// It begins with an objective.
    Opened(String),
    /// The checks find so many passing and failing tests before the first iteration.
    Baseline(u32, u32),
    /// An agent begins to work.
    Started,
    /// The agent ends, and the checks find so many passing and failing tests; all that was spent so far.
    Decided((u32, u32), i64),
    /// The service refuses.
    Refused(Trouble),
    /// Somebody asks it to stop.
    Stopping(Stop),
    /// What runs is cut short.
    Cut,
    /// Something that is not kept.
    Progress(Progress),
}

/// A step, and whose it is.
#[derive(Debug, Clone)]
pub(super) struct Scripted {
    candidate: Option<u32>,
    agent: String,
    step: Step,
}

impl From<Step> for Scripted {
    fn from(step: Step) -> Self {
        Self { candidate: None, agent: "helper".into(), step }
    }
}

impl From<Progress> for Scripted {
    fn from(progress: Progress) -> Self {
        Step::Progress(progress).into()
    }
}

/// Something that the agent does or says.
pub(super) fn agent(event: AgentEvent) -> Scripted {
    Progress::Agent { event }.into()
}

/// A step of one candidate of a race.
pub(super) fn of(number: u32, agent: &str, step: impl Into<Scripted>) -> Scripted {
    Scripted { candidate: Some(number), agent: agent.to_owned(), ..step.into() }
}

pub(super) fn opened(objective: &str) -> Scripted {
    Step::Opened(objective.to_owned()).into()
}

pub(super) fn baseline(passed: u32, failed: u32) -> Scripted {
    Step::Baseline(passed, failed).into()
}

pub(super) fn started() -> Scripted {
    Step::Started.into()
}

/// The second iteration claims completion.
pub(super) fn decided(tally: (u32, u32), spent: i64) -> Scripted {
    Step::Decided(tally, spent).into()
}

/// What each step sends to those who watch.
pub(super) fn play(steps: &[Scripted]) -> Vec<Vec<Update>> {
    let mut runs = BTreeMap::new();
    steps.iter().map(|scripted| perform(&mut runs, scripted)).collect()
}

fn perform(runs: &mut BTreeMap<Option<u32>, RunFold>, scripted: &Scripted) -> Vec<Update> {
    let Scripted { candidate, agent, step } = scripted;
    let run = "01890a5d-ac96-774b-bcce-b302099a8057".parse::<LoopId>().unwrap();
    let update = |what| Update { run: Some(run), candidate: *candidate, what };
    let recorded = |fold: &RunFold, deltas: Vec<Delta>| {
        update(What::Recorded { seq: 1, at: Timestamp(0), state: Box::new(fold.state()), deltas })
    };
    if let Step::Progress(progress) = step {
        return vec![update(What::Progress { progress: progress.clone() })];
    }
    if let Step::Opened(objective) = step {
        let event = Event::LoopStarted { config: Box::new(config(objective, agent)), start: start() };
        let (fold, deltas) = RunFold::start(run, Timestamp(0), event).unwrap();
        let update = recorded(&fold, deltas);
        runs.insert(*candidate, fold);
        return vec![update];
    }
    let fold = runs.get_mut(candidate).expect("an opened loop");
    // What a test leaves out happens all the same.
    let mut events: Vec<fn(&RunFold, &Step) -> Event> = Vec::new();
    let is_baseline = matches!(fold.run().phase(), Phase::Baseline(_));
    match step {
        Step::Baseline(..) => events.push(baseline_finished),
        Step::Started | Step::Decided(..) | Step::Refused(_) => {
            if is_baseline {
                events.push(baseline_finished);
            }
            if !fold.run().has_open_iteration() {
                events.push(iteration_started);
            }
            match step {
                Step::Decided(..) => events.extend([agent_finished as fn(&RunFold, &Step) -> Event, checks_finished]),
                Step::Refused(_) => events.push(agent_finished),
                _ => {}
            }
        }
        Step::Stopping(_) => events.push(stop_requested),
        Step::Cut if fold.run().has_open_iteration() => events.push(agent_finished),
        Step::Cut => events.push(iteration_refused),
        Step::Opened(_) | Step::Progress(_) => {}
    }
    let mut updates = Vec::new();
    for event in events {
        let event = event(fold, step);
        let deltas = fold.apply(Timestamp(0), event);
        updates.push(recorded(fold, deltas));
    }
    updates
}

fn config(objective: &str, agent: &str) -> LoopConfig {
    LoopConfig {
        completion_promise: "DONE".into(),
        verification_commands: vec!["npm test".into()],
        tripwire: false,
        ..LoopConfig::new(
            objective.into(),
            10,
            Money::dollars(5),
            AgentSpec::command(agent, "./helper"),
            "/work".into(),
        )
    }
}

fn start() -> StartPoint {
    StartPoint {
        tree: TreeHash("start".into()),
        head: None,
        branch: None,
        ralph: "0".into(),
        behaviour: ralph_engine::BEHAVIOUR,
        pins: Vec::new(),
        runners: Some(vec!["jest".into()]),
        computed: Vec::new(),
        listings: Vec::new(),
        sandbox: "landlock".into(),
    }
}

fn baseline_finished(fold: &RunFold, step: &Step) -> Event {
    let tally = if let Step::Baseline(passed, failed) = step { (*passed, *failed) } else { (1, 1) };
    Event::BaselineFinished { attempt: fold.run().awaited().unwrap(), verdict: verdict(fold, tally) }
}

fn iteration_started(fold: &RunFold, _: &Step) -> Event {
    let (attempt, reserved) = (fold.run().awaited().unwrap(), Money::dollars(1));
    let tree = fold.run().facts().tree.clone();
    Event::IterationStarted { attempt, tree, reserved, day: DayBudget { spent: Money::ZERO, cap: Money::dollars(50) } }
}

fn agent_finished(fold: &RunFold, step: &Step) -> Event {
    let facts = fold.run().facts();
    let spent = if let Step::Decided(_, spent) = step { Money::from_micros(*spent) } else { facts.spent };
    let tree = match step {
        Step::Decided(..) => TreeHash(format!("tree-{}", facts.iterations.len())),
        _ => facts.tree.clone(),
    };
    let run = AgentRun {
        agent: "helper".into(),
        ended: Ended::Exited { code: 0 },
        evidence: Vec::new(),
        opaque: true,
        final_message: if facts.iterations.len() == 2 { "DONE".into() } else { String::new() },
        escalation: None,
        faults: Vec::new(),
        trouble: if let Step::Refused(trouble) = step { Some(trouble.clone()) } else { None },
        usage: Usage::default(),
        cost: Cost::Known { amount: spent.less(facts.spent) },
        duration: Millis(10),
        output: OutputRef::default(),
        tree,
        changed: Vec::new(),
        commits: 0,
        violations: Vec::new(),
    };
    let day = DayBudget { spent, cap: Money::dollars(50) };
    Event::AgentFinished { attempt: fold.run().awaited().unwrap(), run: Box::new(run), day, claim: None }
}

fn checks_finished(fold: &RunFold, step: &Step) -> Event {
    let Step::Decided(tally, _) = step else { panic!("only a decided iteration is checked") };
    Event::ChecksFinished { attempt: fold.run().awaited().unwrap(), verdict: verdict(fold, *tally), tree: None }
}

fn stop_requested(_: &RunFold, step: &Step) -> Event {
    let Step::Stopping(stop) = step else { panic!("nobody asked it to stop") };
    Event::StopRequested { stop: *stop }
}

fn iteration_refused(fold: &RunFold, _: &Step) -> Event {
    Event::IterationRefused { attempt: fold.run().awaited().unwrap(), refusal: Refusal::Stopped }
}

fn verdict(fold: &RunFold, (passed, failed): (u32, u32)) -> Verdict {
    let check = CheckOutcome {
        command: "npm test".into(),
        passed: failed == 0,
        ended: Ended::Exited { code: i32::from(failed > 0) },
        tests: Some(TestTally { passed, failed, ..TestTally::default() }),
        shrunk: None,
        flaky: false,
        retries: 0,
        duration: Millis(10),
        excerpt: String::new(),
        signature: None,
        output: OutputRef::default(),
    };
    Verdict::new(fold.run().facts().tree.clone(), vec![check])
}

/// A small terminal: enough of one to see what a person would see.
#[derive(Debug, Clone)]
pub(super) struct Terminal(Arc<Mutex<Inside>>);

#[derive(Debug)]
struct Inside {
    columns: usize,
    lines: Vec<String>,
    row: usize,
    column: usize,
}

impl Terminal {
    pub(super) fn new(columns: usize) -> Self {
        Self(Arc::new(Mutex::new(Inside { columns, lines: vec![String::new()], row: 0, column: 0 })))
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().lines.iter().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Shows what a person types, where the cursor is, as terminals do. A key such as Ctrl-C is two characters.
    pub(super) fn echo(&self, text: &str) {
        let mut inside = self.0.lock().unwrap();
        text.chars().for_each(|c| inside.put(c));
    }

    /// Becomes narrower, and wraps what is there as terminals do: the cursor stays at the character that it was at.
    pub(super) fn resize(&self, columns: usize) {
        let mut inside = self.0.lock().unwrap();
        let wrap = |line: &String| -> Vec<String> {
            let characters: Vec<char> = line.trim_end().chars().collect();
            if characters.is_empty() {
                return vec![String::new()];
            }
            characters.chunks(columns).map(|chunk| chunk.iter().collect()).collect()
        };
        let above: usize = inside.lines[..inside.row].iter().map(|line| wrap(line).len()).sum();
        inside.lines = inside.lines.iter().flat_map(wrap).collect();
        inside.row = above + inside.column / columns;
        inside.column %= columns;
        inside.columns = columns;
    }
}

impl Inside {
    fn put(&mut self, c: char) {
        if self.column >= self.columns {
            self.feed();
            self.column = 0;
        }
        let line = &mut self.lines[self.row];
        let mut characters: Vec<char> = line.chars().collect();
        characters.resize(characters.len().max(self.column + 1), ' ');
        characters[self.column] = c;
        *line = characters.into_iter().collect();
        self.column += 1;
    }

    fn feed(&mut self) {
        self.row += 1;
        if self.row == self.lines.len() {
            self.lines.push(String::new());
        }
    }

    fn command(&mut self, letter: char, number: usize) {
        match letter {
            'A' => self.row = self.row.saturating_sub(number.max(1)),
            'G' => self.column = number.saturating_sub(1),
            'J' => {
                self.lines.truncate(self.row + 1);
                let kept: String = self.lines[self.row].chars().take(self.column).collect();
                self.lines[self.row] = kept;
            }
            'm' => {}
            other => panic!("the terminal does not know {other}"),
        }
    }
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inside = self.0.lock().unwrap();
        let text = std::str::from_utf8(bytes).expect("whole characters");
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            match c {
                '\u{1b}' => {
                    assert_eq!(characters.next(), Some('['));
                    let mut number = String::new();
                    let letter = loop {
                        match characters.next().expect("a whole sequence") {
                            digit @ '0'..='9' => number.push(digit),
                            letter => break letter,
                        }
                    };
                    inside.command(letter, number.parse().unwrap_or(0));
                }
                '\r' => inside.column = 0,
                '\n' => inside.feed(),
                c => inside.put(c),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
