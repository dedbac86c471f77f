//! Money of agents that tell their cost as they go: no cap is passed by more than one call, whatever comes in between.

use std::time::Duration;

use ralph_testkit::{Repo, Script, Step};
use serde_json::Value;

use crate::aid::{Agent, SOON, finish, kill, micros, query, settled, unsettled, wait_for_file, wait_until};
use crate::fake::{Fake, Run, prices, words};
use crate::harness::{Ended, User, run_words_with};

const FAILING: [&str; 4] = ["--criteria", "false", "--same-error", "50"];

struct Scene {
    user: User,
    repo: Repo,
    fake: Fake,
}

impl Scene {
    fn new(runs: impl IntoIterator<Item = Run>) -> Self {
        let (user, repo) = (User::new(), Repo::init());
        let fake = Fake::new(&user, runs);
        user.configure(&format!("{}{}", fake.configured_as("fake"), prices()));
        Self { user, repo, fake }
    }

    fn show(&self, result: &Value) -> Value {
        self.user.show(result["loopId"].as_str().unwrap())
    }
}

/// Changes something for two dollars.
fn two_dollars() -> Run {
    Run::new().does("echo x >> work.txt").ends(2_000_000, "Not yet.")
}

#[test]
fn a_cap_is_passed_by_less_than_one_call() {
    let scene = Scene::new([two_dollars()]);
    let more = [&FAILING[..], &["--max-cost", "3"]].concat();
    let result = scene.user.ralph(scene.repo.path(), words(&["fake"], 9, &more)).with_code(11).json();
    assert_eq!((&result["reason"], &result["iterations"]), (&"COST_LIMIT".into(), &2.into()), "{result}");
    assert_eq!((micros(&result["costUSD"]), settled(&scene.user)), (4_000_000, 4_000_000));
    // The program itself is told what is left, as a second barrier.
    let left = [1, 2].map(|run| scene.fake.argument(run, "--max-budget-usd").unwrap());
    assert_eq!(left, ["3", "1"]);
}

#[test]
fn a_run_is_stopped_in_the_middle_when_its_answers_have_used_up_the_money() {
    let marker = "touch \"$run/ended\"";
    let run = Run::new()
        .does("echo x >> work.txt")
        // A dollar a second, and half a minute to its end.
        .keeps_answering(600, 50_000, Duration::from_millis(50))
        .does(marker)
        .ends(30_000_000, "Done.");
    let scene = Scene::new([run]);
    let result = scene.user.ralph(scene.repo.path(), words(&["fake"], 9, &FAILING)).with_code(11).json();
    assert!(!scene.fake.place(1, "ended").exists(), "it came to its end");
    scene.fake.assert_gone(Duration::ZERO);
    let shown = scene.show(&result);
    assert_eq!(shown["iterations"][0]["run"]["ended"]["how"], "budgetSpent", "{shown}");
    let cost = micros(&result["costUSD"]);
    eprintln!("stopped at ${} of $1.00", cost as f64 / 1e6);
    assert!((1_000_000..20_000_000).contains(&cost), "{cost}");
    assert_eq!((settled(&scene.user), unsettled(&scene.user)), (cost, 0), "what was used in the end is on the books");
    assert_eq!(result["iterations"], 1);
}

#[test]
fn sixteen_loops_at_once_pass_the_days_cap_by_less_than_one_call() {
    const CAP: i64 = 3_000_000;
    let user = User::new();
    let fake = Fake::new(&user, [two_dollars()]);
    user.configure(&format!("caps.daily_cost_usd = 3\n{}{}", fake.configured_as("fake"), prices()));
    let repos: Vec<Repo> = (0..16).map(|_| Repo::init()).collect();
    // A loop without a price first, so that there is a database to look at from the beginning.
    let free = Agent::new(&user, Script::new().run([Step::claim()]));
    user.ralph(repos[0].path(), run_words_with(&free.line, 1, &["--unmetered"])).ok();
    let words = words(&["fake"], 9, &[&FAILING[..], &["--max-cost", "2", "--quiet"]].concat());
    let mut children: Vec<_> = repos.iter().map(|repo| user.spawn(repo.path(), &words)).collect();
    let mut looks = 0;
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        // What a call cost beyond its reservation can be known only afterwards; nobody is given anything that is held.
        let held = "SELECT CAST(COALESCE(SUM(MIN(reserved, COALESCE(settled, reserved))), 0) AS TEXT), \
                    CAST(COALESCE(SUM(settled), 0) AS TEXT) FROM budget";
        let row: Vec<i64> = query(&user, held)[0].iter().map(|cell| cell.parse().unwrap()).collect();
        assert!(row[0] <= CAP, "{} micro-dollars were held at once", row[0]);
        assert!(row[1] <= CAP + 2_000_000, "{} micro-dollars were spent", row[1]);
        looks += 1;
        std::thread::sleep(Duration::from_millis(5));
    }
    let codes: Vec<i32> = children.into_iter().map(|child| finish(child).code).collect();
    eprintln!("exit codes {codes:?}; {looks} looks; {} runs; settled {}", fake.runs(), settled(&user));
    assert!(codes.iter().all(|code| [11, 12].contains(code)) && codes.contains(&12), "{codes:?}");
    assert_eq!((settled(&user), unsettled(&user)), (2_000_000 * i64::try_from(fake.runs()).unwrap(), 0));
    assert!(fake.runs() >= 1 && settled(&user) <= CAP + 2_000_000, "{} runs", fake.runs());
    // What the loops say of themselves is what the books say.
    let listed = user.ralph(&user.home(), ["list", "--all", "--json", "--limit", "50"]).ok().json();
    let told: i64 = listed.as_array().unwrap().iter().map(|one| micros(&one["costUSD"])).sum();
    assert_eq!(told, settled(&user));
}

