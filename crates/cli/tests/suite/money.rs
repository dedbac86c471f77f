//! Money and time: what a run cost is known or charged in full, and no limit is passed unseen.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use ralph_testkit::{Repo, Script, Step};
use serde_json::Value;

use crate::aid::{Agent, extended, finish, kinds, micros, query, settled, unsettled};
use crate::harness::{Ended, User, run_words_with};

struct Scene {
    user: User,
    repo: Repo,
    agent: Agent,
}

impl Scene {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let (user, repo) = (User::new(), Repo::init());
        let steps = [Step::append("work.txt", "x\n")].into_iter().chain(steps);
        let agent = Agent::new(&user, Script::new().run(steps));
        Self { user, repo, agent }
    }

    fn run(&self, max: u32, more: &[&str]) -> Ended {
        let mut words = run_words_with(&self.agent.line, max, &["--same-error", "50"]);
        if !more.contains(&"--criteria") {
            words.extend(["--criteria", "false"].map(str::to_owned));
        }
        finish(self.user.spawn(self.repo.path(), extended(words, more)))
    }

    fn show(&self, result: &Value) -> Value {
        self.user.show(result["loopId"].as_str().unwrap())
    }
}

#[test]
fn what_an_agent_reports_is_what_counts() {
    let scene = Scene::new([Step::cost(120_000)]);
    let result = scene.run(3, &[]).with_code(10).json();
    assert_eq!(result["costUSD"], 0.36);
    let shown = scene.show(&result);
    for iteration in shown["iterations"].as_array().unwrap() {
        assert_eq!(micros(&iteration["costUSD"]), 120_000, "{iteration}");
    }
    assert_eq!((settled(&scene.user), unsettled(&scene.user)), (360_000, 0));
    assert!(scene.repo.read(".ralph/LEDGER.md").contains("$0.36 of $1.00"));
    let metrics: Value = serde_json::from_str(&scene.repo.read(".ralph/metrics/ralph-loops.jsonl")).unwrap();
    assert_eq!(metrics["costUSD"], 0.36);
}

#[test]
fn a_loop_ends_when_its_money_is_spent_and_says_by_how_much_it_was_passed() {
    let scene = Scene::new([Step::cost(120_000)]);
    let result = scene.run(20, &["--max-cost", "0.25"]).with_code(11).json();
    assert_eq!((&result["reason"], &result["iterations"]), (&"COST_LIMIT".into(), &3.into()));
    assert_eq!(result["costUSD"], 0.36, "the overshoot of the last run is not hidden");
    assert_eq!(settled(&scene.user), 360_000);
    assert!(result["details"].as_str().unwrap().contains("$0.36 of $0.25"), "{result}");
}

#[test]
fn an_unknown_cost_is_charged_in_full_and_the_user_is_told_why() {
    let scene = Scene::new([]);
    let result = scene.run(5, &["--max-cost", "0.7"]).with_code(11).json();
    assert_eq!((&result["iterations"], &result["costUSD"]), (&1.into(), &0.7.into()));
    let details = result["details"].as_str().unwrap();
    assert!(details.contains("RALPH_RESULT_FILE") && details.contains("--unmetered"), "{details}");
    assert_eq!(scene.show(&result)["iterations"][0]["run"]["cost"]["is"], "unknown");
}

#[test]
fn a_report_that_cannot_be_believed_is_no_report() {
    let reports = [
        Step::ReportText("{\"costUSD\": -1}".into()),
        Step::ReportText("{\"costUSD\": \"free\"}".into()),
        Step::ReportText("{\"costUSD\": 1e300}".into()),
        Step::ReportText("{\"costUSD\": ".into()),
        Step::ReportText("[]".into()),
        Step::run("ln -s /etc/passwd \"$RALPH_RESULT_FILE\""),
        Step::run("mkfifo \"$RALPH_RESULT_FILE\""),
        Step::run("mkdir \"$RALPH_RESULT_FILE\""),
        Step::run("head -c 3000000 /dev/zero > \"$RALPH_RESULT_FILE\""),
    ];
    for report in reports {
        let context = format!("{report:?}");
        let scene = Scene::new([report]);
        let result = scene.run(3, &[]).with_code(11).json();
        assert_eq!((&result["iterations"], &result["costUSD"]), (&1.into(), &1.0.into()), "{context}");
        assert_eq!(settled(&scene.user), 1_000_000, "{context}");
    }
}

