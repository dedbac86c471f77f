//! The user's git is neither changed nor executed, whatever shape it has and whatever the agent does to it.

use std::path::{Path, PathBuf};

use ralph_testkit::{CANARIES, Fingerprint, Repo, Script, Step};
use serde_json::Value;

use crate::harness::{Ended, User, run_words_with};

const CHECK: &str = "test -e done.txt";

fn words(user: &User, script: Script, more: &[&str]) -> Vec<String> {
    let mut flags = vec!["--unmetered", "--criteria", CHECK];
    flags.extend(more);
    run_words_with(&user.agent(script), 4, &flags)
}

fn run(user: &User, folder: &Path, script: Script, more: &[&str]) -> Ended {
    user.ralph(folder, words(user, script, more))
}

/// Two iterations: the second one completes the loop.
fn two() -> Script {
    Script::new().run([Step::write("first.txt", "1\n")]).run([Step::write("done.txt", "2\n")])
}

/// Names and contents of everything but `.git` and `.ralph`; pipes have no content, and snapshots none of them.
fn files(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    fn collect(root: &Path, folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if entry.file_name() == ".git" || entry.file_name() == ".ralph" {
                continue;
            }
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                collect(root, &path, found);
            } else if kind.is_file() || kind.is_symlink() {
                found.push((path.strip_prefix(root).unwrap().to_owned(), std::fs::read(&path).unwrap_or_default()));
            }
        }
    }
    let mut found = Vec::new();
    collect(root, root, &mut found);
    found.sort();
    found
}

/// A repository with everything that could be disturbed: branches, tags, a stash, staged and unsaved work.
fn lived_in() -> Repo {
    let repo = Repo::init();
    repo.write("a.txt", "a\n");
    repo.commit("second");
    repo.git(["tag", "v1"]);
    repo.branch("feature");
    repo.write("a.txt", "feature\n");
    repo.commit("third");
    repo.checkout("main");
    repo.write("stashed.txt", "s\n");
    repo.stash();
    repo.write("a.txt", "staged\n");
    repo.git(["add", "a.txt"]);
    repo.write("a.txt", "unsaved\n");
    repo.write("untracked.txt", "u\n");
    repo.git(["config", "user.name", "Somebody"]);
    repo
}

#[test]
fn completed_aborted_prohibited_and_crashed_loops_leave_git_as_it_was() {
    let offence = || Script::new().run([Step::write(".env", "x")]);
    let idle = || Script::new().otherwise([Step::append("log", "x")]);
    let crash = [("RALPH_TEST_CRASH", "after:4")];
    type Case<'a> = (&'a str, Script, &'a [&'a str], &'a [(&'a str, &'a str)], i32);
    let cases: [Case<'_>; 6] = [
        ("completed", two(), &[], &[], 0),
        ("aborted", idle(), &[], &[], 10),
        ("prohibited", offence(), &[], &[], 16),
        ("ratchet", two(), &["--ratchet", "--keep", "best"], &[], 0),
        ("expectations", two(), &["--expect", "commit", "--expect", "clean-tree"], &[], 10),
        ("crashed", two(), &[], &crash, -1),
    ];
    for (name, script, more, variables, code) in cases {
        let (user, repo) = (User::new(), lived_in());
        let before = repo.fingerprint();
        let line = words(&user, script, more);
        let mut command =
            if variables.is_empty() { user.command(repo.path(), line) } else { user.hooked(repo.path(), line) };
        let ended = Ended::from(command.envs(variables.iter().copied()).output().unwrap());
        assert_eq!(ended.code, code, "{name}: {}{}", ended.stdout, ended.stderr);
        let id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
        if code == -1 {
            user.ralph(repo.path(), ["resume", "--json"]).ok();
        }
        for command in
            [vec!["show", &id], vec!["diff", &id], vec!["verify-run", &id], vec!["rewind", &id, "--to", "start"]]
        {
            user.ralph(repo.path(), command).ok();
        }
        let differences = before.differences(&repo.fingerprint());
        assert!(differences.is_empty(), "{name}: {differences:#?}");
        assert_eq!(repo.read("a.txt"), "unsaved\n");
    }
}

/// Runs every command that could start something of the repository.
fn everything(user: &User, repo: &Repo, id: &str) {
    for words in [
        vec!["show", id],
        vec!["diff", id],
        vec!["diff", id, "1"],
        vec!["logs", id],
        vec!["rewind", id, "--to", "start"],
        vec!["rewind", id, "--to", "undo"],
        vec!["verify-run", id],
        vec!["list"],
        vec!["report"],
        vec!["doctor"],
        vec!["init", "--print"],
    ] {
        user.ralph(repo.path(), words);
    }
}

