//! What a finished loop leaves for people and scripts: the result, the ledger, the metrics.

use ralph_testkit::{CostReport, Script, Step};
use serde_json::Value;

use super::{all_done, done, three_failing};
use crate::harness::{User, run_words_with};

fn paid(micros: u64) -> Step {
    let model = Some("scripted-1".to_owned());
    Step::ReportCost(CostReport { micros, input_tokens: 1000, output_tokens: 50, model, rhythm: None })
}

#[test]
fn result_ledger_and_metrics_agree() {
    let (user, repo) = (User::new(), three_failing());
    let script = Script::new().run([done(&["one"]), Step::claim(), paid(120_000)]).run([
        all_done(),
        Step::write("b.txt", "x"),
        Step::say("All done | really"),
        paid(30_000),
    ]);
    let words = ["--criteria", "sh check.sh", "--skill", "tdd"];
    let ended = user.ralph(repo.path(), run_words_with(&user.agent(script), 4, &words)).ok();
    let result = ended.json();
    let id = result["loopId"].as_str().unwrap();
    for (field, wanted) in [
        ("status", Value::from("COMPLETED")),
        ("iterations", 2.into()),
        ("costUSD", 0.15.into()),
        ("verified", true.into()),
        ("falseClaims", 1.into()),
        ("tampered", 0.into()),
        ("output", "All done | really\n".into()),
        ("workspace", repo.path().to_str().unwrap().into()),
    ] {
        assert_eq!(result[field], wanted, "{field} in {result:#}");
    }
    assert!(result["details"].as_str().unwrap().contains("sh check.sh"));
    assert!(result["durationSeconds"].is_f64() && result["chainHead"].as_str().unwrap().len() == 64);
    assert_eq!(result["verdict"]["checks"][0]["tests"]["passed"], 3);

    let ledger = repo.read(".ralph/LEDGER.md");
    for wanted in [
        id,
        "- State: COMPLETED",
        "- Iterations: 2 of 4",
        "- Money: $0.15 of $1.00",
        "- Checks: `sh check.sh`",
        "Make the check pass",
        "| 0 | fail | 3 |",
        "| 1 | fail | 2 | 1 | $0.12 |",
        "| 2 | pass | 0 | 2 | $0.03 |",
        "false claim",
    ] {
        assert!(ledger.contains(wanted), "{wanted:?} is not in\n{ledger}");
    }
    // Kept out of the user's git.
    assert!(!repo.git(["status", "--porcelain"]).contains(".ralph"));

    let lines = repo.read(".ralph/metrics/ralph-loops.jsonl");
    assert_eq!(lines.lines().count(), 1);
    let line: Value = serde_json::from_str(&lines).unwrap();
    for (field, wanted) in [
        ("loopId", Value::from(id)),
        ("skill", "tdd".into()),
        ("status", "COMPLETED".into()),
        ("abortReason", Value::Null),
        ("iterations", 2.into()),
        ("costUSD", 0.15.into()),
        ("filesModified", 2.into()),
        ("testsFixed", 3.into()),
        ("verificationPassed", true.into()),
        ("falseClaims", 1.into()),
        ("tampered", 0.into()),
        ("agent", "command".into()),
        ("model", "scripted-1".into()),
        ("inputTokens", 2000.into()),
        ("outputTokens", 100.into()),
        ("completionPromiseDetected", true.into()),
    ] {
        assert_eq!(line[field], wanted, "{field} in {line:#}");
    }
    let all = ["taskType", "startTime", "endTime", "durationSeconds"];
    assert!(all.iter().all(|field| line.get(field).is_some()), "{line:#}");
    assert!(line["startTime"].as_str().unwrap() < line["endTime"].as_str().unwrap());
}

#[test]
fn metrics_go_where_the_user_says_and_grow_by_one_line_a_loop() {
    let (user, repo) = (User::new(), three_failing());
    let path = user.home().join("all-loops.jsonl");
    user.configure(&format!("metrics_path = {:?}\n", path.to_str().unwrap()));
    for number in 1..=3 {
        let script = Script::new().otherwise([Step::append("log", "x")]);
        super::checked(&user, &repo, script, 1, &[]).with_code(10);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), number);
    }
    assert!(!repo.exists(".ralph/metrics"));
}

#[test]
fn the_ledger_is_there_while_the_loop_runs_and_the_agent_can_read_it() {
    let (user, repo) = (User::new(), three_failing());
    let copy = |number: u32| Step::run(format!("cp .ralph/LEDGER.md {}/ledger-{number}", user.home().display()));
    let script = Script::new().run([copy(1), done(&["one"])]).run([copy(2), all_done()]);
    super::checked(&user, &repo, script, 3, &[]).ok();
    let ledger = |number: u32| std::fs::read_to_string(user.home().join(format!("ledger-{number}"))).unwrap();
    assert!(ledger(1).contains("- State: running") && ledger(1).contains("| 0 | fail | 3 |"), "{}", ledger(1));
    assert!(ledger(2).contains("| 1 | fail | 2 |"), "{}", ledger(2));
}

#[test]
fn an_agent_cannot_change_history_through_the_ledger() {
    let (user, repo) = (User::new(), three_failing());
    let outside = user.home().join("outside.txt");
    std::fs::write(&outside, "of the user\n").unwrap();
    let script = Script::new()
        .run([Step::delete(".ralph/LEDGER.md"), Step::symlink(&outside, ".ralph/LEDGER.md"), done(&["one"])])
        .run([Step::run("rm -rf .ralph && echo no > .ralph"), all_done()]);
    let result = super::checked(&user, &repo, script, 3, &[]).ok().json();
    assert_eq!(result["iterations"], 2);
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "of the user\n", "the ledger was written through a link");
}