#[test]
fn an_unmetered_agent_costs_nothing_and_touches_no_budget() {
    let scene = Scene::new([Step::cost(5_000_000)]);
    let result = scene.run(3, &["--unmetered"]).with_code(10).json();
    assert_eq!((&result["iterations"], &result["costUSD"]), (&3.into(), &0.0.into()));
    assert!(query(&scene.user, "SELECT * FROM budget").is_empty());
    for words in [["list"], ["show"]] {
        let shown = scene.user.ralph(scene.repo.path(), words).ok().stdout;
        assert!(!shown.contains('$'), "{shown}");
    }
}

#[test]
fn an_agent_is_stopped_while_it_runs_when_its_money_is_spent() {
    for ignores in [false, true] {
        let mut steps = vec![];
        if ignores {
            steps.push(Step::ignore_signals());
        }
        // Half of the budget is not spent before two seconds have passed.
        steps.extend([
            Step::growing_cost(10_000_000, 200, Duration::from_millis(100)),
            Step::sleep(Duration::from_secs(600)),
        ]);
        let scene = Scene::new(steps);
        let result = scene.run(9, &[]).with_code(11).json();
        assert_eq!(result["iterations"], 1);
        let run = &scene.show(&result)["iterations"][0]["run"];
        assert_eq!(run["ended"]["how"], "budgetSpent", "{run}");
        let duration = run["duration"].as_u64().unwrap();
        let cost = micros(&result["costUSD"]);
        eprintln!(
            "stopped after {duration} ms, the budget was spent after about 2000 ms; ${} of $1.00",
            cost as f64 / 1e6
        );
        assert!(duration < 19_000, "stopped after {duration} ms only");
        assert!((1_000_000..9_500_000).contains(&cost), "{cost}");
        assert_eq!(settled(&scene.user), cost, "the overshoot is on the books");
        scene.agent.assert_gone(&scene.repo, Duration::ZERO);
    }
}

#[test]
fn the_days_money_is_shared_by_all_loops() {
    let scene = Scene::new([Step::cost(400_000)]);
    scene.user.configure("caps.daily_cost_usd = 1.0\n");
    for (code, spent) in [(10, 400_000), (10, 800_000)] {
        scene.run(1, &[]).with_code(code);
        assert_eq!(settled(&scene.user), spent);
    }
    // The third gets what is left, spends it, and the fourth gets nothing.
    let third = scene.run(2, &[]).with_code(12).json();
    assert_eq!((&third["iterations"], &third["reason"]), (&1.into(), &"DAILY_BUDGET".into()), "{third}");
    let fourth = scene.run(2, &[]).with_code(12).json();
    assert_eq!((&fourth["iterations"], scene.agent.runs()), (&0.into(), 3), "{fourth}");
    assert!(fourth["details"].as_str().unwrap().contains("$1.00"), "{fourth}");
    assert_eq!(unsettled(&scene.user), 0);
    // Resumed on the same day, it is told the same.
    scene.user.ralph(scene.repo.path(), ["resume", "--json"]).with_code(12);
    // An agent that costs nothing is not held up.
    scene.run(1, &["--unmetered"]).with_code(10);
}

#[test]
fn sixteen_loops_at_once_cannot_race_past_the_days_money() {
    const CAP: i64 = 1_000_000;
    let user = User::new();
    user.configure("caps.daily_cost_usd = 1.0\n");
    let steps = [Step::append("work.txt", "x\n"), Step::cost(50_000), Step::sleep(Duration::from_millis(30))];
    let agent = Agent::new(&user, Script::new().run(steps));
    let repos: Vec<Repo> = (0..16).map(|_| Repo::init()).collect();
    let words = run_words_with(&agent.line, 4, &["--criteria", "false", "--quiet"]);
    let words = extended(words, &["--max-cost", "0.2"]);
    // A loop without a price first, so that there is a database to look at from the beginning.
    let free = Agent::new(&user, Script::new().run([Step::claim()]));
    user.ralph(repos[0].path(), run_words_with(&free.line, 1, &["--unmetered"])).ok();
    let mut children: Vec<_> = repos.iter().map(|repo| user.spawn(repo.path(), &words)).collect();
    let mut looks = 0;
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        let day = query(&user, "SELECT CAST(COALESCE(SUM(COALESCE(settled, reserved)), 0) AS TEXT) FROM budget");
        let held: i64 = day[0][0].parse().unwrap();
        assert!(held <= CAP, "{held} of {CAP} micro-dollars were spent or reserved");
        looks += 1;
        std::thread::sleep(Duration::from_millis(5));
    }
    let codes: Vec<i32> = children.into_iter().map(|child| finish(child).code).collect();
    eprintln!("exit codes of 16 loops: {codes:?}; {looks} looks; settled {} micro-dollars", settled(&user));
    assert!(codes.iter().all(|code| [11, 12].contains(code)), "{codes:?}");
    assert!(codes.contains(&12), "somebody had to be refused: {codes:?}");
    assert!(settled(&user) <= CAP && unsettled(&user) == 0);
    assert_eq!(i64::try_from(agent.runs()).unwrap() * 50_000, settled(&user));
}

