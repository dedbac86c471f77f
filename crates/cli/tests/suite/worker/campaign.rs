//! Many tasks, several workers, some of which are killed: every task is done, and no task has two workers at once.

use std::collections::BTreeMap;
use std::process::Child;

use ralph_testkit::{Repo, Script, Step};
use rustix::process::Signal;

use crate::aid::{is_long, kill, signal};
use crate::harness::Ended;

use super::fleet::{Fleet, Machine, remote};

#[test]
fn no_task_is_lost_or_done_twice_when_workers_are_killed() {
    let (tasks, kills) = if is_long() { (60, 8) } else { (12, 2) };
    let (fleet, repo) = (Fleet::new(), Repo::init());
    let (_, address) = remote(&repo);
    let machines: Vec<Machine> = (0..3).map(|_| Machine::new()).collect();
    let agent = machines[0].user.agent(Script::new().run([Step::SleepMs(150), Step::write("done.txt", "x")]));
    let words = ["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "20", "--repo", &address];
    let ids: Vec<String> = (0..tasks).map(|_| fleet.add(&words)).collect();
    let start = |number: usize, life: usize| {
        let name = format!("machine-{number}-{life}");
        machines[number].start(&fleet, &agent, &["--lease", "10", "--concurrency", "2", "--name", &name])
    };
    let mut workers: Vec<Child> = (0..machines.len()).map(|number| start(number, 0)).collect();
    for life in 1..=kills {
        // Spread over the whole campaign, on one machine after the other.
        fleet.wait_for_ends(&ids, life * tasks / (kills + 2));
        let number = life % workers.len();
        let victim = std::mem::replace(&mut workers[number], start(number, life));
        kill(victim);
    }
    fleet.wait_for_ends(&ids, tasks);
    for worker in workers {
        signal(&worker, Signal::TERM);
        Ended::of(worker).ok();
    }
    for id in &ids {
        let task = fleet.task(id);
        assert_eq!((&task["status"], &task["verified"]), (&"completed".into(), &true.into()), "{task:#}");
        let mut holders = 0;
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for kind in fleet.kinds(id) {
            match kind.as_str() {
                "claimed" => holders += 1,
                "released" | "expired" | "completed" => holders -= 1,
                _ => {}
            }
            assert!((0..=1).contains(&holders), "{:?}", fleet.kinds(id));
            *counts.entry(kind).or_default() += 1;
        }
        assert_eq!((counts["completed"], holders), (1, 0), "{counts:?}");
    }
}
