//! A race: several candidates in worktrees of their own under one budget; the first that is verified wins.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use ralph_testkit::{Child as Left, Processes, Repo, Script, Session, Step};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::aid::{
    APART, Agent, SOON, finish, kill, kinds, micros, query, settled, signal, tamper, unsettled, wait_for_file,
    wait_until,
};
use crate::fake::{Fake, Run, words};
use crate::harness::{Ended, User};

const NEVER: Duration = Duration::from_secs(600);
const CHECK: [&str; 4] = ["--criteria", "test -e done", "--same-error", "50"];

struct Scene {
    user: User,
    repo: Repo,
    agents: Vec<Agent>,
}

impl Scene {
    fn new(repo: Repo, user: User, agents: Vec<(&str, Script)>) -> Self {
        let mut configuration = String::new();
        let mut made = Vec::new();
        for (name, script) in agents {
            let agent = Agent::new(&user, script);
            configuration.push_str(&format!("agents.{name}.command = {}\n", json!(agent.line)));
            made.push(agent);
        }
        user.configure(&configuration);
        Self { user, repo, agents: made }
    }

    /// Three of which none ends by itself; `home/NAME` appears when one works.
    fn endless() -> Self {
        let user = User::new();
        let names = ["one", "two", "three"];
        let agents = names.map(|name| (name, Script::new().run(works_for_ever(&user, name)).otherwise(done(name))));
        Self::new(Repo::init(), user, agents.into())
    }

    fn start(&self, race: u32, agents: &[&str], max: u32, more: &[&str]) -> Child {
        let race = race.to_string();
        let more = [&["--race", race.as_str()], more].concat();
        self.user.spawn(self.repo.path(), words(agents, max, &more))
    }

    fn run(&self, race: u32, agents: &[&str], max: u32, more: &[&str]) -> Ended {
        finish(self.start(race, agents, max, more))
    }

    fn wait_for(&self, names: &[&str]) {
        names.iter().for_each(|name| wait_for_file(&self.user.home().join(name)));
    }

    fn branches(&self) -> Vec<String> {
        let listed = self.repo.git(["branch", "--list", "ralph/*", "--format", "%(refname:short)"]);
        listed.lines().map(str::to_owned).collect()
    }

    fn worktrees(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.user.state().join("worktrees")).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }

    #[track_caller]
    fn assert_gone(&self, limit: Duration) {
        self.agents.iter().for_each(|agent| agent.assert_gone(&self.repo, limit));
        let left = Processes::working_in(self.user.state()).wait_until_gone(limit);
        assert_eq!(left, Ok(()), "processes in the worktrees survived");
    }
}

/// Spends a little, says so, leaves somebody behind and never ends.
fn works_for_ever(user: &User, name: &str) -> Vec<Step> {
    let left = Left { stay_ms: 600_000, session: Session::Own, ..Left::default() };
    vec![
        Step::cost(20_000),
        Step::DoubleFork(left),
        Step::append("notes.txt", format!("{name}\n")),
        Step::write(user.home().join(name), ""),
        Step::sleep(NEVER),
    ]
}

/// Does the work.
fn done(name: &str) -> [Step; 2] {
    [Step::write("done", format!("{name}\n")), Step::cost(30_000)]
}

/// A checkout in the middle of somebody's work.
fn lived_in() -> Repo {
    let repo = Repo::init();
    repo.write("put-away.txt", "put away\n");
    repo.stash();
    repo.write("staged.txt", "staged\n");
    repo.git(["add", "staged.txt"]);
    repo.write("README.md", "changed\n");
    repo.write("untracked.txt", "untracked\n");
    repo
}

