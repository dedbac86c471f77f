//! Other limits than money, and agents that take over when a service stays away.

use ralph_testkit::{Repo, Script, Step};
use serde_json::{Value, json};

use crate::aid::{Agent, extended, finish, micros, settled, unsettled};
use crate::fake::{Fake, Run, prices, words};
use crate::harness::{User, run_words_with};

/// A wait that no test sits out.
const AN_HOUR: u32 = 3600;

#[test]
fn the_next_agent_takes_over_when_a_service_stays_away() {
    let (user, repo) = (User::new(), Repo::init());
    let first = Fake::new(&user, [Run::new().limited(AN_HOUR, 50_000)]);
    let second =
        Agent::new(&user, Script::new().run([Step::append("log", "x\n"), Step::write("done", ""), Step::cost(10_000)]));
    user.configure(&format!(
        "failover = [\"second\"]\nagents.second.command = {}\n{}{}",
        json!(second.line),
        first.configured_as("fake"),
        prices()
    ));
    let ended = finish(user.spawn(repo.path(), words(&["fake"], 1, &["--criteria", "test -e done"]))).ok();
    assert!(ended.stderr.contains("fake is unavailable: second takes over"), "{}", ended.stderr);
    let result = ended.json();
    assert_eq!((&result["iterations"], &result["verified"]), (&1.into(), &true.into()), "{result}");
    assert_eq!((micros(&result["costUSD"]), settled(&user), unsettled(&user)), (60_000, 60_000, 0));
    let id = result["loopId"].as_str().unwrap();
    let shown = user.show(id);
    let passes: Vec<(&Value, &Value)> =
        shown["iterations"].as_array().unwrap().iter().map(|one| (&one["agent"], &one["uncounted"])).collect();
    assert_eq!(passes, [(&"fake".into(), &true.into()), (&"second".into(), &false.into())], "{shown}");
    assert_eq!(shown["iterations"][1]["notes"][0], "took over from fake", "{shown}");
    assert!(repo.read(".ralph/LEDGER.md").contains("took over from fake"));
    assert!(user.ralph(repo.path(), ["show", id]).ok().stdout.contains("failover: second"));
    user.ralph(repo.path(), ["verify-run", id]).ok();
}

#[test]
fn a_loop_that_ended_because_nobody_took_over_continues_with_somebody_who_does() {
    let (user, repo) = (User::new(), Repo::init());
    let first = Fake::new(&user, [Run::new().limited(AN_HOUR, 0), Run::new().limited(AN_HOUR, 0)]);
    let second = Agent::new(&user, Script::new().run([Step::write("done", ""), Step::cost(10_000)]));
    user.configure(&format!(
        "agents.second.command = {}\n{}{}",
        json!(second.line),
        first.configured_as("fake"),
        prices()
    ));
    let more = ["--criteria", "test -e done", "--max-wait", "0"];
    finish(user.spawn(repo.path(), words(&["fake"], 1, &more))).with_code(1);
    let unknown = user.ralph(repo.path(), ["resume", "--failover", "third"]).with_code(2);
    assert!(unknown.stderr.contains("third"), "{}", unknown.stderr);
    let result = user.ralph(repo.path(), ["resume", "--json", "--failover", "second"]).ok().json();
    assert_eq!((first.runs(), second.runs(), &result["verified"]), (2, 1, &true.into()), "{result}");
    user.ralph(repo.path(), ["verify-run", result["loopId"].as_str().unwrap()]).ok();
}

/// Reports so many tokens and changes something.
fn reports(tokens: u64) -> Vec<Step> {
    let report = json!({"inputTokens": tokens / 2, "outputTokens": tokens - tokens / 2}).to_string();
    vec![Step::append("work", "x\n"), Step::ReportText(report)]
}

#[test]
fn a_flat_rate_needs_no_limit_on_cost_and_can_have_one_on_tokens() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = Agent::new(&user, Script::new().run(reports(600)));
    let words = ["run", "x", "--json", "--max", "9", "--unmetered", "--criteria", "false", "--same-error", "50"];
    let words = |more: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        extended(words, &[&["--agent-command", agent.line.as_str()], more].concat())
    };
    let result = user.ralph(repo.path(), words(&["--max-tokens", "1k"])).with_code(20).json();
    assert_eq!((&result["reason"], &result["iterations"]), (&"USAGE_LIMIT".into(), &2.into()), "{result}");
    assert_eq!(result["cause"]["kind"], "tokensUsed", "{result}");
    assert!(result["details"].as_str().unwrap().contains("1200 of 1000 tokens used"), "{result}");
    let id = result["loopId"].as_str().unwrap();
    assert_eq!(user.show(id)["usage"], json!({"tokens": 1200, "maxTokens": 1000}));
    assert!(user.ralph(repo.path(), ["show", id]).ok().stdout.contains("1200 of 1000 tokens"));
    assert!(repo.read(".ralph/LEDGER.md").contains("- Limits: 1200 of 1000 tokens"));
    let refused = user.ralph(repo.path(), ["resume"]).with_code(2);
    assert!(refused.stderr.contains("--max-tokens"), "{}", refused.stderr);
    let more = user.ralph(repo.path(), ["resume", "--json", "--max-tokens", "1500"]).with_code(20).json();
    assert_eq!(more["iterations"], 3, "{more}");
    user.ralph(repo.path(), ["verify-run", id]).ok();
    for wrong in [["--max-tokens", "0"], ["--max-tokens", "many"], ["--max-window", "101"], ["--max-window", "0"]] {
        user.ralph(repo.path(), words(&wrong)).with_code(2);
    }
}

#[test]
fn an_agent_that_reports_no_tokens_cannot_pass_a_limit_on_them_unseen() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = Agent::new(&user, Script::new().run([Step::append("work", "x\n"), Step::cost(1)]));
    let words = run_words_with(&agent.line, 9, &["--criteria", "false", "--max-tokens", "1000"]);
    let result = user.ralph(repo.path(), words).with_code(20).json();
    assert_eq!(result["iterations"], 1, "{result}");
    assert!(result["details"].as_str().unwrap().contains("did not report the tokens of iteration 1"), "{result}");
}

#[test]
fn a_run_is_stopped_when_its_tokens_are_used() {
    let (user, repo) = (User::new(), Repo::init());
    let run = Run::new().does("echo x >> work").answers(100_000).answers(100_000).hangs();
    let fake = Fake::new(&user, [run]);
    user.configure(&format!("{}{}", fake.configured_as("fake"), prices()));
    let more = ["--criteria", "false", "--max-tokens", "6000"];
    let result = finish(user.spawn(repo.path(), words(&["fake"], 9, &more))).with_code(20).json();
    let shown = user.show(result["loopId"].as_str().unwrap());
    assert_eq!(shown["iterations"][0]["run"]["ended"]["how"], "budgetSpent", "{shown}");
    assert!(shown["usage"]["tokens"].as_u64().unwrap() >= 6000, "{shown}");
}
