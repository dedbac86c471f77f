use super::*;

const SEVEN: u64 = u64::from_le_bytes([7; 8]);

fn stamp() -> Stamp {
    let mode = 0o100_755;
    Stamp { device: SEVEN, inode: SEVEN, mode, size: SEVEN, modified: SEVEN as i64, changed: SEVEN as i64 }
}

fn file(name: &str, seen: Option<Seen>) -> Entry {
    Entry { name: CString::new(name).unwrap(), node: Node::File(FileState { seen }) }
}

fn seen(racy: bool, id: Id) -> Option<Seen> {
    Some(Seen { stamp: stamp(), racy, mode: Mode::Executable, id })
}

/// A folder `src` with a file that is certain, one that is racy, and one that may not be read.
fn tree() -> Directory {
    let mut child = Directory::default();
    child.stamp = Some(stamp());
    child.tree = Some(Id([5; 20]));
    child.ignored = true;
    child.set_plain_for(3);
    child.entries = vec![
        file("a", seen(false, Id([9; 20]))),
        file("b", seen(true, Id([9; 20]))),
        file("c", seen(false, *MARKER_ID)),
    ];
    let mut root = Directory::default();
    let content = b"*.log\n".to_vec();
    let rules = Arc::new(Rules::parse(&content));
    root.stamp = Some(stamp());
    root.tree = Some(Id([6; 20]));
    root.rules = Some(OwnRules { stamp: stamp(), racy: false, content, rules });
    root.beside = vec![Beside { name: CString::new("x.log").unwrap(), is_folder: false }];
    root.entries = vec![Entry { name: CString::new("src").unwrap(), node: Node::Directory(Box::new(child)) }];
    root
}

fn written(directory: &Directory) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("git"), crate::store::Durability::Process).unwrap();
    let path = folder.path().join("cache");
    save(&path, directory, &Id([1; 20]), &store).unwrap();
    fs::read(path).unwrap()
}

fn child(root: &Directory) -> &Directory {
    root.find(b"src").unwrap()
}

fn seen_of(directory: &Directory) -> Vec<Option<Id>> {
    let id = |entry: &Entry| match &entry.node {
        Node::File(state) => state.seen.map(|seen| seen.id),
        Node::Directory(_) | Node::Closed => None,
    };
    directory.entries.iter().map(id).collect()
}

#[test]
fn what_is_certain_comes_back() {
    let (root, decided_by) = parse(&written(&tree())).unwrap();
    assert_eq!(decided_by, Id([1; 20]));
    assert_eq!((root.stamp, root.tree), (Some(stamp()), Some(Id([6; 20]))));
    assert_eq!(root.rules.as_ref().unwrap().content, b"*.log\n");
    assert_eq!(root.beside[0].name.as_bytes(), b"x.log");
    let child = child(&root);
    assert_eq!((child.stamp, child.tree, child.ignored), (Some(stamp()), Some(Id([5; 20])), true));
    assert!(child.is_plain_for(3) && !root.is_plain_for(3));
    assert_eq!(seen_of(child), [Some(Id([9; 20])), None, None]);
}

#[test]
fn what_is_written_in_many_pieces_comes_back() {
    let mut root = tree();
    root.entries = (0..3000).map(|number| file(&format!("{number:04}"), seen(false, Id([9; 20])))).collect();
    let bytes = written(&root);
    assert!(bytes.len() > 3 * PIECE);
    let (back, _) = parse(&bytes).unwrap();
    assert_eq!(seen_of(&back), seen_of(&root));
}

#[test]
fn a_folder_that_has_to_be_listed_again_comes_back_without_its_stamp() {
    let mut root = tree();
    root.entries.push(Entry { name: CString::new("closed").unwrap(), node: Node::Closed });
    let (root, _) = parse(&written(&root)).unwrap();
    assert_eq!((root.stamp, root.entries.len()), (None, 1));

    let mut root = tree();
    root.rules.as_mut().unwrap().racy = true;
    let (root, _) = parse(&written(&root)).unwrap();
    assert!(root.stamp.is_none() && root.rules.is_none());
}

#[test]
fn a_cache_of_which_the_tree_is_gone_counts_as_none() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("git"), crate::store::Durability::Process).unwrap();
    let path = folder.path().join("cache");
    save(&path, &tree(), &Id([1; 20]), &store).unwrap();
    assert!(load(&path, &store).is_none());
    let mut without = tree();
    without.tree = None;
    save(&path, &without, &Id([1; 20]), &store).unwrap();
    assert!(load(&path, &store).is_some());
}

#[test]
fn a_broken_cache_counts_as_none() {
    let list = encode([(&b"a/b"[..], &stamp(), &Id([9; 20]))].into_iter());
    assert_eq!(parse_list(&list).unwrap(), [(b"a/b".to_vec(), stamp(), Id([9; 20]))]);
    let whole = written(&tree());
    for (whole, is_none) in
        [(whole, (|bytes| parse(bytes).is_none()) as fn(&[u8]) -> bool), (list, |bytes| parse_list(bytes).is_none())]
    {
        for cut in 0..whole.len() {
            assert!(is_none(&whole[..cut]), "{cut}");
        }
        for at in 0..whole.len() {
            let mut other = whole.clone();
            other[at] ^= 1;
            assert!(is_none(&other), "{at}");
        }
    }
}

/// With a checksum that is right, whatever stands before it.
#[test]
fn no_content_makes_reading_fail() {
    let whole = written(&tree());
    let content = &whole[..whole.len() - CHECKSUM];
    let start = FOLDERS.len() + boot_id().len();
    for cut in start..content.len() {
        assert!(parse(&finish(content[..cut].to_vec())).is_none(), "{cut}");
    }
    for at in start..content.len() {
        for bit in 0..8 {
            let mut other = content.to_vec();
            other[at] ^= 1 << bit;
            let _ = parse(&finish(other));
        }
    }
}
