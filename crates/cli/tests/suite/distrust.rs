//! Pinned files, the tripwire and the sandbox, where a crash or a person comes in between. What cheats come to is in the corpus.

use std::fs;
use std::path::Path;

use ralph_testkit::{Repo, Script, Step};

use crate::aid::{finish, kinds, wait_until};
use crate::harness::{Ended, User, run_words_with};

const TEST: &str = "import unittest\n\nfrom calc import add\n\n\nclass CalcTest(unittest.TestCase):\n    def test_add(self):\n        \
                    self.assertEqual(add(2, 3), 5)\n";
const RIGHT: &str = "def add(a, b):\n    return a + b\n";
const CHECK: &str = "python3 -m unittest -v test_calc";

fn project() -> (User, Repo) {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("calc.py", "def add(a, b):\n    return a - b\n");
    repo.write("test_calc.py", TEST);
    repo.write(".gitignore", "__pycache__/\n");
    repo.commit("a calculator");
    (user, repo)
}

/// Does the work, and spoils a test besides.
fn agent(user: &User) -> String {
    let spoiled = TEST.replace("assertEqual(add(2, 3), 5)", "assertTrue(add(2, 3))");
    user.agent(Script::new().otherwise([Step::write("calc.py", RIGHT), Step::write("test_calc.py", spoiled)]))
}

#[test]
fn wherever_a_crash_comes_work_completes_with_the_pinned_tests_and_nothing_changed() {
    let mut crashes = 0;
    for number in 3..=12 {
        for side in ["before", "after"] {
            let (user, repo) = project();
            let words = run_words_with(&agent(&user), 2, &["--unmetered", "--criteria", CHECK]);
            let at = format!("{side}:{number}");
            let ended = Ended::from(user.hooked(repo.path(), &words).env("RALPH_TEST_CRASH", &at).output().unwrap());
            let result = if ended.code == 0 {
                ended.json()
            } else {
                crashes += 1;
                let id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
                user.ralph(repo.path(), ["resume", &id, "--json"]).ok().json()
            };
            assert_eq!(result["verified"], true, "{at}: {result}");
            assert_eq!(repo.read("test_calc.py"), TEST, "{at}: {:?}", kinds(&user));
            assert_eq!(repo.read("calc.py"), RIGHT, "{at}");
            assert_eq!(result["tampered"], 1, "{at}");
            user.ralph(repo.path(), ["verify-run", result["loopId"].as_str().unwrap()]).ok();
        }
    }
    eprintln!("distrust: {crashes} crashes");
    assert!(crashes >= 8, "{crashes}");
}

#[test]
fn killed_in_the_middle_of_the_tripwire_ralph_puts_the_tests_back_the_next_time() {
    let (user, repo) = project();
    // The third run of the check is the one with the tripwire; it waits until it is killed.
    let check = "echo x >> ../runs-$RALPH_LOOP_ID; [ $(wc -l < ../runs-$RALPH_LOOP_ID) -lt 3 ] || sleep 600; \
                 python3 -m unittest -v test_calc";
    let fix = user.agent(Script::new().otherwise([Step::write("calc.py", RIGHT)]));
    let words = run_words_with(&fix, 1, &["--unmetered", "--criteria", check]);
    let child = user.spawn(repo.path(), &words);
    wait_until("tests to be changed", || repo.read("test_calc.py") != TEST);
    crate::aid::kill(child);
    let explained = run_words_with(&fix, 1, &["--unmetered", "--criteria", "false", "--no-tripwire"]);
    user.ralph(repo.path(), &explained).with_code(10);
    assert_eq!(repo.read("test_calc.py"), TEST, "another loop found the workspace as the agent left it");
    assert_eq!(repo.read("calc.py"), RIGHT);
}

#[test]
fn a_formatter_among_the_checks_is_no_tampering() {
    let (user, repo) = project();
    let check = "sed -i 's/[ ]*$//' *.py && python3 -m unittest -v test_calc";
    let fix = user.agent(Script::new().otherwise([Step::write("calc.py", "def add(a, b):   \n    return a + b   \n")]));
    let words = run_words_with(&fix, 1, &["--unmetered", "--criteria", check]);
    let result = user.ralph(repo.path(), &words).ok().json();
    assert_eq!((&result["verified"], &result["tampered"]), (&true.into(), &0.into()), "{result}");
    assert_eq!(repo.read("calc.py"), RIGHT);
}

