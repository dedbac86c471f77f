//! Several agents in one loop: whose turn it is, what each is called with, and where it is written down.

use ralph_testkit::{Repo, Script, Step};
use serde_json::{Value, json};

use crate::aid::{Agent, micros};
use crate::fake::{Fake, Run, prices, words};
use crate::harness::User;

const CHECK: [&str; 2] = ["--criteria", "test -e done"];

struct Scene {
    user: User,
    repo: Repo,
    agents: Vec<Agent>,
}

impl Scene {
    /// Agents that are commands: each leaves its name, and those that are able do the work.
    fn new(agents: &[(&str, Skill)], more: &str) -> Self {
        let (user, repo) = (User::new(), Repo::init());
        let mut configuration = format!("{more}\n");
        let mut made = Vec::new();
        for (number, (name, skill)) in (1_u64..).zip(agents) {
            let mut steps = vec![Step::append("who.txt", format!("{name}\n")), Step::cost(10_000 * number)];
            if matches!(skill, Skill::Able) {
                steps.push(Step::write("done", *name));
            }
            let agent = Agent::new(&user, Script::new().run(steps));
            configuration.push_str(&format!("agents.{name}.command = {}\n", json!(agent.line)));
            made.push(agent);
        }
        user.configure(&configuration);
        Self { user, repo, agents: made }
    }

    #[track_caller]
    fn run(&self, agents: &[&str], more: &[&str], code: i32) -> Value {
        let more = [&["--same-error", "50"], &CHECK[..], more].concat();
        self.user.ralph(self.repo.path(), words(agents, 7, &more)).with_code(code).json()
    }

    /// Who worked, as the workspace, the journal and the ledger tell.
    #[track_caller]
    fn assert_turns(&self, result: &Value, expected: &[&str]) {
        let who = self.repo.read("who.txt");
        assert_eq!(who.lines().collect::<Vec<_>>(), expected, "{result}");
        let shown = self.user.show(result["loopId"].as_str().unwrap());
        let told: Vec<&str> =
            shown["iterations"].as_array().unwrap().iter().map(|one| one["agent"].as_str().unwrap()).collect();
        assert_eq!(told, expected);
        for one in shown["iterations"].as_array().unwrap() {
            assert_eq!(one["run"]["agent"], one["agent"], "{one}");
        }
        let ledger = self.repo.read(".ralph/LEDGER.md");
        let rows = ledger.lines().filter(|line| line.starts_with("| ")).skip(2);
        let listed: Vec<&str> = rows.map(|row| row.split('|').nth(7).unwrap().trim()).collect();
        assert_eq!(listed, expected, "{ledger}");
    }
}

#[derive(Clone, Copy)]
enum Skill {
    Weak,
    Able,
}

#[test]
fn a_stronger_agent_takes_over_when_the_first_has_failed() {
    let scene = Scene::new(&[("cheap", Skill::Weak), ("strong", Skill::Able)], "");
    let result = scene.run(&["cheap", "strong"], &["--escalate-after", "3"], 0);
    scene.assert_turns(&result, &["cheap", "cheap", "cheap", "strong"]);
    assert_eq!(micros(&result["costUSD"]), 3 * 10_000 + 20_000, "{result}");
    assert_eq!(scene.agents.iter().map(Agent::runs).collect::<Vec<_>>(), [3, 1]);
    let metrics: Value = serde_json::from_str(&scene.repo.read(".ralph/metrics/ralph-loops.jsonl")).unwrap();
    assert_eq!((&metrics["agent"], &metrics["iterations"]), (&"cheap,strong".into(), &4.into()), "{metrics}");
    // Without a word about it, after two; and the last one goes on to the end.
    let scene = Scene::new(&[("cheap", Skill::Weak), ("strong", Skill::Weak)], "");
    let result = scene.run(&["cheap", "strong"], &[], 10);
    scene.assert_turns(&result, &["cheap", "cheap", "strong", "strong", "strong", "strong", "strong"]);
}

#[test]
fn agents_take_turns_each_iteration_where_that_is_asked() {
    let agents = [("one", Skill::Weak), ("two", Skill::Weak), ("three", Skill::Weak)];
    let scene = Scene::new(&agents, "");
    let result = scene.run(&["one", "two", "three"], &["--rotate"], 10);
    scene.assert_turns(&result, &["one", "two", "three", "one", "two", "three", "one"]);
}

#[test]
fn a_file_can_name_the_agents_and_their_rule() {
    let agents = [("one", Skill::Weak), ("two", Skill::Weak), ("three", Skill::Able)];
    let scene = Scene::new(&agents, "agent = [\"one\", \"two\", \"three\"]\nescalate_after = 1");
    let result = scene.run(&[], &[], 0);
    scene.assert_turns(&result, &["one", "two", "three"]);
    // The command line chooses anew, and whole.
    let scene = Scene::new(&agents, "agent = [\"one\", \"two\"]\nrotate = true");
    let result = scene.run(&["three"], &[], 0);
    scene.assert_turns(&result, &["three"]);
}

