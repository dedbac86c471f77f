use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ralph_model::ChangeKind::{Added, Deleted, Mode, Modified};
use ralph_model::{Pin, PinKind, TreeHash};
use ralph_workspace::{Checkout, Options, Pins, Placement, StopFlag, Synced, Workspace};

use crate::support::{Fixture, changed, fingerprint, git_program};

/// A workspace with a checkout beside it.
struct Apart {
    fixture: Fixture,
    workspace: Workspace,
    checkout: Checkout,
}

impl Apart {
    fn new(files: &[(&str, &str)]) -> Self {
        let fixture = Fixture::repository(files);
        let workspace = fixture.open();
        let checkout = Self::open(&fixture);
        Self { fixture, workspace, checkout }
    }

    fn open(fixture: &Fixture) -> Checkout {
        Checkout::open(&fixture.state.join("checkout"), &fixture.state.join("checkout-state")).unwrap()
    }

    fn sync(&mut self, overlay: &[(String, Placement)]) -> Synced {
        let tree = self.workspace.scan_tree().unwrap();
        self.checkout.sync(&self.workspace, &tree, overlay).unwrap()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.checkout.root().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Sets a time that no build would take for new.
    fn age(&self, path: &str) -> (i64, i64) {
        let file = fs::File::options().write(true).open(self.path(path)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
        self.times(path)
    }

    fn times(&self, path: &str) -> (i64, i64) {
        let found = fs::symlink_metadata(self.path(path)).unwrap();
        (found.mtime(), found.mtime_nsec())
    }

    /// Waits until what was written cannot change under the same stamp.
    fn settle(&mut self) {
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(self.sync(&[]).written, [""; 0]);
    }
}

fn project() -> Vec<(&'static str, &'static str)> {
    vec![
        (".gitignore", "*.log\n/out/\n"),
        ("src/main.rs", "fn main() {}"),
        ("src/deep/er.rs", "mod"),
        ("run.sh", "#!/bin/sh\n"),
        ("build/committed.txt", "in the tree"),
    ]
}

fn file(path: &str, content: &str) -> (String, Placement) {
    (path.to_owned(), Placement::File { content: content.into(), mode: 0o644 })
}

/// The tree that a workspace opened on the checkout sees.
fn tree_there(apart: &Apart) -> TreeHash {
    let state = apart.fixture.folder.path().join("independent");
    let _ = fs::remove_dir_all(&state);
    let root = apart.checkout.root().to_owned();
    let stop = StopFlag::default();
    Workspace::open(Options { root, state, git: git_program(), global_excludes: None, stop })
        .unwrap()
        .scan_tree()
        .unwrap()
}

#[test]
fn a_checkout_becomes_the_tree_and_stays_incremental() {
    let mut apart = Apart::new(&project());
    apart.fixture.chmod("run.sh", 0o755);
    apart.fixture.link("src/main.rs", "link");
    apart.fixture.link("/nowhere", "src/broken");
    let first = apart.sync(&[]);
    assert_eq!(first.written.len(), 7);
    assert_eq!((first.removed.len(), &first.tree), (0, &tree_there(&apart)));
    assert_eq!(fs::read_link(apart.path("link")).unwrap(), Path::new("src/main.rs"));
    assert_eq!(fs::metadata(apart.path("run.sh")).unwrap().mode() & 0o777, 0o755);
    apart.settle();
    let kept = apart.times("src/deep/er.rs");
    let old = apart.times("src/main.rs");
    apart.fixture.write("src/main.rs", "fn main() { todo() }");
    fs::remove_file(apart.fixture.path("run.sh")).unwrap();
    let second = apart.sync(&[]);
    assert_eq!((second.written, second.removed), (vec!["src/main.rs".to_owned()], vec!["run.sh".to_owned()]));
    assert_eq!(second.tree, tree_there(&apart));
    assert_eq!(apart.times("src/deep/er.rs"), kept);
    assert!(apart.times("src/main.rs") > old);
    // The next process goes on from there; what was just written is compared by content.
    apart.checkout = Apart::open(&apart.fixture);
    assert_eq!(apart.sync(&[]).written, [""; 0]);
    assert_eq!(apart.times("src/deep/er.rs"), kept);
}

#[test]
fn what_checks_make_is_kept_where_it_is_usual_or_ignored_and_else_removed() {
    let mut apart = Apart::new(&project());
    apart.sync(&[]);
    for path in [
        "node_modules/jest/index.js",
        "packages/a/node_modules/x.js",
        "target/debug/app",
        "src/__pycache__/a.pyc",
        "out/report.html",
        "src/debug.log",
    ] {
        apart.write(path, "made by a check");
    }
    for path in ["conftest.py", "src/new/deep.rs", "build/made.txt", "sub/out/x", ".git/config"] {
        apart.write(path, "made by a check");
    }
    fs::create_dir_all(apart.path("empty/folder")).unwrap();
    let synced = apart.sync(&[]);
    assert_eq!(synced.removed, [".git/config", "build/made.txt", "conftest.py", "src/new/deep.rs", "sub/out/x"]);
    assert_eq!(synced.written, [""; 0]);
    for path in ["conftest.py", "src/new", "sub", "empty", ".git"] {
        assert!(!apart.path(path).exists(), "{path}");
    }
    for path in ["node_modules/jest/index.js", "packages/a/node_modules/x.js", "out/report.html", "src/debug.log"] {
        assert!(apart.path(path).exists(), "{path}");
    }
    // A rule that the tree no longer has keeps nothing.
    apart.fixture.write(".gitignore", "");
    assert_eq!(apart.sync(&[]).removed, ["out/report.html", "src/debug.log"]);
}

#[test]
fn a_file_that_a_check_wrote_is_written_anew_whatever_its_times_say() {
    let mut apart = Apart::new(&project());
    apart.sync(&[]);
    // At once, with the same size and the old times.
    let times = fs::metadata(apart.path("src/main.rs")).unwrap().modified().unwrap();
    apart.write("src/main.rs", "fn main() []");
    fs::File::options().write(true).open(apart.path("src/main.rs")).unwrap().set_modified(times).unwrap();
    assert_eq!(apart.sync(&[]).written, ["src/main.rs"]);
    apart.settle();
    // The same content with a forged time would fool a build.
    apart.age("src/deep/er.rs");
    assert_eq!(apart.checkout.changed().unwrap(), [], "the content is the same");
    let asked = SystemTime::now() - Duration::from_secs(1);
    assert_eq!(apart.sync(&[]).written, ["src/deep/er.rs"]);
    assert!(fs::metadata(apart.path("src/deep/er.rs")).unwrap().modified().unwrap() > asked);
    assert_eq!(apart.read("src/main.rs"), "fn main() {}");
}

#[test]
fn links_and_folders_in_the_way_are_replaced_and_never_followed() {
    let mut apart = Apart::new(&project());
    apart.sync(&[]);
    let outside = apart.fixture.folder.path().join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    fs::write(outside.join("main.rs"), "theirs").unwrap();
    fs::write(outside.join("deep/er.rs"), "theirs").unwrap();
    fs::write(outside.join("precious"), "theirs").unwrap();
    let before = fingerprint(&outside, &[]);
    fs::remove_dir_all(apart.path("src")).unwrap();
    std::os::unix::fs::symlink(&outside, apart.path("src")).unwrap();
    fs::remove_file(apart.path("run.sh")).unwrap();
    apart.write("run.sh/node_modules/x", "a folder");
    std::os::unix::fs::symlink(&outside, apart.path("away")).unwrap();
    std::os::unix::fs::symlink(&outside, apart.path("node_modules")).unwrap();
    let _ = fs::remove_dir_all(apart.path(".ralph"));
    std::os::unix::fs::symlink(&outside, apart.path(".ralph")).unwrap();
    let synced = apart.sync(&[]);
    assert_eq!(synced.written, ["run.sh", "src/deep/er.rs", "src/main.rs"]);
    assert_eq!(synced.removed, [".ralph", "away", "node_modules", "run.sh/node_modules/x", "src"]);
    assert_eq!((synced.tree, apart.read("src/main.rs")), (tree_there(&apart), "fn main() {}".to_owned()));
    assert_eq!(fingerprint(&outside, &[]), before);
}

#[test]
fn an_overlay_takes_the_place_of_what_the_tree_has() {
    let mut apart = Apart::new(&project());
    let plain = apart.sync(&[]).tree;
    let overlay = [
        file("src/main.rs", "pinned"),
        file("src/deep", "a file where a folder was"),
        file("run.sh/inside", "a folder where a file was"),
        file("tests/planted.rs", "fails"),
        ("build/committed.txt".to_owned(), Placement::Absent),
        ("link".to_owned(), Placement::Link { target: b"src/main.rs".to_vec() }),
    ];
    let synced = apart.sync(&overlay);
    assert_eq!(synced.written, ["link", "run.sh/inside", "src/deep", "src/main.rs", "tests/planted.rs"]);
    assert_eq!(synced.removed, ["build/committed.txt", "run.sh", "src/deep/er.rs"]);
    assert_ne!(synced.tree, plain);
    assert_eq!(synced.tree, tree_there(&apart));
    assert_eq!(apart.read("link"), "pinned");
    let back = apart.sync(&[]);
    assert_eq!((back.tree, apart.read("src/deep/er.rs")), (plain, "mod".to_owned()));
    assert!(!apart.path("tests").exists());
    let bad = [file("../x", "")];
    let tree = apart.workspace.scan_tree().unwrap();
    assert!(apart.checkout.sync(&apart.workspace, &tree, &bad).unwrap_err().to_string().contains("../x"));
}

#[test]
fn what_was_put_in_a_folder_that_is_kept_goes_with_the_tree() {
    let mut apart = Apart::new(&[("vendor/lib.rs", "1"), ("dist/app.js", "1"), ("a", "1")]);
    apart.sync(&[]);
    apart.write("vendor/made", "by a check");
    apart.write("dist/conftest.py", "left by a check");
    fs::remove_dir_all(apart.fixture.path("vendor")).unwrap();
    fs::remove_dir_all(apart.fixture.path("dist")).unwrap();
    // Not even another process takes what an earlier one wrote for something that a check made.
    apart.checkout = Apart::open(&apart.fixture);
    let synced = apart.sync(&[("dist/conftest.py".to_owned(), Placement::Absent)]);
    assert_eq!(synced.removed, ["dist/app.js", "dist/conftest.py", "vendor/lib.rs"]);
    assert!(apart.path("vendor/made").exists() && !apart.path("dist").exists());
}

#[test]
fn what_changed_since_is_named() {
    let mut apart = Apart::new(&project());
    apart.sync(&[]);
    assert_eq!(apart.checkout.changed().unwrap(), []);
    apart.write("src/main.rs", "changed");
    apart.write("conftest.py", "new");
    apart.write("a.log", "ignored");
    apart.write("target/x", "build output");
    fs::remove_file(apart.path("src/deep/er.rs")).unwrap();
    fs::set_permissions(apart.path("run.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let expected = [
        changed("conftest.py", Added),
        changed("run.sh", Mode),
        changed("src/deep/er.rs", Deleted),
        changed("src/main.rs", Modified),
    ];
    assert_eq!(apart.checkout.changed().unwrap(), expected);
}

#[test]
fn a_folder_that_is_no_checkout_is_never_emptied() {
    let fixture = Fixture::repository(&project());
    let (home, state) = (fixture.folder.path().join("home"), fixture.state.join("s"));
    fs::create_dir(&home).unwrap();
    fs::write(home.join("thesis"), "years").unwrap();
    let error = Checkout::open(&home, &state).err().unwrap().to_string();
    assert!(error.contains("was not created by Ralph"), "{error}");
    std::os::unix::fs::symlink(&home, fixture.state.join("link")).unwrap();
    assert!(Checkout::open(&fixture.state.join("link"), &state).is_err());
    // A check moves the checkout away and puts a link in its place.
    let mut apart = Apart::new(&project());
    apart.sync(&[]);
    let root = apart.checkout.root().to_owned();
    fs::rename(&root, root.with_extension("moved")).unwrap();
    std::os::unix::fs::symlink(&home, &root).unwrap();
    let tree = apart.workspace.scan_tree().unwrap();
    let error = apart.checkout.sync(&apart.workspace, &tree, &[]).unwrap_err().to_string();
    assert!(error.contains("another folder"), "{error}");
    assert!(apart.checkout.changed().is_err());
    assert_eq!(fs::read_dir(&home).unwrap().count(), 1);
}

/// How pins are looked at where checks run apart: a second workspace, with a state of its own, on the checkout.
#[test]
fn pins_are_guarded_in_a_checkout_like_in_a_workspace() {
    let mut apart = Apart::new(&project());
    apart.sync(&[]);
    let options = Options {
        root: apart.checkout.root().to_owned(),
        state: apart.fixture.state.join("apart"),
        git: git_program(),
        global_excludes: None,
        stop: StopFlag::default(),
    };
    let pin = |glob: &str, kind| Pin { glob: glob.to_owned(), kind, why: String::new() };
    let pins = Pins::new(&[pin("src/**", PinKind::Frozen), pin("conftest.py", PinKind::Steering)]).unwrap();
    let mut there = Workspace::open(options).unwrap();
    let baseline = there.pins_baseline(&pins, &apart.fixture.state.join("apart-pins")).unwrap();
    apart.write("src/main.rs", "changed by a check");
    apart.write("node_modules/x/conftest.py", "dependencies are nobody's business only where they are ignored");
    let paths: Vec<String> =
        there.pins_check(&pins, &baseline).unwrap().into_iter().map(|offence| offence.path).collect();
    assert_eq!(paths, ["node_modules/x/conftest.py", "src/main.rs"]);
    apart.sync(&[]);
    assert_eq!(there.pins_check(&pins, &baseline).unwrap().len(), 1);
}
