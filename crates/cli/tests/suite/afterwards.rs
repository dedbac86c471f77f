//! What comes after a loop, or between two processes of one: nothing of the user's is taken away, and what is committed or
//! shown is what was verified and written down.

use std::time::{Duration, Instant};

use ralph_testkit::{Repo, Script, Step};
use rustix::process::Signal;

use crate::aid::{finish, signal, wait_for_file};
use crate::harness::{Ended, User, run_words_with};

#[test]
fn a_rewind_leaves_alone_what_the_user_ignores_everywhere() {
    let (user, repo) = (User::new(), Repo::init());
    let ignore = user.home().join(".config/git/ignore");
    std::fs::create_dir_all(ignore.parent().unwrap()).unwrap();
    std::fs::write(ignore, "*.local\n").unwrap();
    repo.write("notes.local", "my own notes\n");
    let agent = user.agent(Script::new().otherwise([Step::write("done.txt", "")]));
    let words = ["--unmetered", "--criteria", "test -e done.txt"];
    let result = user.ralph(repo.path(), run_words_with(&agent, 2, &words)).ok().json();
    let id = result["loopId"].as_str().unwrap();
    let ended = user.ralph(repo.path(), ["rewind", id, "--to", "start"]).ok();
    assert!(!repo.exists("done.txt"));
    assert_eq!(repo.read("notes.local"), "my own notes\n", "{}", ended.stdout);
    assert!(!ended.stdout.contains("notes.local"), "{}", ended.stdout);
}

/// Iterations of a loop that was rewound are what they were, whether they were checked or not.
#[test]
fn a_rewind_and_a_resume_leave_earlier_iterations_as_they_were() {
    for is_stopped in [false, true] {
        let (user, repo) = (User::new(), Repo::init());
        let hold = repo.outside().join("hold");
        let mut script = Script::new();
        for number in 1..=4_u32 {
            let mut steps = vec![Step::write(format!("{number}.txt"), "work\n")];
            if is_stopped && number == 4 {
                steps.extend([Step::run(format!("touch '{}'", hold.display())), Step::sleep(Duration::from_secs(600))]);
            }
            script = script.run(steps);
        }
        let agent = user.agent(script.otherwise([Step::write("done.txt", "")]));
        let words = ["--unmetered", "--criteria", "test -e done.txt"];
        let child = user.spawn(repo.path(), run_words_with(&agent, 4, &words));
        if is_stopped {
            wait_for_file(&hold);
            signal(&child, Signal::TERM);
        }
        let id = finish(child).json()["loopId"].as_str().unwrap().to_owned();
        let look = || {
            let diffs: Vec<String> =
                (1..=4).map(|number| user.ralph(repo.path(), ["diff", &id, &number.to_string()]).ok().stdout).collect();
            let shown = user.show(&id)["iterations"].as_array().unwrap()[..4].to_vec();
            (shown, diffs)
        };
        let before = look();
        assert_eq!(before.0[3]["verdict"].is_null(), is_stopped, "{:?}", before.0[3]);
        assert!(before.1[3].contains("4.txt"), "{}", before.1[3]);

        user.ralph(repo.path(), ["rewind", &id, "--to", "2"]).ok();
        // An edit on top makes it a state that the loop never had, and still not the work of iteration 4.
        repo.write("mine.txt", "by hand\n");
        let result = user.ralph(repo.path(), ["resume", &id, "--max", "6", "--json"]).ok().json();
        assert_eq!(result["iterations"], 5, "{result}");
        let after = look();
        assert_eq!(after.1, before.1);
        assert_eq!(after.0, before.0);
        assert!(!repo.exists("4.txt"), "the loop went on from iteration 2");
        user.ralph(repo.path(), ["verify-run", &id]).ok();
    }
}

#[test]
fn a_prohibited_change_is_not_committed_when_the_loop_goes_on() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("migrations/1.sql", "create table a;\n");
    repo.commit("start");
    let script = Script::new()
        .run([Step::write("done.txt", "work\n"), Step::write("migrations/1.sql", "drop table a;\n")])
        .otherwise([Step::write("never.txt", "")]);
    let words = ["--unmetered", "--commit", "--criteria", "test -e done.txt"];
    let ended = user.ralph(repo.path(), run_words_with(&user.agent(script), 3, &words)).with_code(16);
    let id = ended.json()["loopId"].as_str().unwrap().to_owned();
    let shown = user.ralph(repo.path(), ["diff", &id]).ok().stdout;
    assert!(shown.contains("done.txt") && !shown.contains("drop table"), "{shown}");

    let result = user.ralph(repo.path(), ["resume", &id, "--json"]).ok().json();
    assert_eq!(result["iterations"], 1, "the work beside it was only looked at: {result}");
    assert!(result["commit"].is_string(), "{result}");
    assert_eq!(repo.git(["show", "--name-only", "--format=", "HEAD"]).trim(), "done.txt");
    assert_eq!(repo.read("migrations/1.sql"), "create table a;\n");
    assert_eq!(repo.git(["status", "--porcelain"]).trim(), "");
}

