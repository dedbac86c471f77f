use super::*;

#[test]
fn a_list_is_kept_once_as_git_writes_it_and_as_ralph_does() {
    let mut tracked = Tracked::default();
    tracked.add_list(b"a\0b/c\0".to_vec(), Vec::new());
    tracked.add_list(b"a\0b/c".to_vec(), Vec::new());
    assert_eq!(tracked.lists.len(), 1);
    assert!(tracked.has(b"a") && tracked.has(b"b/c"));
}

#[test]
fn knows_files_and_the_folders_that_lead_to_them() {
    let mut tracked = Tracked::default();
    tracked.add_list(b"a/b/c\0".to_vec(), Vec::new());
    assert!(!tracked.has(b"a/d"));
    tracked.add_list(b"below/a/d\0beside/x\0below/".to_vec(), b"below/".to_vec());
    assert!(tracked.has(b"a/b/c") && tracked.has(b"a/d"));
    assert!(tracked.has_below(b"a") && tracked.has_below(b"a/b"));
    assert!(!tracked.has(b"a/b") && !tracked.has_below(b"a/d") && !tracked.has_below(b""));
    assert!(!tracked.has(b"x") && !tracked.has(b""));
}
