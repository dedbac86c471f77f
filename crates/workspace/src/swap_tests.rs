use std::cell::Cell;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::Options;

thread_local! {
    static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Stops like a killed process: nothing after this point happens.
pub(super) fn crash_point() -> Result<(), Error> {
    match LEFT.get() {
        None => Ok(()),
        Some(0) => Err(Error::io("go on in", "a killed process")(std::io::Error::other("killed"))),
        Some(left) => {
            LEFT.set(Some(left - 1));
            Ok(())
        }
    }
}

/// Runs something that is killed after so many steps; says whether it was.
fn killed_after<T>(steps: u32, act: impl FnOnce() -> Result<T, Error>) -> bool {
    LEFT.set(Some(steps));
    let done = act();
    let killed = LEFT.replace(None) == Some(0);
    if let Err(error) = done {
        assert!(killed && error.to_string().contains("killed"), "{error}");
        return true;
    }
    false
}

/// Path, permissions, content and times.
type Found = (PathBuf, u32, Vec<u8>, (i64, i64));

struct Fixture {
    _folder: TempDir,
    base: PathBuf,
    root: PathBuf,
    record: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (root, record) = (base.join("work"), base.join("loop/swap"));
        fs::create_dir(&root).unwrap();
        Self { _folder: folder, base, root, record }
    }

    fn open(&self) -> Workspace {
        let options = Options {
            root: self.root.clone(),
            state: self.base.join("state"),
            git: PathBuf::from("/usr/bin/git"),
            global_excludes: None,
            stop: crate::StopFlag::default(),
        };
        Workspace::open(options).unwrap()
    }

    fn write(&self, path: &str, content: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    fn link(&self, target: impl AsRef<Path>, path: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    fn old(&self, path: &str) {
        let file = fs::File::options().write(true).open(self.root.join(path)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789)).unwrap();
    }

    /// Everything that a swap must leave as it was: names, kinds, permissions, contents, and times of links.
    fn all(&self) -> Vec<Found> {
        let mut found = Vec::new();
        let mut open = vec![self.base.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path == self.root.join(".ralph") || path == self.base.join("state") || path == self.base.join("loop")
                {
                    continue;
                }
                let metadata = fs::symlink_metadata(&path).unwrap();
                let mut times = (metadata.mtime(), metadata.mtime_nsec());
                let content = if metadata.is_dir() {
                    times = (0, 0);
                    open.push(path.clone());
                    Vec::new()
                } else if metadata.is_symlink() {
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                } else if metadata.is_file() {
                    // What was swapped is newer than what was built from it.
                    times = (0, 0);
                    fs::read(&path).unwrap()
                } else {
                    b"special".to_vec()
                };
                found.push((path, metadata.permissions().mode(), content, times));
            }
        }
        found.sort();
        found
    }

    fn has_record(&self) -> bool {
        fs::read_dir(&self.record).is_ok_and(|entries| entries.count() > 0)
    }
}

fn file(path: &str, content: &str) -> (String, Placement) {
    (path.to_owned(), Placement::File { content: content.as_bytes().to_vec(), mode: 0o644 })
}

fn absent(path: &str) -> (String, Placement) {
    (path.to_owned(), Placement::Absent)
}

fn link(path: &str, target: &str) -> (String, Placement) {
    (path.to_owned(), Placement::Link { target: target.as_bytes().to_vec() })
}

/// A workspace in which every kind of thing stands in the way of every other, and what is asked for.
fn everything() -> (Fixture, Vec<(String, Placement)>) {
    let fixture = Fixture::new();
    let outside = fixture.base.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a.py"), "theirs").unwrap();
    fixture.write("tests/a.py", "weakened");
    fixture.old("tests/a.py");
    fixture.write("tests/gone/deep/other.txt", "other");
    fixture.write("conftest.py", "cheat");
    fixture.write("pytest/__init__.py", "shadow");
    fixture.write("pytest/sub/x.py", "shadow");
    fs::set_permissions(fixture.root.join("pytest"), fs::Permissions::from_mode(0o700)).unwrap();
    fixture.write("folder/inside/x", "x");
    fixture.link(&outside, "linked");
    fixture.link(outside.join("a.py"), "alias.py");
    fixture.write("file", "where a folder was");
    fixture.write("same", "same");
    fixture.old("same");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        fixture.root.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let entries = vec![
        file("tests/a.py", "pinned"),
        file("tests/b.py", "pinned"),
        file("new/folder/c.py", "pinned"),
        absent("conftest.py"),
        absent("pytest/__init__.py"),
        absent("pytest/sub/x.py"),
        absent("not/there"),
        file("folder", "pinned"),
        absent("linked"),
        file("linked/a.py", "pinned"),
        file("linked/sub/b.py", "pinned"),
        file("alias.py", "pinned"),
        file("file/x.py", "pinned"),
        file("same", "same"),
        file("pipe", "pinned"),
        link("tests/link", "a.py"),
    ];
    (fixture, entries)
}

