//! Whatever an agent or a check starts and however it hides: after its turn nothing of it lives.

use std::time::{Duration, Instant};

use ralph_testkit::{Child, Processes, Repo, Script, Session, SignalName, Stdout, Step};
use serde_json::Value;

use crate::aid::{Agent, SOON, kill, wait_until};
use crate::harness::{User, run_words_with};

const LONG: u64 = 600_000;

/// A child that outlives its parent by far and does not want to end.
fn stubborn() -> Child {
    let ignore = vec![SignalName::Term, SignalName::Int, SignalName::Hup];
    Child { stay_ms: LONG, session: Session::Own, stdout: Stdout::Held, ignore, ..Child::default() }
}

/// Every way to hide that is known here.
fn hiding_places() -> Vec<Step> {
    let shared = Child { session: Session::Shared, ..stubborn() };
    vec![
        Step::Fork(shared),
        Step::Fork(stubborn()),
        Step::DoubleFork(stubborn()),
        Step::HoldStdout { ms: LONG },
        Step::run("setsid sh -c 'trap \"\" TERM INT HUP; (while :; do sleep 600; done) & wait' >/dev/null 2>&1 &"),
        Step::run("nohup sleep 600 >/dev/null 2>&1 &"),
    ]
}

struct Scene {
    user: User,
    repo: Repo,
    agent: Agent,
}

impl Scene {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let (user, repo) = (User::new(), Repo::init());
        let agent = Agent::new(&user, Script::new().run(steps));
        Self { user, repo, agent }
    }

    /// A script that a check runs as an agent would.
    fn check(&self, steps: impl IntoIterator<Item = Step>) -> Agent {
        Agent::new(&self.user, Script::new().stdin(ralph_testkit::StdinUse::Leave).run(steps))
    }

    fn run(&self, more: &[&str]) -> Value {
        self.run_times(2, more)
    }

    fn run_times(&self, max: u32, more: &[&str]) -> Value {
        let words = run_words_with(&self.agent.line, max, more);
        self.user.ralph(self.repo.path(), words).with_code(10).json()
    }
}

#[test]
fn nothing_that_an_agent_left_behind_lives_on() {
    let mut steps = vec![Step::append("work.txt", "x\n"), Step::cost(1000)];
    steps.extend(hiding_places());
    let scene = Scene::new(steps);
    let start = Instant::now();
    let result = scene.run(&["--criteria", "false"]);
    scene.agent.assert_gone(&scene.repo, Duration::ZERO);
    assert_eq!(result["iterations"], 2);
    // The agent itself ended by itself: what it left behind is no failure of its own.
    let id = result["loopId"].as_str().unwrap();
    assert_eq!(scene.user.show(id)["iterations"][0]["run"]["ended"]["how"], "exited");
    // Nobody waited for those who held the output.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn nothing_that_a_check_left_behind_lives_on() {
    let scene = Scene::new([Step::append("work.txt", "x\n"), Step::cost(1000)]);
    let mut steps = hiding_places();
    steps.push(Step::Exit(3));
    let check = scene.check(steps);
    let result = scene.run(&["--criteria", &check.line]);
    check.assert_gone(&scene.repo, Duration::ZERO);
    assert_eq!(check.runs(), 3, "the baseline and two iterations");
    assert_eq!(result["verdict"]["checks"][0]["ended"]["code"], 3, "{result}");
}

#[test]
fn an_agent_that_will_not_end_is_killed_with_all_it_started() {
    let mut steps = vec![Step::ignore_signals(), Step::cost(1000)];
    steps.extend(hiding_places());
    steps.push(Step::sleep(Duration::from_secs(600)));
    let scene = Scene::new(steps);
    let result = scene.run_times(1, &["--criteria", "false", "--iteration-timeout", "1s"]);
    scene.agent.assert_gone(&scene.repo, Duration::ZERO);
    let shown = scene.user.show(result["loopId"].as_str().unwrap());
    for iteration in shown["iterations"].as_array().unwrap() {
        assert_eq!(iteration["run"]["ended"]["how"], "timedOut", "{iteration}");
    }
}

