//! Every step that can take long hears a request to stop.

use std::fs::File;
use std::time::{Duration, Instant};

use ralph_model::{Pin, PinKind};
use ralph_workspace::repository::Work;
use ralph_workspace::{Checkout, Error, Guard, Options, Pins, Placement, Since, StopFlag, Workspace};

use crate::support::{Fixture, id, look};

/// Takes many times [`GRACE`] to read, on a fast machine too, and no room.
const LENGTH: u64 = (1 << 30) - 1;

const GRACE: Duration = Duration::from_millis(20);

/// Far more than [`GRACE`], for a machine with other work.
const AT_MOST: Duration = Duration::from_secs(20);

struct Busy {
    fixture: Fixture,
    stop: StopFlag,
    workspace: Workspace,
}

impl Busy {
    fn new() -> Self {
        let fixture = Fixture::repository(&[("a.txt", "a")]);
        let stop = StopFlag::with_grace(GRACE);
        let workspace = Workspace::open(Options { stop: stop.clone(), ..fixture.options() }).unwrap();
        Self { fixture, stop, workspace }
    }

    fn grow(&self) {
        File::create(self.fixture.path("slow")).unwrap().set_len(LENGTH).unwrap();
    }

    fn is_stopped<T>(&mut self, step: impl FnOnce(&mut Workspace) -> Result<T, Error>) {
        self.stop.request();
        let begun = Instant::now();
        let done = step(&mut self.workspace);
        assert!(matches!(done, Err(Error::Stopped)), "{:?}", done.err());
        assert!(begun.elapsed() < AT_MOST, "{:?}", begun.elapsed());
    }
}

#[test]
fn a_snapshot_is_stopped() {
    let mut busy = Busy::new();
    busy.grow();
    busy.is_stopped(|workspace| workspace.snapshot(id(), "start"));
}

#[test]
fn a_step_that_is_about_to_end_ends() {
    let mut busy = Busy::new();
    busy.stop.request();
    assert!(busy.workspace.snapshot(id(), "start").is_ok(), "so that the work of a stopped agent is recorded");
}

#[test]
fn the_guard_and_the_comparison_of_pins_are_stopped() {
    let mut busy = Busy::new();
    let guard = Guard::new(&["slow".to_owned()]).unwrap();
    let state = busy.fixture.state.clone();
    let baseline = busy.workspace.guard_baseline(&guard, &state.join("guard")).unwrap();
    let steering = Pin { glob: "slow".to_owned(), kind: PinKind::Steering, why: "test".to_owned() };
    let pins = Pins::new(&[steering]).unwrap();
    let pinned = busy.workspace.pins_baseline(&pins, &state.join("pins")).unwrap();
    busy.grow();
    busy.is_stopped(|workspace| workspace.guard_check(&guard, &baseline));
    busy.is_stopped(|workspace| workspace.pins_check(&pins, &pinned));
    busy.is_stopped(|workspace| look(workspace, (&guard, &baseline), (&pins, &pinned)));
    busy.is_stopped(|workspace| workspace.guard_restore(&guard, &baseline, &state.join("patch")));
    busy.is_stopped(|workspace| workspace.guard_baseline(&guard, &state.join("guard-again")));
}

#[test]
fn a_swap_is_stopped_and_taken_back() {
    let mut busy = Busy::new();
    busy.grow();
    let record = busy.fixture.state.join("swap");
    let entries = [("a.txt", Placement::Absent), ("slow", Placement::File { content: Vec::new(), mode: 0o644 })];
    let entries = entries.map(|(path, placement)| (path.to_owned(), placement));
    busy.is_stopped(|workspace| workspace.swap_in(&entries, &record));
    busy.workspace.swap_out(&record, Since::Check).unwrap();
    assert_eq!(busy.fixture.read("a.txt"), "a");
    assert_eq!(busy.fixture.path("slow").metadata().unwrap().len(), LENGTH);
}

#[test]
fn a_restore_and_a_checkout_are_stopped() {
    let mut busy = Busy::new();
    let start = busy.workspace.snapshot(id(), "start").unwrap().tree;
    let state = busy.fixture.state.clone();
    let mut checkout = Checkout::open(&state.join("out"), &state.join("out-state")).unwrap();
    checkout.sync(&busy.workspace, &start, &[]).unwrap();
    // The stamp does not vouch for it any more, so that its content is looked at.
    File::create(checkout.root().join("a.txt")).unwrap().set_len(LENGTH).unwrap();
    busy.is_stopped(|workspace| checkout.sync(workspace, &start, &[]));
    busy.is_stopped(|_| checkout.changed());
    busy.grow();
    busy.is_stopped(|workspace| workspace.restore(&start));
}

#[test]
fn a_commit_is_stopped_before_it_moves_the_branch() {
    let mut busy = Busy::new();
    let from = busy.workspace.snapshot(id(), "start").unwrap().tree;
    for number in 0..3000 {
        busy.fixture.write(format!("many/{number}"), number.to_string());
    }
    let to = busy.workspace.snapshot(id(), "end").unwrap().tree;
    let repository = busy.fixture.repo();
    let before = repository.head().unwrap();
    let work = Work { from: &from, to: &to, message: "work", author: None };
    busy.is_stopped(|workspace| repository.commit_work(workspace, work));
    assert_eq!(repository.head().unwrap(), before);
    assert!(!busy.fixture.path(".git/index.lock").exists());
    // Nothing is in the way of the next attempt.
    let workspace = busy.fixture.open();
    assert!(repository.commit_work(&workspace, work).unwrap().is_some());
}
