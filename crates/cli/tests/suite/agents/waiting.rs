//! What the service behind an agent refuses: some of it is waited out, some of it only a person can mend, none of it is an
//! iteration.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ralph_testkit::Repo;
use rustix::process::Signal;
use serde_json::Value;

use crate::aid::{finish, kill, micros, settled, signal, unsettled, wait_until};
use crate::fake::{Fake, Run, prices, words};
use crate::harness::{Ended, User};

/// A wait that no test sits out.
const AN_HOUR: u32 = 3600;
/// What takes a second or two, on a machine that may be busy.
const SOON: Duration = Duration::from_secs(60);

struct Scene {
    user: User,
    repo: Repo,
    fake: Fake,
}

impl Scene {
    fn new(runs: impl IntoIterator<Item = Run>) -> Self {
        Self::configured(runs, "")
    }

    fn configured(runs: impl IntoIterator<Item = Run>, more: &str) -> Self {
        let (user, repo) = (User::new(), Repo::init());
        let fake = Fake::new(&user, runs);
        user.configure(&format!("{more}\n{}{}", fake.configured_as("fake"), prices()));
        Self { user, repo, fake }
    }

    fn words(more: &[&str]) -> Vec<String> {
        words(&["fake"], 1, &[&["--criteria", "test -e done"], more].concat())
    }

    fn run(&self, more: &[&str]) -> Ended {
        finish(self.user.spawn(self.repo.path(), Self::words(more)))
    }

    /// Starts it, and comes back when it says that it waits.
    fn run_until_it_waits(&self) -> (Child, PathBuf) {
        let said = self.user.home().join("said");
        let mut command = self.user.command(self.repo.path(), Self::words(&[]));
        command.stdout(Stdio::piped()).stderr(File::create(&said).unwrap());
        let child = command.spawn().unwrap();
        wait_until("the wait", || fs::read_to_string(&said).unwrap().contains("waiting until "));
        (child, said)
    }

    fn resume(&self) -> Ended {
        finish(self.user.spawn(self.repo.path(), ["resume", "--json"]))
    }

    fn shown(&self) -> Value {
        self.user.show(self.user.newest_loop()["loopId"].as_str().unwrap())
    }

    /// When the limit of a run ends, as people are told.
    fn resets(&self, run: usize) -> String {
        let time = jiff::Timestamp::from_second(self.fake.number(run, "resets")).unwrap();
        time.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string()
    }
}

/// Does the work for $0.20.
fn works() -> Run {
    Run::new().does("touch done").ends(200_000, "Done.")
}

/// Of every pass whether it was left uncounted, and its number.
fn passes(shown: &Value) -> Vec<(bool, u64)> {
    let iterations = shown["iterations"].as_array().unwrap();
    iterations.iter().map(|one| (one["uncounted"].as_bool().unwrap(), one["iteration"].as_u64().unwrap())).collect()
}

#[test]
fn a_limit_is_waited_out_and_is_no_iteration() {
    let scene = Scene::new([Run::new().limited(6, 50_000), works()]);
    let ended = scene.run(&[]).ok();
    let until =
        jiff::Timestamp::from_second(scene.fake.number(1, "resets")).unwrap().strftime("%H:%M:%S (").to_string();
    let told = ended.stderr.lines().find(|line| line.starts_with("waiting until ")).unwrap();
    assert!(told.contains(&until) && !told.contains(&scene.resets(1)), "{until}: {told}");
    assert!(ended.stderr.contains("not counted as an iteration"), "{}", ended.stderr);
    assert!(scene.fake.number(2, "started") >= 1000 * scene.fake.number(1, "resets"), "it came before its time");
    let result = ended.json();
    assert_eq!((&result["iterations"], &result["verified"]), (&1.into(), &true.into()), "{result}");
    assert_eq!(micros(&result["costUSD"]), 250_000, "what was answered before the limit is paid for: {result}");
    assert_eq!((settled(&scene.user), unsettled(&scene.user)), (250_000, 0));
    let shown = scene.shown();
    assert_eq!(passes(&shown), [(true, 1), (false, 1)], "{shown}");
    assert_eq!(micros(&shown["iterations"][0]["costUSD"]), 50_000, "{shown}");
    assert_eq!(shown["iterations"][0]["run"]["trouble"]["kind"], "rateLimit", "{shown}");
    let ledger = scene.repo.read(".ralph/LEDGER.md");
    assert!(ledger.contains("not counted") && ledger.contains("Iterations: 1 of 1"), "{ledger}");
    // The second pass is told nothing of a first: for the agent there was none.
    assert_eq!(scene.fake.left(1, "prompt"), scene.fake.left(2, "prompt"));
}