#[test]
fn a_check_that_will_not_end_is_killed_with_all_it_started() {
    let scene = Scene::new([Step::append("work.txt", "x\n"), Step::cost(1000)]);
    let mut steps = vec![Step::ignore_signals()];
    steps.extend(hiding_places());
    steps.push(Step::sleep(Duration::from_secs(600)));
    let check = scene.check(steps);
    let result = scene.run_times(1, &["--criteria", &check.line, "--verify-timeout", "1s"]);
    check.assert_gone(&scene.repo, Duration::ZERO);
    let last = &result["verdict"]["checks"][0];
    assert_eq!((&last["passed"], &last["ended"]["how"]), (&false.into(), &"timedOut".into()), "{last}");
}

/// Processes that fork faster than they are killed, as far as a test may go: fifty at a time that replace themselves.
#[test]
fn a_swarm_of_processes_is_ended() {
    let swarm = "trap '' TERM; i=0; while [ $i -lt 50 ]; do (trap '' TERM; while :; do sleep 1 & wait; done) & i=$((i+1)); done; \
                 touch swarming; wait";
    let scene = Scene::new([Step::cost(1000), Step::run(swarm)]);
    let start = Instant::now();
    scene.run_times(1, &["--criteria", "false", "--iteration-timeout", "5s"]);
    assert!(scene.repo.exists("swarming"));
    scene.agent.assert_gone(&scene.repo, Duration::ZERO);
    assert!(start.elapsed() < Duration::from_secs(90), "{:?}", start.elapsed());
}

/// What is left when the program is killed while `who` has its turn.
#[track_caller]
fn killed_meanwhile(scene: &Scene, who: &Agent, words: &[String]) {
    let child = scene.user.spawn(scene.repo.path(), words);
    wait_until("the stubborn processes", || scene.repo.exists("ready"));
    let alive = Processes::working_in(scene.repo.path()).list().len();
    assert!(alive > 6, "only {alive} processes to end");
    kill(child);
    let start = Instant::now();
    who.assert_gone(&scene.repo, SOON);
    eprintln!("{alive} processes were gone {:?} after Ralph was killed", start.elapsed());
}

fn stubborn_steps() -> Vec<Step> {
    let mut steps = vec![Step::ignore_signals()];
    steps.extend(hiding_places());
    steps.extend([Step::write("ready", ""), Step::sleep(Duration::from_secs(600))]);
    steps
}

#[test]
fn killed_during_the_agent_ralph_leaves_nothing_behind() {
    let scene = Scene::new(stubborn_steps());
    let words = run_words_with(&scene.agent.line, 2, &["--criteria", "false"]);
    killed_meanwhile(&scene, &scene.agent, &words);
}

#[test]
fn killed_during_a_check_ralph_leaves_nothing_behind() {
    let scene = Scene::new([Step::append("work.txt", "x\n")]);
    let check = scene.check(stubborn_steps());
    let words = run_words_with(&scene.agent.line, 2, &["--criteria", &check.line]);
    killed_meanwhile(&scene, &check, &words);
    assert_eq!(scene.agent.runs(), 0, "it was the baseline");
}

/// An agent can kill its own supervisor: it runs as the same user. It dies all the same, and the loop goes on.
#[test]
fn an_agent_that_kills_its_reaper_dies_with_it() {
    let mut steps = vec![Step::append("work.txt", "x\n"), Step::cost(1000)];
    steps.extend(hiding_places());
    steps.extend([
        Step::run("kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $PPID))"),
        Step::sleep(Duration::from_secs(600)),
    ]);
    let scene = Scene::new(steps);
    let result = scene.run(&["--criteria", "false"]);
    assert_eq!(result["iterations"], 2);
    scene.agent.assert_gone(&scene.repo, SOON);
}
