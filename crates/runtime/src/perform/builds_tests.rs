use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn trees() -> [TreeHash; 2] {
    [TreeHash("a".repeat(40)), TreeHash("a".repeat(40))]
}

/// Lets the checks of the start build something, and keeps it.
fn kept(folder: &Path, content: &str) {
    let builds = Builds::take(folder, Place::Workspace).unwrap().unwrap();
    builds.move_in().unwrap();
    fs::create_dir_all(builds.used().join("cargo")).unwrap();
    fs::write(builds.used().join("cargo/object"), content).unwrap();
    builds.keep(Path::new("/workspace"), trees()).unwrap();
}

#[test]
fn what_a_confirming_run_writes_is_not_there_in_the_next() {
    let home = tempfile::tempdir().unwrap();
    let workspace = home.path().join("builds/one");
    let folder = workspace.join("workspace");
    kept(&workspace, "start");
    fs::set_permissions(folder.join("kept/cargo/object"), fs::Permissions::from_mode(0o400)).unwrap();
    symlink("/nowhere", folder.join("kept/cargo/link")).unwrap();
    let modified = fs::metadata(folder.join("kept/cargo/object")).unwrap().modified().unwrap();
    for _ in 0..2 {
        let builds = Builds::take(&workspace, Place::Workspace).unwrap().unwrap();
        assert!(Builds::take(&workspace, Place::Workspace).unwrap().is_none(), "two at a time");
        builds.enter(&builds.prepare(&StopFlag::default()).unwrap()).unwrap();
        assert_eq!(fs::metadata(builds.used()).unwrap().mode() & 0o777, 0o700);
        let object = builds.used().join("cargo/object");
        assert_eq!(fs::read_to_string(&object).unwrap(), "start");
        assert_eq!(fs::metadata(&object).unwrap().modified().unwrap(), modified, "builds compare times");
        assert_eq!(fs::read_link(builds.used().join("cargo/link")).unwrap(), Path::new("/nowhere"));
        fs::remove_file(&object).unwrap();
        fs::write(&object, "poison").unwrap();
        fs::write(builds.used().join("cargo/more"), "poison").unwrap();
    }
    // What the next start finds is what the last start left, and not what the last run did.
    let builds = Builds::take(&workspace, Place::Workspace).unwrap().unwrap();
    builds.move_in().unwrap();
    assert_eq!(fs::read_to_string(builds.used().join("cargo/object")).unwrap(), "start");
    assert!(!builds.used().join("cargo/more").exists());
}

#[test]
fn a_copy_is_stopped_between_two_files_and_in_the_middle_of_one() {
    let home = tempfile::tempdir().unwrap();
    let workspace = home.path().join("builds/one");
    kept(&workspace, "start");
    let stop = StopFlag::default();
    stop.request();
    let builds = Builds::take(&workspace, Place::Workspace).unwrap().unwrap();
    let stopped = builds.prepare(&stop);
    assert!(matches!(stopped, Err(Error::Workspace(ralph_workspace::Error::Stopped))), "{stopped:?}");
    let begun: Vec<_> = fs::read_dir(builds.folder.join(NEXT)).unwrap().map(|next| next.unwrap().path()).collect();
    assert!(begun.len() == 1 && !begun[0].join("cargo").exists());
    drop(builds);
    // What is kept is still whole.
    let builds = Builds::take(&workspace, Place::Workspace).unwrap().unwrap();
    builds.enter(&builds.prepare(&StopFlag::default()).unwrap()).unwrap();
    assert_eq!(fs::read_to_string(builds.used().join("cargo/object")).unwrap(), "start");

    let (large, copied) = (home.path().join("large"), home.path().join("copied"));
    File::create(&large).unwrap().set_len(PIECE + 1).unwrap();
    copy_file(&large, &copied, &stop).unwrap_err();
    assert_eq!(fs::metadata(&copied).unwrap().len(), PIECE);
}

#[test]
fn the_next_run_begins_with_what_was_prepared_while_the_last_one_wrote() {
    let home = tempfile::tempdir().unwrap();
    let workspace = home.path().join("builds/one");
    kept(&workspace, "start");
    let builds = Builds::take(&workspace, Place::Workspace).unwrap().unwrap();
    let mut next = builds.prepare(&StopFlag::default()).unwrap();
    for _ in 0..3 {
        builds.enter(&next).unwrap();
        let object = builds.used().join("cargo/object");
        assert_eq!(fs::read_to_string(&object).unwrap(), "start");
        fs::write(&object, "poison").unwrap();
        next = builds.prepare(&StopFlag::default()).unwrap();
        // Whoever can write only what is used reaches neither of the others.
        fs::write(&object, "late").unwrap();
        assert!(!builds.folder.join(GONE).exists());
    }
    builds.clear().unwrap();
    assert_eq!(left_in(&builds.folder), ["kept", "kept.json", "lock"]);
}

