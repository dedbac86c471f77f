use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use ralph_model::ChangeKind::{Added, Deleted, Mode, Modified};
use ralph_model::{ChangeKind, Violation};
use ralph_workspace::{Baseline, Guard, Workspace};

use crate::support::{Fixture, id};

fn guard(globs: &[&str]) -> Guard {
    Guard::new(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>()).unwrap()
}

fn usual() -> Guard {
    guard(&["src/auth/**", "src/payments/**", "migrations/**", ".env", ".env.*"])
}

fn violation(path: &str, glob: &str, kind: ChangeKind) -> Violation {
    Violation { path: path.to_owned(), glob: glob.to_owned(), kind, commit: None }
}

/// A guarded workspace.
struct Guarded {
    fixture: Fixture,
    workspace: Workspace,
    guard: Guard,
    baseline: Baseline,
}

impl Guarded {
    fn new(fixture: Fixture, guard: Guard) -> Self {
        let mut workspace = fixture.open();
        let baseline = workspace.guard_baseline(&guard, &fixture.state.join("loop/guard")).unwrap();
        Self { fixture, workspace, guard, baseline }
    }

    /// The same by a look of its own and with a snapshot.
    fn check(&mut self) -> Vec<Violation> {
        let found = self.workspace.guard_check(&self.guard, &self.baseline).unwrap();
        let (label, now) = ((id(), "checked"), Duration::ZERO);
        let (_, looked) = self.workspace.snapshot_guarded(label, now, &self.guard, &self.baseline, None).unwrap();
        assert_eq!(looked, found);
        found
    }

    fn patch(&self) -> PathBuf {
        self.fixture.state.join("loop/offence.patch")
    }

    fn restore(&mut self) -> Vec<Violation> {
        let patch = self.patch();
        let found = self.workspace.guard_restore(&self.guard, &self.baseline, &patch).unwrap();
        assert_eq!(self.check(), []);
        found
    }

    fn saved(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.patch()).unwrap()).into_owned()
    }
}

fn project() -> Fixture {
    let fixture = Fixture::repository(&[
        (".gitignore", ".env\nnode_modules/\ndist/\n"),
        ("src/auth/key.rs", "key"),
        ("src/auth/deep/b.rs", "b"),
        ("src/main.rs", "main"),
        ("migrations/1.sql", "sql"),
    ]);
    fixture.write(".env", "SECRET=1\n");
    fixture.chmod(".env", 0o600);
    fixture.write("dist/.env.local", "L=1");
    fixture
}

#[test]
fn nothing_changed_is_no_violation_in_this_process_or_the_next() {
    let mut guarded = Guarded::new(project(), usual());
    assert_eq!(guarded.baseline.len(), 5);
    assert_eq!(guarded.check(), []);
    guarded.fixture.write("src/main.rs", "changed freely");
    fs::remove_dir_all(guarded.fixture.path("dist")).unwrap();
    guarded.fixture.write("dist/.env.local", "L=1");
    assert_eq!(guarded.check(), []);
    let baseline = Baseline::load(&guarded.fixture.state.join("loop/guard")).unwrap();
    let mut workspace = guarded.fixture.open();
    assert_eq!(workspace.guard_check(&guarded.guard, &baseline).unwrap(), []);
    guarded.fixture.write(".env", "SECRET=2\n");
    assert_eq!(workspace.guard_check(&guarded.guard, &baseline).unwrap(), [violation(".env", ".env", Modified)]);
}

