//! Looking at loops and going back: list, show, logs, diff, rewind, verify-run.

use std::process::Stdio;
use std::time::Duration;

use ralph_testkit::{Repo, Script, Step};

use crate::harness::{Ended, User, run_words_with};

struct Past {
    user: User,
    repo: Repo,
    id: String,
}

/// A loop of three iterations that is over.
fn past() -> Past {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("check.sh", "echo \"looking for $1\"; test -e done.txt\n");
    repo.write("old.txt", "old\n");
    repo.commit("check");
    repo.write("unsaved.txt", "before the loop\n");
    let script = Script::new()
        .run([Step::say("agent: first"), Step::write("one.txt", "1\n"), Step::cost(10_000)])
        .run([Step::say("agent: second"), Step::write("two.txt", "2\n"), Step::delete("old.txt"), Step::cost(20_000)])
        .run([Step::say("agent: third"), Step::write("done.txt", "3\n"), Step::cost(30_000)]);
    let words = ["--criteria", "sh check.sh it", "--criteria", "echo second check"];
    let result = user.ralph(repo.path(), run_words_with(&user.agent(script), 5, &words)).ok().json();
    let id = result["loopId"].as_str().unwrap().to_owned();
    Past { user, repo, id }
}

impl Past {
    fn ralph(&self, words: &[&str]) -> Ended {
        self.user.ralph(self.repo.path(), words)
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.repo.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".txt"))
            .collect();
        names.sort();
        names
    }
}

#[test]
fn list_shows_filters_and_limits() {
    let past = past();
    let idle = past.user.agent(Script::new().otherwise([Step::append("log", "x")]));
    past.user.ralph(past.repo.path(), run_words_with(&idle, 1, &["--unmetered", "--criteria", "false"])).with_code(10);
    let all = past.ralph(&["list", "--json"]).ok().json();
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert_eq!(
        (all[0]["reason"].as_str(), all[1]["status"].as_str()),
        (Some("MAX_ITERATIONS"), Some("COMPLETED")),
        "newest first"
    );
    assert_eq!(all[1]["costUSD"], 0.06);
    let count = |words: &[&str]| past.ralph(words).ok().json().as_array().unwrap().len();
    assert_eq!(count(&["list", "--json", "--limit", "1"]), 1);
    assert_eq!(count(&["list", "--json", "--status", "completed"]), 1);
    assert_eq!(count(&["list", "--json", "--status", "running"]), 0);
    assert_eq!(count(&["list", "--json", "--status", "interrupted"]), 0);
    let text = past.ralph(&["list"]).ok().stdout;
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.contains("MAX_ITERATIONS") && text.contains("Make the check pass"), "{text}");
    // From another folder only with --all.
    let elsewhere = past.user.home();
    assert_eq!(past.user.ralph(&elsewhere, ["list", "--json"]).ok().json(), serde_json::json!([]));
    assert_eq!(past.user.ralph(&elsewhere, ["list", "--json", "--all"]).ok().json().as_array().unwrap().len(), 2);
}

#[test]
fn without_any_loop_listings_are_empty_and_make_nothing() {
    let (user, repo) = (User::new(), Repo::init());
    assert_eq!(user.ralph(repo.path(), ["list", "--json"]).ok().json(), serde_json::json!([]));
    assert!(user.ralph(repo.path(), ["list"]).ok().stderr.contains("no loops"));
    for words in [&["show", "abcd1234"][..], &["resume"], &["diff", "abcd1234"], &["stop", "abcd1234"]] {
        let ended = user.ralph(repo.path(), words).with_code(1);
        assert!(ended.stderr.contains("there are no loops yet"), "{words:?}: {}", ended.stderr);
    }
    assert!(!user.state().exists());
}

