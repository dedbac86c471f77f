//! Prints what a snapshot costs: `cargo run --release -p ralph-workspace --example scan_cost [FILES...]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // A program for people at a terminal.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_model::{DEFAULT_PROHIBITED, LoopId};
use ralph_workspace::{Guard, Options, Workspace};

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).map(|size| size.parse().expect("a number of files")).collect();
    let sizes = if sizes.is_empty() { vec![2_000, 20_000] } else { sizes };
    println!(
        "{:>8} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "files", "first", "reopened", "unchanged", "one edited", "changes", "guard"
    );
    for files in sizes {
        measure(files);
    }
}

fn measure(files: usize) {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let root = folder.path().join("work");
    for number in 0..files {
        let path = path_of(&root, number);
        if number % 20 == 0 {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        fs::write(path, format!("file {number}\n").repeat(20)).unwrap();
    }
    let options = Options {
        root: root.clone(),
        state: folder.path().join("state"),
        git: PathBuf::from("/usr/bin/git"),
        global_excludes: None,
    };
    let id: LoopId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
    let mut workspace = Workspace::open(options.clone()).unwrap();
    let start = Instant::now();
    let before = workspace.snapshot(id, "first").unwrap();
    let first = start.elapsed();
    drop(workspace);
    // Files written a moment ago count as racy and are read once more; a loop does not start that soon.
    std::thread::sleep(Duration::from_millis(50));
    let start = Instant::now();
    let mut workspace = Workspace::open(options).unwrap();
    workspace.snapshot(id, "again").unwrap();
    let reopened = start.elapsed();
    workspace.set_start(&before.tree).unwrap();
    let unchanged = median((0..51).map(|_| timed(|| drop(workspace.snapshot(id, "same").unwrap()))));
    let mut last = before.tree;
    let mut compared = Vec::new();
    let edited = median((0..51).map(|round| {
        fs::write(path_of(&root, (round * 7919) % files), format!("edit {round}\n")).unwrap();
        let mut tree = None;
        let spent = timed(|| tree = Some(workspace.snapshot(id, "edited").unwrap().tree));
        let tree = tree.unwrap();
        compared.push(timed(|| assert_eq!(workspace.changes(&last, &tree).unwrap().len(), 1)));
        last = tree;
        spent
    }));
    let guard = Guard::new(&DEFAULT_PROHIBITED.map(str::to_owned)).unwrap();
    let baseline = workspace.guard_baseline(&guard, &folder.path().join("guard")).unwrap();
    let guarded =
        median((0..51).map(|_| timed(|| assert!(workspace.guard_check(&guard, &baseline).unwrap().is_empty()))));
    let milliseconds = |spent: Duration| format!("{:.2} ms", spent.as_secs_f64() * 1000.0);
    let figures = [first, reopened, unchanged, edited, median(compared.into_iter()), guarded].map(milliseconds);
    println!(
        "{files:>8} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}",
        figures[0], figures[1], figures[2], figures[3], figures[4], figures[5]
    );
}

fn path_of(root: &Path, number: usize) -> PathBuf {
    root.join(format!("src/area{}/part{}/file{number}.txt", number / 400, number / 20))
}

fn timed(act: impl FnOnce()) -> Duration {
    let start = Instant::now();
    act();
    start.elapsed()
}

fn median(spans: impl Iterator<Item = Duration>) -> Duration {
    let mut spans: Vec<Duration> = spans.collect();
    spans.sort();
    spans[spans.len() / 2]
}
