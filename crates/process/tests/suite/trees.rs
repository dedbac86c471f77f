//! Trees: whatever a program leaves behind is ended, whoever dies first.

use std::fs;

use ralph_model::{Ended, Millis};
use ralph_process::Spec;
use tokio::sync::watch;

use crate::support::{Lab, eventually, is_alive};

/// Writes the number of a long sleep, started in the given way, into the file `pids`.
pub(crate) const RUNAWAYS: [(&str, &str); 5] = [
    ("background", "sh -c 'echo $$ >> pids; exec sleep 1000' &"),
    ("session", "setsid sh -c 'echo $$ >> pids; exec sleep 1000' &"),
    ("double fork", "( setsid sh -c 'echo $$ >> pids; exec sleep 1000' & ) &"),
    ("no environment", "( setsid env -i /bin/sh -c 'echo $$ >> pids; exec sleep 1000' & ) &"),
    ("deaf", "( setsid sh -c 'trap \"\" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done' & ) &"),
];

pub(crate) fn until_written(count: usize) -> String {
    format!("while [ \"$(cat pids 2> /dev/null | wc -l)\" -lt {count} ]; do sleep 0.01; done")
}

#[tokio::test]
async fn whatever_outlives_the_program_is_ended() {
    for (name, runaway) in RUNAWAYS {
        let lab = Lab::new();
        let finished = lab.run(&format!("{runaway}\n{}; exit 6", until_written(1))).await;
        assert_eq!(finished.ended, Ended::Exited { code: 6 }, "{name}");
        assert!(finished.swept >= 1, "{name}: {finished:?}");
        assert!(!is_alive(lab.numbers("pids", 1).await[0]), "{name}");
    }
}

#[tokio::test]
async fn all_of_it_is_ended_at_a_limit_too() {
    let lab = Lab::new();
    let all: String = RUNAWAYS.iter().map(|(_, runaway)| format!("{runaway}\n")).collect();
    let line = format!("{all}{}; echo ready; sleep 1000", until_written(RUNAWAYS.len()));
    let spec = || Spec { grace: Millis(200), ..lab.spec(&line) };
    lab.run_into_limit(spec, |finished| finished.stdout == "ready\n").await;
    let pids = lab.numbers("pids", RUNAWAYS.len()).await;
    assert_eq!(pids.iter().filter(|pid| is_alive(**pid)).count(), 0);
}

#[tokio::test]
async fn a_program_alone_leaves_nothing_to_sweep() {
    assert_eq!(Lab::new().run("sleep 0.01 & wait; ls | cat").await.swept, 0);
}

#[tokio::test]
async fn a_grandchild_with_the_pipe_in_its_hand_delays_nothing() {
    let lab = Lab::new();
    let finished = lab.run("( trap '' TERM; sleep 1000; sleep 1000 ) & echo out; echo err >&2").await;
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("out\n", "err\n"));
    assert!(finished.duration < Millis(20_000), "{finished:?}");
}

#[tokio::test]
async fn processes_that_keep_forking_lose() {
    let lab = Lab::new();
    // Each one starts its successor and exits: whoever is signalled has usually gone already. The file `enough` is for
    // the case that this test fails, so that they do not outlive it.
    fs::write(
        lab.path("hop"),
        "trap '' TERM HUP\nn=$1\nwhile [ $n -gt 0 ]; do n=$((n-1)); done\n[ -e enough ] || [ ! -e hop ] && exit\n/bin/sh ./hop $1 & exit\n",
    )
    .unwrap();
    let mut spec = lab.spec("for i in 1 2 3 4 5 6 7 8; do setsid /bin/sh ./hop ${i}00 & done; sleep 0.3; exit 0");
    // Another run of the tests may be under way.
    let number = std::process::id().to_string();
    spec.environment.push(("HOPS".into(), number.clone().into()));
    let finished = lab.run_spec(spec).await;
    let left = environment_has(&format!("HOPS={number}"));
    fs::write(lab.path("enough"), "").unwrap();
    let finished = finished.unwrap();
    assert!(finished.swept > 0, "{finished:?}");
    assert_eq!(left, Vec::<i32>::new());
}

