use std::fs;
use std::path::Path;

use ralph_model::ChangeKind::{self, Added, Deleted, Mode, Modified};
use ralph_model::PinKind::{self, Absent, Frozen, Installed, Parts, Steering};
use ralph_model::{Pin, Violation};
use ralph_workspace::{Baseline, Guard, Offence, PinBaseline, Pins, Placement, Since, Workspace};

use crate::support::{Fixture, fingerprint, look};

fn pin(glob: &str, kind: PinKind) -> Pin {
    Pin { glob: glob.to_owned(), kind, why: "test".to_owned() }
}

fn usual() -> Vec<Pin> {
    vec![
        pin("tests/**", Frozen),
        pin("conftest.py", Steering),
        pin("/pytest.ini", Steering),
        pin("pytest/", Absent),
        pin("pytest.py", Absent),
        pin("package.json", Parts),
        pin("node_modules/jest/**", Installed),
    ]
}

/// A workspace with pinned files.
struct Pinned {
    fixture: Fixture,
    workspace: Workspace,
    pins: Pins,
    baseline: PinBaseline,
}

impl Pinned {
    fn new(fixture: Fixture, pins: &[Pin]) -> Self {
        let mut workspace = fixture.open();
        let pins = Pins::new(pins).unwrap();
        let baseline = workspace.pins_baseline(&pins, &fixture.state.join("loop/pins")).unwrap();
        Self { fixture, workspace, pins, baseline }
    }

    fn offences(&mut self) -> Vec<Offence> {
        self.workspace.pins_check(&self.pins, &self.baseline).unwrap()
    }

    /// Path, kind and pin of every offence.
    fn check(&mut self) -> Vec<(String, ChangeKind, usize)> {
        self.offences().into_iter().map(|offence| (offence.path, offence.kind, offence.pin)).collect()
    }

    /// Swaps in what the offences ask for, looks at the result, and swaps out.
    fn with_pinned(&mut self, act: impl FnOnce(&Fixture)) {
        let entries: Vec<(String, Placement)> = self
            .offences()
            .into_iter()
            .filter_map(|offence| offence.restored.map(|restored| (offence.path, restored)))
            .collect();
        let before = fingerprint(&self.fixture.root, &[".ralph"]);
        let record = self.fixture.state.join("loop/swap");
        self.workspace.swap_in(&entries, &record).unwrap();
        assert_eq!(self.check(), [], "with everything put back there is no offence");
        act(&self.fixture);
        assert_eq!(self.workspace.swap_out(&record, Since::Check).unwrap(), [""; 0]);
        assert_eq!(fingerprint(&self.fixture.root, &[".ralph"]), before);
    }
}

fn found(path: &str, kind: ChangeKind, pin: usize) -> (String, ChangeKind, usize) {
    (path.to_owned(), kind, pin)
}

fn project() -> Fixture {
    let fixture = Fixture::repository(&[
        (".gitignore", "node_modules/\n*.local\n"),
        ("tests/a.py", "assert add(1, 1) == 2\n"),
        ("tests/data/b.json", "{}"),
        ("tests/conftest.py", "fixtures"),
        ("src/add.py", "def add(a, b): ..."),
        ("package.json", "{}"),
        ("lib/pytest.py", "the user's own"),
    ]);
    fixture.write("node_modules/jest/index.js", "run");
    fixture.write("node_modules/jest/build/cli.js", "cli");
    fixture.write("node_modules/react/index.js", "react");
    fixture.write("node_modules/react/conftest.py", "nobody's");
    fixture.write("tests/secret.local", "ignored");
    fixture
}