#[track_caller]
fn assert_silent(log: &Path, when: &str) {
    let heard = std::fs::read_to_string(log).unwrap_or_default();
    assert_eq!(heard, "", "{when}: canaries were executed");
}

/// That the canaries are alive: git itself wakes some of them.
fn assert_alive(repo: &Repo, log: &Path) {
    let _ = repo.shell("echo x >> README.md; git status; git diff; git add -A; git commit -qm x");
    let heard = std::fs::read_to_string(log).unwrap_or_default();
    for name in ["fsmonitor", "clean", "hook"] {
        assert!(heard.contains(name), "{name} would not have been noticed; heard {heard:?}");
    }
}

#[test]
fn nothing_that_a_repository_configures_is_executed() {
    let variants: [&[&str]; 5] = [
        &[],
        &["--ratchet"],
        &["--expect", "commit", "--expect", "clean-tree"],
        &["--commit"],
        &["--worktree", "--commit"],
    ];
    for more in variants {
        let (user, repo) = (User::new(), Repo::init());
        let log = repo.plant_canaries();
        let _ = std::fs::remove_file(&log);
        let ended = run(&user, repo.path(), two(), more);
        assert!([0, 10].contains(&ended.code), "{more:?}: {}{}", ended.stdout, ended.stderr);
        let id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
        assert_silent(&log, &format!("run {more:?}"));
        everything(&user, &repo, &id);
        user.ralph(repo.path(), ["resume", &id, "--max", "6", "--json"]);
        assert_silent(&log, &format!("commands after {more:?}"));
        assert_alive(&repo, &log);
    }
    eprintln!("git manners: {} kinds of canaries silent in {} kinds of loops", CANARIES.len(), variants.len());
}

#[test]
fn nothing_that_an_agent_configures_is_executed() {
    let (user, repo) = (User::new(), Repo::init());
    let log = repo.outside().join("canaries.log");
    let script = Script::new()
        .run([Step::GitCanaries(log.clone()), Step::write("first.txt", "1\n"), Step::write("x.processed", "p\n")])
        .run([Step::write("second.txt", "2\n")])
        .run([Step::write("done.txt", "3\n")]);
    let line = words(&user, script, &["--expect", "clean-tree", "--keep", "best"]);
    let ended = user.ralph(repo.path(), line).with_code(10);
    let id = ended.json()["loopId"].as_str().unwrap().to_owned();
    everything(&user, &repo, &id);
    user.ralph(repo.path(), ["resume", &id, "--max", "5", "--json"]);
    assert_silent(&log, "an agent's canaries");
    // Nor by the user's own git afterwards: what the agent configured was removed.
    let _ = repo.shell("echo x >> README.md; git status; git diff; git add -A; git commit -qm x");
    assert_silent(&log, "the user's git after an agent's canaries");
}

#[track_caller]
fn excluded_once(exclude: &Path) {
    let text = std::fs::read_to_string(exclude).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains(".ralph")).count(), 1, "{text}");
}

/// A loop in a repository of any shape: git stays, diff and rewind work, a second loop excludes nothing twice.
fn fares_well(name: &str, folder: &Path, git: Option<&Path>, exclude: Option<&Path>) {
    let user = User::new();
    let before = git.map(Fingerprint::of);
    let start = files(folder);
    let result = run(&user, folder, two(), &[]).ok().json();
    assert_eq!((result["verified"].as_bool(), result["iterations"].as_u64()), (Some(true), Some(2)), "{name}");
    let id = result["loopId"].as_str().unwrap();
    let diff = user.ralph(folder, ["diff", id]).ok().stdout;
    assert!(diff.contains("first.txt") && diff.contains("done.txt"), "{name}: {diff}");
    let second = user.ralph(folder, ["diff", id, "2"]).ok().stdout;
    assert!(!second.contains("first.txt") && second.contains("done.txt"), "{name}: {second}");
    user.ralph(folder, ["rewind", id, "--to", "1"]).ok();
    assert!(folder.join("first.txt").exists() && !folder.join("done.txt").exists(), "{name}");
    user.ralph(folder, ["rewind", id, "--to", "start"]).ok();
    assert_eq!(files(folder), start, "{name}: rewind to the start");
    run(&user, folder, two(), &[]).ok();
    if let (Some(before), Some(git)) = (before, git) {
        let differences: Vec<String> =
            before.differences(&Fingerprint::of(git)).into_iter().filter(|line| !line.contains("info")).collect();
        assert!(differences.is_empty(), "{name}: {differences:#?}");
    }
    if let Some(exclude) = exclude {
        excluded_once(exclude);
    }
}