fn environment_has(variable: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let Some(pid) = entry.unwrap().file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes()) {
            found.push(pid);
        }
    }
    found
}

#[tokio::test]
async fn nothing_waits_to_be_reaped_afterwards() {
    let lab = Lab::new();
    let finished = lab.run("echo $PPID; ( sleep 1000 & ); exit 0").await;
    let reaper: i32 = finished.stdout.trim().parse().unwrap();
    // In passing, soon after the run.
    let gone = || (!fs::exists(format!("/proc/{reaper}")).unwrap()).then_some(());
    eventually("the reaper goes, and is no zombie either", gone).await;
}

#[tokio::test]
async fn orphans_are_reaped_while_the_program_runs() {
    let lab = Lab::new();
    // A hundred orphans end and become children of the reaper; none may be left as a zombie when the program looks.
    let line = "i=0; while [ $i -lt 100 ]; do ( true & ); i=$((i+1)); done
        for t in $(seq 300); do
            n=$(cat /proc/[0-9]*/stat 2> /dev/null | grep -c \") Z $PPID \")
            [ $n -eq 0 ] && break; sleep 0.1
        done; echo $n";
    assert_eq!(lab.run(line).await.stdout, "0\n");
}

#[tokio::test]
async fn killing_the_reaper_frees_nobody() {
    let lab = Lab::new();
    let all: String = RUNAWAYS.iter().map(|(_, runaway)| format!("{runaway}\n")).collect();
    // What left the session and wiped its environment is out of reach then, and only that.
    let all = all.replace("setsid env -i", "env -i");
    let line =
        format!("{all}{}; echo $$ >> pids; echo before; kill -9 $PPID; sleep 1000", until_written(RUNAWAYS.len()));
    let finished = lab.run(&line).await;
    assert_eq!(finished.ended, Ended::Signalled { signal: 9 });
    assert_eq!(finished.stdout, "before\n");
    let pids = lab.numbers("pids", RUNAWAYS.len() + 1).await;
    assert_eq!(pids.iter().filter(|pid| is_alive(**pid)).count(), 0);
    assert!(finished.swept as usize >= RUNAWAYS.len(), "{finished:?}");
}

#[tokio::test]
async fn stopping_the_reaper_gains_some_time_and_no_more() {
    let lab = Lab::new();
    let spec = || Spec { grace: Millis(0), ..lab.spec("echo $$ >> pids; kill -STOP $PPID; sleep 1000") };
    lab.run_into_limit(spec, |_| lab.path("pids").exists()).await;
    assert!(!is_alive(lab.numbers("pids", 1).await[0]));
}

#[tokio::test]
async fn a_dropped_future_ends_the_tree() {
    let lab = Lab::new();
    let all: String = RUNAWAYS.iter().map(|(_, runaway)| format!("{runaway}\n")).collect();
    let (_sender, stop) = watch::channel(None);
    let mut observe = |_, _: &str| {};
    let run = lab.supervisor.run(lab.spec(&format!("{all}sleep 1000")), stop, &mut observe);
    let pids = tokio::select! {
        finished = run => panic!("{finished:?}"),
        pids = lab.numbers("pids", RUNAWAYS.len()) => pids,
    };
    eventually("the tree ends", || (!pids.iter().any(|pid| is_alive(*pid))).then_some(())).await;
}

#[tokio::test]
async fn trees_of_parallel_runs_do_not_mix() {
    let lab = Lab::new();
    let labs: Vec<Lab> = (0..8).map(|_| Lab::new()).collect();
    let long = lab.run("sleep 1.5; exit 9");
    let short = async {
        for other in &labs {
            assert_eq!(other.run("( setsid sleep 1000 & ); exit 1").await.ended, Ended::Exited { code: 1 });
        }
    };
    let (long, ()) = tokio::join!(long, short);
    assert_eq!(long.ended, Ended::Exited { code: 9 });
}
