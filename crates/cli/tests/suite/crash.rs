//! The program dies at every place where it writes, and at any moment: `resume` goes on, nothing is done twice.

use std::collections::BTreeMap;
use std::time::Duration;

use ralph_testkit::{Repo, Script, Step};
use serde_json::Value;

use crate::aid::{Agent, SOON, finish, is_long, kill, kinds, micros, query, settled, tamper, unsettled, wait_until};
use crate::harness::{Ended, User, run_words_with};

const ITERATIONS: u32 = 5;
const RUN_COST: u64 = 10_000;
/// `std::process::abort` ends by a signal, which has no exit code.
const CRASHED: i32 = -1;

struct Scene {
    user: User,
    repo: Repo,
    agent: Agent,
    words: Vec<String>,
}

impl Scene {
    /// A loop of five iterations whose check never passes, and whose agent always changes a file.
    fn new(steps: impl IntoIterator<Item = Step>, more: &[&str]) -> Self {
        let (user, repo) = (User::new(), Repo::init());
        let agent = Agent::new(&user, Script::new().run(steps));
        let mut words =
            run_words_with(&agent.line, ITERATIONS, &["--criteria", "false", "--same-error", "50", "--quiet"]);
        words.extend(more.iter().map(|word| (*word).to_owned()));
        Self { user, repo, agent, words }
    }

    fn metered() -> Self {
        Self::new([Step::append("work.txt", "x\n"), Step::cost(RUN_COST)], &[])
    }

    fn unmetered() -> Self {
        Self::new([Step::append("work.txt", "x\n")], &["--unmetered"])
    }

    fn crash(&self, words: &[String], at: &str) -> Ended {
        Ended::from(self.user.hooked(self.repo.path(), words).env("RALPH_TEST_CRASH", at).output().unwrap())
    }

    fn resume_words(more: &[&str]) -> Vec<String> {
        ["resume", "--json", "--quiet"].iter().chain(more).map(|word| (*word).to_owned()).collect()
    }

    fn resume(&self) -> Ended {
        self.user.ralph(self.repo.path(), Self::resume_words(&[]))
    }

    fn loop_id(&self) -> String {
        self.user.newest_loop()["loopId"].as_str().unwrap().to_owned()
    }

    /// Everything that has to hold when a loop is over, however often its process died.
    #[track_caller]
    fn assert_whole(&self, result: &Value, context: &str) -> Value {
        assert_eq!(result["reason"], "MAX_ITERATIONS", "{context}: {result}");
        let runs = self.agent.runs();
        assert_eq!(runs, u64::from(ITERATIONS), "{context}: the agent ran {runs} times");
        let shown = self.user.show(&self.loop_id());
        assert_numbered(&shown, context);
        let proof = self.user.ralph(self.repo.path(), ["verify-run", &self.loop_id()]);
        assert_eq!(proof.code, 0, "{context}: {}", proof.stdout);
        assert_eq!(unsettled(&self.user), 0, "{context}: money is still reserved");
        assert_eq!(kinds(&self.user).iter().filter(|kind| *kind == "loopFinished").count(), 1, "{context}");
        let metrics = self.repo.read(".ralph/metrics/ralph-loops.jsonl");
        assert_eq!(metrics.lines().count(), 1, "{context}: {metrics}");
        assert!(self.repo.read(".ralph/LEDGER.md").contains("ABORTED MAX_ITERATIONS"), "{context}");
        shown
    }
}

#[track_caller]
fn assert_numbered(shown: &Value, context: &str) {
    let numbers: Vec<u64> =
        shown["iterations"].as_array().unwrap().iter().map(|one| one["iteration"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=u64::from(ITERATIONS)).collect::<Vec<_>>(), "{context}");
}

/// Crashes at every append on one side of it, resumes each time, and gives how many crashes there were.
fn crash_everywhere(side: &str, scene: fn() -> Scene, check: impl Fn(&Scene, &Value, &str)) -> u32 {
    for number in 1.. {
        let at = format!("{side}:{number}");
        let scene = scene();
        let first = scene.crash(&scene.words, &at);
        if first.code != CRASHED {
            // The loop ended before the append was reached: every append had its turn.
            scene.assert_whole(&first.with_code(10).json(), &at);
            return number - 1;
        }
        let resumed = if at == "before:1" {
            // Nothing was written down, so there is nothing to resume.
            let refused = scene.resume();
            assert_ne!(refused.code, 0, "{at}");
            scene.user.ralph(scene.repo.path(), &scene.words)
        } else {
            scene.resume()
        };
        let result = resumed.with_code(10).json();
        scene.assert_whole(&result, &at);
        check(&scene, &result, &at);
    }
    unreachable!("a loop ends")
}