#[test]
fn going_on_after_a_stop_does_not_begin_with_the_first_agent_again() {
    let scene = Scene::new(&[("one", Skill::Weak), ("two", Skill::Weak)], "");
    let more = [&CHECK[..], &["--rotate", "--same-error", "50"]].concat();
    scene.user.ralph(scene.repo.path(), words(&["one", "two"], 1, &more)).with_code(10);
    let result = scene.user.ralph(scene.repo.path(), ["resume", "--max", "3", "--json"]).with_code(10).json();
    scene.assert_turns(&result, &["one", "two", "one"]);
}

#[test]
fn each_agent_gets_its_own_model_and_arguments() {
    let (user, repo) = (User::new(), Repo::init());
    let (first, second) = (
        Fake::new(&user, [Run::new().ends(10_000, "Not yet.")]),
        Fake::new(&user, [Run::new().does("touch done").ends(20_000, "Done.")]),
    );
    let configuration = format!(
        "{}{}agents.first.model = \"haiku\"\nagents.first.args = [\"--max-turns\", \"7\"]\nagents.second.model = \"opus\"\n{}",
        first.configured_as("first"),
        second.configured_as("second"),
        prices()
    );
    user.configure(&configuration);
    let more = [&CHECK[..], &["--rotate", "--agent-args", "--effort 'very high'"]].concat();
    let result = user.ralph(repo.path(), words(&["first", "second:sonnet"], 3, &more)).ok().json();
    assert_eq!(
        (first.argument(1, "--model").unwrap(), second.argument(1, "--model").unwrap()),
        ("haiku".into(), "sonnet".into())
    );
    assert_eq!((first.argument(1, "--max-turns"), second.argument(1, "--max-turns")), (Some("7".into()), None));
    for fake in [&first, &second] {
        assert_eq!(fake.argument(1, "--effort").as_deref(), Some("very high"), "{}", fake.left(1, "arguments"));
    }
    let shown = user.show(result["loopId"].as_str().unwrap());
    let told: Vec<&Value> = shown["iterations"].as_array().unwrap().iter().map(|one| &one["agent"]).collect();
    assert_eq!(told, ["first:haiku", "second:sonnet"], "{shown}");
    let metrics: Value = serde_json::from_str(&repo.read(".ralph/metrics/ralph-loops.jsonl")).unwrap();
    assert_eq!(
        (&metrics["agent"], &metrics["model"]),
        (&"first,second".into(), &"claude-opus-5-5".into()),
        "{metrics}"
    );
}

#[test]
fn a_refusal_of_the_service_is_no_failure_of_the_agent() {
    let (user, repo) = (User::new(), Repo::init());
    let refused = Run::new().refused();
    let first = Fake::new(&user, [refused.clone(), refused, Run::new().does("touch done").ends(10_000, "Done.")]);
    let second = Fake::new(&user, [Run::new().ends(20_000, "Nobody asked me.")]);
    let (one, two) = (first.configured_as("first"), second.configured_as("second"));
    user.configure(&format!("backoff = \"10ms\"\n{one}{two}{}", prices()));
    for rule in [&["--escalate-after", "1"][..], &["--rotate"]] {
        let _ = std::fs::remove_file(repo.path().join("done"));
        let result = user.ralph(repo.path(), words(&["first", "second"], 3, &[&CHECK[..], rule].concat())).ok().json();
        assert_eq!(result["iterations"], 1, "{rule:?}: {result}");
    }
    assert_eq!((first.runs(), second.runs()), (4, 0));
}

#[test]
fn a_loop_goes_on_with_another_agent_or_model_where_that_is_asked() {
    let (user, repo) = (User::new(), Repo::init());
    let stuck = Fake::new(&user, [Run::new().not_logged_in()]);
    let able =
        Fake::new(&user, [Run::new().ends(10_000, "I tried."), Run::new().does("touch done").ends(10_000, "Done.")]);
    let agents = format!("{}{}{}", stuck.configured_as("stuck"), able.configured_as("able"), prices());
    user.configure(&agents);
    let resume = |more: &[&str]| user.ralph(repo.path(), [&["resume", "--json"], more].concat());
    let error = user.ralph(repo.path(), words(&["stuck"], 4, &CHECK)).with_code(1).json();
    assert!(error["details"].as_str().unwrap().contains("to continue: ralph resume"), "{error}");

    let unknown = resume(&["--agent", "abel"]).with_code(2);
    assert!(unknown.stderr.contains("did you mean `able`"), "{}", unknown.stderr);
    let twice = resume(&["--agent", "able:one", "--model", "two"]).with_code(2);
    assert!(twice.stderr.contains("no effect"), "{}", twice.stderr);
    assert_eq!(able.runs(), 0, "bad words change nothing");

    let result = resume(&["--agent", "able", "--model", "claude-haiku-4-5", "--max", "1"]).with_code(10).json();
    assert_eq!((result["iterations"].as_u64(), able.runs(), stuck.runs()), (Some(1), 1, 1), "{result}");
    assert!(able.left(1, "arguments").contains("claude-haiku-4-5"));
    // And stays with it.
    let result = resume(&["--model", "claude-sonnet-4-5", "--max", "4"]).ok().json();
    assert_eq!((result["iterations"].as_u64(), able.runs(), stuck.runs()), (Some(2), 2, 1), "{result}");
    assert!(able.left(2, "arguments").contains("claude-sonnet-4-5"));
    let loop_id = result["loopId"].as_str().unwrap();
    user.ralph(repo.path(), ["verify-run", loop_id]).ok();
}
