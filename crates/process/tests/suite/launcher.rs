//! The launcher: one for all runs, and none of them depends on it once its reaper runs.

use std::fs;
use std::time::Duration;

use ralph_model::{Ended, Millis};
use ralph_process::{Spec, Stop};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::watch;

use crate::host::{start_host, wait};
use crate::support::{Lab, eventually, is_alive, numbers_in};

/// Prints the reaper of a run and what forked it.
const ANCESTORS: &str = "read pid name state parent rest < /proc/$PPID/stat; echo $PPID $parent";

fn numbers(text: &str) -> Vec<i32> {
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn descriptors(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

#[tokio::test]
async fn one_launcher_serves_runs_side_by_side() {
    let lab = Lab::new();
    let runs: Vec<_> = (0..16)
        .map(|number| {
            let mut spec = lab.spec(&format!("{ANCESTORS}; ( setsid sleep 1000 & ); exit {number}"));
            spec.log = lab.path(&format!("log{number}"));
            let supervisor = lab.supervisor.clone();
            tokio::spawn(async move {
                let (_sender, stop) = watch::channel(None);
                supervisor.run(spec, stop, &mut |_, _| {}).await.unwrap()
            })
        })
        .collect();
    let mut finished = Vec::new();
    for run in runs {
        finished.push(run.await.unwrap());
    }
    let ancestors: Vec<Vec<i32>> = finished.iter().map(|finished| numbers(&finished.stdout)).collect();
    for (number, finished) in finished.iter().enumerate() {
        assert_eq!(finished.ended, Ended::Exited { code: i32::try_from(number).unwrap() }, "{finished:?}");
        assert_eq!(finished.swept, 1, "{finished:?}");
        assert_eq!(ancestors[number][1], ancestors[0][1], "{ancestors:?}");
    }
    let reapers: std::collections::HashSet<i32> = ancestors.iter().map(|numbers| numbers[0]).collect();
    assert_eq!(reapers.len(), 16);
}

#[tokio::test]
async fn a_launcher_that_was_started_early_forks_the_first_reaper_and_ends_with_its_supervisor() {
    let lab = Lab::new();
    lab.supervisor.prepare();
    let own = std::process::id();
    let threads = fs::read_dir(format!("/proc/{own}/task")).unwrap();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.unwrap().path().join("children")).ok());
    let early: Vec<i32> = children.flat_map(|children| numbers(&children)).collect();
    // Beside it there may be launchers of other tests, with reapers or without.
    let reapers = |launcher: &i32| {
        numbers(&fs::read_to_string(format!("/proc/{launcher}/task/{launcher}/children")).unwrap_or_default())
    };
    for _ in 0..500 {
        if early.iter().all(|launcher| !reapers(launcher).is_empty()) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let waiting: Vec<i32> = early.iter().flat_map(reapers).collect();
    let [reaper, launcher] = numbers(&lab.run(ANCESTORS).await.stdout)[..] else { panic!("two ancestors are named") };
    assert!(early.contains(&launcher), "{launcher} is none of {early:?}");
    assert!(waiting.contains(&reaper), "{reaper} is none of {waiting:?}");
    drop(lab);
    assert!(!is_alive(launcher));
}

#[tokio::test]
async fn a_launcher_that_was_released_is_gone_and_another_forks_for_the_next_run() {
    let lab = Lab::new();
    let first = numbers(&lab.run(ANCESTORS).await.stdout)[1];
    lab.supervisor.release();
    let second = numbers(&lab.run(ANCESTORS).await.stdout)[1];
    assert_ne!(first, second);
    assert!(!is_alive(first));
    drop(lab);
    assert!(!is_alive(second));
}

#[tokio::test]
async fn a_reaper_has_nothing_of_other_runs() {
    let lab = Lab::new();
    let (_sender, stop) = watch::channel(None);
    // The reaper closes what it gave its program a moment after the program began.
    let listing =
        "for t in $(seq 200); do n=$(ls /proc/$PPID/fd | wc -l); [ $n -le 5 ] && break; sleep 0.05; done; echo $n";
    let alone = lab.run(listing).await.stdout;
    let mut other = lab.spec("echo $$ > pids; sleep 1000");
    other.log = lab.path("other");
    other.hold = vec![std::sync::Arc::new(fs::File::open("/").unwrap().into())];
    let mut observe = |_, _: &str| {};
    let second = async {
        lab.numbers("pids", 1).await;
        lab.run(listing).await.stdout
    };
    let beside = tokio::select! {
        finished = lab.supervisor.run(other, stop, &mut observe) => panic!("{finished:?}"),
        beside = second => beside,
    };
    assert_eq!((alone.as_str(), beside.as_str()), ("5\n", "5\n"));
}

#[tokio::test]
async fn many_runs_leave_no_descriptor_and_no_process() {
    let lab = Lab::new();
    lab.run("exit 0").await;
    let launcher = numbers(&lab.run(ANCESTORS).await.stdout)[1];
    // From the second run on, one waits for the next.
    let is_idle = || {
        let children = fs::read_to_string(format!("/proc/{launcher}/task/{launcher}/children")).unwrap();
        (numbers(&children).len() == 1).then_some(())
    };
    eventually("the first reapers are reaped", is_idle).await;
    let before = (descriptors(launcher), descriptors(std::process::id().try_into().unwrap()));
    for number in 0..200 {
        assert_eq!(lab.run(&format!("exit {}", number % 7)).await.ended, Ended::Exited { code: number % 7 });
    }
    assert_eq!(numbers(&lab.run(ANCESTORS).await.stdout)[1], launcher);
    eventually("the last reaper is reaped", is_idle).await;
    assert_eq!((descriptors(launcher), descriptors(std::process::id().try_into().unwrap())), before);
}

/// The reaper of a launcher that waits for its request, and is none of these.
fn waiting(launcher: i32, known: &[i32]) -> Option<i32> {
    let children = fs::read_to_string(format!("/proc/{launcher}/task/{launcher}/children")).unwrap();
    let next = numbers(&children).into_iter().find(|child| !known.contains(child))?;
    let stat = fs::read_to_string(format!("/proc/{next}/stat")).ok()?;
    stat.contains(") S ").then_some(next)
}

#[tokio::test]
async fn the_next_reaper_waits_while_a_program_runs_and_may_be_killed_or_stopped_by_it() {
    let lab = Lab::new();
    let first = numbers(&lab.run(ANCESTORS).await.stdout);
    let launcher = first[1];
    let mut served = vec![first[0]];
    for (hit, is_used) in [(Signal::CONT, true), (Signal::STOP, true), (Signal::KILL, false)] {
        let (log, go) = (lab.path(&format!("{hit:?}")), lab.path(&format!("{hit:?}.go")));
        let mut spec = lab.spec(&format!("{ANCESTORS}; while [ ! -e '{}' ]; do sleep 0.01; done", go.display()));
        spec.log.clone_from(&log);
        let between = async {
            let text = || fs::read_to_string(&log).ok().filter(|text| text.ends_with('\n'));
            served.push(numbers(&eventually("the program runs", text).await)[0]);
            let next = eventually("the next reaper waits", || waiting(launcher, &served)).await;
            signal(next, hit);
            fs::write(&go, "").unwrap();
            next
        };
        let (ran, next) = tokio::join!(lab.run_spec(spec), between);
        assert!(ran.unwrap().ended.is_success());
        let ancestors = numbers(&lab.run(ANCESTORS).await.stdout);
        assert_eq!((ancestors[0] == next, ancestors[1]), (is_used, launcher), "{hit:?}: {ancestors:?}, {next}");
        served.push(ancestors[0]);
    }
}

#[tokio::test]
async fn a_killed_launcher_ends_no_run_and_is_replaced() {
    let lab = Lab::new();
    let first = numbers(&lab.run(ANCESTORS).await.stdout)[1];
    let mut spec =
        lab.spec(&format!("{ANCESTORS}; while [ ! -e go ]; do sleep 0.01; done; ( setsid sleep 1000 & ); exit 4"));
    spec.log = lab.path("long");
    let between = async {
        eventually("the program runs", || {
            fs::read_to_string(lab.path("long")).ok().filter(|text| text.ends_with('\n'))
        })
        .await;
        signal(first, Signal::KILL);
        // The one that was forked ahead is used up first.
        lab.run("exit 0").await;
        let second = numbers(&lab.run(ANCESTORS).await.stdout)[1];
        fs::write(lab.path("go"), "").unwrap();
        second
    };
    let (long, second) = tokio::join!(lab.run_spec(spec), between);
    let long = long.unwrap();
    assert_eq!((long.ended, long.swept), (Ended::Exited { code: 4 }, 1));
    assert_ne!(first, second);
    assert_eq!(numbers(&lab.run(ANCESTORS).await.stdout)[1], second);
    eventually("the killed one is reaped", || (!fs::exists(format!("/proc/{first}")).unwrap()).then_some(())).await;
}

#[tokio::test]
async fn a_stopped_launcher_delays_no_request_to_stop() {
    let lab = Lab::new();
    let launcher = numbers(&lab.run(ANCESTORS).await.stdout)[1];
    signal(launcher, Signal::STOP);
    let (sender, stop) = watch::channel(None);
    let since = std::time::Instant::now();
    let run = lab.run_until(lab.spec("touch ran"), stop);
    let asked = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        sender.send(Some(Stop::Requested)).unwrap();
    };
    let (finished, ()) = tokio::join!(run, asked);
    assert_eq!(finished.unwrap().ended, Ended::Stopped);
    assert!(since.elapsed() < Duration::from_secs(8), "{:?}", since.elapsed());
    // Without such a request another launcher takes over.
    let finished = lab.run(&format!("touch ran; {ANCESTORS}")).await;
    assert_ne!(numbers(&finished.stdout)[1], launcher);
    assert!(!is_alive(launcher));
}

#[tokio::test]
async fn a_reaper_that_is_killed_with_its_launcher_frees_nobody() {
    let lab = Lab::new();
    let line = format!(
        "set -- $({ANCESTORS}); ( setsid sh -c 'echo $$ > pids; exec sleep 1000' & ); while [ ! -e pids ]; do sleep 0.01; done; kill -9 $2 $1; sleep 1000"
    );
    let finished = lab.run_spec(Spec { timeout: Some(Millis(30_000)), ..lab.spec(&line) }).await.unwrap();
    assert_eq!(finished.ended, Ended::Signalled { signal: 9 });
    assert!(!is_alive(lab.numbers("pids", 1).await[0]));
    assert!(lab.run("exit 0").await.ended.is_success());
}

#[test]
fn the_launcher_ends_with_ralph() {
    let lab = Lab::new();
    let mut host = start_host(lab.folder.path(), &format!("echo $$ $({ANCESTORS}) > pids; exec sleep 1000"), None);
    let pids = wait(|| numbers_in(&lab.path("pids"), 3));
    host.kill().unwrap();
    host.wait().unwrap();
    wait(|| (!pids.iter().any(|pid| is_alive(*pid))).then_some(()));
}