fn same_cost(scene: &Scene, result: &Value, context: &str) {
    let all = i64::try_from(RUN_COST).unwrap() * i64::from(ITERATIONS);
    assert_eq!(micros(&result["costUSD"]), all, "{context}");
    assert_eq!(settled(&scene.user), all, "{context}");
}

#[test]
fn a_crash_before_any_append_repeats_no_agent_run() {
    let crashes = crash_everywhere("before", Scene::metered, same_cost);
    eprintln!("crashes before an append, each resumed to the end: {crashes}");
    assert!(crashes >= 18, "only {crashes}");
}

#[test]
fn a_crash_after_any_append_repeats_no_agent_run() {
    let crashes = crash_everywhere("after", Scene::metered, same_cost);
    eprintln!("crashes after an append, each resumed to the end: {crashes}");
    assert!(crashes >= 18, "only {crashes}");
}

#[test]
fn crashes_without_a_meter_repeat_no_agent_run() {
    let free = |_: &Scene, result: &Value, context: &str| assert_eq!(micros(&result["costUSD"]), 0, "{context}");
    let sides: &[&str] = if is_long() { &["before", "after"] } else { &["after"] };
    for side in sides {
        let crashes = crash_everywhere(side, Scene::unmetered, free);
        eprintln!("crashes of an unmetered loop {side} an append, each resumed to the end: {crashes}");
        assert!(crashes >= 18, "only {crashes}");
    }
}

/// A resumed loop dies at its first appends as well, again and again, and still goes on.
#[test]
fn crashes_in_a_row_use_up_nothing() {
    let mut crashes = 0;
    let all = ["after:3", "before:4", "after:5", "before:3", "after:4", "before:5"];
    for first in if is_long() { &all[..] } else { &all[..3] } {
        for again in ["before:1", "after:1", "before:2", "after:2"] {
            let scene = Scene::metered();
            let context = format!("{first}, then {again} twice");
            assert_eq!(scene.crash(&scene.words, first).code, CRASHED, "{context}");
            for _ in 0..2 {
                assert_eq!(scene.crash(&Scene::resume_words(&[]), again).code, CRASHED, "{context}");
            }
            crashes += 3;
            let result = scene.resume().with_code(10).json();
            scene.assert_whole(&result, &context);
            same_cost(&scene, &result, &context);
        }
    }
    eprintln!("crashes in a row: {crashes}");
}

/// Every process of the loop dies one append after the one before, until it is through.
#[test]
fn a_loop_that_dies_at_every_step_still_ends() {
    let scene = Scene::metered();
    let mut crashes = 0;
    let mut last = scene.crash(&scene.words, "after:2");
    while last.code == CRASHED {
        crashes += 1;
        assert!(crashes < 200, "no progress: {:?}", kinds(&scene.user));
        // The first append of a resumed process says that it was resumed, the second may only allow an agent to run.
        last = scene.crash(&Scene::resume_words(&[]), "after:3");
    }
    eprintln!("processes that one loop went through: {}", crashes + 1);
    assert!(crashes > ITERATIONS, "{crashes}");
    let result = last.with_code(10).json();
    scene.assert_whole(&result, "dying at every step");
    same_cost(&scene, &result, "dying at every step");
}

