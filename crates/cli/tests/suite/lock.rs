//! One loop per workspace, by the lock of the kernel: held while anything of the loop lives, free when nothing does.

use std::fs;
use std::time::{Duration, Instant};

use ralph_testkit::{Repo, Script, Step};

use crate::aid::{Agent, finish, is_long, kill, wait_for_file, wait_until};
use crate::harness::{User, run_words_with};

/// An agent that waits in its first run until the file `go` is there.
fn waiting_agent(user: &User) -> Agent {
    let first = [Step::write("working", ""), Step::wait_for_file("go"), Step::cost(1000)];
    Agent::new(user, Script::new().run(first).otherwise([Step::append("work.txt", "x\n"), Step::cost(1000)]))
}

#[test]
fn a_second_start_is_refused_at_once_and_told_who_was_first() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = waiting_agent(&user);
    let words = run_words_with(&agent.line, 2, &["--criteria", "false"]);
    let first = user.spawn(repo.path(), &words);
    wait_for_file(&repo.path().join("working"));
    let loop_id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();

    for words in [words.clone(), vec!["resume".into(), loop_id.clone()]] {
        let start = Instant::now();
        let second = user.ralph(repo.path(), &words).with_code(2);
        let took = start.elapsed();
        // At once: only the lock of a dead process is waited for, for ten seconds.
        assert!(took < Duration::from_secs(9), "refused after {took:?}");
        let short = &loop_id[loop_id.len() - 8..];
        for part in [&format!("loop {short} is"), &first.id().to_string(), &format!("ralph stop {short}")] {
            assert!(second.stderr.contains(part), "no `{part}` in {}", second.stderr);
        }
    }
    // By another name it is the same workspace.
    let link = repo.outside().join("link");
    std::os::unix::fs::symlink(repo.path(), &link).unwrap();
    user.ralph(&link, &words).with_code(2);

    // The loop that was refused left no trace, and the first one is not disturbed.
    assert_eq!(user.ralph(repo.path(), ["list", "--all", "--json"]).ok().json().as_array().unwrap().len(), 1);
    repo.write("go", "");
    assert_eq!(finish(first).with_code(10).json()["iterations"], 2);
    assert_eq!(agent.runs(), 2);
    // Free again.
    user.ralph(repo.path(), &words).with_code(10);
}

#[test]
fn another_workspace_is_not_refused() {
    let (user, repo, other) = (User::new(), Repo::init(), Repo::init());
    let agent = waiting_agent(&user);
    let first = user.spawn(repo.path(), run_words_with(&agent.line, 1, &["--criteria", "false"]));
    wait_for_file(&repo.path().join("working"));
    let quick = Agent::new(&user, Script::new().run([Step::cost(1)]));
    user.ralph(other.path(), run_words_with(&quick.line, 1, &["--criteria", "false"])).with_code(10);
    repo.write("go", "");
    finish(first).with_code(10);
}

#[test]
fn of_eight_starts_at_once_exactly_one_wins() {
    for round in 0..if is_long() { 20 } else { 2 } {
        let (user, repo) = (User::new(), Repo::init());
        let agent = waiting_agent(&user);
        let words = run_words_with(&agent.line, 1, &["--criteria", "false"]);
        let mut children: Vec<_> = (0..8).map(|_| user.spawn(repo.path(), &words)).collect();
        // All but the winner end by themselves.
        wait_until("seven refusals", || children.iter_mut().filter_map(|child| child.try_wait().unwrap()).count() >= 7);
        repo.write("go", "");
        let codes: Vec<i32> = children.into_iter().map(|child| finish(child).code).collect();
        assert_eq!(codes.iter().filter(|code| **code == 10).count(), 1, "round {round}: {codes:?}");
        assert_eq!(codes.iter().filter(|code| **code == 2).count(), 7, "round {round}: {codes:?}");
        assert_eq!(agent.runs(), 1, "round {round}");
        let listed = user.ralph(repo.path(), ["list", "--json"]).ok().json();
        assert_eq!(listed.as_array().unwrap().len(), 1, "round {round}: {listed}");
    }
}