#[test]
fn what_the_user_changed_in_between_is_part_of_what_is_verified() {
    let (user, repo) = (User::new(), Repo::init());
    let hold = repo.outside().join("hold");
    let check =
        format!("echo x >> '{0}'; while [ -e '{0}.wait' ]; do sleep 0.05; done; test -e mine.txt", hold.display());
    let waits = hold.with_extension("wait");
    let agent = user.agent(
        Script::new().otherwise([Step::write("work.txt", ""), Step::run(format!("touch '{}'", waits.display()))]),
    );
    let mut ralph = user.spawn(repo.path(), run_words_with(&agent, 1, &["--unmetered", "--criteria", &check]));
    wait_for_file(&waits);
    crate::aid::wait_until("the second check", || {
        std::fs::read_to_string(&hold).unwrap_or_default().lines().count() == 2
    });
    ralph.kill().unwrap();
    ralph.wait().unwrap();
    std::fs::remove_file(&waits).unwrap();
    repo.write("mine.txt", "by hand\n");
    let result = user.ralph(repo.path(), ["resume", "--json"]).ok().json();
    let id = result["loopId"].as_str().unwrap();
    let tree = result["verdict"]["tree"].as_str().unwrap();
    let workspaces = user.state().join("workspaces");
    let git = std::fs::read_dir(workspaces).unwrap().next().unwrap().unwrap().path().join("git");
    let listed = repo.git(["--git-dir", git.to_str().unwrap(), "ls-tree", "--name-only", tree]);
    assert!(listed.contains("mine.txt"), "loop {id} rests on a tree without what its checks looked at:\n{listed}");
}

#[test]
fn a_loop_without_checks_that_used_its_iterations_is_not_resumed_in_vain() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = user.agent(Script::new().otherwise([Step::append("log", "x")]));
    let ended = user.ralph(repo.path(), run_words_with(&agent, 1, &["--unmetered"])).with_code(10);
    let id = ended.json()["loopId"].as_str().unwrap().to_owned();
    let refused = user.ralph(repo.path(), ["resume", &id, "--json"]).with_code(2);
    assert!(refused.stderr.contains("--max"), "{}", refused.stderr);
}

#[test]
fn a_loop_of_quick_iterations_hears_a_request_to_stop() {
    let (user, repo) = (User::new(), Repo::init());
    user.configure("[caps]\niterations = 100000\n");
    // Another failure each time, so that nothing but the request ends it.
    let words = ["--unmetered", "--criteria", "cat log; false", "--same-error", "100000"];
    let agent = "echo x >> log; : > begun";
    let ralph = user.spawn(repo.path(), run_words_with(agent, 100_000, &words));
    wait_for_file(&repo.path().join("begun"));
    let id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    user.ralph(repo.path(), ["stop", &id]).ok();
    let asked = Instant::now();
    let result = Ended::of(ralph).with_code(19).json();
    assert_eq!(result["reason"], "CANCELLED");
    assert!(asked.elapsed() < Duration::from_secs(60), "{:?}", asked.elapsed());
}

#[test]
fn a_log_that_somebody_wrote_to_is_inert_on_the_screen() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = user.agent(Script::new().otherwise([Step::say("hello")]));
    let ended = user.ralph(repo.path(), run_words_with(&agent, 1, &["--unmetered"])).with_code(10);
    let id = ended.json()["loopId"].as_str().unwrap().to_owned();
    let logs = user.state().join("loops").join(&id).join("logs");
    let log = std::fs::read_dir(logs).unwrap().next().unwrap().unwrap().path();
    std::fs::write(log, "hello\x1b]0;owned\x07 \u{202e}\n").unwrap();
    for words in [&["logs", &id][..], &["logs", &id, "--follow"]] {
        let shown = user.ralph(repo.path(), words).ok().stdout;
        assert!(shown.contains("hello") && !shown.contains(['\x1b', '\x07', '\u{202e}']), "{shown:?}");
    }
}

