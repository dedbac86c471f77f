use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        place.set("mine");
        place
    }

    fn settings(&self) -> PathBuf {
        self.folder.path().join("settings.json")
    }

    fn set(&self, text: &str) {
        fs::write(self.settings(), text).unwrap();
    }

    fn get(&self) -> String {
        fs::read_to_string(self.settings()).unwrap()
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state/key")
    }

    fn aside(&self) -> PathBuf {
        self.folder.path().join("aside")
    }

    fn has_copy(&self) -> bool {
        self.state().join(COPY).exists()
    }

    fn enter(&self) -> (Shared, Found) {
        Shared::enter(&self.state(), &[self.settings()], &self.aside(), &SettingsSnapshot::default()).unwrap()
    }

    fn leave(&self, shared: Shared) -> usize {
        shared.leave(Tree::Gone, &self.aside(), None).unwrap().changed.len()
    }
}

#[test]
fn settings_are_put_back_and_their_copy_is_forgotten() {
    let place = Place::new();
    let (shared, found) = place.enter();
    assert!(found.report.changed.is_empty() && place.has_copy());
    assert_eq!(place.state().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    place.set("evil");
    assert_eq!((place.leave(shared), place.get()), (1, "mine".to_owned()));
    assert!(!place.has_copy());
    assert_eq!(fs::read_dir(place.state().join(USERS)).unwrap().count(), 0);
    place.set("changed by the user between two runs");
    let (shared, _) = place.enter();
    assert_eq!(place.leave(shared), 0, "which is what counts from then on");
}

#[test]
fn the_next_one_puts_back_what_a_crash_left_behind() {
    let place = Place::new();
    for _ in 0..2 {
        let (shared, _) = place.enter();
        place.set("evil");
        // As when its process dies: the kernel closes the file, and nothing else happens.
        drop(shared);
        assert!(place.has_copy());
    }
    let (shared, found) = place.enter();
    assert_eq!((found.report.changed.len(), place.get()), (1, "mine".to_owned()));
    assert_eq!(fs::read_dir(place.state().join(USERS)).unwrap().count(), 1, "those of the dead are removed");
    assert_eq!(place.leave(shared), 0);

    drop(place.enter());
    place.set("evil");
    let report = recover(&place.folder.path().join("state"), &place.aside()).unwrap();
    assert_eq!((report.changed.len(), place.get(), place.has_copy()), (1, "mine".to_owned(), false));
    assert!(recover(&place.folder.path().join("state"), &place.aside()).unwrap().changed.is_empty());
}

#[test]
fn agents_that_run_at_the_same_time_share_what_was_before_the_first() {
    let place = Place::new();
    let (first, _) = place.enter();
    place.set("evil of the first");
    let (second, found) = place.enter();
    assert_eq!(
        (found.report.changed.len(), place.get()),
        (1, "mine".to_owned()),
        "the second is not steered by the first"
    );
    place.set("evil of the first again");
    assert_eq!((place.leave(first), place.get()), (1, "mine".to_owned()));
    assert!(place.has_copy(), "the second still needs it");
    place.set("evil of the second");
    assert_eq!((place.leave(second), place.get()), (1, "mine".to_owned()));
    assert!(!place.has_copy());
}

#[test]
fn the_copy_stays_while_a_process_of_the_agent_may_live() {
    let place = Place::new();
    let (shared, _) = place.enter();
    let supervisor = shared.hold();
    shared.leave(Tree::Unknown, &place.aside(), None).unwrap();
    assert!(place.has_copy());
    place.set("evil, from an agent that outlived its run");
    drop(supervisor);
    let (shared, found) = place.enter();
    assert_eq!((found.report.changed.len(), place.get()), (1, "mine".to_owned()));
    place.leave(shared);
    assert!(!place.has_copy());
}

#[test]
fn a_copy_that_could_not_be_put_back_is_not_replaced() {
    let place = Place::new();
    let home = place.folder.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join("settings.json"), "mine").unwrap();
    let enter = || {
        Shared::enter(&place.state(), &[home.join("settings.json")], &place.aside(), &SettingsSnapshot::default())
            .unwrap()
    };
    drop(enter());
    fs::remove_dir_all(&home).unwrap();
    fs::write(&home, "in the way").unwrap();
    let (shared, found) = enter();
    assert!(found.report.unfinished && found.report.lost.len() == 1, "{found:?}");
    assert!(shared.leave(Tree::Gone, &place.aside(), None).unwrap().unfinished && place.has_copy());
    fs::remove_file(&home).unwrap();
    let (shared, _) = enter();
    assert_eq!(fs::read_to_string(home.join("settings.json")).unwrap(), "mine");
    place.leave(shared);
    assert!(!place.has_copy());
}

#[test]
fn a_copy_that_cannot_be_read_is_told_of_once() {
    let place = Place::new();
    drop(place.enter());
    let copy = place.state().join(COPY);
    fs::write(&copy, "{}").unwrap();
    assert!(Shared::enter(&place.state(), &[place.settings()], &place.aside(), &SettingsSnapshot::default()).is_err());
    assert!(copy.with_extension("unreadable").exists());
    assert_eq!(place.leave(place.enter().0), 0);
}

#[test]
fn one_who_stays_writes_the_copy_again_only_where_the_user_changed_something() {
    let place = Place::new();
    let number = || place.state().join(COPY).metadata().unwrap().ino();
    let again = |shared: &Shared, known: &Arc<SettingsSnapshot>| {
        shared.again(&[place.settings()], &place.aside(), known).unwrap().kept
    };
    let (shared, found) = place.enter();
    let (first, known) = (number(), found.kept);
    place.set("evil");
    let (shared, report) = shared.stay(&place.aside(), &known).unwrap();
    let shared = shared.unwrap();
    assert_eq!((report.changed.len(), place.get(), place.has_copy()), (1, "mine".to_owned(), true));
    let known = again(&shared, &known);
    assert_eq!(number(), first, "it is still true");

    place.set("changed by the user between two agents");
    again(&shared, &known);
    assert_ne!(number(), first);
    place.set("evil");
    drop(shared);
    let (shared, found) = place.enter();
    assert_eq!(place.get(), "changed by the user between two agents", "which is what a crash leaves, too");

    let (other, _) = place.enter();
    place.set("evil of the other");
    let known = again(&shared, &found.kept);
    assert_eq!((known, place.get()), (found.kept, "changed by the user between two agents".to_owned()));
    shared.release().unwrap();
    assert!(place.has_copy(), "the other still needs it");
    other.release().unwrap();
    assert!(!place.has_copy());
}