#[test]
fn ignored_untracked_added_and_deleted_files_and_modes_are_seen_and_put_back() {
    let mut guarded = Guarded::new(project(), usual());
    let fixture = &guarded.fixture;
    fixture.write(".env", "SECRET=2\n");
    fixture.write("sub/.env", "NEW=1\n");
    fixture.write("dist/.env.local", [0u8, 1, 255]);
    fs::remove_file(fixture.path("src/auth/key.rs")).unwrap();
    fs::remove_dir_all(fixture.path("src/auth/deep")).unwrap();
    fixture.chmod("migrations/1.sql", 0o600);
    fixture.write("src/main.rs", "work that stays");
    let expected = [
        violation(".env", ".env", Modified),
        violation("dist/.env.local", ".env.*", Modified),
        violation("migrations/1.sql", "migrations/**", Mode),
        violation("src/auth/deep/b.rs", "src/auth/**", Deleted),
        violation("src/auth/key.rs", "src/auth/**", Deleted),
        violation("sub/.env", ".env", Added),
    ];
    assert_eq!(guarded.check(), expected);
    assert_eq!(guarded.restore(), expected);
    let fixture = &guarded.fixture;
    assert_eq!((fixture.read(".env").as_str(), fixture.mode(".env")), ("SECRET=1\n", 0o600));
    assert_eq!((fixture.read("dist/.env.local"), fixture.read("src/auth/deep/b.rs")), ("L=1".into(), "b".into()));
    assert_eq!((fixture.mode("migrations/1.sql"), fixture.read("src/main.rs")), (0o644, "work that stays".into()));
    assert!(!fixture.path("sub").exists());
    let saved = guarded.saved();
    for part in ["+SECRET=2", "+NEW=1", "GIT binary patch", "# permissions of migrations/1.sql: 0644 became 0600"] {
        assert!(saved.contains(part), "{part} in {saved}");
    }
    assert_eq!(fs::metadata(guarded.patch()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_comes_into_a_folder_without_prohibited_files_is_seen_by_the_look_of_a_snapshot() {
    let fixture = project();
    fixture.write("docs/api/page.md", "page");
    // So that the times of the folders vouch for their names.
    thread::sleep(Duration::from_millis(50));
    let mut guarded = Guarded::new(fixture, usual());
    assert_eq!((guarded.check(), guarded.check()), (vec![], vec![]));
    guarded.fixture.write("docs/api/.env", "NEW=1\n");
    assert_eq!(guarded.check(), [violation("docs/api/.env", ".env", Added)]);
    fs::remove_dir_all(guarded.fixture.path("docs")).unwrap();
    assert_eq!(guarded.check(), []);
}

#[test]
fn the_patch_brings_the_offending_content_back_with_git_apply() {
    let mut guarded = Guarded::new(project(), usual());
    guarded.fixture.write(".env", "SECRET=2\n");
    guarded.fixture.write("src/auth/new.bin", [0u8, 200, 3]);
    guarded.restore();
    guarded.fixture.git(&["apply", guarded.patch().to_str().unwrap()]);
    assert_eq!(guarded.fixture.read(".env"), "SECRET=2\n");
    assert_eq!(fs::read(guarded.fixture.path("src/auth/new.bin")).unwrap(), [0u8, 200, 3]);
}

#[test]
fn a_change_that_the_agent_committed_or_hid_is_a_change() {
    let mut guarded = Guarded::new(project(), usual());
    guarded.fixture.write("migrations/1.sql", "drop");
    guarded.fixture.git(&["commit", "-q", "-a", "-m", "sneaky"]);
    guarded.fixture.write("src/auth/.gitignore", "*\n");
    guarded.fixture.write("src/auth/key.rs", "changed");
    let expected = [
        violation("migrations/1.sql", "migrations/**", Modified),
        violation("src/auth/.gitignore", "src/auth/**", Added),
        violation("src/auth/key.rs", "src/auth/**", Modified),
    ];
    assert_eq!(guarded.restore(), expected);
    assert_eq!(guarded.fixture.read("migrations/1.sql"), "sql");
}

#[test]
fn an_edit_through_a_hard_link_or_with_forged_times_is_seen() {
    let mut guarded = Guarded::new(project(), usual());
    assert_eq!(guarded.check(), []);
    let time = fs::metadata(guarded.fixture.path(".env")).unwrap().modified().unwrap();
    fs::hard_link(guarded.fixture.path(".env"), guarded.fixture.path("alias")).unwrap();
    guarded.fixture.write("alias", "SECRET=9\n");
    fs::File::options().write(true).open(guarded.fixture.path("alias")).unwrap().set_modified(time).unwrap();
    assert_eq!(guarded.restore(), [violation(".env", ".env", Modified)]);
    assert_eq!(
        (guarded.fixture.read(".env"), guarded.fixture.read("alias")),
        ("SECRET=1\n".into(), "SECRET=9\n".into())
    );
}

#[test]
fn the_file_behind_a_link_is_watched_and_restored_where_it_is() {
    let fixture = project();
    let shared = fixture.folder.path().canonicalize().unwrap().join("shared.env");
    fs::write(&shared, "S=1").unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(fixture.path(".env")).unwrap();
    fixture.link("../shared.env", ".env");
    let mut guarded = Guarded::new(fixture, usual());
    assert_eq!(guarded.check(), []);
    fs::write(&shared, "S=2").unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(guarded.restore(), [violation(".env", ".env", Modified)]);
    assert_eq!(fs::read_to_string(&shared).unwrap(), "S=1");
    assert_eq!(fs::metadata(&shared).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(guarded.saved().contains("+S=2"));
    // Replacing the link is a violation too, and what the new one leads to is left alone.
    let precious = guarded.fixture.folder.path().join("precious");
    fs::write(&precious, "P").unwrap();
    fs::remove_file(guarded.fixture.path(".env")).unwrap();
    guarded.fixture.link(&precious, ".env");
    assert_eq!(guarded.restore(), [violation(".env", ".env", Modified)]);
    assert_eq!(fs::read_link(guarded.fixture.path(".env")).unwrap(), PathBuf::from("../shared.env"));
    assert_eq!(
        (fs::read_to_string(&precious).unwrap(), fs::read_to_string(&shared).unwrap()),
        ("P".into(), "S=1".into())
    );
    fs::remove_file(&shared).unwrap();
    assert_eq!(guarded.restore(), [violation(".env", ".env", Modified)]);
    assert_eq!(fs::read_to_string(&shared).unwrap(), "S=1");
}

#[test]
fn a_folder_behind_a_link_is_walked_with_the_path_of_the_link() {
    let fixture = project();
    let outside = fixture.folder.path().canonicalize().unwrap().join("db");
    fs::create_dir_all(outside.join("sub")).unwrap();
    fs::write(outside.join("sub/2.sql"), "two").unwrap();
    fs::remove_dir_all(fixture.path("migrations")).unwrap();
    fixture.link(&outside, "migrations");
    let mut guarded = Guarded::new(fixture, usual());
    assert_eq!(guarded.check(), []);
    fs::write(outside.join("sub/2.sql"), "changed").unwrap();
    fs::write(outside.join("3.sql"), "added").unwrap();
    let expected = [
        violation("migrations/3.sql", "migrations/**", Added),
        violation("migrations/sub/2.sql", "migrations/**", Modified),
    ];
    assert_eq!(guarded.restore(), expected);
    assert_eq!(fs::read_to_string(outside.join("sub/2.sql")).unwrap(), "two");
    assert!(!outside.join("3.sql").exists() && !outside.join(".ralph").exists());
    // The link becomes a folder, while the file behind the link changes unseen.
    fs::remove_file(guarded.fixture.path("migrations")).unwrap();
    guarded.fixture.write("migrations/sub/2.sql", "mine");
    fs::write(outside.join("sub/2.sql"), "behind the back").unwrap();
    let found = guarded.restore();
    assert!(found.contains(&violation("migrations", "migrations/**", Modified)), "{found:?}");
    assert_eq!(fs::read_link(guarded.fixture.path("migrations")).unwrap(), outside);
    assert_eq!(fs::read_to_string(outside.join("sub/2.sql")).unwrap(), "two");
    let saved = guarded.saved();
    assert!(saved.contains("+mine") && saved.contains("+behind the back"), "{saved}");
}

#[test]
fn a_link_to_elsewhere_made_by_the_agent_loses_nothing_behind_it() {
    let fixture = project();
    let home = fixture.folder.path().canonicalize().unwrap().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join("thesis"), "years").unwrap();
    let mut guarded = Guarded::new(fixture, usual());
    guarded.fixture.link(&home, "src/auth/evil");
    fs::rename(guarded.fixture.path("migrations"), guarded.fixture.path("old")).unwrap();
    guarded.fixture.link(&home, "migrations");
    let found = guarded.restore();
    assert!(found.contains(&violation("src/auth/evil", "src/auth/**", Added)), "{found:?}");
    assert!(found.contains(&violation("migrations", "migrations/**", Added)), "{found:?}");
    assert_eq!(fs::read_to_string(home.join("thesis")).unwrap(), "years");
    assert_eq!(fs::read_dir(&home).unwrap().count(), 1);
    assert_eq!(guarded.fixture.read("migrations/1.sql"), "sql");
    assert!(!guarded.fixture.path("src/auth/evil").exists());
}

#[test]
fn circles_of_links_end_and_links_into_prohibited_folders_are_harmless() {
    let fixture = project();
    fixture.link("..", "src/auth/up");
    fixture.link("loop-b", "src/auth/loop-a");
    fixture.link("loop-a", "src/auth/loop-b");
    fixture.link("src/auth", "shortcut");
    let mut guarded = Guarded::new(fixture, usual());
    assert_eq!(guarded.check(), []);
    guarded.fixture.write("shortcut/key.rs", "through the shortcut");
    let found = guarded.restore();
    assert!(found.contains(&violation("src/auth/key.rs", "src/auth/**", Modified)), "{found:?}");
    assert_eq!(guarded.fixture.read("src/auth/key.rs"), "key");
}

#[test]
fn a_file_in_place_of_a_folder_and_the_reverse_are_undone() {
    let mut guarded = Guarded::new(project(), usual());
    fs::remove_dir_all(guarded.fixture.path("src/auth/deep")).unwrap();
    guarded.fixture.write("src/auth/deep", "now a file");
    fs::remove_file(guarded.fixture.path("src/auth/key.rs")).unwrap();
    guarded.fixture.write("src/auth/key.rs/inner", "now a folder");
    guarded.restore();
    assert_eq!(
        (guarded.fixture.read("src/auth/deep/b.rs"), guarded.fixture.read("src/auth/key.rs")),
        ("b".into(), "key".into())
    );
    let saved = guarded.saved();
    assert!(saved.contains("+now a file") && saved.contains("+now a folder"), "{saved}");
}

#[test]
fn bulk_folders_are_skipped_only_where_they_are_ignored() {
    let fixture = project();
    fixture.write("node_modules/pkg/.env", "1");
    fixture.write("target/.env", "1");
    fixture.write("src/auth/node_modules/x", "1");
    let mut guarded = Guarded::new(fixture, usual());
    guarded.fixture.write("node_modules/pkg/.env", "2");
    guarded.fixture.write("target/.env", "2");
    guarded.fixture.write("src/auth/node_modules/x", "2");
    let expected =
        [violation("src/auth/node_modules/x", "src/auth/**", Modified), violation("target/.env", ".env", Modified)];
    assert_eq!(guarded.check(), expected);
}

#[test]
fn a_second_run_after_a_crash_at_any_point_loses_nothing() {
    // The states that a crash can leave: patch written and nothing restored, or any part of it restored.
    let offend = |fixture: &Fixture| {
        fixture.write(".env", "SECRET=2\n");
        fixture.write("src/auth/new.rs", "fresh\n");
        fs::remove_file(fixture.path("migrations/1.sql")).unwrap();
    };
    let put_back: [fn(&Fixture); 4] = [
        |_| {},
        |fixture| fixture.write(".env", "SECRET=1\n"),
        |fixture| fs::remove_file(fixture.path("src/auth/new.rs")).unwrap(),
        |fixture| fixture.write("migrations/1.sql", "sql"),
    ];
    for crashed_after in put_back {
        let mut guarded = Guarded::new(project(), usual());
        offend(&guarded.fixture);
        guarded.restore();
        let whole = guarded.saved();
        offend(&guarded.fixture);
        crashed_after(&guarded.fixture);
        guarded.restore();
        assert_eq!(guarded.saved(), whole);
        // Another offence after that is added, not written over the first.
        guarded.fixture.write(".env", "SECRET=3\n");
        guarded.restore();
        let both = guarded.saved();
        assert!(both.starts_with(&whole) && both.contains("+SECRET=3"), "{both}");
    }
}

#[test]
fn files_and_permissions_of_read_only_folders_come_back() {
    let fixture = project();
    fixture.chmod("src/auth/key.rs", 0o400);
    fixture.chmod("src/auth/deep", 0o555);
    let mut guarded = Guarded::new(fixture, usual());
    guarded.fixture.chmod("src/auth/deep", 0o755);
    guarded.fixture.write("src/auth/deep/b.rs", "changed");
    guarded.fixture.chmod("src/auth/key.rs", 0o666);
    let expected = [
        violation("src/auth/deep", "src/auth/**", Mode),
        violation("src/auth/deep/b.rs", "src/auth/**", Modified),
        violation("src/auth/key.rs", "src/auth/**", Mode),
    ];
    assert_eq!(guarded.restore(), expected);
    assert_eq!((guarded.fixture.mode("src/auth/deep"), guarded.fixture.mode("src/auth/key.rs")), (0o555, 0o400));
    guarded.fixture.chmod("src/auth/deep", 0o755);
}

#[test]
fn many_prohibited_files_and_odd_names_are_kept() {
    let fixture = project();
    for number in 0..120 {
        fixture.write(format!("migrations/n\n{number}"), number.to_string());
    }
    let mut guarded = Guarded::new(fixture, usual());
    fs::remove_dir_all(guarded.fixture.path("migrations")).unwrap();
    let loaded = Baseline::load(&guarded.fixture.state.join("loop/guard")).unwrap();
    assert_eq!(loaded.len(), 125);
    guarded.baseline = loaded;
    assert_eq!(guarded.restore().len(), 121);
    assert_eq!(guarded.fixture.read("migrations/n\n77"), "77");
}

#[test]
fn snapshots_and_the_guard_agree_about_the_same_workspace() {
    let mut guarded = Guarded::new(project(), usual());
    let before = guarded.workspace.snapshot(id(), "a").unwrap().tree;
    guarded.fixture.write("migrations/1.sql", "x");
    guarded.restore();
    assert_eq!(guarded.workspace.snapshot(id(), "b").unwrap().tree, before);
}

#[test]
fn a_missing_or_newer_baseline_says_so() {
    let fixture = Fixture::new();
    let error = Baseline::load(&fixture.root).err().unwrap().to_string();
    assert!(error.contains("baseline.json"), "{error}");
    fixture.write("baseline.json", r#"{"version":99,"files":[]}"#);
    let error = Baseline::load(&fixture.root).err().unwrap().to_string();
    assert!(error.contains("version 99"), "{error}");
}

#[test]
fn what_the_agent_makes_behind_a_dangling_link_goes_and_nothing_else_does() {
    let fixture = project();
    fs::remove_file(fixture.path(".env")).unwrap();
    fixture.link("../later.env", ".env");
    let later = fixture.folder.path().canonicalize().unwrap().join("later.env");
    let precious = fixture.folder.path().canonicalize().unwrap().join("precious");
    fs::write(&precious, "P").unwrap();
    let mut guarded = Guarded::new(fixture, usual());
    assert_eq!(guarded.check(), []);
    fs::write(&later, "MADE=1\n").unwrap();
    assert_eq!(guarded.restore(), [violation(".env", ".env", Modified)]);
    assert!(!later.exists() && guarded.saved().contains("+MADE=1"));
    // Through another link it is somebody's file: reported, and left alone.
    std::os::unix::fs::symlink(&precious, &later).unwrap();
    let patch = guarded.patch();
    let found = guarded.workspace.guard_restore(&guarded.guard, &guarded.baseline, &patch).unwrap();
    assert_eq!(found, [violation(".env", ".env", Modified)]);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "P");
}

#[test]
fn a_folder_outside_that_became_a_link_is_not_written_to() {
    let fixture = project();
    let base = fixture.folder.path().canonicalize().unwrap();
    let (shared, home) = (base.join("shared"), base.join("home"));
    fs::create_dir_all(&shared).unwrap();
    fs::create_dir_all(&home).unwrap();
    fs::write(shared.join("env"), "S=1").unwrap();
    fs::write(home.join("env"), "mine").unwrap();
    fs::remove_file(fixture.path(".env")).unwrap();
    fixture.link(shared.join("env"), ".env");
    let mut guarded = Guarded::new(fixture, usual());
    fs::rename(&shared, base.join("moved")).unwrap();
    std::os::unix::fs::symlink(&home, &shared).unwrap();
    let patch = guarded.patch();
    let found = guarded.workspace.guard_restore(&guarded.guard, &guarded.baseline, &patch).unwrap();
    assert_eq!(found, [violation(".env", ".env", Modified)]);
    assert_eq!(fs::read_to_string(home.join("env")).unwrap(), "mine");
}

#[test]
fn a_folder_behind_a_link_that_leads_elsewhere_now_is_left_alone() {
    let fixture = project();
    let base = fixture.folder.path().canonicalize().unwrap();
    let (database, home) = (base.join("db"), base.join("home"));
    fs::create_dir_all(&database).unwrap();
    fs::create_dir_all(&home).unwrap();
    fs::write(database.join("1.sql"), "one").unwrap();
    fs::write(home.join("thesis"), "years").unwrap();
    fs::remove_dir_all(fixture.path("migrations")).unwrap();
    fixture.link(&database, "migrations");
    let mut guarded = Guarded::new(fixture, usual());
    fs::rename(&database, base.join("moved")).unwrap();
    std::os::unix::fs::symlink(&home, &database).unwrap();
    let expected = [violation("migrations", "migrations/**", Modified)];
    assert_eq!(guarded.check(), expected);
    let patch = guarded.patch();
    assert_eq!(guarded.workspace.guard_restore(&guarded.guard, &guarded.baseline, &patch).unwrap(), expected);
    assert_eq!(fs::read_to_string(home.join("thesis")).unwrap(), "years");
    assert_eq!(fs::read_dir(&home).unwrap().count(), 1);
}

#[test]
fn a_folder_named_like_gits_own_hides_nothing() {
    let mut guarded = Guarded::new(project(), usual());
    assert_eq!(guarded.check(), []);
    let fixture = &guarded.fixture;
    fixture.write("src/auth/.git/config", "x\n");
    fixture.write("src/auth/.git/deep/.git/more", "y\n");
    fixture.write("src/other/.git/config", "not prohibited\n");
    fixture.link("../..", "src/auth/deep/.git");
    let expected = [
        violation("src/auth/.git/config", "src/auth/**", Added),
        violation("src/auth/.git/deep/.git/more", "src/auth/**", Added),
        violation("src/auth/deep/.git", "src/auth/**", Added),
    ];
    assert_eq!(guarded.check(), expected);
    assert_eq!(guarded.restore(), expected);
    let fixture = &guarded.fixture;
    assert!(!fixture.path("src/auth/.git").exists() && fixture.path("src/other/.git/config").exists());
    assert!(fixture.path("src/auth/deep/.git").symlink_metadata().is_err());
    let saved = guarded.saved();
    assert!(saved.contains("+x") && saved.contains("+y") && saved.contains("--unsafe-paths"), "{saved}");
    let apply = ["apply", "--unsafe-paths", guarded.patch().to_str().unwrap()].map(str::to_owned);
    guarded.fixture.git(&apply.each_ref().map(String::as_str));
    assert_eq!(guarded.fixture.read("src/auth/.git/config"), "x\n");
}

#[test]
fn repositories_of_the_start_are_used_as_ever() {
    let fixture = project();
    let nested = |fixture: &Fixture, words: &[&str]| {
        let folder = fixture.path("src/auth/vendor");
        fixture.git(&[&["-C", folder.to_str().unwrap()], words].concat());
    };
    fixture.write("src/auth/vendor/lib.rs", "lib\n");
    nested(&fixture, &["init", "-q"]);
    let elsewhere = fixture.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fixture.link(&elsewhere, "src/auth/deep/.git");
    let mut guarded = Guarded::new(fixture, usual());
    nested(&guarded.fixture, &["add", "-A"]);
    nested(&guarded.fixture, &["commit", "-q", "-m", "as it is"]);
    guarded.fixture.git(&["commit", "-q", "--allow-empty", "-m", "in the workspace"]);
    fs::write(elsewhere.join("HEAD"), "x").unwrap();
    assert_eq!(guarded.check(), []);
    // A record from before such folders were looked at names none: they are passed by.
    let record = guarded.fixture.state.join("loop/guard/baseline.json");
    let mut old: serde_json::Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    old.as_object_mut().unwrap().remove("repositories").unwrap();
    old["files"].as_array_mut().unwrap().retain(|file| file["path"] != "src/auth/deep/.git");
    fs::write(&record, old.to_string()).unwrap();
    guarded.baseline = Baseline::load(record.parent().unwrap()).unwrap();
    pipe(&guarded.fixture, "src/auth/f");
    assert_eq!(guarded.check(), []);
}

fn pipe(fixture: &Fixture, path: &str) {
    let made = std::process::Command::new("mkfifo").arg(fixture.path(path)).status().unwrap();
    assert!(made.success());
}

#[test]
fn pipes_and_sockets_are_seen_and_removed() {
    let fixture = project();
    pipe(&fixture, "src/auth/old");
    pipe(&fixture, "src/auth/gone");
    pipe(&fixture, "src/auth/becomes");
    let mut guarded = Guarded::new(fixture, usual());
    assert_eq!(guarded.check(), []);
    let fixture = &guarded.fixture;
    pipe(fixture, "src/auth/new");
    pipe(fixture, "src/free");
    fs::remove_file(fixture.path("src/auth/gone")).unwrap();
    fs::remove_file(fixture.path("src/auth/becomes")).unwrap();
    fixture.write("src/auth/becomes", "a file\n");
    fs::remove_file(fixture.path("src/auth/key.rs")).unwrap();
    pipe(fixture, "src/auth/key.rs");
    let _socket = std::os::unix::net::UnixListener::bind(fixture.path("migrations/s")).unwrap();
    let expected = [
        violation("migrations/s", "migrations/**", Added),
        violation("src/auth/becomes", "src/auth/**", Added),
        violation("src/auth/key.rs", "src/auth/**", Modified),
        violation("src/auth/new", "src/auth/**", Added),
    ];
    assert_eq!(guarded.check(), expected);
    assert_eq!(guarded.restore(), expected);
    let there = |path: &str| guarded.fixture.path(path).symlink_metadata().is_ok();
    assert_eq!(guarded.fixture.read("src/auth/key.rs"), "key");
    assert!(!there("src/auth/new") && !there("migrations/s") && there("src/auth/old") && there("src/free"));
    assert!(guarded.saved().contains("# a pipe, a socket or a device at src/auth/new"));
}

#[test]
fn a_link_to_more_than_can_be_kept_is_refused_before_it_is_copied() {
    let fixture = Fixture::new();
    let outside = fixture.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    // Sparse: large to look at, nothing on the disk.
    fs::File::create(outside.join("image")).unwrap().set_len(300 << 20).unwrap();
    fixture.link(&outside, "src/auth");
    let mut workspace = fixture.open();
    let kept = fixture.state.join("guard");
    let error = workspace.guard_baseline(&usual(), &kept).err().unwrap().to_string();
    assert!(error.contains("`src/auth`") && error.contains("--prohibit '!src/auth/**'"), "{error}");
    workspace.guard_baseline(&guard(&["src/auth/**", "!src/auth/**"]), &kept).unwrap();
}
