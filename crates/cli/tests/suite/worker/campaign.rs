//! Many tasks, several workers, some of which are killed: every task is done, and no task has two workers at once.

use std::collections::BTreeMap;
use std::process::Child;

use ralph_testkit::{Repo, Script, Step};
use rustix::process::Signal;
use serde_json::Value;

use crate::aid::{is_long, kill, signal};
use crate::harness::Ended;

use super::fleet::{Fleet, Machine, remote};

#[test]
fn no_task_is_lost_or_done_twice_when_workers_are_killed() {
    // Of the long one the number of tasks can be chosen: 20,000 of them take hours.
    let wanted = std::env::var("RALPH_TEST_TASKS").ok().and_then(|text| text.parse().ok());
    let (tasks, kills, fleet_size, slots) =
        if is_long() { (wanted.unwrap_or(600), 40, 8, "8") } else { (12, 2, 3, "2") };
    let (fleet, repo) = (Fleet::new(), Repo::init());
    let (_, address) = remote(&repo);
    let machines: Vec<Machine> = (0..fleet_size).map(|_| Machine::new()).collect();
    let agent = machines[0].user.agent(Script::new().run([Step::SleepMs(150), Step::write("done.txt", "x")]));
    let words = ["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "20", "--repo", &address];
    let first = fleet.add(&words);
    let like_it = fleet.task(&first);
    let keys = ["task", "taskType", "ralphPromise", "verificationCommand", "ralphMaxIterations", "repo"];
    let body: Value = keys.iter().map(|key| ((*key).to_owned(), like_it[key].clone())).collect();
    let more =
        (1..tasks).map(|_| fleet.ask("POST", "/api/tasks", &body.to_string())["id"].as_str().unwrap().to_owned());
    let ids: Vec<String> = [first].into_iter().chain(more).collect();
    let start = |number: usize, life: usize| {
        let name = format!("machine-{number}-{life}");
        machines[number].start(&fleet, &agent, &["--lease", "10", "--concurrency", slots, "--name", &name])
    };
    let mut workers: Vec<Child> = (0..machines.len()).map(|number| start(number, 0)).collect();
    for life in 1..=kills {
        // Spread over the whole campaign, on one machine after the other.
        fleet.wait_for_ends(life * tasks / (kills + 2));
        let life = usize::try_from(life).unwrap();
        let number = life % workers.len();
        let victim = std::mem::replace(&mut workers[number], start(number, life));
        kill(victim);
    }
    fleet.wait_for_ends(tasks);
    for worker in workers {
        signal(&worker, Signal::TERM);
        Ended::of(worker).ok();
    }
    let mut quarantined = 0;
    for id in &ids {
        let task = fleet.task(id);
        // Bad luck, where many are killed: a task whose workers died three times is not given to a fourth.
        let (status, last, verified) =
            if task["workerDeaths"] == 3 { ("failed", "quarantined", false) } else { ("completed", "completed", true) };
        quarantined += u64::from(!verified);
        assert_eq!((&task["status"], &task["verified"]), (&status.into(), &verified.into()), "{task:#}");
        let mut holders = 0;
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for kind in fleet.kinds(id) {
            match kind.as_str() {
                "claimed" => holders += 1,
                "released" | "expired" | "completed" | "quarantined" => holders -= 1,
                _ => {}
            }
            assert!((0..=1).contains(&holders), "{:?}", fleet.kinds(id));
            *counts.entry(kind).or_default() += 1;
        }
        assert_eq!((counts.get(last), holders), (Some(&1), 0), "{counts:?}");
    }
    assert!(quarantined <= tasks / 50, "{quarantined} of {tasks}");
    println!("{tasks} tasks, {fleet_size} workers with {slots} slots, {kills} killed: {quarantined} quarantined");
}