/// Everything of a checkout that a race has no business with.
fn state_of(repo: &Repo) -> [String; 5] {
    [
        repo.git(["status", "--porcelain=v2", "--branch"]),
        repo.git(["ls-files", "--stage"]),
        repo.git(["stash", "list", "--format=%H"]),
        repo.git(["diff"]),
        repo.git(["log", "--format=%H", "--walk-reflogs", "HEAD"]),
    ]
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn the_first_that_is_verified_wins_and_nothing_of_the_others_is_left() {
    let user = User::new();
    let mut quick = vec![Step::wait_for_file(user.home().join("slow")), Step::wait_for_file(user.home().join("lost"))];
    quick.extend(done("quick"));
    let slow = Script::new().run(works_for_ever(&user, "slow"));
    // Its commits go with its branch: they are nowhere else, and its snapshots have what is in them.
    let mut commits = works_for_ever(&user, "lost");
    let commit = "git switch -qc own-branch && git add -A && \
                  git -c user.name=lost -c user.email=lost@example.org commit -qm lost && git tag own-tag && git branch at-start HEAD~1";
    commits.insert(3, Step::Run(commit.to_owned()));
    let lost = Script::new().run(commits);
    let agents = vec![("slow", slow), ("quick", Script::new().run(quick)), ("lost", lost)];
    let scene = Scene::new(lived_in(), user, agents);
    let (before, state) = (scene.repo.fingerprint(), state_of(&scene.repo));

    let ended = scene.run(3, &["slow", "quick", "lost"], 3, &CHECK).ok();
    scene.assert_gone(Duration::ZERO);
    let result = ended.json();
    assert_eq!((&result["verified"], &result["iterations"]), (&true.into(), &1.into()), "{result}");
    let race = result["race"].as_array().unwrap();
    let told: Vec<(&str, &str, bool, i64)> = race
        .iter()
        .map(|one| (text(&one["agent"]), text(&one["status"]), one["won"] == true, micros(&one["costUSD"])))
        .collect();
    let expected =
        [("slow", "ABORTED", false, 20_000), ("quick", "COMPLETED", true, 30_000), ("lost", "ABORTED", false, 20_000)];
    assert_eq!(told, expected, "{result}");
    assert_eq!(micros(&result["costUSD"]), 70_000, "all of them are paid for");
    assert_eq!((settled(&scene.user), unsettled(&scene.user)), (70_000, 0));
    assert!(
        ended.stderr.contains("[2] quick, loop ") && ended.stderr.contains("\n[3] iteration 1: "),
        "{}",
        ended.stderr
    );

    // The winner's work is on a branch in its worktree, and the others are gone.
    let winner = &race[1];
    assert_eq!((&result["loopId"], &result["workspace"]), (&winner["loopId"], &winner["workspace"]));
    let worktree = Path::new(text(&winner["workspace"]));
    assert_eq!(std::fs::read_to_string(worktree.join("done")).unwrap(), "quick\n");
    assert_eq!(scene.worktrees(), [worktree]);
    let branch = format!("ralph/{}", worktree.file_name().unwrap().to_string_lossy());
    assert_eq!(scene.branches(), [branch.as_str()]);
    // A branch at a commit that is not the loser's may be of anybody.
    let own = scene.repo.git([
        "for-each-ref",
        "--format",
        "%(refname:short)",
        "refs/heads/own-branch",
        "refs/heads/at-start",
        "refs/tags",
    ]);
    assert_eq!(own.trim(), "at-start");
    for name in ["refs/heads/own-branch", "refs/tags/own-tag"] {
        assert!(
            ended.stderr.contains(&format!("removed {name}, which a candidate that lost made")),
            "{}",
            ended.stderr
        );
    }
    let listed = scene.repo.git(["worktree", "list", "--porcelain"]);
    assert_eq!(listed.matches("worktree ").count(), 2, "{listed}");
    assert!(listed.contains(&format!("branch refs/heads/{branch}")), "{listed}");

    assert_eq!(scene.repo.git(["show", &format!("{branch}:done")]).trim(), "quick", "it can be merged");
    let commit = scene.repo.git(["rev-parse", &branch]).trim().to_owned();
    assert_eq!((text(&result["branch"]), text(&result["commit"])), (branch.as_str(), commit.as_str()));
    let shown = scene.user.show(text(&result["loopId"]));
    assert_eq!((&shown["branch"], &shown["commit"]), (&result["branch"], &result["commit"]), "{shown}");
    assert_eq!(shown["race"]["winner"], result["loopId"], "{shown}");
    let told = scene.user.ralph(scene.repo.path(), ["show", text(&result["loopId"])]).ok().stdout;
    for part in ["  race       won\n", &format!("  branch     {branch}\n"), &format!("  commit     {commit}\n")] {
        assert!(told.contains(part), "{part} is not in {told}");
    }

    // The user's own checkout is as it was; git knows one branch with one commit and one worktree more.
    assert_eq!(state_of(&scene.repo), state);
    assert!(!scene.repo.exists("done") && !scene.repo.exists("notes.txt"));
    let allowed = [
        "added refs/heads/at-start",
        "added logs/refs/heads/at-start",
        "added refs/heads/ralph",
        "added logs/refs/heads/ralph",
        "added worktrees",
        "added objects",
    ];
    let changes = before.differences(&scene.repo.fingerprint());
    let wrong: Vec<&String> =
        changes.iter().filter(|one| !allowed.iter().any(|begin| one.starts_with(begin))).collect();
    assert!(wrong.is_empty(), "{wrong:?}");

    // What the losers did can still be looked at.
    for loser in [&race[0], &race[2]] {
        let shown = scene.user.show(text(&loser["loopId"]));
        assert_eq!(shown["reason"], "CANCELLED", "{shown}");
        let short = branch.trim_start_matches("ralph/");
        let why = text(&shown["outcome"]["details"]);
        assert!(why.contains(&format!("lost the race: loop {short} was verified first")), "{why}");
        assert!(!why.contains("resume") && shown["branch"].is_null(), "{shown}");
        assert_eq!(shown["race"]["candidates"].as_array().unwrap().len(), 3, "{shown}");
        let told = scene.user.ralph(scene.repo.path(), ["show", text(&loser["loopId"])]).ok().stdout;
        assert!(told.contains(&format!("lost against {short}; its worktree is gone")), "{told}");
        assert!(told.contains(&format!("against {short} (quick): COMPLETED")), "{told}");
        let diff = scene.user.ralph(scene.repo.path(), ["diff", text(&loser["loopId"])]).ok().stdout;
        assert!(diff.contains(&format!("+{}", text(&loser["agent"]))), "{diff}");
        let gone = scene.user.ralph(scene.repo.path(), ["resume", text(&loser["loopId"])]).with_code(1).stderr;
        assert!(gone.contains("no longer exists") && gone.contains("ralph diff"), "{gone}");
    }
    let nothing = scene.user.ralph(scene.repo.path(), ["resume"]).with_code(1).stderr;
    assert!(nothing.contains("no unfinished loop"), "{nothing}");
    assert!(!ended.stderr.contains("to continue: ralph resume"), "nothing to resume: {}", ended.stderr);
    scene.user.ralph(scene.repo.path(), ["verify-run", text(&result["loopId"])]).ok();
    let metrics = scene.repo.read(".ralph/metrics/ralph-loops.jsonl");
    let counted: Vec<Value> = metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verified = counted.iter().filter(|one| one["verificationPassed"] == true).count();
    assert_eq!((counted.len(), verified), (3, 1), "every candidate is a loop of this project: {metrics}");
}

#[test]
fn without_a_winner_everything_is_kept_and_the_end_is_that_of_a_loop() {
    let steps = |name: &str| [Step::append("notes.txt", format!("{name}\n")), Step::cost(10_000)];
    let agents = vec![("one", Script::new().run(steps("one"))), ("two", Script::new().run(steps("two")))];
    let scene = Scene::new(Repo::init(), User::new(), agents);
    let result = scene.run(3, &["one", "two"], 2, &[&CHECK[..], &["--rotate"]].concat()).with_code(10).json();
    assert_eq!((&result["reason"], &result["verified"]), (&"MAX_ITERATIONS".into(), &false.into()), "{result}");
    assert_eq!((micros(&result["costUSD"]), settled(&scene.user)), (60_000, 60_000));
    assert_eq!((scene.worktrees().len(), scene.branches().len()), (3, 3));
    // Each begins with another one, as far as there are so many, and goes on with the next.
    let race = result["race"].as_array().unwrap();
    assert_eq!(race.iter().map(|one| text(&one["agent"])).collect::<Vec<_>>(), ["one", "two", "one"]);
    assert!(race.iter().all(|one| one["won"] == false && one["iterations"] == 2), "{result}");
    let notes = |one: &Value| std::fs::read_to_string(Path::new(text(&one["workspace"])).join("notes.txt")).unwrap();
    assert_eq!(race.iter().map(notes).collect::<Vec<_>>(), ["one\ntwo\n", "two\none\n", "one\ntwo\n"]);
    // For people, each has a line.
    let words = words(&["one", "two"], 1, &[&["--race", "2"], &CHECK[..]].concat());
    let shown = scene.user.ralph(scene.repo.path(), words.iter().filter(|word| *word != "--json")).with_code(10).stdout;
    for line in ["candidate 1 (one), loop ", "candidate 2 (two), loop "] {
        assert!(shown.contains(line) && shown.contains("1 iteration, $0.01"), "{shown}");
    }
    assert!(shown.contains("the race cost $0.02 in all") && !shown.contains("1 iteration, $0.02"), "{shown}");
    // Nobody guesses which of them is meant.
    let several = scene.user.ralph(scene.repo.path(), ["resume"]).with_code(1).stderr;
    let listed = scene.user.ralph(scene.repo.path(), ["list", "--json"]).ok().json();
    let loops = listed.as_array().unwrap().iter().filter(|one| one["kind"] == "loop");
    let shorts: Vec<&str> = loops.map(|one| text(&one["short"])).collect();
    assert_eq!(shorts.len(), 5, "{listed}");
    assert!(several.contains("2 candidates of a race without a winner"), "{several}");
    for (place, short) in shorts.iter().enumerate() {
        assert_eq!(several.contains(&format!("ralph resume {short}")), place < 2, "the newest race alone: {several}");
    }
}

#[test]
fn the_winner_can_be_taken_over_and_cleaned_up_with_the_words_that_are_printed() {
    let user = User::new();
    let quick = std::iter::once(Step::wait_for_file(user.home().join("slow"))).chain(done("quick"));
    let agents = vec![("quick", Script::new().run(quick)), ("slow", Script::new().run(works_for_ever(&user, "slow")))];
    let scene = Scene::new(Repo::init(), user, agents);
    let line = words(&["quick", "slow"], 2, &[&["--race", "2", "--worktree", "--commit"], &CHECK[..]].concat());
    let shown = scene.user.ralph(scene.repo.path(), line.iter().filter(|word| *word != "--json")).ok().stdout;
    let after = |begin: &str| {
        let found = shown.lines().find_map(|line| line.trim().strip_prefix(begin));
        found.unwrap_or_else(|| panic!("{begin} is not in {shown}")).trim().to_owned()
    };
    assert!(shown.contains(": 1 iteration, $0.03, ") && shown.contains("the race cost $0.05 in all"), "{shown}");
    assert!(shown.contains("(slow), loop ") && shown.contains(": lost against "), "{shown}");
    for line in [after("take it over with:"), after("clean up after that:")] {
        let done =
            std::process::Command::new("sh").args(["-c", &line]).current_dir(scene.repo.path()).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }
    assert_eq!(scene.repo.read("done"), "quick\n");
    assert_eq!((scene.worktrees(), scene.branches()), (Vec::new(), Vec::new()));
}

#[test]
fn whoever_changed_nothing_leaves_nothing_behind() {
    let idle = Script::new().run([Step::cost(10_000)]);
    let busy = Script::new().run([Step::append("notes.txt", "busy\n"), Step::cost(10_000)]);
    let scene = Scene::new(Repo::init(), User::new(), vec![("idle", idle), ("busy", busy)]);
    let result = scene.run(2, &["idle", "busy"], 1, &CHECK).with_code(10).json();
    let race = result["race"].as_array().unwrap();
    assert_eq!((&result["loopId"], scene.branches().len()), (&race[1]["loopId"], 1), "{result}");
    assert_eq!(scene.worktrees(), [Path::new(text(&race[1]["workspace"]))]);
    let nothing = scene.user.ralph(scene.repo.path(), ["diff", text(&race[0]["loopId"])]).ok();
    assert_eq!((nothing.stdout.as_str(), nothing.stderr.trim()), ("", "nothing changed"));
    let shown = scene.user.ralph(scene.repo.path(), ["show", text(&race[0]["loopId"])]).ok().stdout;
    assert!(shown.contains("no winner yet; its worktree is gone"), "{shown}");

    // Stopped before anybody did anything: there is nothing at all, and nobody is sent to it.
    let user = User::new();
    let waits = |name: &str| Script::new().run([Step::write(user.home().join(name), ""), Step::sleep(NEVER)]);
    let agents = vec![("one", waits("one")), ("two", waits("two"))];
    let scene = Scene::new(Repo::init(), user, agents);
    let child = scene.start(2, &["one", "two"], 2, &CHECK);
    scene.wait_for(&["one", "two"]);
    signal(&child, Signal::TERM);
    let result = finish(child).with_code(19).json();
    assert_eq!((scene.worktrees().len(), scene.branches().len()), (0, 0), "{result}");
    let details = text(&result["details"]);
    assert!(details.contains("changed nothing") && !details.contains("ralph resume"), "{details}");
}

#[test]
fn a_candidate_whose_service_refuses_does_not_hold_the_others_up() {
    let (user, repo) = (User::new(), Repo::init());
    let waits = Fake::new(&user, [Run::new().limited(3600, 0)]);
    let unknown = Fake::new(&user, [Run::new().not_logged_in()]);
    let go = user.home().join("go");
    let steps = std::iter::once(Step::wait_for_file(go.clone())).chain(done("quick"));
    let quick = Agent::new(&user, Script::new().run(steps));
    let command = format!("agents.quick.command = {}\n", json!(quick.line));
    user.configure(&format!("{}{}{command}", waits.configured_as("waits"), unknown.configured_as("unknown")));
    let more = [&["--race", "3"], &CHECK[..]].concat();
    let child = user.spawn(repo.path(), words(&["waits", "unknown", "quick"], 1, &more));
    wait_for_file(&waits.place(1, "resets"));
    let count = |wanted: &str| kinds(&user).iter().filter(|kind| *kind == wanted).count();
    wait_until("one to wait and one to give up", || count("agentFinished") == 2 && count("loopFinished") == 1);
    std::fs::write(go, "").unwrap();
    let result = finish(child).ok().json();
    let race = result["race"].as_array().unwrap();
    let told: Vec<(&str, u64)> =
        race.iter().map(|one| (text(&one["status"]), one["iterations"].as_u64().unwrap())).collect();
    assert_eq!(told, [("ABORTED", 0), ("ERROR", 0), ("COMPLETED", 1)], "{result}");
    assert_eq!((unsettled(&user), settled(&user)), (0, 30_000));
}

#[test]
fn a_candidate_that_breaks_off_is_told_of_and_its_money_is_not_forgotten() {
    let user = User::new();
    let go = |name: &str| user.home().join(format!("go-{name}"));
    let steps = |name: &str| {
        let begins = [Step::write(user.home().join(name), ""), Step::wait_for_file(go(name))];
        Script::new().run(begins.into_iter().chain(done(name)))
    };
    let agents = vec![("one", steps("one")), ("two", steps("two"))];
    let (one, two) = (go("one"), go("two"));
    let scene = Scene::new(Repo::init(), user, agents);
    let mut child = scene.start(2, &["one", "two"], 2, &CHECK);
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    scene.wait_for(&["one", "two"]);
    // Somebody else seems to have written to the second one's journal: it cannot go on.
    let broken = query(&scene.user, "SELECT MAX(id) FROM loops")[0][0].clone();
    tamper(&scene.user, "UPDATE loops SET head_seq = head_seq + 1 WHERE id = (SELECT MAX(id) FROM loops)");
    std::fs::write(two, "").unwrap();
    let line = told.find(|line| line.contains("candidate 2 (two) broke off")).unwrap();
    let how = format!("ralph resume {}", &broken[broken.len() - 8..]);
    assert!(line.contains("journal is at event") && line.contains(&how), "{line}");
    std::fs::write(one, "").unwrap();
    let result = finish(child).ok().json();
    assert_eq!((&result["verified"], &result["race"][0]["won"]), (&true.into(), &true.into()), "{result}");
    // Half of the dollar is held for it until somebody knows.
    assert_eq!((settled(&scene.user), unsettled(&scene.user)), (30_000, 500_000));
    assert_eq!(micros(&result["costUSD"]), 530_000, "{result}");
    assert_eq!(scene.worktrees().len(), 2, "it can go on where it was");
}

#[test]
fn whoever_stops_a_race_stops_all_of_it() {
    let ways: [(&[Signal], i32); 2] = [(&[Signal::TERM], 19), (&[Signal::INT, Signal::INT], 130)];
    for (signals, code) in ways {
        let scene = Scene::endless();
        let names = ["one", "two", "three"];
        let child = scene.start(3, &names, 3, &CHECK);
        scene.wait_for(&names);
        for (sent, wanted) in (1..).zip(signals) {
            signal(&child, *wanted);
            // Two that come at once are one for the kernel, and two that come soon are one for Ralph.
            wait_until("the request in the journals", || {
                kinds(&scene.user).iter().filter(|kind| *kind == "stopRequested").count() >= 3 * sent
            });
            std::thread::sleep(APART);
        }
        let result = finish(child).with_code(code).json();
        scene.assert_gone(Duration::ZERO);
        assert_eq!((&result["reason"], micros(&result["costUSD"])), (&"CANCELLED".into(), 60_000), "{result}");
        assert_eq!((settled(&scene.user), unsettled(&scene.user)), (60_000, 0));
        assert_eq!(scene.worktrees().len(), 3, "nobody won, so nothing is thrown away");
    }
}

#[test]
fn a_killed_race_leaves_nobody_behind_and_each_candidate_can_go_on() {
    let scene = Scene::endless();
    let names = ["one", "two", "three"];
    let child = scene.start(3, &names, 3, &CHECK);
    scene.wait_for(&names);
    kill(child);
    scene.assert_gone(SOON);
    let listed = scene.user.ralph(&scene.user.home(), ["list", "--all", "--json"]).ok().json();
    let loops = listed.as_array().unwrap();
    assert!(loops.len() == 4 && loops.iter().all(|one| one["status"] == "INTERRUPTED"), "{listed}");
    let kinds: Vec<&Value> = loops.iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, ["loop", "loop", "loop", "race"], "{listed}");
    let id = text(&loops[0]["loopId"]);
    let result = scene.user.ralph(scene.repo.path(), ["resume", id, "--json"]).ok().json();
    assert_eq!((&result["verified"], &result["iterations"]), (&true.into(), &2.into()), "{result}");
    assert_eq!(micros(&result["costUSD"]), 50_000, "what it reported before is kept: {result}");
}

