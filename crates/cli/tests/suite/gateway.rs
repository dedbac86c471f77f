//! The gateway: what an agent spends is counted on the wire, a budget ends the next request, and the key stays with Ralph.

use std::process::{Child, Stdio};

use ralph_testkit::model::{Fault, Reply, Script, Status, Then, Usage};
use ralph_testkit::{Processes, Repo, ScriptedModel};
use serde_json::Value;

use crate::aid::{SOON, extended, finish, kill, micros, query, settled, wait_until};
use crate::fake::{self, Fake, Run};
use crate::harness::{Ended, User, run_words_with};

const KEY: &str = "sk-ant-canary-4711-do-not-show";

/// Asks without the token, asks as often as it is told to, leaves behind what it can see of keys, and claims that it cost nothing.
const AGENT: &str = r#"
import glob, json, os, sys, urllib.request, urllib.error

def ask(text, key):
    body = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": [{"role": "user", "content": text}]}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), {
        "content-type": "application/json", "x-api-key": key, "anthropic-version": "2023-06-01"})
    try:
        return urllib.request.urlopen(request).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0

open("environment.txt", "w").write("\n".join(f"{k}={v}" for k, v in os.environ.items()))
canary, seen = "1174-yranac"[::-1].encode(), []
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try:
        if canary in open(path, "rb").read():
            seen.append(path)
    except OSError:
        pass
open("seen.txt", "w").write(repr(seen))
open("stranger.txt", "w").write(str(ask("without the token", "sk-ant-of-somebody-else")))
for n in range(int(sys.argv[1])):
    print(ask(f"question {n}", os.environ["ANTHROPIC_API_KEY"]))
    if "RALPH_RESULT_FILE" in os.environ:
        json.dump({"costUSD": 0.0}, open(os.environ["RALPH_RESULT_FILE"], "w"))
"#;

struct Scene {
    user: User,
    repo: Repo,
    model: ScriptedModel,
    line: String,
}

impl Scene {
    /// Answers that cost this many micro-dollars each.
    fn new(requests: u32, micros: u64) -> Self {
        let usage = Usage { input: micros / 3, ..Usage::ZERO };
        let replies = (0..requests).map(|_| Reply::say("done").usage(usage));
        let (user, repo) = (User::new(), Repo::init());
        let agent = user.home().join("agent.py");
        std::fs::write(&agent, AGENT).unwrap();
        let model = ScriptedModel::start(replies.fold(Script::new(), Script::reply));
        Self { user, repo, model, line: format!("python3 {} {requests}", agent.display()) }
    }

    fn spawn(&self, words: impl IntoIterator<Item = String>) -> Child {
        self.spawn_in(&self.repo, words)
    }

    fn spawn_in(&self, repo: &Repo, words: impl IntoIterator<Item = String>) -> Child {
        let mut command = self.user.command(repo.path(), words);
        command.env("ANTHROPIC_API_KEY", KEY).env("ANTHROPIC_BASE_URL", self.model.url());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn words(&self, more: &[&str]) -> Vec<String> {
        // The address goes along with the key.
        let env = ["--criteria", "false", "--env", "ANTHROPIC_API_KEY"];
        extended(run_words_with(&self.line, 1, &env), more)
    }

    fn run(&self, more: &[&str]) -> Ended {
        finish(self.spawn(self.words(more)))
    }

    fn requests(&self, result: &Value) -> Vec<Value> {
        let id = result["loopId"].as_str().unwrap();
        let ended = self.user.command(self.repo.path(), ["show", id, "--requests", "--json"]).output().unwrap();
        Ended::from(ended).with_code(0).json().as_array().unwrap().clone()
    }
}

#[test]
fn the_wire_is_charged_and_not_the_report_and_the_key_is_nowhere() {
    let scene = Scene::new(3, 30_000);
    let result = scene.run(&["--record-requests"]).with_code(10).json();
    assert_eq!(micros(&result["costUSD"]), 90_000, "{result}");
    assert_eq!(settled(&scene.user), 90_000);
    let requests = scene.requests(&result);
    assert_eq!(requests.len(), 3, "{requests:?}");
    for request in &requests {
        assert_eq!((micros(&request["costUSD"]), &request["status"]), (30_000, &200.into()), "{request}");
        assert_eq!(request["model"], "claude-sonnet-4-5");
    }
    let environment = scene.repo.read("environment.txt");
    assert!(environment.contains("ANTHROPIC_API_KEY=ralph-run-"), "{environment}");
    assert!(!environment.contains(KEY));
    assert_eq!(scene.repo.read("seen.txt"), "[]", "no process that the agent can look at has it");
    assert_eq!(scene.repo.read("stranger.txt"), "401", "who has not the token is refused");
    // Neither the journal nor a log, a prompt, a recorded body or a file of the agent holds it.
    let mut folders = vec![scene.user.state(), scene.user.home(), scene.repo.path().to_owned()];
    let mut bodies = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if !path.is_file() {
                continue;
            }
            bodies += u32::from(path.to_string_lossy().ends_with("-answer.txt"));
            let bytes = std::fs::read(&path).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&bytes).contains(KEY), "{}", path.display());
        }
    }
    assert_eq!(bodies, 3);
    assert_eq!(scene.model.requests().len(), 3, "the one without the token was not forwarded");
}