/// Kills one loop at random moments, while its agent or its check runs or between them, and counts the kills.
fn kill_at_random(random: &mut Random, kills: &mut BTreeMap<String, u32>) {
    let metered = random.below(2) == 0;
    let steps = [Step::append("work.txt", "x\n"), Step::cost(RUN_COST), Step::sleep(Duration::from_millis(60))];
    let more = ["--criteria", "sleep 0.05; false", "--unmetered"];
    let scene = Scene::new(steps, if metered { &more[..2] } else { &more });
    let mut words = scene.words.clone();
    for turn in 0.. {
        assert!(turn < 100, "no progress: {:?}", kinds(&scene.user));
        let child = scene.user.spawn(scene.repo.path(), &words);
        // Later and later, for a machine on which nothing has begun so soon.
        let moment = Duration::from_millis(40 + 20 * turn + random.below(500));
        std::thread::sleep(moment);
        kill(child);
        scene.agent.assert_gone(&scene.repo, SOON);
        assert!(scene.agent.runs() <= u64::from(ITERATIONS), "the agent ran {} times", scene.agent.runs());
        if scene.user.ralph(scene.repo.path(), ["list", "--json"]).ok().json()[0].is_null() {
            *kills.entry("before the loop began".into()).or_default() += 1;
            continue;
        }
        let last = kinds(&scene.user).last().cloned().unwrap();
        *kills.entry(format!("after {last}")).or_default() += 1;
        words = Scene::resume_words(&[]);
        if last == "loopFinished" || turn == 3 {
            break;
        }
    }
    let ended = scene.resume();
    let shown = scene.user.show(&scene.loop_id());
    // Killed after its end, there is nothing to go on with. An agent that was killed before it could report is
    // charged an estimate, which may be all that is left.
    if metered && shown["reason"] == "COST_LIMIT" {
        assert!([2, 11].contains(&ended.code), "{}\n{}", ended.code, ended.stderr);
    } else {
        assert!([2, 10].contains(&ended.code), "{}\n{}", ended.code, ended.stderr);
        assert_eq!(shown["reason"], "MAX_ITERATIONS", "{shown}");
        assert_numbered(&shown, "killed at random");
    }
    assert!(scene.agent.runs() <= u64::from(ITERATIONS));
    for iteration in shown["iterations"].as_array().unwrap() {
        let (ran, interrupted) = (!iteration["run"].is_null(), iteration["interrupted"] == true);
        assert!(ran != interrupted, "neither whole nor interrupted: {iteration}");
    }
    assert_eq!(settled(&scene.user), micros(&shown["costUSD"]), "{shown}");
    assert_eq!(unsettled(&scene.user), 0);
    assert!(scene.user.ralph(scene.repo.path(), ["verify-run", &scene.loop_id()]).code == 0);
}

#[test]
fn killed_at_random_moments_the_loop_goes_on() {
    let wanted = if is_long() { 500 } else { 20 };
    let seed = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    eprintln!("seed {seed}");
    let (mut random, mut kills) = (Random(u64::from(seed) | 1), BTreeMap::new());
    while kills.values().sum::<u32>() < wanted {
        kill_at_random(&mut random, &mut kills);
    }
    eprintln!("kills: {} {kills:?}", kills.values().sum::<u32>());
}

/// A few random numbers; the seed is printed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Kills a loop while its first agent run lasts, after the agent did `before`.
fn killed_in_the_first_run(before: Vec<Step>) -> (Scene, Value) {
    let scene = {
        let (user, repo) = (User::new(), Repo::init());
        let first = before.into_iter().chain([Step::write("started", ""), Step::sleep(Duration::from_secs(60))]);
        let script = Script::new().run(first).otherwise([Step::append("work.txt", "x\n"), Step::cost(RUN_COST)]);
        let agent = Agent::new(&user, script);
        let words = run_words_with(&agent.line, 2, &["--criteria", "false"]);
        Scene { user, repo, agent, words }
    };
    let child = scene.user.spawn(scene.repo.path(), &scene.words);
    wait_until("the agent", || scene.repo.exists("started"));
    kill(child);
    let listed = scene.user.newest_loop();
    assert_eq!(listed["status"], "INTERRUPTED", "{listed}");
    let ended = scene.resume();
    let shown = scene.user.show(&scene.loop_id());
    assert_eq!(shown["iterations"][0]["interrupted"], true, "{shown}");
    assert_eq!(unsettled(&scene.user), 0);
    scene.agent.assert_gone(&scene.repo, SOON);
    (scene, ended.json())
}

#[test]
fn what_an_interrupted_agent_had_reported_is_kept() {
    let (scene, result) = killed_in_the_first_run(vec![Step::cost(250_000)]);
    assert_eq!(result["reason"], "MAX_ITERATIONS");
    assert_eq!(result["iterations"], 2);
    assert_eq!(micros(&result["costUSD"]), 250_000 + 10_000);
    assert_eq!(settled(&scene.user), 260_000);
}

#[test]
fn an_interrupted_agent_that_reported_nothing_is_charged_a_usual_request_and_the_loop_continues() {
    let (scene, result) = killed_in_the_first_run(vec![]);
    assert_eq!((&result["reason"], &result["iterations"]), (&"MAX_ITERATIONS".into(), &2.into()), "{result}");
    let shown = scene.user.show(&scene.loop_id());
    let first = &shown["iterations"][0];
    assert!((1..500_000).contains(&micros(&first["costUSD"])), "{first}");
    assert!(first["notes"].as_array().unwrap().contains(&"cost estimated".into()), "{first}");
    assert_eq!(settled(&scene.user), micros(&result["costUSD"]));
    scene.user.ralph(scene.repo.path(), ["verify-run", &scene.loop_id()]).ok();
}

