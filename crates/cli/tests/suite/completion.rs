//! How loops end: verified, unverified, blocked, stalled, out of iterations; and what they leave behind.

mod claims;
mod commits;
mod ends;
mod expectations;
mod fixtures;
mod ratchet;
mod records;

use ralph_testkit::{Repo, Script, Step};
use serde_json::Value;

use crate::harness::{Ended, User, run_words_with};

/// Three tests, one for each word that has to stand alone on a line of `done.txt`.
const CHECK: &str = "\
echo 1..3
number=0
for word in one two three; do
    number=$((number + 1))
    if grep -qx $word done.txt 2>/dev/null; then echo \"ok $number - $word\"; else echo \"not ok $number - $word\"; failed=1; fi
done
exit ${failed:-0}
";

/// A repository with that check, in which all three tests fail.
fn three_failing() -> Repo {
    let repo = Repo::init();
    repo.write("check.sh", CHECK);
    repo.commit("check");
    repo
}

fn done(words: &[&str]) -> Step {
    Step::write("done.txt", words.iter().map(|word| format!("{word}\n")).collect::<String>())
}

/// A step that makes all tests pass.
fn all_done() -> Step {
    done(&["one", "two", "three"])
}

/// Runs a loop with the check of [`three_failing`] and an agent that costs nothing.
fn checked(user: &User, repo: &Repo, script: Script, max: u32, more: &[&str]) -> Ended {
    let mut words = vec!["--unmetered", "--criteria", "sh check.sh"];
    words.extend(more);
    user.ralph(repo.path(), run_words_with(&user.agent(script), max, &words))
}

/// The same without a check.
fn unchecked(user: &User, repo: &Repo, script: Script, max: u32, more: &[&str]) -> Ended {
    let mut words = vec!["--unmetered"];
    words.extend(more);
    user.ralph(repo.path(), run_words_with(&user.agent(script), max, &words))
}

#[track_caller]
fn assert_end(result: &Value, status: &str, reason: Option<&str>, iterations: u64) {
    let found = (result["status"].as_str(), result["reason"].as_str(), result["iterations"].as_u64());
    assert_eq!(found, (Some(status), reason, Some(iterations)), "{result:#}");
}