#[test]
fn shapes_of_repositories() {
    let submodule = Repo::init();
    let with_submodule = Repo::init();
    with_submodule.submodule(&submodule, "lib");
    with_submodule.write("lib/changed.txt", "in the submodule\n");
    let detached = lived_in();
    detached.git(["stash", "drop", "--quiet"]);
    detached.git(["checkout", "--quiet", "--force", "v1"]);
    let (dirty, unborn, plain) = (lived_in(), Repo::unborn(), Repo::plain());
    unborn.write("a.txt", "a\n");
    plain.write("a.txt", "a\n");
    for (name, repo) in
        [("submodule", &with_submodule), ("detached", &detached), ("dirty", &dirty), ("unborn", &unborn)]
    {
        let git = repo.git_directory();
        fares_well(name, repo.path(), Some(&git), Some(&git.join("info/exclude")));
    }
    fares_well("no git", plain.path(), None, None);
    assert!(!plain.exists(".git"));

    let main = lived_in();
    let worktree = main.worktree("side");
    fares_well("worktree", &worktree, Some(&main.git_directory()), Some(&main.git_directory().join("info/exclude")));

    let inner = Repo::init();
    inner.write("packages/one/a.txt", "a\n");
    inner.commit("packages");
    let folder = inner.path().join("packages/one");
    fares_well(
        "a folder inside",
        &folder,
        Some(&inner.git_directory()),
        Some(&inner.git_directory().join("info/exclude")),
    );
    assert!(inner.git(["status", "--porcelain"]).lines().all(|line| !line.contains(".ralph")));

    fares_well("in a submodule", &with_submodule.path().join("lib"), Some(&with_submodule.git_directory()), None);
}

#[test]
fn an_agent_that_ruins_git_does_not_ruin_the_loop() {
    let acts = [
        ("deletes .git", "rm -rf .git"),
        ("deletes objects", "rm -rf .git/objects"),
        ("breaks HEAD", "echo nonsense > .git/HEAD"),
        ("breaks the index", "echo nonsense > .git/index"),
        ("breaks the configuration", "echo '[nonsense' >> .git/config"),
        ("locks the index", "touch .git/index.lock"),
        ("collects garbage", "git reflog expire --expire=now --all; git gc --quiet --prune=now --aggressive"),
        ("stashes", "git stash push --quiet --include-untracked"),
        ("resets", "git reset --quiet --hard HEAD"),
        ("switches branches", "git checkout --quiet --force -b other"),
        ("rewrites history", "git checkout --quiet --orphan fresh && git branch -D main"),
        ("makes git a file", "rm -rf .git && echo 'gitdir: /nonexistent' > .git"),
        ("makes git a pipe", "rm -rf .git && mkfifo .git"),
        ("makes HEAD a pipe", "rm .git/HEAD && mkfifo .git/HEAD"),
        ("makes the index a pipe", "rm .git/index && mkfifo .git/index"),
        ("makes the configuration a pipe", "rm .git/config && mkfifo .git/config"),
        ("makes the branch a pipe", "rm .git/refs/heads/main && mkfifo .git/refs/heads/main"),
        ("makes a pipe of packed refs", "rm -f .git/packed-refs && mkfifo .git/packed-refs"),
        ("makes a pipe of the exclusions", "rm -f .git/info/exclude && mkfifo .git/info/exclude"),
        ("makes a pipe of the ignored", "mkfifo .gitignore"),
        ("makes a pipe of the attributes", "mkfifo .gitattributes"),
        ("nests a repository", "git init --quiet nested && touch nested/inside.txt"),
    ];
    for (name, act) in acts {
        let (user, repo) = (User::new(), lived_in());
        let start = files(repo.path());
        let script = Script::new()
            .run([Step::write("first.txt", "1\n"), Step::run(format!("({act}) >/dev/null 2>&1; true"))])
            .run([Step::write("done.txt", "2\n")]);
        let ended = run(&user, repo.path(), script, &["--expect", "file:done.txt"]);
        let result: Value = ended.json();
        assert_eq!(
            (ended.code, result["status"].as_str()),
            (0, Some("COMPLETED")),
            "{name}: {result:#}\n{}",
            ended.stderr
        );
        let id = result["loopId"].as_str().unwrap();
        let diff = user.ralph(repo.path(), ["diff", id]);
        assert!(diff.code == 0 && diff.stdout.contains("done.txt"), "{name}: {}{}", diff.stdout, diff.stderr);
        user.ralph(repo.path(), ["show", id]).ok();
        let rewound = user.ralph(repo.path(), ["rewind", id, "--to", "start"]);
        assert_eq!(rewound.code, 0, "{name}: {}", rewound.stderr);
        assert_eq!(files(repo.path()), start, "{name}");
    }
    eprintln!("git manners: {} ways to ruin a repository survived", acts.len());
}