#[test]
fn a_race_is_listed_shown_and_stopped_by_its_id() {
    let scene = Scene::endless();
    let names = ["one", "two", "three"];
    let child = scene.start(3, &names, 3, &CHECK);
    scene.wait_for(&names);
    let listed = scene.user.ralph(scene.repo.path(), ["list", "--json"]).ok().json();
    let race = listed.as_array().unwrap().iter().find(|one| one["kind"] == "race").expect("the race is listed");
    let (id, short) = (text(&race["loopId"]), text(&race["short"]));
    assert_eq!(race["status"], "RUNNING", "{listed}");
    let candidates: Vec<&Value> = listed.as_array().unwrap().iter().filter(|one| one["race"] == *id).collect();
    assert_eq!(candidates.len(), 3, "{listed}");

    // A limit counts the race once, and cuts no candidate off.
    let table = scene.user.ralph(scene.repo.path(), ["list", "--limit", "1"]).ok().stdout;
    let rows: Vec<&str> = table.lines().skip(1).collect();
    assert!(rows.len() == 4 && rows[0].starts_with(short) && rows[0].contains("race of 3: "), "{table}");
    for (row, name) in rows[1..].iter().zip(names) {
        assert!(row.starts_with("  ") && row.ends_with(&format!("candidate: {name}")), "{table}");
    }

    let shown = scene.user.ralph(scene.repo.path(), ["show", id]).ok().stdout;
    for line in [&format!("race {short}  RUNNING"), "  winner     none yet", "CANDIDATE"] {
        assert!(shown.contains(line), "{line} is missing:\n{shown}");
    }
    let view = scene.user.show(id);
    let agents: Vec<&Value> = view["candidates"].as_array().unwrap().iter().map(|one| &one["agent"]).collect();
    assert_eq!(agents, ["one", "two", "three"], "{view}");
    assert_eq!(view["winner"], Value::Null, "{view}");

    scene.user.ralph(scene.repo.path(), ["stop", id, "--now"]).ok();
    finish(child).with_code(19);
    let view = scene.user.show(id);
    assert_eq!((&view["status"], &view["reason"]), (&"ABORTED".into(), &"CANCELLED".into()), "{view}");
    assert!(view["budgetUSD"].as_f64() > Some(0.0) && micros(&view["costUSD"]) == 60_000, "{view}");
    let requests = query(&scene.user, "SELECT COUNT(*) FROM events WHERE kind = 'stopRequested'");
    assert_eq!(requests, [["4"]], "the race and each candidate hear of it once");
}