#[test]
fn two_dollars_for_each_call_end_under_three_at_four_at_most() {
    let scene = Scene::new(6, 1_999_998);
    scene.user.configure("[caps]\nloop_cost_usd = 10\n");
    let result = scene.run(&["--max-cost", "3"]).with_code(11).json();
    let cost = micros(&result["costUSD"]);
    assert!(cost > 0 && cost <= 4_000_000, "{result}");
    assert_eq!(result["reason"], "COST_LIMIT");
    let shown = scene.user.show(result["loopId"].as_str().unwrap());
    assert_eq!(shown["iterations"][0]["run"]["ended"]["how"], "budgetSpent", "{shown:#}");
}

#[test]
fn the_report_counts_without_the_gateway() {
    let scene = Scene::new(1, 30_000);
    let result = scene.run(&["--meter", "stream"]).with_code(10).json();
    assert_eq!(micros(&result["costUSD"]), 0, "its own report counts");
    assert!(scene.repo.read("environment.txt").contains(KEY));
    assert_eq!(scene.requests(&result), Vec::<Value>::new());
}

#[test]
fn a_program_that_lies_about_its_cost_is_charged_what_passed() {
    let scene = Scene::new(2, 30_000);
    let fake = Fake::new(&scene.user, [Run::new().does(&scene.line).answers(2).ends(5, "done")]);
    scene.user.configure(&format!("{}{}", fake.configured_as("liar"), fake::prices()));
    let result = finish(scene.spawn(fake::words(&["liar"], 1, &["--criteria", "false"]))).with_code(10).json();
    assert_eq!(micros(&result["costUSD"]), 60_000, "{result}");
    assert_eq!(scene.requests(&result).len(), 2);
}

/// The program does not repeat for how long it is refused, and the service said two hours: longer than the user wants to wait.
#[test]
fn a_limit_lasts_as_long_as_the_service_says() {
    let scene = Scene::new(1, 30_000);
    let headers = [("retry-after".to_owned(), "7200".to_owned())].into();
    let refusal = Fault::Status(Status { code: 429, body: None, headers });
    let model = ScriptedModel::start(Script::new().reply(Reply::say("").with(refusal)));
    let scene = Scene { model, ..scene };
    let fake = Fake::new(&scene.user, [Run::new().does(format!("{} > /dev/null", scene.line)).refused()]);
    scene.user.configure(&format!("{}{}", fake.configured_as("limited"), fake::prices()));
    let words = fake::words(&["limited"], 1, &["--criteria", "false", "--max-wait", "1m"]);
    let result = finish(scene.spawn(words)).json();
    let shown = scene.user.show(result["loopId"].as_str().unwrap());
    let trouble = &shown["iterations"][0]["run"]["trouble"];
    assert!(trouble["until"].is_string() || trouble["until"].is_number(), "{shown:#}");
    assert_eq!(fake.runs(), 1, "{result:#}");
}

