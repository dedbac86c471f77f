//! Workers that die: others continue, on other machines too.

use std::io::{BufRead as _, BufReader};

use ralph_testkit::{Repo, Script, Step};
use rustix::process::Signal;

use crate::aid::{kill, query, signal, tamper, wait_for_file, wait_until};
use crate::harness::Ended;

use super::fleet::{Fleet, Machine, git, remote};

#[test]
fn another_machine_continues_from_the_branch_of_a_worker_that_was_killed() {
    let (fleet, first, second, repo) = (Fleet::new(), Machine::new(), Machine::new(), Repo::init());
    let (path, address) = remote(&repo);
    let signs = first.folder("signs");
    let script = Script::new()
        .run([Step::write("one.txt", "1"), Step::write("src/deep.txt", "1")])
        .run([
            Step::write("lost.txt", "x"),
            Step::write(signs.join("began"), "x"),
            Step::WaitForFile { path: signs.join("never"), limit_ms: 600_000 },
        ])
        .otherwise([Step::run("cp one.txt done.txt")]);
    let agent = first.user.agent(script);
    let id =
        fleet.add(&["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "9", "--repo", &address]);
    let worker = first.start(&fleet, &agent, &["--lease", "15", "--name", "first"]);
    wait_for_file(&signs.join("began"));
    let pushed = format!("ralph/{id}:one.txt");
    let branch = format!("refs/heads/ralph/{id}");
    wait_until("the branch", || git(&path, &["for-each-ref", &branch]).contains("commit"));
    kill(worker);
    let run = fleet.task(&id)["runId"].clone();
    let other = second.start(&fleet, &agent, &["--name", "second"]);
    fleet.wait_for_ends(1);
    signal(&other, Signal::TERM);
    let ended = Ended::of(other).ok();
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["verified"]), (&"completed".into(), &true.into()), "{task:#}\n{}", ended.stderr);
    assert_eq!((&task["runId"], &task["workerDeaths"]), (&run, &1.into()), "{task:#}\n{}", ended.stderr);
    // One before the worker died, one that was lost with it, one after.
    assert_eq!(task["ralphIterations"], 3, "{task:#}\n{}", ended.stderr);
    assert_eq!(git(&path, &["show", &pushed]), "1");
    let files = git(&path, &["ls-tree", "-r", "--name-only", &branch]);
    assert!(files.contains("done.txt") && files.contains("src/deep.txt") && !files.contains("lost.txt"), "{files}");
    let claims = fleet.kinds(&id).iter().filter(|kind| *kind == "claimed").count();
    assert_eq!(claims, 2);
    // The first machine keeps its files only as long as it may be the next one.
    let left = || first.user.state().join("worktrees").join(format!("task-{id}")).exists();
    assert!(left());
    let again = first.start(&fleet, &agent, &["--name", "again"]);
    wait_until("the files to be removed", || !left());
    signal(&again, Signal::TERM);
    Ended::of(again).ok();
}

/// The first worker is not dead: it stands still until another one has done its work, and then continues as if nothing had happened.
#[test]
fn a_task_is_taken_over_at_once_and_late_writes_of_the_worker_before_change_nothing() {
    let (fleet, first, second, repo) = (Fleet::new(), Machine::new(), Machine::new(), Repo::init());
    let (path, address) = remote(&repo);
    let signs = first.folder("signs");
    let script = Script::new()
        .run([Step::write("one.txt", "1")])
        .run([
            Step::write(signs.join("began"), "x"),
            Step::WaitForFile { path: signs.join("continue"), limit_ms: 600_000 },
            Step::write("late.txt", "x"),
        ])
        .otherwise([Step::run("cp one.txt done.txt")]);
    let agent = first.user.agent(script);
    let id =
        fleet.add(&["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "9", "--repo", &address]);
    let mut frozen = first.start(&fleet, &agent, &["--lease", "5", "--name", "first", "--json"]);
    wait_for_file(&signs.join("began"));
    let branch = format!("refs/heads/ralph/{id}");
    wait_until("the branch", || git(&path, &["for-each-ref", &branch]).contains("commit"));
    signal(&frozen, Signal::STOP);
    // As if it were another machine, whose lease on the run outlasts the one on the task by an hour.
    let held = "UPDATE loops SET host = 'elsewhere', boot = 'x', lease_until = lease_until + 3600000";
    assert_eq!(tamper(&fleet.user, held), 1);
    let other = second.start(&fleet, &agent, &["--name", "second"]);
    fleet.wait_for_ends(1);
    signal(&other, Signal::TERM);
    let ended = Ended::of(other).ok();
    let everything = || {
        let stored =
            ["SELECT * FROM tasks", "SELECT * FROM task_events", "SELECT * FROM loops", "SELECT * FROM events"]
                .map(|statement| query(&fleet.user, statement));
        (stored, git(&path, &["rev-parse", &branch]))
    };
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["verified"]), (&"completed".into(), &true.into()), "{task:#}\n{}", ended.stderr);
    let before = everything();
    std::fs::write(signs.join("continue"), "x").unwrap();
    signal(&frozen, Signal::CONT);
    let mut lines = BufReader::new(frozen.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains(r#""event":"lost""#)), "it notices that the task is not its own any more");
    signal(&frozen, Signal::TERM);
    Ended::of(frozen).ok();
    assert_eq!(everything(), before, "late writes of the first worker");
}

/// The journal of a task comes from another machine: what it says must not run here unless the task says the same.
#[test]
fn a_loop_with_other_protections_than_here_is_begun_anew() {
    let (fleet, first, second, repo) = (Fleet::new(), Machine::new(), Machine::new(), Repo::init());
    let (_, address) = remote(&repo);
    first.user.configure("tripwire = false\n");
    let signs = first.folder("signs");
    let waits =
        [Step::write(signs.join("began"), "x"), Step::WaitForFile { path: signs.join("never"), limit_ms: 600_000 }];
    let agent = first.user.agent(Script::new().run(waits).otherwise([Step::write("done.txt", "1")]));
    let id =
        fleet.add(&["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "9", "--repo", &address]);
    let worker = first.start(&fleet, &agent, &["--lease", "5", "--name", "first"]);
    wait_for_file(&signs.join("began"));
    let run = fleet.task(&id)["runId"].clone();
    assert!(run.is_string(), "{run}");
    kill(worker);
    let other = second.start(&fleet, &agent, &["--name", "second"]);
    fleet.wait_for_ends(1);
    signal(&other, Signal::TERM);
    let ended = Ended::of(other).ok();
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["verified"]), (&"completed".into(), &true.into()), "{task:#}\n{}", ended.stderr);
    assert_ne!(task["runId"], run, "{task:#}\n{}", ended.stderr);
    assert!(ended.stderr.contains("with other checks or protections"), "{}", ended.stderr);
}
