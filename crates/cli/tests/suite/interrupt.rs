//! Ctrl-C, signals and `ralph stop`: in every phase the loop ends as it was asked to, leaves nothing behind and can go on.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ralph_testkit::{Repo, Script, Step, shell_quoted};
use rustix::process::Signal;
use serde_json::Value;

use crate::aid::{
    APART, Agent, extended, finish, is_long, kinds, signal, tamper, unsettled, wait_for_file, wait_until, while_locked,
};
use crate::harness::{Ended, User, run_words_with};

/// Long enough that a loop that waits for it cannot pass for one that does not.
const NEVER: Duration = Duration::from_secs(600);
const AT_ONCE: Duration = Duration::from_secs(60);

struct Scene {
    user: User,
    repo: Repo,
    agent: Agent,
}

impl Scene {
    /// The first run says `working` and then does `then`; later runs are quick.
    fn new(then: impl IntoIterator<Item = Step>) -> Self {
        let (user, repo) = (User::new(), Repo::init());
        let first = [Step::cost(1000), Step::write("working", "")].into_iter().chain(then);
        let script = Script::new().run(first).otherwise([Step::append("work.txt", "x\n"), Step::cost(1000)]);
        let agent = Agent::new(&user, script);
        Self { user, repo, agent }
    }

    fn start(&self, more: &[&str]) -> Child {
        self.user.spawn(self.repo.path(), extended(run_words_with(&self.agent.line, 3, &[]), more))
    }

    #[track_caller]
    fn wait_for(&self, file: &str) {
        wait_for_file(&self.repo.path().join(file));
    }

    /// Until Ralph has written down that it was asked to stop.
    #[track_caller]
    fn wait_for_request(&self) {
        wait_until("the request in the journal", || kinds(&self.user).contains(&"stopRequested".into()));
    }

    fn shown(&self) -> Value {
        let id = self.user.newest_loop()["loopId"].as_str().unwrap().to_owned();
        self.user.show(&id)
    }

    /// The result of a loop that somebody stopped.
    #[track_caller]
    fn assert_cancelled(&self, ended: Ended, code: i32) -> Value {
        let result = ended.with_code(code).json();
        assert_eq!((&result["status"], &result["reason"]), (&"ABORTED".into(), &"CANCELLED".into()), "{result}");
        self.agent.assert_gone(&self.repo, Duration::ZERO);
        assert_eq!(unsettled(&self.user), 0, "money is still reserved");
        result
    }

    /// Whatever was stopped goes on to its end.
    #[track_caller]
    fn assert_resumable(&self) {
        let result = self.user.ralph(self.repo.path(), ["resume", "--json"]).with_code(10).json();
        assert_eq!(result["iterations"], 3, "{result}");
        assert_eq!(self.agent.runs(), 3);
        self.user.ralph(self.repo.path(), ["verify-run", result["loopId"].as_str().unwrap()]).ok();
        assert_eq!(unsettled(&self.user), 0);
    }
}

#[test]
fn ctrl_c_once_lets_the_iteration_end_with_its_checks() {
    let scene = Scene::new([Step::wait_for_file("go")]);
    let child = scene.start(&["--criteria", "false"]);
    scene.wait_for("working");
    signal(&child, Signal::INT);
    // Told, and still at work.
    scene.wait_for_request();
    scene.repo.write("go", "");
    let result = scene.assert_cancelled(finish(child), 130);
    assert_eq!(result["iterations"], 1);
    let iteration = &scene.shown()["iterations"][0];
    assert_eq!(iteration["run"]["ended"]["how"], "exited", "{iteration}");
    assert_eq!(iteration["verdict"]["checks"][0]["passed"], false, "{iteration}");
    scene.assert_resumable();
}

#[test]
fn work_that_is_finished_after_ctrl_c_still_completes_the_loop() {
    let scene = Scene::new([Step::wait_for_file("go"), Step::write("done", "")]);
    let child = scene.start(&["--criteria", "test -e done"]);
    scene.wait_for("working");
    signal(&child, Signal::INT);
    scene.repo.write("go", "");
    assert_eq!(finish(child).ok().json()["status"], "COMPLETED");
}

#[test]
fn ctrl_c_twice_ends_the_agent_at_once() {
    let scene = Scene::new([Step::sleep(NEVER)]);
    let child = scene.start(&["--criteria", "false"]);
    scene.wait_for("working");
    signal(&child, Signal::INT);
    scene.wait_for_request();
    std::thread::sleep(APART);
    let start = Instant::now();
    signal(&child, Signal::INT);
    scene.assert_cancelled(finish(child), 130);
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
    let iteration = &scene.shown()["iterations"][0];
    assert_eq!(iteration["run"]["ended"]["how"], "stopped", "{iteration}");
    assert_eq!(iteration["costUSD"], 0.001, "what it reported is kept: {iteration}");
    scene.assert_resumable();
}