#[test]
fn show_tells_limits_iterations_and_verdicts() {
    let past = past();
    let text = past.ralph(&["show", &past.id]).ok().stdout;
    for wanted in [
        past.id.as_str(),
        "COMPLETED",
        "iterations 3 of 5",
        "$0.06 of $1.00",
        "sh check.sh it",
        "Make the check pass",
        "baseline",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is not in\n{text}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with(['1', '2', '3'])).count(), 3, "{text}");
    // Any few characters from either end of the id are enough.
    for name in [&past.id[..13], &past.id[past.id.len() - 8..]] {
        assert_eq!(past.user.show(name)["loopId"].as_str().unwrap(), past.id);
    }
    let shown = past.user.show(&past.id);
    assert_eq!(shown["iterations"].as_array().unwrap().len(), 3);
    assert_eq!(shown["config"]["maxIterations"], 5);
    assert_eq!(past.ralph(&["show", &past.id, "--prompt", "1"]).ok().stdout, "Make the check pass\n");
    past.ralph(&["show", &past.id, "--prompt", "9"]).with_code(1);
}

#[test]
fn an_unknown_loop_is_an_error_that_says_where_to_look() {
    let past = past();
    for words in [
        &["show", "ffffffff"][..],
        &["logs", "ffffffff"],
        &["diff", "ffffffff"],
        &["resume", "ffffffff"],
        &["stop", "ffffffff"],
        &["verify-run", "ffffffff"],
        &["rewind", "ffffffff", "--to", "start"],
    ] {
        let ended = past.ralph(words).with_code(1);
        assert!(ended.stderr.contains("ralph list --all") && ended.stdout.is_empty(), "{words:?}: {}", ended.stderr);
    }
    let over = past.ralph(&["stop", &past.id]).with_code(1);
    assert!(over.stderr.contains("is over"), "{}", over.stderr);
    let complete = past.ralph(&["resume", &past.id]).with_code(2);
    assert!(complete.stderr.contains("nothing to resume"), "{}", complete.stderr);
}

#[test]
fn logs_print_what_agents_and_checks_printed() {
    let past = past();
    assert_eq!(past.ralph(&["logs", &past.id]).ok().stdout, "agent: third\n");
    assert_eq!(past.ralph(&["logs", &past.id, "1"]).ok().stdout, "agent: first\n");
    assert_eq!(past.ralph(&["logs", &past.id, "2", "--check", "1"]).ok().stdout, "looking for it\n");
    assert_eq!(past.ralph(&["logs", &past.id, "3", "--check", "2"]).ok().stdout, "second check\n");
    assert_eq!(past.ralph(&["logs", &past.id, "0"]).ok().stdout, "looking for it\n");
    for words in [&["logs", &past.id, "7"][..], &["logs", &past.id, "1", "--check", "9"]] {
        past.ralph(words).with_code(1);
    }
}

#[test]
fn logs_follow_shows_every_output_of_a_loop_that_is_over() {
    let past = past();
    let shown = past.ralph(&["logs", &past.id, "--follow"]).ok().stdout;
    let lines: Vec<String> = shown.lines().map(without_times).collect();
    let (it, second) = ("check 1 (sh check.sh it)", "check 2 (echo second check)");
    let mut wanted = vec![
        format!("==> before the first iteration, {it}: exit code 1 <=="),
        "looking for it".to_owned(),
        format!("==> before the first iteration, {second}: passes <=="),
        "second check".to_owned(),
    ];
    for (number, name, files, it_ended) in [
        (1, "first", "1 file", "exit code 1"),
        (2, "second", "2 files", "exit code 1"),
        (3, "third", "1 file", "passes"),
    ] {
        wanted.extend([
            format!("==> iteration {number}, agent command: done after _, {files} changed, $0.0{number} <=="),
            format!("agent: {name}"),
            format!("==> iteration {number}, {it}: {it_ended} <=="),
            "looking for it".to_owned(),
            format!("==> iteration {number}, {second}: passes <=="),
            "second check".to_owned(),
        ]);
    }
    let on_start = "on the files of the start, where the checks have to fail";
    let fails = "the checks still fail on the original code";
    wanted.extend([
        format!("==> iteration 3, tripwire: {it} {on_start}: {fails} <=="),
        "looking for it".to_owned(),
        format!("==> iteration 3, tripwire: {second} {on_start}: {fails} <=="),
        "second check".to_owned(),
        format!("==> loop {}: COMPLETED <==", &past.id[past.id.len() - 8..]),
    ]);
    assert_eq!(lines, wanted);
}

/// The line with every span of time as `_`.
fn without_times(line: &str) -> String {
    match line.split_once(" after ").and_then(|(before, rest)| Some((before, rest.split_once(',')?.1))) {
        Some((before, rest)) => format!("{before} after _,{rest}"),
        None => line.to_owned(),
    }
}