#[test]
fn a_set_up_that_fails_at_the_start_is_the_users_to_mend() {
    let (user, repo) = project();
    let isolated = ["--unmetered", "--criteria", CHECK, "--verify", "isolated", "--setup", "echo no registry; exit 3"];
    let ended = user.ralph(repo.path(), run_words_with(&agent(&user), 1, &isolated)).with_code(1);
    assert!(ended.stderr.contains("echo no registry; exit 3` failed: exit code 3"), "{}", ended.stderr);
}

#[test]
fn what_only_checks_needed_is_gone_when_the_loop_is_over() {
    let (user, repo) = project();
    let words = ["--unmetered", "--criteria", CHECK, "--verify", "isolated", "--setup", "echo ready > ready.txt"];
    let result = user.ralph(repo.path(), run_words_with(&agent(&user), 1, &words)).ok().json();
    let folder = std::path::PathBuf::from(result["folder"].as_str().unwrap());
    for name in ["checkout", "checkout-state", "checks"] {
        assert!(!folder.join(name).exists(), "{name} is left");
    }
    assert!(!repo.path().join("ready.txt").exists(), "set-up ran elsewhere");
}

#[test]
fn the_plan_is_shown_and_nothing_is_started() {
    let (user, repo) = project();
    let shown = user.ralph(repo.path(), run_words_with(&agent(&user), 1, &["--criteria", CHECK, "--explain"])).ok();
    let plan = shown.json();
    assert_eq!(plan["runners"], serde_json::json!(["unittest"]), "{plan}");
    assert!(plan["pins"].as_array().unwrap().iter().any(|pin| pin["glob"] == "conftest.py"), "{plan}");
    assert_eq!(user.ralph(repo.path(), ["list", "--all", "--json"]).ok().json(), serde_json::json!([]));
    for (words, field) in [
        (&["--setup", "true"][..], "--setup"),
        (&["--retries", "11"][..], "--retries"),
        (&["--allow-write", "nowhere"][..], "--allow-write"),
        (&["--allow-test-change", "["][..], "--allow-test-change"),
    ] {
        let words = [&["--criteria", CHECK], words].concat();
        let refused = user.ralph(repo.path(), run_words_with(&agent(&user), 1, &words)).with_code(2);
        assert!(refused.stderr.contains(field), "{field}: {}", refused.stderr);
    }
}

#[test]
fn a_test_that_is_executed_itself_is_still_executable_when_it_is_changed() {
    let (user, repo) = project();
    let main = format!("#!/usr/bin/env python3\n{TEST}\n\nif __name__ == '__main__':\n    unittest.main()\n");
    repo.write("test_calc.py", &main);
    std::fs::set_permissions(repo.path().join("test_calc.py"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let fix = user.agent(Script::new().otherwise([Step::write("calc.py", RIGHT)]));
    let words = run_words_with(&fix, 1, &["--unmetered", "--criteria", "./test_calc.py -v && python3 -m unittest -v"]);
    let result = user.ralph(repo.path(), &words).ok().json();
    assert_eq!(result["verdict"]["tripwire"]["is"], "testsFail", "{result}");
}

#[test]
fn builds_are_copied_while_the_agent_works_and_the_copies_go_with_the_loop() {
    let (user, repo) = project();
    // Only checks before the first iteration and confirming runs have the variable.
    let check = "[ -z \"$GOCACHE\" ] || { mkdir -p \"$GOCACHE\" && echo x > \"$GOCACHE/object\"; }; false";
    let agent = "sh -c 'cat > /dev/null; until [ -e seen ]; do sleep 0.05; done'";
    let words = run_words_with(agent, 1, &["--unmetered", "--criteria", check]);
    let child = user.spawn(repo.path(), &words);
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let all = || entries(&user.state().join("builds")).map(|folder| folder.join("workspace"));
    let copies = || all().flat_map(|folder| entries(&folder.join("next")).collect::<Vec<_>>());
    wait_until("copies for two runs", || {
        copies().filter(|copy| fs::read(copy.join("go/object")).is_ok_and(|object| object == b"x\n")).count() == 2
    });
    repo.write("seen", "");
    finish(child).with_code(10);
    assert!(all().all(|folder| folder.join("kept/go/object").exists()));
    assert!(all().all(|folder| !folder.join("next").exists()));
}