#[test]
fn a_killed_ralph_leaves_what_was_answered_so_far_on_the_books() {
    let first = Run::new().does("echo x >> work.txt").answers(100_000).answers(100_000).answers(100_000).hangs();
    let scene = Scene::new([first, Run::new().does("touch done").ends(200_000, "Done.")]);
    let more = ["--criteria", "test -e done"];
    let child = scene.user.spawn(scene.repo.path(), words(&["fake"], 2, &more));
    wait_for_file(&scene.fake.place(1, "hangs"));
    // What Ralph knows is what counts, and it reads on its own time.
    wait_until("the cost so far", || query(&scene.user, "SELECT MAX(cost_micros) FROM attempts") == [["300000"]]);
    kill(child);
    scene.fake.assert_gone(SOON);
    let result = scene.user.ralph(scene.repo.path(), ["resume", "--json"]).ok().json();
    assert_eq!((&result["iterations"], micros(&result["costUSD"])), (&2.into(), 500_000), "{result}");
    let shown = scene.show(&result);
    let first = &shown["iterations"][0];
    assert_eq!((&first["interrupted"], micros(&first["costUSD"])), (&true.into(), 300_000), "{first}");
    assert_eq!((settled(&scene.user), unsettled(&scene.user)), (500_000, 0));
}

/// Midnight at the end of a day that is not today, UTC.
const MIDNIGHT: i64 = 1_894_752_000_000;
const OLD_DAY: &str = "2030-01-15";
const NEW_DAY: &str = "2030-01-16";

struct Days {
    user: User,
    repo: Repo,
}

impl Days {
    /// A loop of one iteration whose program starts at a time; the agent rests, spends and ends.
    fn run(&self, start: i64, rest: Duration, micros: u64, max: u32) -> Ended {
        let steps = [Step::append("work.txt", "x\n"), Step::sleep(rest), Step::cost(micros)];
        let agent = Agent::new(&self.user, Script::new().run(steps));
        // Without a check nothing comes before the first reservation.
        let mut command = self.user.hooked(self.repo.path(), run_words_with(&agent.line, max, &[]));
        Ended::from(command.env("RALPH_TEST_CLOCK", start.to_string()).output().unwrap())
    }

    /// Day, reservation and cost of every attempt, in their order.
    fn books(&self) -> Vec<(String, i64, i64)> {
        let rows = query(
            &self.user,
            "SELECT day, CAST(reserved AS TEXT), CAST(COALESCE(settled, -1) AS TEXT) FROM budget ORDER BY rowid",
        );
        rows.into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap(), row[2].parse().unwrap())).collect()
    }
}

#[test]
fn a_run_over_midnight_counts_on_the_day_it_began() {
    let entry = |day: &str, reserved, settled| (day.to_owned(), reserved, settled);
    // On a slow machine midnight may have passed before the first reservation, and nothing is shown: then it comes later.
    for lead in [3, 12, 40] {
        let days = Days { user: User::new(), repo: Repo::init() };
        days.user.configure("caps.daily_cost_usd = 1\n");
        // Two iterations, the first of which is under way at midnight.
        let result = days.run(MIDNIGHT - lead * 1000, Duration::from_secs(lead.unsigned_abs() + 1), 300_000, 2);
        let result = result.with_code(10).json();
        if days.books()[0].0 == NEW_DAY {
            continue;
        }
        assert_eq!(days.books(), [entry(OLD_DAY, 1_000_000, 300_000), entry(NEW_DAY, 700_000, 300_000)]);
        let shown = days.user.show(result["loopId"].as_str().unwrap());
        let first = &shown["iterations"][0];
        assert!(first["startedAt"].as_str().unwrap().starts_with(OLD_DAY), "{first}");
        assert!(first["endedAt"].as_str().unwrap().starts_with(NEW_DAY), "{first}");
        // Each day has what was not spent on it, whoever comes when.
        days.run(MIDNIGHT + 60_000, Duration::ZERO, 100_000, 1).with_code(10);
        days.run(MIDNIGHT - 600_000, Duration::ZERO, 700_000, 1).with_code(10);
        days.run(MIDNIGHT + 86_400_000, Duration::ZERO, 100_000, 1).with_code(10);
        let books = days.books();
        assert_eq!(books[2], entry(NEW_DAY, 700_000, 100_000));
        assert_eq!(books[3], entry(OLD_DAY, 700_000, 700_000));
        assert_eq!(books[4], entry("2030-01-17", 1_000_000, 100_000), "a day that nobody spent on is whole");
        let refused = days.run(MIDNIGHT - 300_000, Duration::ZERO, 100_000, 1).with_code(12).json();
        assert_eq!((&refused["reason"], &refused["iterations"]), (&"DAILY_BUDGET".into(), &0.into()), "{refused}");
        return;
    }
    panic!("no reservation came within 40 seconds of a start");
}

/// Whatever an agent starts can write where the agent writes.
#[test]
fn a_forged_last_word_does_not_make_a_run_cheaper() {
    let (user, repo) = (User::new(), Repo::init());
    let forged = |run: Run| run.answers(450_000).ends(100, "Done.");
    let fake = Fake::new(&user, [forged(Run::new()), forged(Run::new()), forged(Run::new())]);
    user.configure(&format!("{}{}", fake.configured_as("fake"), prices()));
    let more = ["--criteria", "false", "--stall", "9", "--max-cost", "0.5"];
    let result = user.ralph(repo.path(), words(&["fake"], 3, &more)).with_code(11).json();
    assert!(result["costUSD"].as_f64().unwrap() >= 0.9, "{result}");
    assert_eq!(fake.runs(), 2, "{result}");
}
