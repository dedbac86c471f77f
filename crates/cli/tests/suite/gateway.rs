//! The gateway: what an agent spends is counted on the wire, a budget ends the next request, and the key stays with Ralph.

use ralph_testkit::model::{Reply, Script, Usage};
use ralph_testkit::{Repo, ScriptedModel};
use serde_json::Value;

use crate::aid::{extended, micros, settled};
use crate::harness::{Ended, User, run_words_with};

const KEY: &str = "sk-ant-canary-4711-do-not-show";

/// Asks as often as it is told to, leaves its environment behind, and claims that it cost nothing.
const AGENT: &str = r#"
import json, os, sys, urllib.request, urllib.error
open("environment.txt", "w").write("\n".join(f"{k}={v}" for k, v in os.environ.items()) + open("/proc/self/environ").read())
for n in range(int(sys.argv[1])):
    body = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": [{"role": "user", "content": f"question {n}"}]}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), {
        "content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"})
    try:
        urllib.request.urlopen(request).read()
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
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

    fn run(&self, more: &[&str]) -> Ended {
        let words = run_words_with(
            &self.line,
            1,
            &["--criteria", "false", "--env", "ANTHROPIC_API_KEY", "--env", "ANTHROPIC_BASE_URL"],
        );
        let mut command = self.user.command(self.repo.path(), extended(words, more));
        command.env("ANTHROPIC_API_KEY", KEY).env("ANTHROPIC_BASE_URL", self.model.url());
        Ended::from(command.output().unwrap())
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
    let result = scene.run(&["--meter", "auto", "--record-requests"]).with_code(10).json();
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
    // Neither the journal nor a log nor a recorded body holds it.
    let mut folders = vec![scene.user.state()];
    let mut bodies = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            bodies += u32::from(path.to_string_lossy().ends_with("-answer.txt"));
            let bytes = std::fs::read(&path).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&bytes).contains(KEY), "{}", path.display());
        }
    }
    assert_eq!(bodies, 3);
    assert!(scene.model.requests().iter().all(|asked| asked.path == "/v1/messages"));
}

#[test]
fn two_dollars_for_each_call_end_under_three_at_four_at_most() {
    let scene = Scene::new(6, 1_999_998);
    scene.user.configure("[caps]\nloop_cost_usd = 10\n");
    let result = scene.run(&["--meter", "auto", "--max-cost", "3"]).with_code(11).json();
    let cost = micros(&result["costUSD"]);
    assert!(cost > 0 && cost <= 4_000_000, "{result}");
    assert_eq!(result["reason"], "COST_LIMIT");
    let shown = scene.user.show(result["loopId"].as_str().unwrap());
    assert_eq!(shown["iterations"][0]["run"]["ended"]["how"], "budgetSpent", "{shown:#}");
}

#[test]
fn the_report_counts_without_the_gateway() {
    let scene = Scene::new(1, 30_000);
    let result = scene.run(&[]).with_code(10).json();
    assert_eq!(micros(&result["costUSD"]), 0, "its own report counts");
    assert!(scene.repo.read("environment.txt").contains(KEY));
    assert_eq!(scene.requests(&result), Vec::<Value>::new());
}
