use super::*;
use crate::object::{Mode, push_entry};

fn git() -> Git {
    // Never asked for objects that are here; for others it fails, as a missing program does.
    Git::new(Path::new("/nonexistent/git"))
}

fn store(durability: Durability) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("git"), durability).unwrap();
    (folder, store)
}

fn add(store: &Store, contents: &[Vec<u8>]) -> (Vec<Id>, Written) {
    let mut batch = Batch::new();
    let ids: Vec<Id> = contents.iter().map(|content| Id::of(Kind::Blob, content)).collect();
    for (id, content) in ids.iter().zip(contents) {
        batch.add(store, Kind::Blob, *id, content.clone()).unwrap();
    }
    (ids, batch.finish(store).unwrap())
}

fn loose_path(store: &Store, id: &Id) -> PathBuf {
    let hex = id.hex();
    store.objects.join(&hex[..2]).join(&hex[2..])
}

#[test]
fn few_objects_are_loose_and_many_are_packed_and_all_come_back() {
    for (count, expected) in [(3, Written::Loose), (48, Written::Loose), (49, Written::Packed), (3000, Written::Packed)]
    {
        let (folder, store) = store(Durability::Process);
        let contents: Vec<Vec<u8>> =
            (0..count).map(|number| format!("{number} ").repeat(number % 700).into_bytes()).collect();
        let (ids, written) = add(&store, &contents);
        assert_eq!(written, expected, "{count}");
        let reopened = Store::open(&folder.path().join("git"), Durability::Process).unwrap();
        for store in [&store, &reopened] {
            for (id, content) in ids.iter().zip(&contents) {
                assert!(store.has(Kind::Blob, id).unwrap());
                assert_eq!(store.read(&git(), Kind::Blob, id).unwrap(), *content);
            }
        }
        assert!(!store.has(Kind::Blob, &Id([7; 20])).unwrap());
    }
}

#[test]
fn the_same_object_is_written_once() {
    let (_folder, store) = store(Durability::Process);
    let same = vec![b"same".to_vec(); 500];
    assert_eq!(add(&store, &same).1, Written::Loose);
    let before = fs::metadata(loose_path(&store, &Id::of(Kind::Blob, b"same"))).unwrap().modified().unwrap();
    add(&store, &same);
    assert_eq!(fs::metadata(loose_path(&store, &Id::of(Kind::Blob, b"same"))).unwrap().modified().unwrap(), before);
}

#[test]
fn a_durable_store_packs_what_it_flushes_together() {
    let (_folder, store) = store(Durability::Power);
    assert_eq!(add(&store, &[b"one".to_vec()]).1, Written::Loose);
    assert_eq!(add(&store, &[b"two".to_vec(), b"three".to_vec()]).1, Written::Packed);
}

#[test]
fn a_broken_object_is_reported_and_never_returned() {
    let (_folder, store) = store(Durability::Process);
    let (ids, _) = add(&store, &[b"content".to_vec(), b"other".to_vec()]);
    fs::copy(loose_path(&store, &ids[1]), loose_path(&store, &ids[0])).unwrap();
    let message = store.read(&git(), Kind::Blob, &ids[0]).unwrap_err().to_string();
    assert!(message.contains(&ids[0].hex()), "{message}");
    assert!(store.read(&git(), Kind::Tree, &ids[1]).is_err());
}

#[test]
fn what_a_power_loss_cut_off_is_written_anew_after_the_reboot() {
    let (folder, store) = store(Durability::Process);
    let (ids, _) = add(&store, &[b"content".to_vec()]);
    store.settle().unwrap();
    let whole = fs::read(loose_path(&store, &ids[0])).unwrap();
    for cut in [0, whole.len() / 2] {
        fs::write(loose_path(&store, &ids[0]), &whole[..cut]).unwrap();
        fs::write(store.dir().join(BOOT), "another boot").unwrap();
        let after = Store::open(&folder.path().join("git"), Durability::Process).unwrap();
        assert!(!after.has(Kind::Blob, &ids[0]).unwrap());
        add(&after, &[b"content".to_vec()]);
        assert_eq!(after.read(&git(), Kind::Blob, &ids[0]).unwrap(), b"content");
    }
}

#[test]
fn references_are_listed_and_cut_off_ones_are_skipped() {
    let (_folder, store) = store(Durability::Process);
    let mut batch = Batch::new();
    let commit = crate::object::commit(&Id::EMPTY_TREE, None, 1, "x");
    let id = Id::of(Kind::Commit, &commit);
    batch.add(&store, Kind::Commit, id, commit).unwrap();
    batch.finish(&store).unwrap();
    for name in ["refs/ralph/l/b", "refs/ralph/l/a/deep", "refs/ralph/other/c"] {
        store.set_ref(name, &id).unwrap();
    }
    fs::write(store.dir().join("refs/ralph/l/cut"), "").unwrap();
    let expected = [("a/deep".to_owned(), id, Id::EMPTY_TREE), ("b".to_owned(), id, Id::EMPTY_TREE)];
    assert_eq!(store.refs(&git(), "refs/ralph/l").unwrap(), expected);
    assert_eq!(store.refs(&git(), "refs/ralph/none").unwrap(), []);
}

#[test]
fn a_name_left_behind_by_a_killed_process_is_passed_over() {
    let (_folder, store) = store(Durability::Process);
    let (first, _) = store.temporary().unwrap();
    let number: u32 = first.to_str().unwrap().rsplit('_').next().unwrap().parse().unwrap();
    for next in number + 1..number + 40 {
        let _ = fs::write(store.objects.join(format!("tmp_obj_{}_{next}", std::process::id())), "old");
    }
    let (second, _) = store.temporary().unwrap();
    assert_eq!(fs::metadata(second).unwrap().len(), 0);
}

/// Thousands of deleted files were looked up one after the other, and each time their folder was read again.
#[test]
fn a_folder_of_any_size_is_read_once_while_it_is_asked_for() {
    for count in [10, MAX_KEPT_ENTRIES, 3 * MAX_KEPT_ENTRIES] {
        let (_folder, store) = store(Durability::Process);
        let mut content = Vec::new();
        for number in 0..count {
            push_entry(&mut content, format!("{number:06}").as_bytes(), Mode::File, &Id::EMPTY_TREE);
        }
        let id = Id::of(Kind::Tree, &content);
        let mut batch = Batch::new();
        batch.add(&store, Kind::Tree, id, content).unwrap();
        batch.finish(&store).unwrap();
        let first = store.tree(&git(), &id).unwrap();
        assert_eq!(first.len(), count);
        assert!(Arc::ptr_eq(&first, &store.tree(&git(), &id).unwrap()), "{count}");
    }
}
