use super::*;

#[test]
fn items_are_found_as_people_write_them() {
    let text = "# Plan\n- [ ] one\n* [x] two\n  + [X] three\n1. [ ] four\n12) [x] five\n- [ ]\n\
                - [y] no\n- [] no\n-[ ] no\n- [ ]no\n[ ] no\n- plain\n```\n- [ ] code\n~~~\n- [ ] code\n```\n- [é] no\n- [ ] six\n";
    let list = Checklist::parse(text);
    assert_eq!(list.tally(), (3, 7));
    assert_eq!(list.open().collect::<Vec<_>>(), ["one", "four", "", "six"]);
    assert_eq!(Checklist::parse("no list").tally(), (0, 0));
}

#[test]
fn an_item_that_is_removed_is_open() {
    let asked = Checklist::parse("- [ ] parse\n- [ ] print\n- [x] read\n- [ ] test\n- [ ] test");
    for (now, tally) in [
        ("- [x] parse\n- [x] print\n- [x] read\n- [x] test\n- [x] test", (5, 5)),
        ("- [x] print (in print.rs)\n- [x] parse\n- [x] read\n- [x] test\n- [x] test\n- [ ] more", (5, 6)),
        ("- [x] parse\n- [x] read", (2, 5)),
        ("- [x] parse\n- [x] print\n- [x] read\n- [x] test", (4, 5)),
        ("", (0, 4)),
    ] {
        assert_eq!(Checklist::parse(now).with_removed(&asked).tally(), tally, "{now}");
    }
}
