//! What a sandbox adds to a run, in turns with runs that have none, so that the noise of the machine hits all of them.
//!
//! `cargo run --release -p ralph-process --example sandbox_cost -- REAPER [ARGUMENT…]`, with the program that is to be the reaper
//! (`target/release/ralph __reaper`).
// It prints figures for whoever runs it by hand, who also reads the panic.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_model::Millis;
use ralph_process::{Level, Network, ReaperProgram, Sandbox, Spec, Stdin, Supervisor, probe};
use ralph_text::Redactor;
use tokio::sync::watch;

const RUNS: usize = 200;

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    // It is started from the root folder.
    let program = Path::new(&arguments.next().unwrap()).canonicalize().unwrap();
    let reaper = ReaperProgram { program, arguments: arguments.collect() };
    let since = Instant::now();
    let landlock = probe(&reaper, None);
    println!("{landlock}: found in {:?}", since.elapsed());
    let bubblewrap = Path::new("/usr/bin/bwrap");
    let since = Instant::now();
    let strongest = probe(&reaper, bubblewrap.exists().then_some(bubblewrap));
    println!("{strongest}: found in {:?}", since.elapsed());

    let kinds: [(&str, Option<(&Level, Network)>); 5] = [
        ("no sandbox", None),
        ("landlock", Some((&landlock, Network::Allowed))),
        ("landlock, own network", Some((&landlock, Network::Loopback))),
        ("strongest", Some((&strongest, Network::Allowed))),
        ("strongest, own network", Some((&strongest, Network::Loopback))),
    ];
    let folder = tempfile::tempdir().unwrap();
    // One for each kind: a supervisor prepares what the next run needs if it is like the last one.
    let supervisors = kinds.each_ref().map(|_| Supervisor::new(reaper.clone(), Arc::new(Redactor::default())));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); kinds.len()];
    for _ in 0..RUNS {
        for (kind, (_, sandbox)) in kinds.iter().enumerate() {
            let spec = spec(folder.path(), sandbox.clone());
            let (_keep, stop) = watch::channel(None);
            let since = Instant::now();
            let finished = runtime.block_on(supervisors[kind].run(spec, stop, &mut |_, _| {})).unwrap();
            times[kind].push(since.elapsed());
            assert!(finished.ended.is_success(), "{finished:?}");
        }
    }
    for times in &mut times {
        times.sort_unstable();
    }
    let base = (times[0][RUNS / 10], times[0][RUNS / 2]);
    for ((name, _), times) in kinds.iter().zip(&times) {
        let (early, median, late) = (times[RUNS / 10], times[RUNS / 2], times[RUNS * 9 / 10]);
        let more = (early.saturating_sub(base.0), median.saturating_sub(base.1));
        println!(
            "{name:24} p10 {early:>8.2?} (+{:.2?})  median {median:>8.2?} (+{:.2?})  p90 {late:>8.2?}",
            more.0, more.1
        );
    }
}

fn spec(folder: &Path, sandbox: Option<(&Level, Network)>) -> Spec {
    Spec {
        program: vec!["/bin/true".into()],
        directory: folder.to_owned(),
        environment: Vec::new(),
        stdin: Stdin::Empty,
        log: folder.join("log"),
        pieces: None,
        log_limit: 1024,
        tail: 1024,
        timeout: None,
        idle: None,
        grace: Millis(100),
        hold: Vec::new(),
        sandbox: sandbox.map(|(level, network)| Sandbox {
            writable: vec![folder.to_owned(), "/tmp".into()],
            hidden: Vec::new(),
            network,
            level: level.clone(),
        }),
    }
}