#[test]
fn a_killed_race_is_resumed_as_a_race_and_finds_its_winner() {
    let scene = Scene::endless();
    let names = ["one", "two", "three"];
    let child = scene.start(3, &names, 3, &CHECK);
    scene.wait_for(&names);
    let running = scene.user.ralph(scene.repo.path(), ["resume"]);
    assert!(running.code != 0 && running.stderr.contains("already running"), "{}", running.stderr);
    kill(child);
    scene.assert_gone(SOON);
    let refused = scene.user.ralph(scene.repo.path(), ["resume", "--max", "9"]).with_code(1);
    assert!(refused.stderr.contains("a race continues as it was started"), "{}", refused.stderr);
    // Without a name the race is meant, not one of its candidates.
    let result = scene.user.ralph(scene.repo.path(), ["resume", "--json"]).ok().json();
    let race = result["race"].as_array().unwrap();
    let winners: Vec<&Value> = race.iter().filter(|one| one["won"] == true).collect();
    assert_eq!((race.len(), winners.len(), &result["verified"]), (3, 1, &true.into()), "{result}");
    assert_eq!(winners[0]["loopId"], result["loopId"], "{result}");
    assert_eq!(scene.worktrees().len(), 1, "the losers' worktrees are gone: {result}");
    // Commands about one loop mean the winner.
    let proof = scene.user.ralph(scene.repo.path(), ["verify-run", "--json"]).ok().json();
    assert_eq!((&proof["holds"], &proof["loopId"]), (&true.into(), &result["loopId"]), "{proof}");
    scene.user.ralph(scene.repo.path(), ["diff"]).ok();
    // The winner is on record: the race is over for every later process.
    let again = scene.user.ralph(scene.repo.path(), ["resume"]);
    assert_ne!(again.code, 0, "{}", again.stdout);
}