#[test]
fn a_swap_makes_what_was_asked_and_undoes_it_exactly() {
    let (fixture, entries) = everything();
    let before = fixture.all();
    let mut workspace = fixture.open();
    let asked = SystemTime::now() - Duration::from_secs(1);
    workspace.swap_in(&entries, &fixture.record).unwrap();
    for path in ["tests/a.py", "tests/b.py", "new/folder/c.py", "folder", "linked/a.py", "linked/sub/b.py", "alias.py"]
    {
        let found = fs::symlink_metadata(fixture.root.join(path)).unwrap();
        assert!(found.is_file() && found.modified().unwrap() > asked, "{path}");
        assert_eq!((fixture.read(path).as_str(), found.permissions().mode() & 0o777), ("pinned", 0o644), "{path}");
    }
    assert!(fs::symlink_metadata(fixture.root.join("linked")).unwrap().is_dir());
    assert_eq!(fs::read_link(fixture.root.join("tests/link")).unwrap(), Path::new("a.py"));
    for path in ["conftest.py", "pytest", "not"] {
        assert!(fs::symlink_metadata(fixture.root.join(path)).is_err(), "{path}");
    }
    assert!(fs::metadata(fixture.root.join("same")).unwrap().modified().unwrap() < asked, "it was as asked already");
    assert_eq!(fs::read_to_string(fixture.base.join("outside/a.py")).unwrap(), "theirs");
    assert_eq!(workspace.swap_out(&fixture.record, Since::Check).unwrap(), [""; 0]);
    assert_eq!(fixture.all(), before);
    assert!(!fixture.has_record());
    assert_eq!(workspace.swap_out(&fixture.record, Since::Check).unwrap(), [""; 0]);
    assert_eq!(workspace.swap_out(&fixture.record, Since::Crash).unwrap(), [""; 0]);
    assert_eq!(fixture.all(), before);
}

#[test]
fn killed_at_any_step_everything_comes_back() {
    let mut steps = 0;
    loop {
        let (fixture, entries) = everything();
        let before = fixture.all();
        let mut workspace = fixture.open();
        let killed = killed_after(steps, || workspace.swap_in(&entries, &fixture.record));
        // The next process may be killed as well, at any step.
        for again in 0..(steps % 7) {
            let mut workspace = fixture.open();
            killed_after(again * 5 + steps / 3, || workspace.swap_out(&fixture.record, Since::Crash));
        }
        let mut workspace = fixture.open();
        assert_eq!(workspace.swap_out(&fixture.record, Since::Crash).unwrap(), [""; 0], "{steps}");
        assert_eq!(fixture.all(), before, "{steps}");
        assert!(!fixture.has_record(), "{steps}");
        if !killed {
            break;
        }
        steps += 1;
    }
    assert!(steps > 30, "{steps}");
}

#[test]
fn killed_at_any_step_of_putting_back_everything_comes_back() {
    for steps in 0.. {
        let (fixture, entries) = everything();
        let before = fixture.all();
        let mut workspace = fixture.open();
        workspace.swap_in(&entries, &fixture.record).unwrap();
        let killed = killed_after(steps, || workspace.swap_out(&fixture.record, Since::Check));
        assert_eq!(fixture.open().swap_out(&fixture.record, Since::Crash).unwrap(), [""; 0], "{steps}");
        assert_eq!(fixture.all(), before, "{steps}");
        if !killed {
            assert!(steps > 20, "{steps}");
            break;
        }
    }
}

#[test]
fn what_a_check_changed_is_named_and_the_saved_state_comes_back() {
    let (fixture, entries) = everything();
    let before = fixture.all();
    let mut workspace = fixture.open();
    workspace.swap_in(&entries, &fixture.record).unwrap();
    fixture.write("tests/a.py", "changed by the check");
    fs::remove_file(fixture.root.join("tests/b.py")).unwrap();
    fixture.write("conftest.py", "came back");
    fs::remove_file(fixture.root.join("folder")).unwrap();
    fixture.write("folder/other", "a folder again");
    fs::remove_file(fixture.root.join("alias.py")).unwrap();
    fixture.link(fixture.base.join("outside/a.py"), "alias.py");
    fs::set_permissions(fixture.root.join("same"), fs::Permissions::from_mode(0o600)).unwrap();
    let changed = workspace.swap_out(&fixture.record, Since::Check).unwrap();
    assert_eq!(changed, ["alias.py", "conftest.py", "folder", "same", "tests/a.py", "tests/b.py"]);
    assert_eq!(fixture.all(), before);
}

