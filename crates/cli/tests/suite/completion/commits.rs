//! Verified work in the user's git: one commit, exactly the loop's own, or a worktree beside.

use std::os::unix::fs::PermissionsExt as _;

use ralph_testkit::{Repo, Script, Step};

use super::{all_done, assert_end, checked, done, three_failing};
use crate::harness::{User, run_words_with};

const AUTHOR: &str = "[user]\n\tname = Ada Lovelace\n\temail = ada@example.invalid\n";

fn ada() -> User {
    let user = User::new();
    std::fs::write(user.home().join(".gitconfig"), AUTHOR).unwrap();
    user
}

/// A hook that would leave a trace and refuse.
fn hooks(repo: &Repo) {
    for hook in
        ["pre-commit", "commit-msg", "post-commit", "prepare-commit-msg", "reference-transaction", "post-checkout"]
    {
        let path = repo.git_directory().join("hooks").join(hook);
        repo.write(&path, "#!/bin/sh\ntouch \"$(git rev-parse --git-dir)/../../hook-ran\"\nexit 1\n");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn verified_work_is_one_commit_of_exactly_the_loops_paths() {
    let (user, repo) = (ada(), three_failing());
    repo.write("mine.txt", "committed\n");
    repo.write("staged.txt", "committed\n");
    let before = repo.commit("mine");
    repo.write("mine.txt", "unsaved work of the user\n");
    repo.write("staged.txt", "staged work of the user\n");
    repo.git(["add", "staged.txt"]);
    repo.write("untracked of the user.txt", "x\n");
    hooks(&repo);
    let script = Script::new().run([done(&["one"]), Step::write("passing/by.txt", "x")]).run([
        all_done(),
        Step::delete("passing/by.txt"),
        Step::write("src/new file.sh", "#!/bin/sh\n"),
        Step::chmod("src/new file.sh", 0o755),
    ]);
    let result = checked(&user, &repo, script, 4, &["--commit"]).ok().json();
    assert_end(&result, "COMPLETED", None, 2);
    let commit = result["commit"].as_str().unwrap_or_else(|| panic!("{result:#}"));
    assert_eq!(repo.head(), commit);
    assert_eq!(repo.git(["rev-parse", "HEAD^"]), before, "one commit");
    assert_eq!(repo.git(["symbolic-ref", "HEAD"]), "refs/heads/main");
    let listed = repo.git(["-c", "core.quotePath=false", "show", "--format=", "--name-status", "HEAD"]);
    assert_eq!(listed, "A\tdone.txt\nA\tsrc/new file.sh");
    assert!(repo.git(["ls-tree", "HEAD", "src/"]).starts_with("100755 "));
    let who = repo.git(["log", "-1", "--format=%an <%ae> %cn <%ce>"]);
    assert_eq!(who, "Ada Lovelace <ada@example.invalid> Ada Lovelace <ada@example.invalid>");
    let message = repo.git(["log", "-1", "--format=%B"]);
    assert!(message.starts_with("Make the check pass\n") && message.contains("sh check.sh"), "{message}");
    // The user's own work is as it was: changed, staged, untracked.
    let status = repo.git(["status", "--porcelain"]);
    assert_eq!(status, " M mine.txt\nM  staged.txt\n?? \"untracked of the user.txt\"");
    assert_eq!(repo.read("mine.txt"), "unsaved work of the user\n");
    assert!(!repo.outside().join("hook-ran").exists(), "a hook was run");
}

#[test]
fn without_a_configured_user_the_commit_is_ralphs() {
    let (user, repo) = (User::new(), three_failing());
    checked(&user, &repo, Script::new().run([all_done()]), 2, &["--commit"]).ok();
    assert_eq!(repo.git(["log", "-1", "--format=%an <%ae>"]), "Ralph <ralph@localhost>");
}

#[test]
fn work_that_is_not_verified_is_not_committed() {
    let (user, repo) = (ada(), three_failing());
    let before = repo.head();
    let result = checked(&user, &repo, Script::new().otherwise([Step::append("log", "x")]), 2, &["--commit"])
        .with_code(10)
        .json();
    assert_eq!(result["commit"], serde_json::Value::Null);
    assert_eq!(repo.head(), before);
}

#[test]
fn an_unborn_branch_gets_its_first_commit() {
    let (user, repo) = (ada(), Repo::unborn());
    repo.write("check.sh", super::CHECK);
    let result = checked(&user, &repo, Script::new().run([all_done()]), 2, &["--commit"]).ok().json();
    assert_eq!(repo.head(), result["commit"].as_str().unwrap());
    assert_eq!(repo.git(["show", "--format=", "--name-only", "HEAD"]), "done.txt");
}

#[test]
fn a_worktree_has_a_branch_of_its_own_and_the_checkout_stays() {
    let (user, repo) = (ada(), three_failing());
    repo.write("mine.txt", "unsaved\n");
    let (head, status) = (repo.head(), repo.git(["status", "--porcelain"]));
    let index = std::fs::read(repo.git_directory().join("index")).unwrap();
    hooks(&repo);
    let script = Script::new().run([done(&["one"])]).run([all_done()]);
    let result = checked(&user, &repo, script, 4, &["--worktree", "--commit"]).ok().json();
    assert_end(&result, "COMPLETED", None, 2);
    let short = user.newest_loop()["short"].as_str().unwrap().to_owned();
    let branch = format!("ralph/{short}");
    let workspace = std::path::Path::new(result["workspace"].as_str().unwrap());
    assert!(workspace.starts_with(user.state()), "{}", workspace.display());
    assert_eq!(std::fs::read_to_string(workspace.join("done.txt")).unwrap(), "one\ntwo\nthree\n");
    assert_eq!(repo.git(["rev-parse", &branch]), result["commit"].as_str().unwrap());
    assert_eq!(repo.git(["rev-parse", &format!("{branch}^")]), head);
    // The user's checkout knows nothing of it.
    assert_eq!((repo.head(), repo.git(["symbolic-ref", "HEAD"])), (head, "refs/heads/main".to_owned()));
    assert_eq!(repo.git(["status", "--porcelain"]), status);
    assert!(!repo.exists("done.txt") && !repo.exists(".ralph/LEDGER.md"));
    assert_eq!(std::fs::read(repo.git_directory().join("index")).unwrap(), index);
    assert!(!repo.outside().join("hook-ran").exists(), "a hook was run");
}

#[test]
fn the_branch_of_a_worktree_is_taken_over_with_the_words_that_are_printed() {
    let (user, repo) = (ada(), three_failing());
    let agent = user.agent(Script::new().run([all_done()]));
    let words = run_words_with(&agent, 2, &["--criteria", "sh check.sh", "--worktree", "--commit"]);
    let shown = user.ralph(repo.path(), words.iter().filter(|word| *word != "--json")).ok().stdout;
    for begin in ["take it over with: ", "clean up after that: "] {
        let line = shown.lines().find_map(|line| line.trim().strip_prefix(begin)).unwrap_or_else(|| panic!("{shown}"));
        let done = std::process::Command::new("sh").args(["-c", line]).current_dir(repo.path()).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }
    assert_eq!(repo.read("done.txt"), "one\ntwo\nthree\n");
    assert_eq!(repo.git(["branch", "--list", "ralph/*"]), "");
}

#[test]
fn a_worktree_without_a_commit_leaves_the_work_there() {
    let (user, repo) = (ada(), three_failing());
    let head = repo.head();
    let result = checked(&user, &repo, Script::new().run([all_done()]), 2, &["--worktree"]).ok().json();
    let short = user.newest_loop()["short"].as_str().unwrap().to_owned();
    assert_eq!(repo.git(["rev-parse", &format!("ralph/{short}")]), head);
    let workspace = std::path::Path::new(result["workspace"].as_str().unwrap());
    assert!(workspace.join("done.txt").exists());
    let id = result["loopId"].as_str().unwrap();
    assert!(user.ralph(repo.path(), ["diff", id]).ok().stdout.contains("done.txt"));
}