#[test]
fn a_race_that_cannot_be_run_is_refused_before_anything_starts() {
    let refused = |repo: Repo, race: u32, more: &[&str], said: &str| {
        let scene = Scene::new(repo, User::new(), vec![("one", Script::new().run(done("one")))]);
        let ended = scene.run(race, &["one"], 2, more).with_code(2);
        assert!(ended.stderr.contains(said), "{said} is not in: {}", ended.stderr);
        assert_eq!(scene.agents[0].runs(), 0);
        assert_eq!(scene.user.ralph(scene.repo.path(), ["list", "--all", "--json"]).ok().json(), json!([]));
    };
    refused(Repo::plain(), 3, &CHECK, "git init");
    refused(Repo::plain(), 3, &CHECK, "--race");
    refused(Repo::unborn(), 3, &CHECK, "no commit");
    refused(Repo::init(), 3, &[], "--criteria");
    refused(Repo::init(), 1, &CHECK, "2 to 8");
    refused(Repo::init(), 9, &CHECK, "2 to 8");
}

/// Runs a race of three to its end and looks at its books all the time; gives the most that was held or spent at once.
fn most_held(scene: &Scene, more: &[&str]) -> (Value, i64) {
    let more = [&CHECK[..], more].concat();
    let mut child = scene.start(3, &["one"], 9, &more);
    let mut most = 0;
    let database = scene.user.state().join("ralph.db");
    while child.try_wait().unwrap().is_none() {
        if database.exists() && !query(&scene.user, "SELECT name FROM sqlite_master WHERE name = 'budget'").is_empty() {
            let held =
                query(&scene.user, "SELECT CAST(COALESCE(SUM(COALESCE(settled, reserved)), 0) AS TEXT) FROM budget");
            most = most.max(held[0][0].parse().unwrap());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    (finish(child).with_code(11).json(), most.max(settled(&scene.user)))
}

#[test]
fn the_candidates_share_one_budget() {
    // Each waits for all, so that all have begun before one has spent anything.
    let begun = |user: &User, micros: Option<u64>| {
        let count = user.home().join("begun");
        let count = ralph_testkit::shell_quoted(&count.to_string_lossy());
        let all =
            format!("echo x >> {count}; until [ $(wc -l < {count}) -ge 3 ]; do sleep 0.05; done; echo x >> work.txt");
        let steps = std::iter::once(Step::run(all)).chain(micros.map(Step::cost));
        vec![("one", Script::new().run(steps))]
    };
    let iterations = |result: &Value| -> Vec<u64> {
        result["race"].as_array().unwrap().iter().map(|one| one["iterations"].as_u64().unwrap()).collect()
    };

    let user = User::new();
    let agents = begun(&user, Some(400_000));
    let scene = Scene::new(Repo::init(), user, agents);
    let (result, most) = most_held(&scene, &[]);
    assert!(most <= 1_000_000 + 3 * 400_000, "{most} micro-dollars of $1.00, in calls of $0.40");
    assert_eq!(micros(&result["costUSD"]), settled(&scene.user));
    assert_eq!(settled(&scene.user), 400_000 * i64::try_from(scene.agents[0].runs()).unwrap());
    assert_eq!(iterations(&result), [1, 1, 1], "all of them began, and none of them again: {result}");
    assert_eq!(unsettled(&scene.user), 0);

    // Small calls: the whole budget is used, and passed by less than one call each.
    let user = User::new();
    let agents = begun(&user, Some(150_000));
    let scene = Scene::new(Repo::init(), user, agents);
    let (result, most) = most_held(&scene, &[]);
    eprintln!("a race of $1.00 in calls of $0.15: at most {most} held, {:?} iterations", iterations(&result));
    assert!(most <= 1_000_000 + 3 * 150_000, "{most} micro-dollars of $1.00, in calls of $0.15");

    // Nobody knows what these cost, so each is charged what it was given, and together that is no more than there was.
    let user = User::new();
    let agents = begun(&user, None);
    let scene = Scene::new(Repo::init(), user, agents);
    let (result, most) = most_held(&scene, &[]);
    assert!(most <= 1_000_000, "{most} micro-dollars of $1.00");
    assert_eq!(iterations(&result), [1, 1, 1], "{result}");
    assert!(micros(&result["costUSD"]) >= 999_000, "unknown is never zero: {result}");
}