#[test]
fn what_a_check_leaves_in_new_folders_is_not_lost_and_not_in_the_way() {
    let (fixture, entries) = everything();
    let before = fixture.all();
    let mut workspace = fixture.open();
    workspace.swap_in(&entries, &fixture.record).unwrap();
    fixture.write("linked/__pycache__/a.pyc", "bytes");
    assert_eq!(workspace.swap_out(&fixture.record, Since::Check).unwrap(), [""; 0]);
    assert_eq!(fixture.all(), before);
    assert_eq!(fixture.read(".ralph/kept/linked.1/__pycache__/a.pyc"), "bytes");
}

#[test]
fn after_a_crash_what_a_person_changed_is_left_and_named() {
    let (fixture, entries) = everything();
    let mut workspace = fixture.open();
    workspace.swap_in(&entries, &fixture.record).unwrap();
    fixture.write("tests/a.py", "a person's");
    fs::remove_file(fixture.root.join("folder")).unwrap();
    fs::create_dir(fixture.root.join("folder")).unwrap();
    fixture.write("tests/b.py", "mine");
    let changed = fixture.open().swap_out(&fixture.record, Since::Crash).unwrap();
    assert_eq!(changed, ["folder", "tests/a.py", "tests/b.py"]);
    assert_eq!((fixture.read("tests/a.py"), fixture.read("tests/b.py")), ("a person's".into(), "mine".into()));
    assert_eq!(fixture.read(".ralph/kept/a.py.1"), "weakened");
    assert_eq!(fixture.read(".ralph/kept/folder.1/inside/x"), "x");
    assert_eq!(fixture.read("conftest.py"), "cheat");
    assert!(!fixture.has_record());
}

#[test]
fn a_record_on_another_file_system_does_as_well() {
    let (fixture, entries) = everything();
    let before = fixture.all();
    // The throwaway folder of the test is in memory where that is possible, and this one on the disk.
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("swap");
    let mut workspace = fixture.open();
    workspace.swap_in(&entries, &record).unwrap();
    assert_eq!(fixture.read("folder"), "pinned");
    assert_eq!(fixture.open().swap_out(&record, Since::Crash).unwrap(), [""; 0]);
    assert_eq!(fixture.all(), before);
    assert_eq!(fs::read_dir(&record).unwrap().count(), 0);
}