#[test]
fn logs_follow_a_running_loop_to_its_end() {
    let (user, repo) = (User::new(), Repo::init());
    let (ready, go) = (repo.outside().join("ready"), repo.outside().join("go"));
    let script = Script::new().run([
        Step::say("hello from the agent"),
        Step::write(&ready, ""),
        Step::wait_for_file(&go),
        Step::say("and goodbye"),
        Step::write("done.txt", ""),
    ]);
    let words = run_words_with(&user.agent(script), 2, &["--unmetered", "--criteria", "test -e done.txt"]);
    let running = user.spawn(repo.path(), words);
    while !ready.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    assert_eq!(user.newest_loop()["status"], "RUNNING");
    let mut command = user.command(repo.path(), ["logs", &id, "--follow"]);
    let following = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A rewind would pull the files away from under the agent.
    let refused = user.ralph(repo.path(), ["rewind", &id, "--to", "start"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains(user.newest_loop()["short"].as_str().unwrap()), "{}", refused.stderr);
    std::fs::write(&go, "").unwrap();
    Ended::of(running).ok();
    let followed = Ended::of(following).ok();
    assert!(followed.stdout.contains("hello from the agent\n"), "{}", followed.stdout);
    assert!(followed.stdout.contains("and goodbye\n"), "{}", followed.stdout);
    // Whoever joins in the middle sees every output all the same, and what became of each.
    let order = [
        "==> before the first iteration, check 1 (test -e done.txt): exit code 1 <==\n",
        "==> iteration 1, agent command <==\n",
        "hello from the agent\n",
        "<== iteration 1, agent command: done after ",
        "==> iteration 1, check 1 (test -e done.txt)",
        "iteration 1, check 1 (test -e done.txt): passes",
        "==> iteration 1, tripwire: check 1 (test -e done.txt) on the files of the start, where the checks have to fail",
        "the checks still fail on the original code",
        ": COMPLETED <==\n",
    ];
    let places: Vec<_> = order.iter().map(|text| followed.stdout.find(text)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{}", followed.stdout);
}

#[test]
fn a_diff_can_be_applied() {
    let past = past();
    let (all, second) = (past.ralph(&["diff", &past.id]).ok().stdout, past.ralph(&["diff", &past.id, "2"]).ok().stdout);
    assert!(
        all.contains("one.txt") && all.contains("two.txt") && all.contains("done.txt") && all.contains("old.txt"),
        "{all}"
    );
    assert!(!all.contains("unsaved.txt"), "what was there before is no part of the loop:\n{all}");
    assert!(second.contains("two.txt") && !second.contains("one.txt"), "{second}");
    past.ralph(&["rewind", &past.id, "--to", "start"]).ok();
    let patch = past.repo.outside().join("all.patch");
    std::fs::write(&patch, all).unwrap();
    past.repo.git(["apply", patch.to_str().unwrap()]);
    assert_eq!(past.files(), ["done.txt", "one.txt", "two.txt", "unsaved.txt"]);
    let patch = past.repo.outside().join("second.patch");
    std::fs::write(&patch, second).unwrap();
    past.repo.git(["apply", "--reverse", patch.to_str().unwrap()]);
    assert_eq!(past.files(), ["done.txt", "old.txt", "one.txt", "unsaved.txt"]);
    past.ralph(&["diff", &past.id, "9"]).with_code(1);
}

#[test]
fn rewind_goes_anywhere_and_back() {
    let past = past();
    past.repo.write("later.txt", "work after the loop\n");
    past.repo.write("one.txt", "changed after the loop\n");
    past.ralph(&["rewind", &past.id, "--to", "1"]).ok();
    assert_eq!(past.files(), ["old.txt", "one.txt", "unsaved.txt"]);
    assert_eq!(past.repo.read("one.txt"), "1\n");
    // Nothing that was unsaved is lost.
    let back = past.ralph(&["rewind", &past.id, "--to", "undo"]).ok();
    assert!(back.stderr.contains("redo with"), "{}", back.stderr);
    let unsaved = ["done.txt", "later.txt", "one.txt", "two.txt", "unsaved.txt"];
    assert_eq!(past.files(), unsaved);
    assert_eq!(past.repo.read("one.txt"), "changed after the loop\n");
    past.ralph(&["rewind", &past.id, "--to", "redo"]).ok();
    assert_eq!(past.files(), ["old.txt", "one.txt", "unsaved.txt"]);
    past.ralph(&["rewind", &past.id, "--to", "start"]).ok();
    // Not even after a second rewind.
    past.ralph(&["rewind", &past.id, "--to", "undo"]).ok();
    past.ralph(&["rewind", &past.id, "--to", "undo"]).ok();
    assert_eq!(past.files(), unsaved);
    past.ralph(&["rewind", &past.id, "--to", "undo"]).with_code(1);
    past.ralph(&["rewind", &past.id, "--to", "start"]).ok();
    assert_eq!(past.files(), ["old.txt", "unsaved.txt"]);
    past.ralph(&["rewind", &past.id, "--to", "2"]).ok();
    assert_eq!(past.files(), ["one.txt", "two.txt", "unsaved.txt"]);
    past.ralph(&["rewind", &past.id, "--to", "9"]).with_code(1);
}

#[test]
fn undo_needs_a_rewind() {
    let past = past();
    for (what, why) in [("undo", "was not rewound"), ("redo", "no rewind of this loop")] {
        let ended = past.ralph(&["rewind", &past.id, "--to", what]).with_code(1);
        assert!(ended.stderr.contains(&format!("nothing to {what}")) && ended.stderr.contains(why), "{}", ended.stderr);
    }
}

#[test]
fn a_run_can_be_verified_and_a_changed_byte_is_seen() {
    let past = past();
    let text = past.ralph(&["verify-run", &past.id]).ok().stdout;
    assert!(text.contains("HOLDS") && text.contains("check sh check.sh it") && text.contains("verified"), "{text}");
    let proof = past.ralph(&["verify-run", &past.id, "--json"]).ok().json();
    assert_eq!((proof["holds"].as_bool(), proof["verified"].as_bool()), (Some(true), Some(true)));
    let folder = past.user.state().join("loops").join(&past.id);
    let logs: Vec<_> = std::fs::read_dir(folder.join("logs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(logs.len() >= 9, "{logs:?}");
    let mut targets = logs;
    targets.push(folder.join("certificate.json"));
    let mut seen = 0;
    for target in targets {
        let content = std::fs::read(&target).unwrap();
        let Some(position) = content.len().checked_sub(3) else { continue };
        let mut changed = content.clone();
        changed[position] ^= 1;
        std::fs::write(&target, changed).unwrap();
        let ended = past.ralph(&["verify-run", &past.id]);
        assert_eq!(ended.code, 1, "a changed {} was not seen: {}", target.display(), ended.stdout);
        assert!(ended.stdout.contains("DOES NOT HOLD") && ended.stdout.contains("FAIL"), "{}", ended.stdout);
        std::fs::remove_file(&target).unwrap();
        // The certificate is in the database too.
        past.ralph(&["verify-run", &past.id]).with_code(i32::from(!target.ends_with("certificate.json")));
        std::fs::write(&target, content).unwrap();
        past.ralph(&["verify-run", &past.id]).ok();
        seen += 1;
    }
    eprintln!("commands: a changed byte was seen in each of {seen} files");
    assert!(seen >= 9);
}

#[test]
fn a_loop_that_ended_without_success_can_be_verified_too() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = user.agent(Script::new().otherwise([Step::append("log", "x")]));
    let ended =
        user.ralph(repo.path(), run_words_with(&agent, 2, &["--unmetered", "--criteria", "false"])).with_code(10);
    let id = ended.json()["loopId"].as_str().unwrap().to_owned();
    let proof = user.ralph(repo.path(), ["verify-run", &id, "--json"]).ok().json();
    assert_eq!(
        (proof["holds"].as_bool(), proof["verified"].as_bool(), proof["status"].as_str()),
        (Some(true), Some(false), Some("ABORTED"))
    );
    // And after it went on.
    user.ralph(repo.path(), ["resume", &id, "--max", "3", "--json"]).with_code(10);
    assert_eq!(user.ralph(repo.path(), ["verify-run", &id, "--json"]).ok().json()["holds"], true);
}
