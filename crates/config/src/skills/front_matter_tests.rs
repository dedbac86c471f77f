use super::*;

fn front(text: &str) -> FrontMatter {
    FrontMatter::split(&format!("---\n{text}\n---\nbody")).unwrap().0
}

#[test]
fn head_and_text_are_separated() {
    let (front, body) = FrontMatter::split("---\r\nname: a\r\n---\r\n\r\nText --- more\n---\n").unwrap();
    assert_eq!((front.name.as_deref(), body), (Some("a"), "\r\nText --- more\n---\n"));
    for text in ["# Title\ntext", "", "----\nname: a\n---\n"] {
        assert_eq!(FrontMatter::split(text).unwrap(), (FrontMatter::default(), text));
    }
    assert_eq!(FrontMatter::split("\u{feff}---\n---\nx").unwrap(), (FrontMatter::default(), "x"));
    assert!(FrontMatter::split("---\nname: a\n").unwrap_err().contains("no end"));
}

#[test]
fn values_are_yaml() {
    let table = [
        ("verify: plain", "plain"),
        ("verify: \"quoted: # no comment\"", "quoted: # no comment"),
        ("verify: 'single'", "single"),
        ("verify: value # comment", "value"),
        ("verify: <promise>DONE</promise>", "<promise>DONE</promise>"),
        ("verify: >-\n  two\n  lines", "two lines"),
        ("verify: |-\n  two\n  lines", "two\nlines"),
        ("verify:\n  two\n  lines", "two lines"),
        ("# verify: comment\nverify: real", "real"),
        ("metadata:\n  verify: inner\n  deep: [1, {a: b}]\nallowed-tools: Bash(ls:*)\nverify: outer", "outer"),
    ];
    for (text, wanted) in table {
        assert_eq!(front(text).verify.as_deref(), Some(wanted), "{text}");
    }
    assert_eq!(front("verify:").verify, None);
    assert_eq!(front("other: x").verify, None);
}

#[test]
fn lists_have_several_forms() {
    for text in ["taskTypes: [a, 'b', \"c\"]", "taskTypes:\n  - a\n  - b\n  - c", "taskTypes:\n- a\n- b\n- c"] {
        assert_eq!(front(text).task_types(), ["a", "b", "c"], "{text}");
    }
    assert_eq!(front("taskTypes: a").task_types(), ["a"]);
    assert!(front("taskTypes: []").task_types().is_empty());
    assert_eq!(front("taskTypes: [a, \"b, c\", 'd, e', it's]").task_types(), ["a", "b, c", "d, e", "it's"]);
}

#[test]
fn what_is_no_yaml_says_where_and_what_to_do() {
    for text in ["name: a\nverify: b: c", "name: [a", "name: a\nsupportsRalph: perhaps"] {
        let message = FrontMatter::split(&format!("---\n{text}\n---\nx")).unwrap_err();
        assert!(message.contains("in line ") && !message.contains('\n'), "{text}: {message}");
    }
}
