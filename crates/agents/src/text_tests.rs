use super::*;

#[test]
fn texts_are_cut_between_characters() {
    assert_eq!(short("äöü".to_owned(), 2), "äö…");
    assert_eq!(short("äö".to_owned(), 2), "äö");
    assert_eq!(bounded("aäö".to_owned(), 3), "ö");
    assert_eq!(bounded("abc".to_owned(), 3), "abc");
}

#[test]
fn a_line_has_no_breaks_and_a_bound() {
    assert_eq!(one_line(" a\n\n b\tc ", 10), "a b c");
    assert_eq!(one_line("aaaa bbbb", 6), "aaaa b…");
    assert_eq!(one_line("aaaa bbbb", 4), "aaaa …");
    assert_eq!(one_line("", 4), "");
}

#[test]
fn the_words_of_a_system_are_told_from_those_of_a_test() {
    for line in [
        "touch: cannot touch 'x': Permission denied",
        "Error: EACCES: permission denied, open '/x'",
        "sh: 1: Read-only file system",
    ] {
        assert!(is_refused_by_sandbox(line), "{line}");
    }
    for line in [
        "not ok 3 - permission denied for guests",
        "fileAccess.test.ts",
        "git@host: Permission denied (publickey).",
        "filePermissions",
        "",
    ] {
        assert!(!is_refused_by_sandbox(line), "{line}");
    }
}

#[test]
fn nobody_borrows_a_name_of_ralphs() {
    assert_eq!(tool_name("Bash".into()), "Bash");
    assert_eq!(tool_name(" Verify ".into()), "agent's Verify");
    assert_eq!(tool_name("stream".into()), "agent's stream");
    assert_eq!(tool_name("  ".into()), "tool");
}