#[test]
fn an_agent_whose_ralph_was_killed_cannot_spend() {
    let scene = Scene::new(1, 30);
    let scene = Scene { line: scene.line.replace(" 1", " 1000000"), ..scene };
    let child = scene.spawn(scene.words(&[]));
    wait_until("a request", || scene.model.requests().len() > 2);
    kill(child);
    let before = scene.model.requests().len();
    let left = Processes::working_in(scene.repo.path()).wait_until_gone(SOON);
    assert!(left.is_ok(), "{left:?}");
    // One may have been on its way.
    let after = scene.model.requests().len();
    assert!(after <= before + 1, "{before} requests before it was killed, {after} in all");
}

/// A report that says less than what passed is no way to a cheap crash.
#[test]
fn what_passed_is_charged_after_a_crash_whatever_the_report_says() {
    let scene = Scene::new(3, 30_000);
    let scene = Scene { line: format!("{}; sleep 600", scene.line), ..scene };
    let child = scene.spawn(scene.words(&[]));
    let recorded = || query(&scene.user, "SELECT CAST(cost_micros AS TEXT) FROM attempts");
    wait_until("three requests", || scene.model.requests().len() == 3);
    wait_until("their cost", || recorded() == [["90000"]]);
    kill(child);
    let result = finish(scene.spawn(["resume", "--json"].map(str::to_owned))).with_code(10).json();
    assert_eq!((micros(&result["costUSD"]), settled(&scene.user)), (90_000, 90_000), "{result}");
}

/// Nobody but the gateway can say what a command spends, and for a model without a price neither can that.
#[test]
fn a_command_that_asks_a_model_without_a_price_is_ended() {
    let scene = Scene::new(40, 30_000);
    let agent = scene.user.home().join("agent.py");
    std::fs::write(&agent, AGENT.replace("claude-sonnet-4-5", "mystery-1")).unwrap();
    let ended = scene.run(&[]).with_code(11);
    assert!(ended.stderr.contains("[prices.\"mystery-1\"]"), "{}", ended.stderr);
    let result = ended.json();
    assert_eq!(micros(&result["costUSD"]), 1_000_000, "unknown is not what it claims: {result}");
    assert!(scene.model.requests().len() < 40, "it was ended early");
    // What the user believes counts, and no less than what has a price.
    scene.user.configure(&format!("[agents.own]\ncommand = {:?}\nreports_cost = true\n", scene.line));
    let words = ["--criteria", "false", "--env", "ANTHROPIC_API_KEY"];
    let result = finish(scene.spawn(fake::words(&["own"], 1, &words))).with_code(10).json();
    assert_eq!(micros(&result["costUSD"]), 0, "{result}");
}

/// What cannot be counted is not forwarded, and the user is told.
#[test]
fn a_request_that_cannot_be_counted_is_named() {
    let scene = Scene::new(1, 30_000);
    let agent = scene.user.home().join("agent.py");
    std::fs::write(&agent, AGENT.replace("/v1/messages", "/v1/embeddings")).unwrap();
    let ended = scene.run(&[]).with_code(10);
    assert!(ended.stderr.contains("POST /v1/embeddings was not forwarded"), "{}", ended.stderr);
    assert_eq!(scene.model.requests().len(), 0);
}

#[test]
fn sixteen_loops_share_the_money_of_a_day() {
    let answer = Reply::say("done").usage(Usage { input: 100_000, ..Usage::ZERO });
    let scene = Scene::new(5, 0);
    let model = ScriptedModel::start(Script::new().reply(answer).then(Then::Repeat));
    let scene = Scene { model, ..scene };
    scene.user.configure("[caps]\ndaily_cost_usd = 3\n");
    let repos: Vec<Repo> = (0..16).map(|_| Repo::init()).collect();
    // Three answers for each of three loops and one more.
    let words = scene.words(&["--max-cost", "0.9"]);
    let loops: Vec<Child> = repos.iter().map(|repo| scene.spawn_in(repo, words.clone())).collect();
    let codes: Vec<i32> = loops.into_iter().map(|child| finish(child).code).collect();
    let spent = settled(&scene.user);
    assert_eq!(u64::try_from(spent).unwrap(), scene.model.usage().input * 3, "everything that was sold is charged");
    assert!((1..=3_000_000).contains(&spent), "{spent} micro-dollars, {codes:?}");
    assert!(codes.iter().all(|code| [11, 12].contains(code)), "the loop or the day has no money left: {codes:?}");
}