#[test]
fn a_loop_at_its_limit_goes_on_with_a_new_one_and_only_then() {
    let scene = Scene::metered();
    scene.user.ralph(scene.repo.path(), &scene.words).with_code(10);
    let refused = scene.resume().with_code(2);
    assert!(refused.stderr.contains("--max 10"), "{}", refused.stderr);
    assert_eq!(scene.agent.runs(), 5);
    // A limit that is no higher helps as little, and a cap holds here too.
    scene.user.ralph(scene.repo.path(), Scene::resume_words(&["--max", "5"])).with_code(2);
    let capped = scene.user.ralph(scene.repo.path(), Scene::resume_words(&["--max", "51"])).with_code(2);
    assert!(capped.stderr.contains("50"), "{}", capped.stderr);
    let more = scene.user.ralph(scene.repo.path(), Scene::resume_words(&["--max", "7"])).with_code(10).json();
    assert_eq!((more["iterations"].as_u64(), scene.agent.runs()), (Some(7), 7));
    scene.user.ralph(scene.repo.path(), ["verify-run", &scene.loop_id()]).ok();
}

#[test]
fn a_loop_without_money_goes_on_with_more() {
    let scene = Scene::new([Step::append("work.txt", "x\n"), Step::cost(600_000)], &[]);
    let spent = scene.user.ralph(scene.repo.path(), &scene.words).with_code(11).json();
    assert_eq!(micros(&spent["costUSD"]), 1_200_000);
    let refused = scene.resume().with_code(2);
    assert!(refused.stderr.contains("--max-cost"), "{}", refused.stderr);
    let more = scene.user.ralph(scene.repo.path(), Scene::resume_words(&["--max-cost", "10"])).with_code(10).json();
    assert_eq!(micros(&more["costUSD"]), 3_000_000);
    assert_eq!(settled(&scene.user), 3_000_000);
}

#[test]
fn a_completed_loop_refuses_to_go_on() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = Agent::new(&user, Script::new().run([Step::write("done", ""), Step::cost(1)]));
    user.ralph(repo.path(), run_words_with(&agent.line, 3, &["--criteria", "test -e done"])).ok();
    let id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    for words in [vec!["resume", &id], vec!["resume", &id, "--max", "9"]] {
        let refused = user.ralph(repo.path(), words).with_code(2);
        assert!(refused.stderr.contains("completed"), "{}", refused.stderr);
    }
    assert_eq!(agent.runs(), 1);
}

/// A completed loop whose process died before it could say so still says so, once, without running anything.
#[test]
fn a_crash_at_the_very_end_loses_no_success() {
    for at in ["before:5", "after:5", "before:6", "after:6"] {
        let (user, repo) = (User::new(), Repo::init());
        let agent = Agent::new(&user, Script::new().run([Step::write("done", ""), Step::cost(1)]));
        let words = run_words_with(&agent.line, 3, &["--criteria", "test -e done"]);
        let crashed = user.hooked(repo.path(), &words).env("RALPH_TEST_CRASH", at).output().unwrap();
        assert_eq!(Ended::from(crashed).code, CRASHED, "{at}: {:?}", kinds(&user));
        let id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
        let result = user.ralph(repo.path(), ["resume", &id, "--json"]).ok().json();
        assert_eq!((&result["status"], &result["verified"]), (&"COMPLETED".into(), &true.into()), "{at}");
        assert_eq!(agent.runs(), 1, "{at}");
        user.ralph(repo.path(), ["verify-run", &id]).ok();
        assert_eq!(repo.read(".ralph/metrics/ralph-loops.jsonl").lines().count(), 1, "{at}");
        // Now it is over for good.
        user.ralph(repo.path(), ["resume", &id]).with_code(2);
    }
}