#[test]
fn what_may_not_happen_depends_on_the_pin() {
    let mut pinned = Pinned::new(project(), &usual());
    assert_eq!(
        pinned.baseline.paths(),
        [
            "lib/pytest.py",
            "node_modules/jest/build/cli.js",
            "node_modules/jest/index.js",
            "tests/a.py",
            "tests/conftest.py",
            "tests/data/b.json",
            "tests/secret.local"
        ]
    );
    assert_eq!(pinned.check(), []);
    let fixture = &pinned.fixture;
    fixture.write("tests/a.py", "assert True\n");
    fixture.write("tests/new.py", "new tests are welcome");
    fs::remove_file(fixture.path("tests/data/b.json")).unwrap();
    fixture.chmod("tests/secret.local", 0o600);
    fixture.write("tests/conftest.py", "cheat");
    fixture.write("src/conftest.py", "cheat");
    fixture.write("pytest.ini", "[pytest]");
    fixture.write("sub/pytest.ini", "another project's");
    fixture.write("pytest/__init__.py", "shadow");
    fixture.write("pytest.py", "shadow");
    fixture.write("lib/pytest.py", "ordinary source");
    fixture.write("package.json", "its parts are compared elsewhere");
    fixture.write("node_modules/jest/build/cli.js", "process.exit(0)");
    fixture.write("node_modules/jest/new.js", "harmless");
    fixture.write("node_modules/react/index.js", "changed");
    let expected = [
        found("node_modules/jest/build/cli.js", Modified, 6),
        found("pytest.ini", Added, 2),
        found("pytest.py", Added, 4),
        found("pytest/__init__.py", Added, 3),
        found("src/conftest.py", Added, 1),
        found("tests/a.py", Modified, 0),
        found("tests/conftest.py", Modified, 1),
        found("tests/data/b.json", Deleted, 0),
        found("tests/secret.local", Mode, 0),
    ];
    assert_eq!(pinned.check(), expected);
    let restored: Vec<Option<Placement>> = pinned.offences().into_iter().map(|offence| offence.restored).collect();
    let file = |content: &str| Some(Placement::File { content: content.into(), mode: 0o644 });
    assert_eq!(restored[0], None);
    assert!(restored[1..5].iter().all(|restored| *restored == Some(Placement::Absent)));
    assert_eq!(restored[5..], [file("assert add(1, 1) == 2\n"), file("fixtures"), file("{}"), file("ignored")]);
    // The next process finds the same.
    let baseline = PinBaseline::load(&pinned.fixture.state.join("loop/pins")).unwrap();
    let again = pinned.fixture.open().pins_check(&pinned.pins, &baseline).unwrap();
    assert_eq!(again.len(), expected.len());
    fs::write(pinned.fixture.path("node_modules/jest/build/cli.js"), "cli").unwrap();
    pinned.with_pinned(|fixture| {
        assert_eq!(fixture.read("tests/a.py"), "assert add(1, 1) == 2\n");
        assert!(!fixture.path("pytest").exists() && fixture.path("tests/new.py").exists());
        assert_eq!(fixture.mode("tests/secret.local"), 0o644);
    });
}

#[test]
fn the_last_pin_that_matches_counts() {
    let fixture = project();
    let pins = [
        pin("tests/**", Steering),
        pin("tests/data/**", Frozen),
        pin("*.json", Frozen),
        pin("package.json", Parts),
        pin("tests/**", Frozen),
        pin("tests/data/free/**", Parts),
    ];
    let mut pinned = Pinned::new(fixture, &pins);
    for (path, number) in [
        ("tests/a.py", Some(4)),
        ("tests/data/b.json", Some(4)),
        ("x.json", Some(2)),
        ("package.json", None),
        ("tests/data/free/x", None),
        ("src/add.py", None),
    ] {
        assert_eq!(pinned.pins.find(path), number, "{path}");
    }
    pinned.fixture.write("tests/new", "added");
    pinned.fixture.write("tests/data/free/x", "added");
    pinned.fixture.write("tests/a.py", "changed");
    assert_eq!(pinned.check(), [found("tests/a.py", Modified, 4)]);
}

#[test]
fn a_bad_glob_is_named() {
    let error = Pins::new(&[pin("ok", Frozen), pin("a[b", Steering)]).unwrap_err().to_string();
    assert_eq!(error, "`a[b` is not a valid pattern: unclosed character class; missing ']'");
}

#[test]
fn forged_times_hard_links_and_new_ignore_rules_hide_nothing() {
    let mut pinned = Pinned::new(project(), &usual());
    assert_eq!(pinned.check(), []);
    let fixture = &pinned.fixture;
    let time = fs::metadata(fixture.path("tests/a.py")).unwrap().modified().unwrap();
    fs::hard_link(fixture.path("tests/a.py"), fixture.path("alias")).unwrap();
    fixture.write("alias", "assert add(1, 1) == 3\n");
    fs::File::options().write(true).open(fixture.path("alias")).unwrap().set_modified(time).unwrap();
    fixture.write(".gitignore", "*\n");
    fixture.write("conftest.py", "cheat");
    assert_eq!(pinned.check(), [found("conftest.py", Added, 1), found("tests/a.py", Modified, 0)]);
    pinned.with_pinned(|fixture| assert_eq!(fixture.read("alias"), "assert add(1, 1) == 3\n"));
}