#[test]
fn the_lock_of_a_killed_process_is_taken_over() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = waiting_agent(&user);
    let words = run_words_with(&agent.line, 1, &["--criteria", "false"]);
    let first = user.spawn(repo.path(), &words);
    wait_for_file(&repo.path().join("working"));
    kill(first);
    // A new loop, not the old one: what is left of that is ended first.
    let second = user.ralph(repo.path(), &words).with_code(10).json();
    assert_eq!(second["iterations"], 1);
    assert_eq!(agent.runs(), 2);
    let listed = user.ralph(repo.path(), ["list", "--json"]).ok().json();
    let states: Vec<_> = listed.as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["ABORTED", "INTERRUPTED"]);
}

/// The agent ignores the request to end, and Ralph was killed: `resume` starts no second one beside it.
#[test]
fn two_agents_never_work_in_one_workspace() {
    for round in 0..if is_long() { 20 } else { 2 } {
        let (user, repo) = (User::new(), Repo::init());
        let stamps = repo.outside().join("stamps");
        // The shell writes a line as long as it lives; the first run would do so for minutes.
        let beat = |count: u32| {
            let line = format!(
                "trap '' TERM INT HUP; i=0; while [ $i -lt {count} ]; do echo \"$PPID $(date +%s%N)\" >> {}; sleep 0.02; i=$((i+1)); done",
                stamps.display()
            );
            Step::run(line)
        };
        let script = Script::new()
            .run([Step::ignore_signals(), Step::cost(1000), beat(10_000)])
            .otherwise([Step::cost(1000), beat(5)]);
        let agent = Agent::new(&user, script);
        let first = user.spawn(repo.path(), run_words_with(&agent.line, 3, &["--criteria", "false"]));
        wait_until("a beat of the first agent", || {
            fs::read_to_string(&stamps).is_ok_and(|text| text.lines().count() > 3)
        });
        kill(first);
        let resumed = user.ralph(repo.path(), ["resume", "--json"]).with_code(10).json();
        assert_eq!(resumed["iterations"], 3);

        let text = fs::read_to_string(&stamps).unwrap();
        let beats: Vec<(&str, u128)> = text
            .lines()
            .map(|line| line.split_once(' ').unwrap())
            .map(|(who, at)| (who, at.parse().unwrap()))
            .collect();
        let mut order: Vec<&str> = beats.iter().map(|(who, _)| *who).collect();
        order.dedup();
        assert_eq!(order.len(), 3, "round {round}: agents took turns within a run: {order:?}");
        assert!(beats.windows(2).all(|pair| pair[0].1 <= pair[1].1), "round {round}: {text}");
        assert_eq!(agent.runs(), 3);
        agent.assert_gone(&repo, Duration::ZERO);
    }
}

/// A lock file with the number of a living process that never was a Ralph is stale all the same.
#[test]
fn a_number_that_was_used_again_holds_nothing() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = Agent::new(&user, Script::new().run([Step::cost(1000)]));
    let words = run_words_with(&agent.line, 1, &["--criteria", "false"]);
    user.ralph(repo.path(), &words).with_code(10);
    let locks: Vec<_> = fs::read_dir(user.state().join("workspaces"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("lock"))
        .collect();
    let [lock] = locks.as_slice() else { panic!("{locks:?}") };
    let text = fs::read_to_string(lock).unwrap();
    let mut holder: serde_json::Value = serde_json::from_str(&text).unwrap();
    holder["pid"] = std::process::id().into();
    fs::write(lock, holder.to_string()).unwrap();
    user.ralph(repo.path(), &words).with_code(10);
    // Rubbish in the file is no holder either.
    fs::write(lock, "{\"pid\": ").unwrap();
    user.ralph(repo.path(), &words).with_code(10);
}