#[test]
fn on_one_screen_a_refusal_and_the_end_are_each_said_once() {
    let scene = Scene::new([Run::new().limited(2, 50_000), works()]);
    let said = scene.user.home().join("said");
    let words = Scene::words(&[]).into_iter().filter(|word| word != "--json");
    let mut command = scene.user.command(scene.repo.path(), words);
    let screen = File::create(&said).unwrap();
    let status = command.stdout(screen.try_clone().unwrap()).stderr(screen).status().unwrap();
    let text = fs::read_to_string(&said).unwrap();
    assert!(status.success(), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("COMPLETED")).count(), 1, "{text}");
    let trouble = &scene.shown()["iterations"][0]["run"]["trouble"];
    let message = trouble["message"].as_str().unwrap().trim_end_matches('.');
    assert_eq!(text.matches(message).count(), 1, "{message:?} in\n{text}");
}

#[test]
fn whoever_waits_can_be_stopped_at_once_and_goes_on_later() {
    for way in ["ctrl-c", "a signal", "ralph stop"] {
        let scene = Scene::new([Run::new().limited(AN_HOUR, 0), works()]);
        let (child, _) = scene.run_until_it_waits();
        let start = Instant::now();
        match way {
            "ctrl-c" => signal(&child, Signal::INT),
            "a signal" => signal(&child, Signal::TERM),
            _ => {
                let id = scene.user.newest_loop()["loopId"].as_str().unwrap().to_owned();
                scene.user.ralph(scene.repo.path(), ["stop", &id]).ok();
            }
        }
        let result = finish(child).with_code(if way == "ctrl-c" { 130 } else { 19 }).json();
        eprintln!("{way}: ended after {:?}", start.elapsed());
        assert!(start.elapsed() < SOON, "{way}: {:?}", start.elapsed());
        assert_eq!((&result["reason"], &result["iterations"]), (&"CANCELLED".into(), &0.into()), "{way}: {result}");
        assert_eq!((unsettled(&scene.user), scene.fake.runs()), (0, 1), "{way}");
        let result = scene.resume().ok().json();
        assert_eq!((&result["iterations"], &result["verified"]), (&1.into(), &true.into()), "{way}: {result}");
    }
}

#[test]
fn killed_while_it_waits_it_goes_on_at_once_when_it_is_resumed() {
    let scene = Scene::new([Run::new().limited(AN_HOUR, 50_000), works()]);
    let (child, _) = scene.run_until_it_waits();
    kill(child);
    let result = scene.resume().ok().json();
    assert_eq!((&result["iterations"], micros(&result["costUSD"])), (&1.into(), 250_000), "{result}");
    assert_eq!(passes(&scene.shown()), [(true, 1), (false, 1)]);
    assert_eq!((settled(&scene.user), unsettled(&scene.user)), (250_000, 0));
}