#[test]
fn a_file_or_folder_that_became_a_link_is_put_back_without_following_it() {
    let mut pinned = Pinned::new(project(), &usual());
    let outside = pinned.fixture.folder.path().canonicalize().unwrap().join("outside");
    fs::create_dir_all(outside.join("data")).unwrap();
    for (name, content) in [("a.py", "assert True\n"), ("conftest.py", "cheat"), ("data/b.json", "{}")] {
        fs::write(outside.join(name), content).unwrap();
    }
    let before = fingerprint(&outside, &[]);
    fs::rename(pinned.fixture.path("tests"), pinned.fixture.path("moved")).unwrap();
    pinned.fixture.link(&outside, "tests");
    let expected = [
        found("moved/conftest.py", Added, 1),
        found("tests", Added, 1),
        found("tests/a.py", Modified, 0),
        found("tests/conftest.py", Modified, 1),
        found("tests/data/b.json", Modified, 0),
        found("tests/secret.local", Modified, 0),
    ];
    assert_eq!(pinned.check(), expected);
    pinned.with_pinned(|fixture| assert_eq!(fixture.read("tests/a.py"), "assert add(1, 1) == 2\n"));
    assert_eq!(fingerprint(&outside, &[]), before);
    // A single file, with the very content of the start behind the link.
    fs::remove_file(pinned.fixture.path("tests")).unwrap();
    fs::rename(pinned.fixture.path("moved"), pinned.fixture.path("tests")).unwrap();
    fs::rename(pinned.fixture.path("tests/a.py"), pinned.fixture.path("hidden.py")).unwrap();
    pinned.fixture.link("../hidden.py", "tests/a.py");
    assert_eq!(pinned.check(), [found("tests/a.py", Modified, 0)]);
    pinned.with_pinned(|fixture| assert!(fs::symlink_metadata(fixture.path("tests/a.py")).unwrap().is_file()));
    // A folder in the place of a file.
    fs::remove_file(pinned.fixture.path("tests/a.py")).unwrap();
    pinned.fixture.write("tests/a.py/conftest.py", "cheat");
    assert_eq!(pinned.check(), [found("tests/a.py", Deleted, 0), found("tests/a.py/conftest.py", Added, 1)]);
    pinned.with_pinned(|_| {});
}

#[test]
fn links_of_the_start_are_watched_at_their_real_place() {
    let fixture = project();
    let outside = fixture.folder.path().canonicalize().unwrap().join("shared");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("c.py"), "shared").unwrap();
    fs::rename(fixture.path("tests"), fixture.path("spec")).unwrap();
    fixture.link("spec", "tests");
    fixture.link(&outside, "spec/shared");
    fixture.link("../src/add.py", "spec/add.py");
    let mut pinned = Pinned::new(fixture, &[pin("tests/**", Frozen), pin("conftest.py", Steering)]);
    assert_eq!(pinned.check(), []);
    pinned.fixture.write("spec/a.py", "weakened");
    pinned.fixture.write("src/add.py", "behind a pinned link");
    fs::write(outside.join("c.py"), "weakened").unwrap();
    let expected =
        [found("spec/a.py", Modified, 0), found("spec/add.py", Modified, 0), found("tests/shared/c.py", Modified, 0)];
    assert_eq!(pinned.check(), expected);
    let offences = pinned.offences();
    assert_eq!(offences[1].restored, Some(Placement::File { content: b"def add(a, b): ...".to_vec(), mode: 0o644 }));
    assert_eq!(offences[2].restored, None, "what is outside is not put back");
    fs::write(outside.join("c.py"), "shared").unwrap();
    pinned.with_pinned(|fixture| {
        assert_eq!(fixture.read("tests/a.py"), "assert add(1, 1) == 2\n");
        assert_eq!(fixture.read("tests/add.py"), "def add(a, b): ...");
        assert_eq!(fixture.read("src/add.py"), "behind a pinned link");
    });
    // The link itself leads elsewhere: what it led to is compared where it is.
    fs::remove_file(pinned.fixture.path("tests")).unwrap();
    pinned.fixture.link("src", "tests");
    let paths: Vec<String> = pinned.offences().into_iter().map(|offence| offence.path).collect();
    assert_eq!(paths, ["spec/a.py", "spec/add.py", "spec/shared", "tests"]);
}

