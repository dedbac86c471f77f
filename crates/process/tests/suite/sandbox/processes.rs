//! Supervision inside a sandbox, and processes outside of it.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use ralph_model::{Ended, Millis};
use ralph_process::{Network, NetworkLevel, Spec, TREE_VARIABLE};
use rustix::process::{Pid, Signal, kill_process};

use super::{Cell, has_mounts, landlock, levels};
use crate::support::{eventually, is_alive, numbers_in, words};
use crate::trees::{RUNAWAYS, until_written};

#[tokio::test]
async fn exit_codes_and_signals_are_those_of_the_program() {
    for level in levels() {
        for network in [Network::Allowed, Network::Loopback] {
            let cell = Cell::new(&level);
            for (line, ended) in [
                ("exit 0", Ended::Exited { code: 0 }),
                ("exit 3", Ended::Exited { code: 3 }),
                ("exit 137", Ended::Exited { code: 137 }),
                ("kill -9 $$", Ended::Signalled { signal: 9 }),
                ("kill -TERM $$", Ended::Signalled { signal: 15 }),
                ("kill -SEGV $$", Ended::Signalled { signal: 11 }),
            ] {
                let mut spec = cell.spec(line);
                spec.sandbox = Some(cell.sandbox(network.clone()));
                let finished = cell.lab.run_spec(spec).await.unwrap();
                assert_eq!(finished.ended, ended, "{level}: {line}: {}", finished.stderr);
                assert_eq!(finished.swept, 0, "{level}: {line}");
            }
        }
    }
}

#[tokio::test]
async fn environment_descriptors_and_session_are_as_without_one() {
    for level in levels() {
        let cell = Cell::new(&level);
        let mut spec = cell.spec("");
        spec.program = words(&["/usr/bin/env"]);
        spec.environment = vec![("ONE".into(), "1".into()), ("LD_PRELOAD".into(), "./evil.so".into())];
        let finished = cell.lab.run_spec(spec).await.unwrap();
        let mut names: Vec<&str> = finished.stdout.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["LD_PRELOAD", "ONE", TREE_VARIABLE], "{level}");
        // Once, by the program: in the stage before it, the loader would have complained as well.
        assert_eq!(finished.stderr.matches("evil.so").count(), 1, "{level}: {}", finished.stderr);

        let mut spec = cell.spec("ls -l /proc/self/fd | sed 's/.* -> //'");
        spec.hold = vec![Arc::new(std::fs::File::open("/").unwrap().into())];
        let listed = cell.lab.run_spec(spec).await.unwrap().stdout;
        let targets: Vec<&str> = listed.lines().skip(1).collect();
        assert_eq!(targets.len(), 4, "{level}: {listed}");
        assert!(targets[..3].iter().all(|target| target.starts_with("pipe:") || *target == "/dev/null"), "{listed}");

        let line =
            "read pid name state parent group session tty rest < /proc/$$/stat; echo $$ $group $session $tty; pwd";
        let output = cell.output_of(line).await;
        let (numbers, folder) = output.split_once('\n').unwrap();
        let numbers: Vec<&str> = numbers.split(' ').collect();
        assert!(numbers[0] == numbers[1] && numbers[0] == numbers[2] && numbers[3] == "0", "{level}: {output}");
        assert_eq!(folder.trim(), cell.path("work").canonicalize().unwrap().to_str().unwrap());

        // A broken pipe ends a program silently, as everywhere.
        assert_eq!(cell.output_of("yes | head -n 1").await, "y\n");
        assert_eq!(cell.run("yes | head -n 1 > /dev/null").await.stderr, "", "{level}");
    }
}