#[test]
fn ctrl_c_twice_ends_an_agent_that_will_not_listen() {
    let scene = Scene::new([Step::ignore_signals(), Step::HoldStdout { ms: 600_000 }, Step::sleep(NEVER)]);
    let child = scene.start(&["--criteria", "false"]);
    scene.wait_for("working");
    signal(&child, Signal::INT);
    scene.wait_for_request();
    std::thread::sleep(APART);
    let start = Instant::now();
    signal(&child, Signal::INT);
    scene.assert_cancelled(finish(child), 130);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn other_signals_stop_at_once_and_say_so() {
    for name in [Signal::TERM, Signal::HUP] {
        let scene = Scene::new([Step::sleep(NEVER)]);
        let child = scene.start(&["--criteria", "false"]);
        scene.wait_for("working");
        let start = Instant::now();
        signal(&child, name);
        let result = scene.assert_cancelled(finish(child), 19);
        assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
        assert!(result["details"].as_str().unwrap().contains("signal"), "{result}");
        scene.assert_resumable();
    }
}

#[test]
fn another_process_can_ask_for_the_end() {
    for (flag, how) in [(None, "exited"), (Some("--now"), "stopped")] {
        let scene = Scene::new([Step::wait_for_file("go")]);
        let child = scene.start(&["--criteria", "false"]);
        scene.wait_for("working");
        let short = scene.user.newest_loop()["short"].as_str().unwrap().to_owned();
        scene.user.ralph(&scene.user.home(), ["stop", &short].into_iter().chain(flag)).ok();
        scene.wait_for_request();
        if flag.is_none() {
            scene.repo.write("go", "");
        }
        scene.assert_cancelled(finish(child), 19);
        let iteration = &scene.shown()["iterations"][0];
        assert_eq!(iteration["run"]["ended"]["how"], how, "{iteration}");
        assert_eq!(iteration["verdict"].is_null(), flag.is_some(), "{iteration}");
        // The request was for this process: the next one is not stopped by it.
        scene.assert_resumable();
        // Over is over.
        scene.user.ralph(&scene.user.home(), ["stop", &short]).with_code(1);
    }
}

/// Somebody else writes to the database and takes their time.
#[test]
fn ctrl_c_twice_ends_the_agent_while_the_database_is_locked() {
    for known in [true, false] {
        let scene = Scene::new([Step::sleep(NEVER)]);
        let mut child = scene.start(&["--criteria", "false"]);
        let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        scene.wait_for("working");
        if known {
            signal(&child, Signal::INT);
            scene.wait_for_request();
        }
        while_locked(&scene.user, || {
            if !known {
                signal(&child, Signal::INT);
                assert!(told.any(|line| line.contains("stopping after this iteration")));
            }
            assert!(scene.agent.is_alive_under(&child));
            std::thread::sleep(APART);
            signal(&child, Signal::INT);
            wait_until("the end of the agent", || !scene.agent.is_alive_under(&child));
        });
        let result = scene.assert_cancelled(finish(child), 130);
        assert!(result["details"].as_str().unwrap().contains("keyboard"), "{result}");
        scene.assert_resumable();
    }
}

#[test]
fn requests_that_cannot_be_seen_are_warned_of_once() {
    let scene = Scene::new([Step::wait_for_file("go")]);
    let mut child = scene.start(&["--criteria", "false"]);
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    scene.wait_for("working");
    tamper(&scene.user, "ALTER TABLE stops RENAME TO elsewhere");
    let warns = |line: &String| line.contains("requests to stop cannot be seen");
    assert!(told.any(|line| warns(&line)));
    scene.repo.write("go", "");
    let more: Vec<String> = told.collect();
    finish(child);
    assert!(!more.iter().any(warns), "{more:?}");
}

/// A request becomes more urgent when it is repeated with `--now`.
#[test]
fn a_patient_request_can_become_an_urgent_one() {
    let scene = Scene::new([Step::sleep(NEVER)]);
    let child = scene.start(&["--criteria", "false"]);
    scene.wait_for("working");
    let short = scene.user.newest_loop()["short"].as_str().unwrap().to_owned();
    scene.user.ralph(&scene.user.home(), ["stop", &short]).ok();
    scene.wait_for_request();
    scene.user.ralph(&scene.user.home(), ["stop", &short, "--now"]).ok();
    scene.assert_cancelled(finish(child), 19);
}

/// A check that says when it runs, and lasts until it is ended while `slow` exists.
const SLOW_CHECK: &str = "touch checking; while [ -e slow ]; do sleep 0.05; done; rm -f checking; false";

#[test]
fn a_stop_during_the_baseline_runs_no_agent() {
    for (name, code) in [(Signal::TERM, 19), (Signal::INT, 130)] {
        let scene = Scene::new([]);
        scene.repo.write("slow", "");
        let child = scene.start(&["--criteria", SLOW_CHECK]);
        scene.wait_for("checking");
        signal(&child, name);
        // There is no iteration to wait for: the first Ctrl-C is enough.
        let result = scene.assert_cancelled(finish(child), code);
        assert_eq!((result["iterations"].as_u64(), scene.agent.runs()), (Some(0), 0));
        assert!(scene.shown()["baseline"].is_null());
        scene.repo.remove("slow");
        scene.assert_resumable();
        assert!(!scene.shown()["baseline"].is_null(), "a baseline that was cut short is taken again");
    }
}

#[test]
fn a_stop_during_the_pause_does_not_wait_for_its_end() {
    for (name, code) in [(Signal::TERM, 19), (Signal::INT, 130)] {
        let scene = Scene::new([]);
        let child = scene.start(&["--criteria", "false", "--pause", "600s"]);
        scene.wait_for("working");
        wait_until("the first verdict", || kinds(&scene.user).contains(&"checksFinished".into()));
        let start = Instant::now();
        signal(&child, name);
        let result = scene.assert_cancelled(finish(child), code);
        assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
        assert_eq!(result["iterations"], 1);
    }
}

#[test]
fn a_stop_during_the_checks_is_patient_once_and_urgent_twice() {
    let start_checking = || {
        let scene = Scene::new([Step::write("slow", "")]);
        let child = scene.start(&["--criteria", SLOW_CHECK]);
        scene.wait_for("slow");
        scene.wait_for("checking");
        (scene, child)
    };
    let (scene, child) = start_checking();
    signal(&child, Signal::INT);
    scene.wait_for_request();
    scene.repo.remove("slow");
    scene.assert_cancelled(finish(child), 130);
    assert!(!scene.shown()["iterations"][0]["verdict"].is_null());
    scene.assert_resumable();

    let (scene, child) = start_checking();
    signal(&child, Signal::TERM);
    scene.assert_cancelled(finish(child), 19);
    let stopped = Instant::now();
    assert!(scene.shown()["iterations"][0]["verdict"].is_null(), "checks that were cut short say nothing");
    // The work is there and was never looked at: it is looked at first, and no agent run is spent on it.
    scene.repo.remove("slow");
    let pause = stopped.elapsed();
    scene.assert_resumable();
    let iteration = &scene.shown()["iterations"][0];
    assert!(!iteration["verdict"].is_null(), "unseen work is verified when the loop goes on");
    // Nobody worked between the two.
    let time = |name: &str| iteration[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond();
    let worked = iteration["workedSeconds"].as_f64().unwrap();
    let passed = (time("endedAt") - time("startedAt")) as f64 / 1000.0;
    assert!(worked > 0.0 && worked + pause.as_secs_f64() <= passed + 0.002, "{pause:?}: {iteration}");
}

const TEST: &str = "import unittest\n\nfrom calc import add\n\n\nclass CalcTest(unittest.TestCase):\n    def test_add(self):\n        \
                    self.assertEqual(add(2, 3), 5)\n";

#[test]
fn a_stop_in_any_other_long_step_takes_effect_at_once() {
    let check = "python3 -m unittest -v test_calc";
    for name in ["tripwire", "expectation", "set-up"] {
        let scene = Scene::new([Step::write("calc.py", "def add(a, b):\n    return a + b\n")]);
        scene.repo.write("calc.py", "def add(a, b):\n    return a - b\n");
        scene.repo.write("test_calc.py", TEST);
        scene.repo.write(".gitignore", "__pycache__/\n");
        scene.repo.commit("a calculator");
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| shell_quoted(&folder.path().join(name).to_string_lossy());
        let lasts = format!("touch {}; sleep 600", path("begun"));
        // The third run of the check is the one with the tripwire.
        let third = format!("echo x >> {0}; [ $(wc -l < {0}) -lt 3 ] || {{ {lasts}; }}; {check}", path("runs"));
        let expected = format!("command:{lasts}");
        let child = match name {
            "tripwire" => scene.start(&["--criteria", &third]),
            "expectation" => scene.start(&["--criteria", check, "--expect", &expected]),
            _ => scene.start(&["--criteria", check, "--verify", "isolated", "--setup", &lasts]),
        };
        wait_for_file(&folder.path().join("begun"));
        let start = Instant::now();
        signal(&child, Signal::TERM);
        scene.assert_cancelled(finish(child), 19);
        assert!(start.elapsed() < Duration::from_secs(5), "{name}: {:?}", start.elapsed());
        assert_eq!(scene.repo.read("test_calc.py"), TEST, "{name}");
    }
}

#[test]
fn a_stop_among_many_new_files_takes_effect_at_once() {
    let count = if is_long() { 100_000 } else { 5_000 };
    // Both what belongs to no test, and what looks like one and is swapped out while tests are changed.
    let make = format!("mkdir many tests; seq {count} | sed 's|.*|many/& tests/test_&.py|' | xargs touch");
    let scene = Scene::new([Step::write("calc.py", "def add(a, b):\n    return a + b\n"), Step::run(make)]);
    scene.repo.write("calc.py", "def add(a, b):\n    return a - b\n");
    scene.repo.write("test_calc.py", TEST);
    scene.repo.write(".gitignore", "__pycache__/\n");
    scene.repo.commit("a calculator");
    let child = scene.start(&["--criteria", "python3 -m unittest -v test_calc"]);
    scene.wait_for("working");
    // The tripwire comes next, and swaps files before and after its runs.
    wait_until("the checks after the agent", || kinds(&scene.user).contains(&"checksFinished".into()));
    let start = Instant::now();
    signal(&child, Signal::TERM);
    let ended = finish(child);
    eprintln!("ended {:?} after SIGTERM, with {count} new files and as many new tests", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    scene.assert_cancelled(ended, 19);
    assert_eq!(scene.repo.read("test_calc.py"), TEST);
    for folder in ["many", "tests"] {
        assert_eq!(std::fs::read_dir(scene.repo.path().join(folder)).unwrap().count(), count, "{folder}");
    }
}

/// A real terminal: Ctrl-C is typed, the kernel sends the signal, and only to Ralph.
struct Typist {
    script: Child,
}

impl Typist {
    fn start(scene: &Scene, more: &[&str]) -> Option<Self> {
        if !Command::new("script").arg("--version").output().is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: script(1) is not installed");
            return None;
        }
        let words: Vec<String> =
            run_words_with(&scene.agent.line, 3, more).into_iter().filter(|word| word != "--json").collect();
        let ralph = scene.user.command(scene.repo.path(), &words);
        let line: Vec<String> = std::iter::once(ralph.get_program())
            .chain(ralph.get_args())
            .map(|word| shell_quoted(&word.to_string_lossy()))
            .collect();
        let mut command = Command::new("script");
        command.args(["-q", "-e", "-c", &format!("exec {}", line.join(" ")), "/dev/null"]);
        command.current_dir(scene.repo.path()).env_clear().env("TERM", "xterm").env("SHELL", "/bin/sh");
        command.envs(ralph.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let script = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Some(Self { script })
    }

    fn press_ctrl_c(&mut self) {
        let keyboard = self.script.stdin.as_mut().unwrap();
        keyboard.write_all(b"\x03").unwrap();
        keyboard.flush().unwrap();
    }
}

#[test]
fn ctrl_c_on_a_terminal_reaches_ralph_and_not_the_agent() {
    let scene = Scene::new([Step::wait_for_file("go")]);
    let Some(mut typist) = Typist::start(&scene, &["--criteria", "false"]) else { return };
    scene.wait_for("working");
    typist.press_ctrl_c();
    scene.wait_for_request();
    scene.repo.write("go", "");
    let ended = finish(typist.script).with_code(130);
    let iteration = &scene.shown()["iterations"][0];
    assert_eq!(iteration["run"]["ended"]["how"], "exited", "the agent felt the key: {iteration}");
    assert!(ended.stdout.contains("CANCELLED"), "{}", ended.stdout);
    scene.agent.assert_gone(&scene.repo, Duration::ZERO);
}

#[test]
fn ctrl_c_twice_on_a_terminal_ends_at_once_and_leaves_the_terminal_usable() {
    let scene = Scene::new([Step::sleep(NEVER)]);
    let Some(mut typist) = Typist::start(&scene, &["--criteria", "false"]) else { return };
    scene.wait_for("working");
    typist.press_ctrl_c();
    scene.wait_for_request();
    std::thread::sleep(APART);
    typist.press_ctrl_c();
    let ended = finish(typist.script).with_code(130);
    let (hidden, shown) = (ended.stdout.rfind("\u{1b}[?25l"), ended.stdout.rfind("\u{1b}[?25h"));
    assert!(shown >= hidden, "the cursor stays hidden: {:?}", ended.stdout);
    scene.agent.assert_gone(&scene.repo, Duration::ZERO);
}