#[test]
fn the_caps_hold_whatever_a_caller_sets() {
    let scene = Scene::new([Step::write("done", ""), Step::cost(1)]);
    let refused = scene.run(51, &[]).with_code(2);
    assert!(refused.stderr.contains("50"), "{}", refused.stderr);
    let refused = scene.run(5, &["--max-cost", "10.01"]).with_code(2);
    assert!(refused.stderr.contains("$10.00"), "{}", refused.stderr);
    assert_eq!(scene.agent.runs(), 0);
    // The cap itself is allowed.
    scene.run(50, &["--max-cost", "10", "--criteria", "test -e done"]).ok();
}

#[test]
fn only_the_users_own_configuration_moves_a_cap() {
    let scene = Scene::new([Step::write("done", ""), Step::cost(1)]);
    scene.repo.write("ralph.toml", "[caps]\niterations = 100\nloop_cost_usd = 100\n");
    let refused = scene.run(51, &["--criteria", "test -e done"]).with_code(2);
    assert!(refused.stderr.contains("caps"), "{}", refused.stderr);
    assert!(scene.agent.runs() == 0);
    scene.repo.remove("ralph.toml");
    scene.user.configure("[caps]\niterations = 60\nloop_cost_usd = 20\n");
    scene.run(61, &[]).with_code(2);
    scene.run(60, &["--max-cost", "20", "--criteria", "test -e done"]).ok();
    // A cap can be lowered as well.
    scene.user.configure("[caps]\niterations = 3\n");
    let refused = scene.run(4, &[]).with_code(2);
    assert!(refused.stderr.contains('3'), "{}", refused.stderr);
}

/// The setting of a command that takes its time and adds what it is given to a file, in one write: several may run at once.
fn notes_slowly(file: &Path) -> String {
    format!("notify.command = 'sleep 0.5; read -r line; printf \"%s\\n\" \"$line\" >> {}'\n", file.display())
}

#[test]
fn each_alert_is_given_once() {
    let scene = Scene::new([Step::cost(95_000)]);
    let told = scene.user.home().join("told");
    // Slow, so that an alert just before the end would be lost if nobody waited for it.
    scene.user.configure(&format!("caps.daily_cost_usd = 1.1\n{}", notes_slowly(&told)));
    let ended = scene.run(10, &[]).with_code(10);
    let told = fs::read_to_string(told).unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds_told: Vec<&str> = told.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds_told.iter().filter(|kind| **kind == "alert").count(), 3, "{told:?}");
    assert_eq!(kinds_told.iter().filter(|kind| **kind == "finished").count(), 1, "{told:?}");
    let mut texts: Vec<&str> = told.iter().map(|one| one["text"].as_str().unwrap()).collect();
    texts.dedup();
    assert_eq!(texts.len(), 4, "{texts:?}");
    assert_eq!(kinds(&scene.user).iter().filter(|kind| *kind == "alertRaised").count(), 3);
    assert_eq!(ended.stderr.lines().filter(|line| line.starts_with("alert: ")).count(), 3, "{}", ended.stderr);
    // Not again by a loop that goes on.
    scene.user.ralph(scene.repo.path(), ["resume", "--max", "11", "--max-cost", "2"]).with_code(10);
    assert_eq!(kinds(&scene.user).iter().filter(|kind| *kind == "alertRaised").count(), 3);
}