#[test]
fn a_commit_into_a_ruined_repository_is_a_problem_and_not_a_loss() {
    let (user, repo) = (User::new(), Repo::init());
    let script = Script::new().run([Step::write("done.txt", "1\n"), Step::run("rm -rf .git")]);
    let ended = run(&user, repo.path(), script, &["--commit"]).ok();
    assert!(ended.stderr.contains(".git was deleted or replaced"), "{}", ended.stderr);
    let result = ended.json();
    assert_eq!((result["status"].as_str(), result["verified"].as_bool()), (Some("COMPLETED"), Some(true)));
    assert!(result["commitProblem"].as_str().is_some_and(|why| why.contains("repository")), "{result:#}");
    assert_eq!(repo.read("done.txt"), "1\n");
}

#[test]
fn ralphs_own_folder_is_excluded_exactly_once() {
    let (user, repo) = (User::new(), Repo::init());
    let exclude = repo.git_directory().join("info/exclude");
    std::fs::write(&exclude, "# mine\n*.log").unwrap();
    for _ in 0..3 {
        run(&user, repo.path(), Script::new().otherwise([Step::write("done.txt", "x")]), &[]);
    }
    assert_eq!(std::fs::read_to_string(&exclude).unwrap(), "# mine\n*.log\n.ralph/\n");
    assert_eq!(repo.git(["status", "--porcelain"]), "?? done.txt");
}

/// The user's next `git status` would run what an agent wrote into the configuration, outside of any sandbox.
#[test]
fn what_the_users_git_would_run_is_put_back() {
    let sabotage = |git: &str| {
        format!(
            "git config core.fsmonitor 'touch /tmp/never; false' && mkdir -p {git}/hooks {git}/info {git}/modules/x && \
             printf '#!/bin/sh\\nexit 1\\n' > {git}/hooks/pre-commit && chmod +x {git}/hooks/pre-commit && \
             echo '* filter=evil' > {git}/info/attributes && echo '[core]' > {git}/modules/x/config && \
             git checkout -q -b agents-own"
        )
    };
    for worktree in [false, true] {
        let (user, repo) = (User::new(), Repo::init());
        repo.write("a.txt", "a\n");
        repo.commit("second");
        let git = repo.path().join(".git");
        let before = std::fs::read(git.join("config")).unwrap();
        let at = git.display().to_string();
        let script = Script::new().run([Step::run(sabotage(&at)), Step::write("done.txt", "1\n")]);
        // A check is code of the agent as well.
        let check = format!("test -e done.txt && (echo '[alias] x = y' >> {at}/config || true)");
        let mut more = vec!["--unmetered", "--criteria", check.as_str()];
        more.extend(worktree.then_some("--worktree"));
        let ended = user.ralph(repo.path(), run_words_with(&user.agent(script), 3, &more)).ok();
        assert!(ended.stderr.contains("configuration or hooks of the repository"), "{worktree}: {}", ended.stderr);
        assert_eq!(std::fs::read(git.join("config")).unwrap(), before, "{worktree}");
        for new in ["hooks/pre-commit", "info/attributes", "modules/x/config"] {
            assert!(!git.join(new).exists(), "{worktree}: {new}");
        }
        // The agent's branches are its own, and its versions are kept.
        assert!(repo.git(["branch", "--list", "agents-own"]).contains("agents-own"), "{worktree}");
        let result = ended.json();
        let kept = Path::new(result["folder"].as_str().unwrap()).join("settings");
        let count =
            files(&kept).iter().filter(|(_, content)| String::from_utf8_lossy(content).contains("fsmonitor")).count();
        assert_eq!(count, 1, "{worktree}");
    }
}
