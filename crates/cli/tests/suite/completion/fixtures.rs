//! Real projects with a real bug, in four languages, mended by an agent in the third iteration.

use std::process::Command;
use std::time::Instant;

use ralph_testkit::{Fixture, Repo, Script, Step};

use super::assert_end;
use crate::harness::{Ended, User, run_words_with};

fn fixed_in_three(name: &str, variables: &[(&str, String)]) {
    let (user, repo) = (User::new(), Repo::fixture(name));
    let script = Script::new()
        .run([Step::write("notes.txt", "thinking\n"), Step::cost(10_000)])
        .run([Step::append("notes.txt", "it should work now\n"), Step::claim(), Step::cost(20_000)])
        .run([Step::run(repo.fix_command()), Step::claim(), Step::cost(30_000)]);
    let words = run_words_with(&user.agent(script), 5, &["--criteria", repo.test_command()]);
    let started = Instant::now();
    let output = user.command(repo.path(), words).envs(variables.iter().map(|(n, v)| (n, v))).output().unwrap();
    let ended = Ended::from(output).ok();
    let result = ended.json();
    assert_end(&result, "COMPLETED", None, 3);
    assert_eq!(result["verified"], true, "{result:#}");
    assert_eq!(result["falseClaims"], 1, "{result:#}");
    assert_eq!(result["tampered"], 0);
    assert_eq!(result["costUSD"], 0.06);
    assert!(result["durationSeconds"].as_f64().unwrap() > 0.0);
    assert_eq!(result["output"].as_str().unwrap().trim(), "<promise>COMPLETE</promise>");
    let check = &result["verdict"]["checks"][0];
    assert_eq!((check["passed"].as_bool(), check["command"].as_str()), (Some(true), Some(repo.test_command())));
    assert_eq!(check["tests"]["failed"], 0, "{check:#}");
    assert!(check["tests"]["passed"].as_u64().unwrap() >= 2, "{check:#}");
    let shown = user.show(result["loopId"].as_str().unwrap());
    let failing = |verdict: &serde_json::Value| verdict["checks"][0]["tests"]["failed"].as_u64().unwrap_or(0);
    assert!(failing(&shown["baseline"]) > 0, "the baseline counts no failing test: {:#}", shown["baseline"]);
    assert!(ended.stderr.contains("passing checks will complete the loop"), "{}", ended.stderr);
    eprintln!("completion: {name} fixed in 3 iterations after {:.1} s", started.elapsed().as_secs_f64());
}

/// Folders of this machine that a version manager needs and that do not lie in the test's own home.
fn python_path() -> Vec<(&'static str, String)> {
    let asked = Command::new("python3").args(["-c", "import os, sys; print(os.path.dirname(sys.executable))"]).output();
    let folder = String::from_utf8(asked.unwrap().stdout).unwrap();
    vec![("PATH", format!("{}:{}", folder.trim(), std::env::var("PATH").unwrap()))]
}

#[test]
fn shell() {
    fixed_in_three("fixable-bug/shell", &[]);
}

#[test]
fn python() {
    fixed_in_three("fixable-bug/python", &python_path());
}

#[test]
fn rust() {
    fixed_in_three("fixable-bug/rust", &[]);
}

#[test]
fn javascript() {
    fixed_in_three("fixable-bug/javascript", &[]);
}

#[test]
fn every_fixture_has_a_test_here() {
    assert_eq!(Fixture::ALL.len(), 4);
}
