use super::*;

#[test]
fn knows_files_and_the_folders_that_lead_to_them() {
    let mut tracked = Tracked::default();
    tracked.add(b"a/b/c");
    tracked.add(b"a/d");
    assert!(tracked.has(b"a/b/c") && tracked.has(b"a/d"));
    assert!(tracked.has_below(b"a") && tracked.has_below(b"a/b"));
    assert!(!tracked.has(b"a/b") && !tracked.has_below(b"a/d") && !tracked.has_below(b""));
}
