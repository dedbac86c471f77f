use super::*;

fn front(text: &str) -> FrontMatter {
    FrontMatter::split(&format!("---\n{text}\n---\nbody")).unwrap().0
}

#[test]
fn head_and_text_are_told_apart() {
    let (front, body) = FrontMatter::split("---\r\nname: a\r\n---\r\n\r\nText --- more\n---\n").unwrap();
    assert_eq!((front.text("name").as_deref(), body), (Some("a"), "\r\nText --- more\n---\n"));
    assert_eq!(FrontMatter::split("# Title\ntext").unwrap(), (FrontMatter::default(), "# Title\ntext"));
    assert_eq!(FrontMatter::split("").unwrap(), (FrontMatter::default(), ""));
    assert!(FrontMatter::split("---\nname: a\n").unwrap_err().contains("no end"));
}

#[test]
fn values_are_read_as_such_files_write_them() {
    let table = [
        ("k: plain", "plain"),
        ("k:   plain   ", "plain"),
        ("k: \"quoted: # no comment\"", "quoted: # no comment"),
        ("k: 'single'", "single"),
        ("k: value # comment", "value"),
        ("k: a: b", "a: b"),
        ("k: <promise>DONE</promise>", "<promise>DONE</promise>"),
        ("k: >-\n  two\n  lines", "two lines"),
        ("k: |\n  two\n  lines", "two\nlines"),
        ("k:\n  two\n  lines", "two lines"),
        ("k: goes\n  on", "goes on"),
        ("# k: comment\nk: real", "real"),
    ];
    for (text, wanted) in table {
        assert_eq!(front(text).text("k").as_deref(), Some(wanted), "{text}");
    }
    assert_eq!(front("k:").text("k"), None);
    assert_eq!(front("other: x").text("k"), None);
}

#[test]
fn lists_have_two_forms() {
    for text in ["k: [a, 'b', \"c\"]", "k:\n  - a\n  - b\n  - c", "k:\n- a\n- b\n- c"] {
        assert_eq!(front(text).list("k"), ["a", "b", "c"], "{text}");
    }
    assert_eq!(front("k: a").list("k"), ["a"]);
    assert!(front("k: []").list("k").is_empty());
}

#[test]
fn what_other_tools_put_there_is_passed_over() {
    let front = front("metadata:\n  name: inner\n  deep:\n    name: deeper\nallowed-tools: Bash(ls:*)\nname: outer");
    assert_eq!(front.text("name").as_deref(), Some("outer"));
}

#[test]
fn a_comma_inside_quotes_separates_nothing() {
    let (front, _) = FrontMatter::split("---\ntaskTypes: [a, \"b, c\", 'd, e', it's, f]\n---\nx").unwrap();
    assert_eq!(front.list("taskTypes"), ["a", "b, c", "d, e", "it's", "f"]);
}
