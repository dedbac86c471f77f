//! Workers that die: others continue, on other machines too.

use ralph_testkit::{Repo, Script, Step};
use rustix::process::Signal;

use crate::aid::{kill, signal, wait_for_file, wait_until};
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
    fleet.wait_for_ends(std::slice::from_ref(&id), 1);
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
}
