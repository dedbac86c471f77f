use super::*;

#[test]
fn text_is_cut_by_columns_and_never_inside_a_character() {
    let table = [
        ("short", 10, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("exactly ten", 10, "exactly t…"),
        ("日本語テスト", 12, "日本語テスト"),
        ("日本語テスト", 11, "日本語テス…"),
        ("日本語テスト", 10, "日本語テ…"),
        ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ];
    for (text, width, wanted) in table {
        assert_eq!(fit(text, width), wanted, "{text} at {width}");
        assert!(columns(&fit(text, width)) <= width);
    }
}

#[test]
fn whatever_comes_in_becomes_one_harmless_line() {
    let flat = flat("a\tb\nc\r\u{1b}[31mred\u{202e}\u{7}");
    assert!(!flat.chars().any(char::is_control), "{flat:?}");
    assert!(!flat.contains('\u{202e}') && flat.starts_with("a b c "), "{flat:?}");
}

#[test]
fn two_texts_share_a_line() {
    assert_eq!(spread("left", "right", 20), "left           right");
    assert_eq!(spread("a long text on the left", "right", 24), "a long text on t…  right");
    assert_eq!(spread("left", "a long text on the right", 20), "left");
}

#[test]
fn long_lines_break_between_words_and_names_are_cut_in_the_middle() {
    let text = "warning: the settings of the agent changed while it ran";
    for width in [20, 30, 60, 80] {
        let lines = wrap(text, width);
        assert!(lines.iter().all(|line| columns(line) <= width), "{lines:?}");
        let joined = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        assert_eq!(joined, text, "no word is broken");
    }
    assert_eq!(fit_middle("claude:opus", 11), "claude:opus");
    assert_eq!(fit_middle("gemini:gemini-2.5-flash", 15), "gemini:…5-flash");
    assert_eq!(columns(&fit_middle("日本語のファイル名", 9)), 9);
}
