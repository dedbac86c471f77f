use super::*;

#[test]
fn only_what_changes_is_marked() {
    let shown = diff("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nX\nd\nY\nf\n");
    assert_eq!(shown, "    b\n    c\n  + X\n    d\n  - e\n  + Y\n    f");
    assert_eq!(diff("", "a\nb\n"), "  + a\n  + b");
    assert_eq!(diff("a\n", ""), "  - a");
}