#[test]
fn an_alert_just_before_the_end_is_not_lost() {
    let scene = Scene::new([]);
    let told = scene.user.home().join("told");
    scene.user.configure(&notes_slowly(&told));
    scene.run(1, &[]).with_code(11);
    let told = fs::read_to_string(told).unwrap();
    // All the money at once, and the end.
    assert_eq!(told.lines().count(), 2, "{told}");
}

#[test]
fn a_notification_that_fails_or_hangs_does_not_stop_a_loop() {
    for command in ["exit 7", "sleep 600", "/nonexistent/notify", "kill -9 $PPID"] {
        let scene = Scene::new([Step::cost(1000)]);
        scene.user.configure(&format!("notify.command = \"{command}\"\n"));
        let start = Instant::now();
        let ended = scene.run(2, &[]).with_code(10);
        assert_eq!(ended.json()["iterations"], 2, "{command}");
        assert!(ended.stderr.contains("notify"), "nobody was told that `{command}` failed: {}", ended.stderr);
        assert!(start.elapsed() < Duration::from_secs(45), "`{command}` took {:?}", start.elapsed());
        scene.agent.assert_gone(&scene.repo, Duration::ZERO);
    }
}

#[test]
fn an_agent_over_its_time_is_stopped_and_the_loop_goes_on() {
    let scene = Scene::new([Step::cost(1000), Step::sleep(Duration::from_secs(600))]);
    let result = scene.run(2, &["--iteration-timeout", "2s"]).with_code(10).json();
    let shown = scene.show(&result);
    for iteration in shown["iterations"].as_array().unwrap() {
        assert_eq!(iteration["run"]["ended"]["how"], "timedOut", "{iteration}");
        assert!(!iteration["verdict"].is_null(), "its work is checked all the same: {iteration}");
        assert_eq!(iteration["costUSD"], 0.001, "what it reported is kept");
    }
}

#[test]
fn an_agent_that_asks_and_waits_is_stopped_as_idle() {
    let scene = Scene::new([Step::cost(1000), Step::say("Continue? [y/n]"), Step::sleep(Duration::from_secs(600))]);
    let result = scene.run(1, &["--idle-timeout", "1s"]).with_code(10).json();
    assert_eq!(scene.show(&result)["iterations"][0]["run"]["ended"]["how"], "idle");
    // Who works is not idle, though silent.
    let scene = Scene::new([Step::cost(1000), Step::run("timeout 3 sh -c 'while :; do :; done' || true")]);
    let result = scene.run(1, &["--idle-timeout", "1s"]).with_code(10).json();
    assert_eq!(scene.show(&result)["iterations"][0]["run"]["ended"]["how"], "exited");
    // A check is watched, too.
    let scene = Scene::new([Step::cost(1000)]);
    let result = scene.run(1, &["--idle-timeout", "1s", "--criteria", "cat /dev/zero | head -c 0; sleep 600"]);
    assert_eq!(result.with_code(10).json()["verdict"]["checks"][0]["ended"]["how"], "idle");
}

#[test]
fn a_loop_ends_when_its_time_is_over() {
    // Only a busy machine needs the longer ones to begin at all.
    for time in ["1500ms", "6s", "25s"] {
        let scene = Scene::new([Step::cost(1000), Step::sleep(Duration::from_secs(600))]);
        let result = scene.run(9, &["--max-duration", time]).with_code(13).json();
        assert_eq!(result["reason"], "MAX_DURATION");
        let refused = scene.user.ralph(scene.repo.path(), ["resume"]).with_code(2);
        assert!(refused.stderr.contains("--max-duration"), "{}", refused.stderr);
        if result["iterations"] == 1 {
            return;
        }
    }
    panic!("no iteration began");
}

/// The rest between two iterations uses up the time after the money for the next one was held.
#[test]
fn money_of_a_pass_that_never_began_is_given_back() {
    // Only a busy machine needs the longer ones for a first pass.
    for (time, pause) in [("1s", "1500ms"), ("6s", "7s"), ("25s", "30s")] {
        let scene = Scene::new([Step::cost(1000)]);
        let result = scene.run(9, &["--max-duration", time, "--pause", pause]).with_code(13).json();
        assert_eq!(unsettled(&scene.user), 0);
        if result["iterations"] == 1 && settled(&scene.user) == 1000 {
            return;
        }
    }
    panic!("no pass was whole");
}