#[test]
fn nothing_is_written_through_a_hard_link() {
    let fixture = Fixture::new();
    fixture.write("tests/a.py", "weakened");
    fs::hard_link(fixture.root.join("tests/a.py"), fixture.base.join("alias")).unwrap();
    let mut workspace = fixture.open();
    workspace.swap_in(&[file("tests/a.py", "pinned")], &fixture.record).unwrap();
    assert_eq!(fs::read_to_string(fixture.base.join("alias")).unwrap(), "weakened");
    workspace.swap_out(&fixture.record, Since::Check).unwrap();
    assert_eq!(fs::read_to_string(fixture.base.join("alias")).unwrap(), "weakened");
    assert_eq!(fixture.read("tests/a.py"), "weakened");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_touched() {
    let (fixture, entries) = everything();
    let before = fixture.all();
    let mut workspace = fixture.open();
    for (bad, word) in [
        (vec![file("../x", "")], "`../x`"),
        (vec![file("/etc/x", "")], "`/etc/x`"),
        (vec![file("", "")], "relative"),
        (vec![absent(".git/config")], "git"),
        (vec![file(".ralph/LEDGER.md", "")], "Ralph"),
        (vec![file("a", ""), file("a/b", "")], "`a/b`"),
    ] {
        let error = workspace.swap_in(&bad, &fixture.record).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    assert_eq!(fixture.all(), before);
    workspace.swap_in(&entries, &fixture.record).unwrap();
    let error = workspace.swap_in(&entries, &fixture.record).unwrap_err().to_string();
    assert!(error.contains("must be restored"), "{error}");
    fs::write(fixture.record.join("swap.json"), "{").unwrap();
    let error = workspace.swap_out(&fixture.record, Since::Crash).unwrap_err().to_string();
    assert!(error.contains("swap.json"), "{error}");
}

/// Names that nest in each other, so that files, folders and links take each other's places.
const NAMES: [&str; 10] = ["a", "a/b", "a/b/c", "a/d", "b", "b/c", "b/c/d", "e", "sp ace/é", "e.x"];

#[derive(Debug, Clone)]
enum Thing {
    Nothing,
    File(u8, u32),
    Link(usize),
    Away,
    Folder(u32),
}

fn thing() -> impl Strategy<Value = Thing> {
    let mode = prop::sample::select(vec![0o644u32, 0o755, 0o600, 0o444]);
    prop_oneof![
        2 => Just(Thing::Nothing),
        4 => (any::<u8>(), mode).prop_map(|(byte, mode)| Thing::File(byte, mode)),
        1 => (0..NAMES.len()).prop_map(Thing::Link),
        1 => Just(Thing::Away),
        1 => prop::sample::select(vec![0o755u32, 0o700, 0o555]).prop_map(Thing::Folder),
    ]
}

/// Operations that are impossible in this order simply fail.
fn build(fixture: &Fixture, things: &[Thing]) {
    for (name, thing) in NAMES.iter().zip(things) {
        let path = fixture.root.join(name);
        let _ = fs::create_dir_all(path.parent().unwrap());
        match thing {
            Thing::Nothing => {}
            Thing::File(byte, mode) => {
                if fs::write(&path, [*byte]).is_ok() {
                    let _ = fs::set_permissions(&path, fs::Permissions::from_mode(*mode));
                }
            }
            Thing::Link(target) => drop(symlink(NAMES[*target], &path)),
            Thing::Away => drop(symlink(fixture.base.join("outside"), &path)),
            Thing::Folder(mode) => {
                let _ = fs::create_dir_all(&path);
                let _ = fs::set_permissions(&path, fs::Permissions::from_mode(*mode));
            }
        }
    }
}

fn asked(things: &[Thing]) -> Vec<(String, Placement)> {
    let mut entries: Vec<(String, Placement)> = Vec::new();
    for (name, thing) in NAMES.iter().zip(things) {
        let placement = match thing {
            Thing::Nothing => continue,
            Thing::File(byte, mode) => Placement::File { content: vec![*byte; 3], mode: *mode },
            Thing::Link(target) => Placement::Link { target: NAMES[*target].as_bytes().to_vec() },
            Thing::Away | Thing::Folder(_) => Placement::Absent,
        };
        let below = |(path, above): &(String, Placement)| {
            *above != Placement::Absent && name.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        if !entries.iter().any(below) {
            entries.push(((*name).to_owned(), placement));
        }
    }
    entries
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is there and whatever is asked for: it is made, and undone, also when it is interrupted.
    #[test]
    fn swapping_in_and_out_changes_nothing(
        things in prop::collection::vec(thing(), NAMES.len()),
        wanted in prop::collection::vec(thing(), NAMES.len()),
        steps in 0u32..60,
    ) {
        let fixture = Fixture::new();
        fs::create_dir(fixture.base.join("outside")).unwrap();
        build(&fixture, &things);
        let before = fixture.all();
        let outside = |all: &[Found]| all.iter().filter(|found| !found.0.starts_with(&fixture.root)).cloned().collect::<Vec<_>>();
        let entries = asked(&wanted);
        let mut workspace = fixture.open();
        workspace.swap_in(&entries, &fixture.record).unwrap();
        for (path, placement) in &entries {
            let path = fixture.root.join(path);
            match placement {
                Placement::Absent => {}
                Placement::File { content, mode } => {
                    let found = fs::symlink_metadata(&path).unwrap();
                    prop_assert!(found.is_file());
                    prop_assert_eq!(found.permissions().mode() & 0o7777, *mode);
                    prop_assert_eq!(&fs::read(&path).unwrap(), content);
                }
                Placement::Link { target } => {
                    prop_assert_eq!(&fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(), target);
                }
            }
        }
        prop_assert_eq!(outside(&fixture.all()), outside(&before));
        prop_assert_eq!(workspace.swap_out(&fixture.record, Since::Check).unwrap(), Vec::<String>::new());
        prop_assert_eq!(fixture.all(), before.clone());
        killed_after(steps, || workspace.swap_in(&entries, &fixture.record));
        killed_after(steps / 2, || workspace.swap_out(&fixture.record, Since::Crash));
        prop_assert_eq!(workspace.swap_out(&fixture.record, Since::Crash).unwrap(), Vec::<String>::new());
        prop_assert_eq!(fixture.all(), before);
    }
}

#[test]
fn what_comes_back_is_newer_than_what_was_built_from_its_stand_in() {
    let fixture = Fixture::new();
    let mut workspace = fixture.open();
    fixture.write("a", "mine");
    fixture.old("a");
    workspace.swap_in(&[file("a", "theirs")], &fixture.record).unwrap();
    let built = SystemTime::now();
    workspace.swap_out(&fixture.record, Since::Check).unwrap();
    let back = fs::metadata(fixture.root.join("a")).unwrap().modified().unwrap();
    assert!(back + Duration::from_millis(20) >= built, "a build tool would take the stand-in for it");
}