fn left_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

#[tokio::test]
async fn small_builds_are_copied_for_several_runs_before_the_first_one() {
    let home = tempfile::tempdir().unwrap();
    let workspace = home.path().join("builds/one");
    kept(&workspace, "start");
    let builds = Arc::new(Builds::take(&workspace, Place::Workspace).unwrap().unwrap());
    let folder = builds.folder.clone();
    let mut supply = Supply::new(Some(builds), StopFlag::default());
    supply.stock_up();
    while supply.copies.iter().any(|copy| !copy.is_finished()) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(left_in(&folder.join(NEXT)).len(), AHEAD);
    // From here on, nothing can be copied.
    remove_tree(&folder.join(KEPT)).unwrap();
    for _ in 0..AHEAD {
        let builds = supply.take().await.unwrap().unwrap();
        supply.copy_ahead();
        let object = builds.used().join("cargo/object");
        assert_eq!(fs::read_to_string(&object).unwrap(), "start");
        fs::write(&object, "poison").unwrap();
    }
    let builds = supply.take().await.unwrap().unwrap();
    assert!(left_in(&builds.used()).is_empty());
    drop(builds);
    supply.close().await.unwrap();
    assert_eq!(left_in(&folder), ["kept.json", "lock"]);
}

#[tokio::test]
async fn large_builds_are_copied_for_a_run_that_is_certain_to_come() {
    let home = tempfile::tempdir().unwrap();
    let workspace = home.path().join("builds/one");
    kept(&workspace, "start");
    let mut builds = Builds::take(&workspace, Place::Workspace).unwrap().unwrap();
    builds.record.as_mut().unwrap().bytes = MAX_AHEAD + 1;
    let mut supply = Supply::new(Some(Arc::new(builds)), StopFlag::default());
    supply.stock_up();
    assert!(supply.copies.is_empty());
    let builds = supply.take().await.unwrap().unwrap();
    assert_eq!(fs::read_to_string(builds.used().join("cargo/object")).unwrap(), "start");
}

#[test]
fn copies_lie_in_different_parts_of_a_disk_that_can_do_so() {
    let home = tempfile::tempdir().unwrap();
    if let Err(error) = spread(home.path()) {
        eprintln!("this file system cannot: {error}");
        return;
    }
    let workspace = home.path().join("builds/one");
    kept(&workspace, "start");
    let builds = Builds::take(&workspace, Place::Workspace).unwrap().unwrap();
    let next = builds.prepare(&StopFlag::default()).unwrap();
    let flags = |folder: &Path| ioctl_getflags(File::open(folder).unwrap()).unwrap();
    assert!(flags(next.parent().unwrap()).contains(IFlags::TOPDIR));
    assert!(!flags(&next).contains(IFlags::TOPDIR), "what is in one copy lies together");
}

#[test]
fn builds_of_a_start_that_did_not_end_are_not_kept() {
    let home = tempfile::tempdir().unwrap();
    let workspace = home.path().join("builds/one");
    kept(&workspace, "start");
    Builds::take(&workspace, Place::Workspace).unwrap().unwrap().move_in().unwrap();
    let builds = Builds::take(&workspace, Place::Workspace).unwrap().unwrap();
    assert!(builds.is_empty() && !builds.used().exists());
}

#[test]
fn old_builds_go_and_the_oldest_where_all_take_too_much_room() {
    let home = Home::new(tempfile::tempdir().unwrap().keep());
    let folder = |name: &str| home.all_builds().join(name).join("workspace");
    let day = Duration::from_secs(24 * 60 * 60);
    for (name, days, bytes) in [("new", 1, 10), ("older", 2, 20), ("oldest", 3, 30), ("used", 9, 40)] {
        Home::make_private(&folder(name)).unwrap();
        let at = SystemTime::now() - days * day;
        let record = Record { root: "/w".into(), trees: trees(), at, bytes, is_too_large: false };
        fs::write(folder(name).join(RECORD), serde_json::to_vec(&record).unwrap()).unwrap();
    }
    let _used = Builds::take(&home.all_builds().join("used"), Place::Workspace).unwrap().unwrap();
    let before = |days: u32| SystemTime::now() - days * day - day / 2;
    assert_eq!(builds_before(&home, before(2)), [folder("oldest")]);
    assert_eq!(expired(&home.all_builds(), before(5), 35), [folder("oldest")]);
    assert_eq!(expired(&home.all_builds(), before(5), 5), [folder("oldest"), folder("older"), folder("new")]);
    assert!(expired(&home.all_builds(), before(5), 60).is_empty());
    remove_tree(home.root()).unwrap();
}