#[test]
fn a_broken_journal_is_named_and_can_be_gone_on_with() {
    let scene = Scene::metered();
    assert_eq!(scene.crash(&scene.words, "after:9").code, CRASHED);
    assert_eq!(tamper(&scene.user, "UPDATE events SET payload = replace(payload, 'exit', 'exyt') WHERE seq = 7"), 1);
    let id = scene.loop_id();
    let before = kinds(&scene.user);
    let refused = scene.resume().with_code(1);
    for part in ["event 7", "--discard-after 6"] {
        assert!(refused.stderr.contains(part), "no `{part}` in {}", refused.stderr);
    }
    assert_eq!(kinds(&scene.user), before, "a refused resume wrote something");
    let proof = scene.user.ralph(scene.repo.path(), ["verify-run", &id]).with_code(1);
    assert!(proof.stdout.contains("event 7"), "{}", proof.stdout);
    for words in [["show", &id], ["logs", &id]] {
        assert!(!scene.user.ralph(scene.repo.path(), words).stderr.contains("panicked"));
    }
    let ended = scene.user.ralph(scene.repo.path(), Scene::resume_words(&["--discard-after", "6"])).with_code(10);
    assert_numbered(&scene.user.show(&id), "after a repair");
    assert_eq!(ended.json()["iterations"], 5);
    scene.user.ralph(scene.repo.path(), ["verify-run", &id]).ok();
    // Set aside, not deleted.
    let aside = query(&scene.user, "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '%quarantine%'");
    assert_eq!(aside.len(), 1, "{aside:?}");
}

/// What events cost that were set aside is on the books, and counts against the loop's limit.
#[test]
fn setting_events_aside_gives_no_money_back() {
    // Of $1.00; the fourth run passes it.
    let scene = Scene::new([Step::append("work.txt", "x\n"), Step::cost(300_000)], &[]);
    assert_eq!(scene.crash(&scene.words, "after:11").code, CRASHED);
    assert_eq!(scene.agent.runs(), 3);
    assert_eq!(tamper(&scene.user, "UPDATE events SET payload = replace(payload, 'exit', 'exyt') WHERE seq = 4"), 1);
    let ended = scene.user.ralph(scene.repo.path(), Scene::resume_words(&["--discard-after", "3"]));
    let result = ended.with_code(11).json();
    assert_eq!((&result["reason"], scene.agent.runs()), (&"COST_LIMIT".into(), 4), "{result}");
    assert_eq!((micros(&result["costUSD"]), settled(&scene.user)), (1_200_000, 1_200_000), "{result}");
    scene.user.ralph(scene.repo.path(), ["verify-run", &scene.loop_id()]).ok();
}

#[test]
fn an_agent_whose_start_was_set_aside_is_paid_for() {
    let (user, repo) = (User::new(), Repo::init());
    let first = [Step::append("work.txt", "x\n"), Step::cost(10_000)];
    let second = [Step::cost(200_000), Step::write("working", ""), Step::sleep(Duration::from_secs(600))];
    let script = Script::new().run(first.clone()).run(second).otherwise(first);
    let agent = Agent::new(&user, script);
    let words = run_words_with(&agent.line, 3, &["--criteria", "false", "--same-error", "50"]);
    let child = user.spawn(repo.path(), &words);
    wait_until("the second run", || repo.exists("working"));
    kill(child);
    agent.assert_gone(&repo, SOON);
    assert_eq!(tamper(&user, "UPDATE events SET payload = payload || ' ' WHERE seq = 6"), 1);
    let result = user.ralph(repo.path(), Scene::resume_words(&["--discard-after", "5"])).with_code(10).json();
    // The one before, the one that nobody remembers, and two more.
    assert_eq!((micros(&result["costUSD"]), settled(&user)), (230_000, 230_000), "{result}");
    assert_eq!((&result["iterations"], agent.runs(), unsettled(&user)), (&3.into(), 4, 0), "{result}");
}

#[test]
fn a_loop_whose_row_is_gone_leaves_the_others_alone() {
    let scene = Scene::metered();
    scene.user.ralph(scene.repo.path(), &scene.words).with_code(10);
    let whole = scene.loop_id();
    assert_eq!(scene.crash(&scene.words, "after:4").code, CRASHED);
    let broken = scene.loop_id();
    assert_ne!(whole, broken);
    assert_eq!(tamper(&scene.user, "DELETE FROM events WHERE seq = 2 AND loop = (SELECT MAX(id) FROM loops)"), 1);
    scene.user.ralph(scene.repo.path(), ["verify-run", &broken]).with_code(1);
    scene.user.ralph(scene.repo.path(), ["verify-run", &whole]).ok();
    let refused = scene.user.ralph(scene.repo.path(), ["resume", &broken]).with_code(1);
    assert!(refused.stderr.contains("--discard-after 1"), "{}", refused.stderr);
    let child = scene.user.spawn(scene.repo.path(), Scene::resume_words(&[&broken, "--discard-after", "1"]));
    finish(child).with_code(10);
}