/// A process that has nothing to do with any run. It ends with the test, also with one that fails.
struct Stranger(Child);

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn processes_outside_are_not_to_be_touched() {
    for level in levels() {
        let cell = Cell::new(&level);
        let stranger = Stranger(Command::new("sleep").arg("1000").stdout(Stdio::null()).spawn().unwrap());
        let pid = stranger.0.id();
        if landlock(&level).is_some() {
            for look in
                ["cat environ", "cat maps", "head -c 0 mem", "ls root/", "ls cwd/", "readlink fd/0", "readlink ns/net"]
            {
                let (own, other) = (format!("cd /proc/self; {look}"), format!("cd /proc/{pid}; {look}"));
                assert_eq!(cell.run(&own).await.ended, Ended::Exited { code: 0 }, "{level}: {look}");
                assert_ne!(cell.run(&other).await.ended, Ended::Exited { code: 0 }, "{level}: {look}");
            }
        }
        if landlock(&level).is_some_and(|version| version >= 6) {
            let line = format!("kill -9 {pid}; kill -9 $PPID; kill -STOP $RALPH; exit 5");
            assert_eq!(cell.run(&line).await.ended, Ended::Exited { code: 5 }, "{level}");
            assert!(is_alive(pid.try_into().unwrap()), "{level}");
        } else {
            println!("SKIPPED: {level} does not scope signals");
        }
    }
}

#[tokio::test]
async fn the_tree_can_signal_itself() {
    for level in levels() {
        let cell = Cell::new(&level);
        let line = "setsid sleep 1000 & first=$!; sleep 1000 & kill $first $!; wait; echo over";
        assert_eq!(cell.output_of(line).await, "over\n", "{level}");
    }
}

#[tokio::test]
async fn whatever_outlives_the_program_is_ended_in_a_sandbox_too() {
    for level in levels() {
        for network in [Network::Allowed, Network::Loopback] {
            let cell = Cell::new(&level);
            let all: String = RUNAWAYS.iter().map(|(_, runaway)| format!("{runaway}\n")).collect();
            let mut spec = cell.spec(&format!("{all}{}; exit 6", until_written(RUNAWAYS.len())));
            spec.sandbox = Some(cell.sandbox(network));
            let finished = cell.lab.run_spec(spec).await.unwrap();
            assert_eq!(finished.ended, Ended::Exited { code: 6 }, "{level}: {}", finished.stderr);
            assert!(finished.swept as usize >= RUNAWAYS.len(), "{level}: {finished:?}");
            let pids = numbers_in(&cell.path("work/pids"), RUNAWAYS.len()).unwrap();
            assert_eq!(pids.iter().filter(|pid| is_alive(**pid)).count(), 0, "{level}");
        }
    }
}

#[tokio::test]
async fn a_dead_reaper_frees_nobody_from_a_sandbox() {
    for level in levels() {
        let cell = Cell::new(&level);
        let all: String = RUNAWAYS.iter().map(|(_, runaway)| format!("{runaway}\n")).collect();
        // What left the session and wiped its environment is out of reach then, and only that.
        let all = all.replace("setsid env -i", "env -i");
        let count = RUNAWAYS.len() + 1;
        let line = format!("{all} echo $PPID > reaper; {}; echo $$ >> pids; sleep 1000", until_written(RUNAWAYS.len()));
        let run = cell.run(&line);
        let kill = async {
            let path = cell.path("work/pids");
            crate::support::eventually("the program writes its numbers", || numbers_in(&path, count)).await;
            let reaper = numbers_in(&cell.path("work/reaper"), 1).unwrap()[0];
            assert!(Command::new("kill").args(["-9", &reaper.to_string()]).status().unwrap().success());
        };
        let (finished, ()) = tokio::join!(run, kill);
        assert_eq!(finished.ended, Ended::Signalled { signal: 9 }, "{level}");
        let pids = numbers_in(&cell.path("work/pids"), count).unwrap();
        assert_eq!(pids.iter().filter(|pid| is_alive(**pid)).count(), 0, "{level}");
    }
}