#[test]
fn a_new_link_that_brings_a_steering_file_is_an_offence() {
    let mut pinned = Pinned::new(project(), &usual());
    let outside = pinned.fixture.folder.path().canonicalize().unwrap().join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    fs::write(outside.join("data.csv"), "1,2").unwrap();
    pinned.fixture.link(&outside, "data");
    pinned.fixture.link("tests", "spec");
    pinned.fixture.link("missing", "broken");
    pinned.fixture.link("circle", "circle");
    assert_eq!(pinned.check(), [], "a link to data, or to files that are watched, is nobody's business");
    fs::write(outside.join("deep/conftest.py"), "cheat").unwrap();
    assert_eq!(pinned.check(), [found("data", Added, 1)]);
    assert_eq!(pinned.offences()[0].restored, Some(Placement::Absent));
    fs::remove_file(outside.join("deep/conftest.py")).unwrap();
    pinned.fixture.write("node_modules/evil/conftest.py", "in a folder that is passed by");
    pinned.fixture.link("../node_modules/evil", "tests/evil");
    let expected = [found("spec", Added, 1), found("tests/evil", Added, 1)];
    assert_eq!(pinned.check(), expected, "the one leads to the other");
}

#[test]
fn folders_of_what_tools_make_are_passed_by_as_they_were_at_the_start() {
    let fixture = project();
    fixture.write("venv/conftest.py", "not ignored at the start");
    let mut pinned = Pinned::new(fixture, &usual());
    // Ignored at the start and no longer: the files of the packages are still nobody's business.
    pinned.fixture.write(".gitignore", "venv/\n");
    pinned.workspace.scan_tree().unwrap();
    assert_eq!(pinned.check(), []);
    // Not ignored at the start: no new rule hides it.
    pinned.fixture.write("venv/conftest.py", "cheat");
    assert_eq!(pinned.check(), [found("venv/conftest.py", Modified, 1)]);
}

#[test]
fn installed_files_are_found_in_every_package_of_a_workspace() {
    let fixture = project();
    fixture.write("packages/a/node_modules/jest/index.js", "run");
    let mut pinned = Pinned::new(fixture, &[pin("**/node_modules/jest/**", Installed)]);
    assert_eq!(pinned.baseline.len(), 3);
    pinned.fixture.write("packages/a/node_modules/jest/index.js", "forge");
    fs::remove_file(pinned.fixture.path("node_modules/jest/index.js")).unwrap();
    let expected =
        [found("node_modules/jest/index.js", Deleted, 0), found("packages/a/node_modules/jest/index.js", Modified, 0)];
    assert_eq!(pinned.check(), expected);
    assert!(pinned.offences().iter().all(|offence| offence.restored.is_none()));
}

#[test]
fn a_link_to_too_much_is_said_and_not_refused() {
    let fixture = project();
    let outside = fixture.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("small"), "small").unwrap();
    // Sparse: large to look at, nothing on the disk.
    fs::File::create(outside.join("zz-image")).unwrap().set_len(300 << 20).unwrap();
    fixture.link(&outside, "tests/corpus");
    let mut pinned = Pinned::new(fixture, &usual());
    assert_eq!(pinned.baseline.unwatched(), ["tests/corpus"]);
    fs::write(outside.join("small"), "changed").unwrap();
    assert_eq!(pinned.check(), []);
    let baseline = PinBaseline::load(&pinned.fixture.state.join("loop/pins")).unwrap();
    assert_eq!(baseline.unwatched(), ["tests/corpus"]);
    fs::remove_file(pinned.fixture.path("tests/corpus")).unwrap();
    pinned.fixture.link("data", "tests/corpus");
    assert_eq!(pinned.check(), [found("tests/corpus", Modified, 0)]);
}