#[test]
fn a_wait_that_is_too_long_ends_the_loop_and_says_when_it_could_go_on() {
    for most in ["0", "30m"] {
        let scene = Scene::new([Run::new().limited(AN_HOUR, 0), works()]);
        let ended = scene.run(&["--max-wait", most]).with_code(1);
        let result = ended.json();
        assert_eq!((&result["status"], &result["iterations"]), (&"ERROR".into(), &0.into()), "{result}");
        let details = result["details"].as_str().unwrap();
        for part in [&scene.resets(1), "--max-wait", "to continue: ralph resume"] {
            assert!(details.contains(part), "{part} is not in: {details}");
        }
        assert!(!ended.stderr.contains("waiting until"), "{}", ended.stderr);
        assert_eq!(scene.resume().ok().json()["iterations"], 1);
    }
    // A wait that would use up the time of the loop is not begun either.
    let scene = Scene::new([Run::new().limited(AN_HOUR, 0)]);
    let result = scene.run(&["--max-duration", "10m"]).with_code(13).json();
    assert_eq!((&result["reason"], &result["iterations"]), (&"MAX_DURATION".into(), &0.into()), "{result}");
    assert!(result["details"].as_str().unwrap().contains(&scene.resets(1)), "{result}");
}

#[test]
fn a_limit_without_a_time_is_waited_for_twice_as_long_each_time() {
    let refused = Run::new().refused();
    let scene = Scene::configured([refused.clone(), refused.clone(), refused, works()], "backoff = \"300ms\"");
    let ended = scene.run(&[]).ok();
    assert_eq!(ended.stderr.matches("waiting until").count(), 3, "{}", ended.stderr);
    assert_eq!(passes(&scene.shown()), [(true, 1), (true, 1), (true, 1), (false, 1)]);
    for (run, least) in [(1, 300), (2, 600), (3, 1200)] {
        let between = scene.fake.number(run + 1, "started") - scene.fake.number(run, "started");
        assert!(between >= least, "run {} came {between} ms after the one before", run + 1);
    }
}

#[test]
fn a_service_that_always_refuses_is_given_up() {
    let scene = Scene::configured([Run::new().refused()], "backoff = \"1ms\"");
    let ended = scene.run(&[]).with_code(1);
    let result = ended.json();
    assert_eq!((&result["status"], &result["iterations"], scene.fake.runs()), (&"ERROR".into(), &0.into(), 13));
    assert_eq!(ended.stderr.matches("waiting until").count(), 12, "{}", ended.stderr);
    let details = result["details"].as_str().unwrap();
    assert!(details.contains("12 waits in a row") && details.contains("to continue: ralph resume"), "{details}");
    assert_eq!(unsettled(&scene.user), 0);
    // Whoever resumes starts to count anew.
    scene.resume().with_code(1);
    assert_eq!(scene.fake.runs(), 26);
}

#[test]
fn a_refused_login_ends_the_loop_with_what_to_do_and_costs_no_iteration() {
    let scene = Scene::new([Run::new().not_logged_in(), works()]);
    let result = scene.run(&[]).with_code(1).json();
    assert_eq!((&result["status"], &result["iterations"], scene.fake.runs()), (&"ERROR".into(), &0.into(), 1));
    let details = result["details"].as_str().unwrap();
    for part in ["fake", "Invalid API key", "/login", "ANTHROPIC_API_KEY", "to continue: ralph resume"] {
        assert!(details.contains(part), "{part} is not in: {details}");
    }
    assert_eq!((settled(&scene.user), unsettled(&scene.user)), (0, 0), "nothing was answered, so nothing was sold");
    // Whoever comes back later finds it there, too.
    let shown = scene.user.ralph(scene.repo.path(), ["show", result["loopId"].as_str().unwrap()]).ok().stdout;
    assert!(shown.contains("/login"), "{shown}");
    let result = scene.resume().ok().json();
    assert_eq!((&result["iterations"], &result["verified"]), (&1.into(), &true.into()), "{result}");
    assert_eq!(passes(&scene.shown()), [(true, 1), (false, 1)]);
    scene.user.ralph(scene.repo.path(), ["verify-run", result["loopId"].as_str().unwrap()]).ok();
}
