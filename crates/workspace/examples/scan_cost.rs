//! Prints what a snapshot, a look at guarded files, a swap and a checkout cost:
//! `cargo run --release -p ralph-workspace --example scan_cost [FILES...]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // A program for people at a terminal.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_model::{DEFAULT_PROHIBITED, LoopId, Pin, PinKind};
use ralph_workspace::{Baseline, Checkout, Guard, Options, PinBaseline, Pins, Placement, Since, Workspace};

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).map(|size| size.parse().expect("a number of files")).collect();
    let sizes = if sizes.is_empty() { vec![2_000, 20_000] } else { sizes };
    let columns = [
        "first",
        "reopened",
        "unchanged",
        "one edited",
        "changes",
        "guard",
        "pin",
        "look",
        "look+install",
        "swap",
        "checkout",
        "again",
    ];
    println!("{:>8}{}", "files", columns.map(|column| format!("{column:>13}")).concat());
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
        stop: ralph_workspace::StopFlag::default(),
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
    // One file in ten is pinned; then also the files of an installed runner, in an ignored folder.
    let pin = |glob: &str, kind| Pin { glob: glob.to_owned(), kind, why: String::new() };
    let mut pins = vec![
        pin("src/area*/part*0/**", PinKind::Frozen),
        pin("*.test.js", PinKind::Frozen),
        pin("conftest.py", PinKind::Steering),
        pin("/jest.config.*", PinKind::Steering),
        pin("pytest/", PinKind::Absent),
    ];
    let few = Pins::new(&pins).unwrap();
    let mut few_baseline = None;
    let taken = timed(|| few_baseline = Some(workspace.pins_baseline(&few, &folder.path().join("few")).unwrap()));
    let few_baseline = few_baseline.unwrap();
    assert_eq!(few_baseline.len(), files / 10);
    let look =
        median((0..51).map(|_| timed(|| look_at(&mut workspace, id, (&guard, &baseline), (&few, &few_baseline)))));
    for number in 0..5_000 {
        let path = root.join(format!("node_modules/jest/part{}/file{number}.js", number / 20));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("file {number}\n")).unwrap();
    }
    fs::write(root.join(".gitignore"), "node_modules/\n").unwrap();
    pins.push(pin("node_modules/jest/**", PinKind::Installed));
    let many = Pins::new(&pins).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    workspace.snapshot(id, "installed").unwrap();
    let many_baseline = workspace.pins_baseline(&many, &folder.path().join("many")).unwrap();
    let installed =
        median((0..51).map(|_| timed(|| look_at(&mut workspace, id, (&guard, &baseline), (&many, &many_baseline)))));
    let entries: Vec<(String, Placement)> = (0..3)
        .map(|number| path_of(Path::new(""), number).display().to_string())
        .map(|path| (path, Placement::File { content: b"pinned\n".to_vec(), mode: 0o644 }))
        .collect();
    let record = folder.path().join("swap");
    let swapped = median((0..11).map(|_| {
        timed(|| {
            workspace.swap_in(&entries, &record).unwrap();
            assert!(workspace.swap_out(&record, Since::Check).unwrap().is_empty());
        })
    }));
    let tree = workspace.scan_tree().unwrap();
    let mut checkout = Checkout::open(&folder.path().join("checkout"), &folder.path().join("known")).unwrap();
    let checked_out = timed(|| drop(checkout.sync(&workspace, &tree, &[]).unwrap()));
    std::thread::sleep(Duration::from_millis(50));
    let again = median((0..11).map(|_| timed(|| drop(checkout.sync(&workspace, &tree, &[]).unwrap()))));
    let milliseconds = |spent: Duration| format!("{:>10.2} ms", spent.as_secs_f64() * 1000.0);
    let compared = median(compared.into_iter());
    let figures =
        [first, reopened, unchanged, edited, compared, guarded, taken, look, installed, swapped, checked_out, again];
    println!("{files:>8}{}", figures.map(milliseconds).concat());
}

/// A snapshot with the look at prohibited and pinned files that belongs to it, which finds nothing.
fn look_at(
    workspace: &mut Workspace,
    id: LoopId,
    (guard, baseline): (&Guard, &Baseline),
    pinned: (&Pins, &PinBaseline),
) {
    let looked = workspace.snapshot_guarded((id, "look"), Duration::ZERO, guard, baseline, Some(pinned));
    assert_eq!(looked.unwrap().1, []);
    assert_eq!(workspace.pins_check(pinned.0, pinned.1).unwrap(), []);
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