#[test]
fn one_look_finds_what_two_find() {
    let fixture = project();
    fixture.write(".env", "SECRET=1");
    let mut workspace = fixture.open();
    let guard = Guard::new(&[".env".to_owned(), "tests/data/**".to_owned()]).unwrap();
    let pins = Pins::new(&usual()).unwrap();
    let prohibited = workspace.guard_baseline(&guard, &fixture.state.join("guard")).unwrap();
    let pinned = workspace.pins_baseline(&pins, &fixture.state.join("pins")).unwrap();
    let both = |workspace: &mut Workspace, prohibited: &Baseline, pinned: &PinBaseline| {
        let (violations, offences) = look(workspace, (&guard, prohibited), (&pins, pinned)).unwrap();
        assert_eq!(violations, workspace.guard_check(&guard, prohibited).unwrap());
        assert_eq!(offences, workspace.pins_check(&pins, pinned).unwrap());
        (violations, offences)
    };
    assert_eq!(both(&mut workspace, &prohibited, &pinned), (vec![], vec![]));
    fixture.write(".env", "SECRET=2");
    fixture.write("tests/data/b.json", "[]");
    fixture.write("tests/data/c.json", "[]");
    fixture.write("conftest.py", "cheat");
    fixture.link("/etc", "tests/link");
    let (violations, offences) = both(&mut workspace, &prohibited, &pinned);
    let violation =
        |path: &str, glob: &str, kind| Violation { path: path.to_owned(), glob: glob.to_owned(), kind, commit: None };
    let expected = [
        violation(".env", ".env", Modified),
        violation("tests/data/b.json", "tests/data/**", Modified),
        violation("tests/data/c.json", "tests/data/**", Added),
    ];
    assert_eq!(violations, expected);
    let paths: Vec<&str> = offences.iter().map(|offence| offence.path.as_str()).collect();
    assert_eq!(paths, ["conftest.py", "tests/data/b.json"]);
}

#[test]
fn a_folder_in_which_nothing_mattered_to_the_last_process_is_looked_at_once_it_changes() {
    let fixture = project();
    fixture.write("plain/deep/x.txt", "1");
    let guard = Guard::new(&[".env".to_owned()]).unwrap();
    let pins = Pins::new(&usual()).unwrap();
    let (guard_folder, pins_folder) = (fixture.state.join("guard"), fixture.state.join("pins"));
    let mut workspace = fixture.open();
    drop(workspace.guard_baseline(&guard, &guard_folder).unwrap());
    drop(workspace.pins_baseline(&pins, &pins_folder).unwrap());
    drop(workspace);
    let found = || {
        // What was just changed would be looked at in any case.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let mut workspace = fixture.open();
        let (before, pinned) = (Baseline::load(&guard_folder).unwrap(), PinBaseline::load(&pins_folder).unwrap());
        let (violations, offences) = look(&mut workspace, (&guard, &before), (&pins, &pinned)).unwrap();
        let paths = violations.into_iter().map(|violation| violation.path);
        paths.chain(offences.into_iter().map(|offence| offence.path)).collect::<Vec<_>>()
    };
    for _ in 0..3 {
        assert_eq!(found(), Vec::<String>::new());
    }
    fixture.write("plain/deep/.env", "SECRET=1");
    fixture.write("plain/conftest.py", "cheat");
    for _ in 0..3 {
        assert_eq!(found(), ["plain/deep/.env", "plain/conftest.py"]);
    }
    fs::remove_file(fixture.path("plain/deep/.env")).unwrap();
    fs::remove_file(fixture.path("plain/conftest.py")).unwrap();
    assert_eq!(found(), Vec::<String>::new());
}

#[test]
fn the_list_of_a_tree_and_the_tree_of_now_need_no_snapshot() {
    let fixture = project();
    let mut workspace = fixture.open();
    let tree = workspace.scan_tree().unwrap();
    let listed = workspace.list(&tree).unwrap();
    assert!(listed.contains(&"tests/a.py".to_owned()) && !listed.iter().any(|path| path.starts_with("node_modules")));
    assert!(listed.is_sorted());
    fixture.write("tests/a.py", "changed");
    let changed = workspace.scan_tree().unwrap();
    assert_ne!(changed, tree);
    assert_eq!(workspace.changes(&tree, &changed).unwrap().len(), 1);
    assert!(!Path::new(workspace.git_dir()).join("refs/ralph").exists());
}