#[tokio::test]
async fn limits_hold_in_a_sandbox_too() {
    for level in levels() {
        let cell = Cell::new(&level);
        let spec = || Spec { grace: Millis(200), ..cell.spec("trap '' TERM; echo before; sleep 1000; sleep 1000") };
        cell.lab.run_into_limit(spec, |finished| finished.stdout == "before\n").await;
        let mut spec = cell.spec("sleep 1000");
        spec.idle = Some(Millis(300));
        assert_eq!(cell.lab.run_spec(spec).await.unwrap().ended, Ended::Idle { after: Millis(300) }, "{level}");
    }
}

#[test]
fn when_ralph_is_killed_a_sandboxed_tree_ends() {
    for level in levels() {
        let cell = Cell::new(&level);
        let deaf = "trap '' TERM HUP; echo $$ >> work/pids; while :; do sleep 1; done";
        let inner = deaf.replace('$', "\\$");
        let line = format!("( setsid sh -c \"{inner}\" & ) & sh -c 'echo $$ >> work/pids; exec sleep 1000' & {deaf}");
        let mut host = crate::host::start_host(cell.lab.folder.path(), &line, Some(&level));
        let pids = crate::host::wait(|| numbers_in(&cell.path("work/pids"), 3));
        assert!(pids.iter().all(|pid| is_alive(*pid)), "{level}: {pids:?}");
        host.kill().unwrap();
        host.wait().unwrap();
        crate::host::wait(|| pids.iter().all(|pid| !is_alive(*pid)).then_some(()));
    }
}

/// The processes that a process has as children.
fn children(pid: i32) -> Vec<i32> {
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    listed.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

fn network_of(pid: &str) -> Option<String> {
    let target = fs::read_link(format!("/proc/{pid}/ns/net")).ok()?;
    Some(target.to_string_lossy().into_owned())
}

/// Agents and checks take turns: while one runs, the network of the other is made.
#[tokio::test]
async fn what_the_next_program_needs_is_made_while_one_runs_which_may_end_or_stop_it() {
    const SAY: &str = "echo $$; readlink /proc/self/ns/net";
    let own = network_of("self").unwrap();
    for level in levels() {
        let cell = Cell::new(&level);
        if has_mounts(&level) || level.network != NetworkLevel::Namespace {
            continue;
        }
        for _ in 0..2 {
            cell.run("exit 0").await;
            cell.run_alone("exit 0").await;
        }
        for (hit, is_used) in [(Signal::CONT, true), (Signal::STOP, true), (Signal::KILL, false)] {
            let (running, go) = (cell.path("work/running"), cell.path("work/go"));
            let line = "echo $PPID > part; cut -d' ' -f4 < /proc/$PPID/stat >> part; mv part running; \
                        while [ ! -e go ]; do sleep 0.01; done; rm running go";
            let between = async {
                let ancestors = eventually("the program runs", || numbers_in(&running, 2)).await;
                let (reaper, launcher) = (ancestors[0], ancestors[1]);
                let stage = eventually("a stage with a network waits", || {
                    let waiting = children(launcher).into_iter().filter(|child| *child != reaper);
                    let mut stages = waiting.flat_map(children);
                    stages.find(|stage| network_of(&stage.to_string()).is_some_and(|network| network != own))
                })
                .await;
                kill_process(Pid::from_raw(stage).unwrap(), hit).unwrap();
                fs::write(&go, "").unwrap();
                stage
            };
            let (ran, stage) = tokio::join!(cell.run(line), between);
            assert!(ran.ended.is_success(), "{level}: {}", ran.stderr);
            let said = cell.run_alone(SAY).await.stdout;
            let (pid, network) = said.trim().split_once('\n').unwrap();
            assert_eq!(pid == stage.to_string(), is_used, "{level}: {hit:?}: {said}, {stage}");
            assert_ne!(network, own, "{level}: {hit:?}");
        }
        // Another program than the expected one has what it asks for and no more.
        cell.run("exit 0").await;
        let said = cell.run(SAY).await.stdout;
        assert_eq!(said.trim().split_once('\n').unwrap().1, own, "{level}");
        assert_ne!(cell.run_alone(SAY).await.stdout.trim().split_once('\n').unwrap().1, own, "{level}");
    }
}