#[test]
fn a_certificate_that_names_other_checks_does_not_hold() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = user.agent(Script::new().otherwise([Step::write("done.txt", "")]));
    let words = ["--unmetered", "--criteria", "test -e done.txt"];
    let id =
        user.ralph(repo.path(), run_words_with(&agent, 2, &words)).ok().json()["loopId"].as_str().unwrap().to_owned();
    let path = user.state().join("loops").join(&id).join("certificate.json");
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in
        [("test -e done.txt", "cargo test --all"), ("\"objectiveSha256\": \"", "\"objectiveSha256\": \"00")]
    {
        assert!(text.contains(from), "{text}");
        std::fs::write(&path, text.replace(from, to)).unwrap();
        let ended = user.ralph(repo.path(), ["verify-run", &id]).with_code(1);
        assert!(ended.stdout.contains("FAIL certificate"), "{}", ended.stdout);
    }
    std::fs::write(&path, text).unwrap();
    user.ralph(repo.path(), ["verify-run", &id]).ok();
}

#[test]
fn a_loop_that_cannot_begin_has_a_result_for_scripts() {
    let (user, repo) = (User::new(), Repo::init());
    // In the way of the loop's folder, and found only when the loop is begun.
    std::fs::create_dir_all(user.state()).unwrap();
    std::fs::write(user.state().join("loops"), "no folder").unwrap();
    let ended = user.ralph(repo.path(), run_words_with("true", 1, &["--unmetered"])).with_code(1);
    let result = ended.json();
    assert_eq!((&result["status"], &result["iterations"]), (&"ERROR".into(), &0.into()), "{result}");
    assert!(result["error"].as_str().unwrap().contains("loops"), "{result}");
}

#[test]
fn a_worktree_of_a_subfolder_is_worked_in_at_the_same_place_and_counted_in_the_project() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("packages/one/check.sh", "test -e done.txt\n");
    repo.commit("start");
    let one = repo.path().join("packages/one");
    let script = Script::new().run([Step::write("first.txt", "")]).otherwise([Step::write("done.txt", "")]);
    let words = ["--unmetered", "--worktree", "--criteria", "sh check.sh"];
    let result = user.ralph(&one, run_words_with(&user.agent(script), 1, &words)).with_code(10).json();
    let workspace = std::path::PathBuf::from(result["workspace"].as_str().unwrap());
    assert!(workspace.ends_with("packages/one") && workspace.join("first.txt").exists(), "{result}");
    let listed = user.ralph(&one, ["list", "--json"]).ok().json();
    assert_eq!(listed[0]["loopId"], result["loopId"], "listed where it was started");
    user.ralph(&one, ["resume", "--max", "2"]).ok();
    let lines = std::fs::read_to_string(one.join(".ralph/metrics/ralph-loops.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(!one.join("done.txt").exists() && workspace.join("done.txt").exists());

    std::fs::create_dir(repo.path().join("untracked")).unwrap();
    let ended = user.ralph(&repo.path().join("untracked"), run_words_with("true", 1, &["--unmetered", "--worktree"]));
    assert!(ended.code != 0 && ended.stderr.contains("commit it first"), "{}", ended.stderr);
    assert_eq!(repo.git(["worktree", "list"]).lines().count(), 2, "only the first loop's");
}

#[test]
fn a_secret_in_the_objective_is_kept_from_everything_that_stays() {
    let (user, repo) = (User::new(), Repo::init());
    let secret = "hunter2-hunter2-hunter2";
    let words =
        ["run", &format!("Use {secret}"), "--max", "1", "--max-cost", "1", "--json", "--unmetered", "--agent-command"];
    let words = words.into_iter().chain(["cat > seen; echo; echo done; cat {prompt_file} > /dev/null"]);
    let ended = user.command(repo.path(), words).env("SERVICE_PASSWORD", secret).output().unwrap();
    let result = Ended::from(ended).with_code(10).json();
    let folder = std::path::PathBuf::from(result["folder"].as_str().unwrap());
    let mut folders = vec![folder];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            files += 1;
            let content = std::fs::read(entry.path()).unwrap();
            assert!(!String::from_utf8_lossy(&content).contains(secret), "{}", entry.path().display());
        }
    }
    assert!(files >= 3, "{files} files were looked at");
    assert!(!std::fs::read_to_string(repo.path().join(".ralph/LEDGER.md")).unwrap().contains(secret));
}
