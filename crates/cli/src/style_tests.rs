use super::*;

#[test]
fn a_text_is_cut_between_words_where_that_keeps_half_of_it() {
    for (text, width, expected) in [
        ("check 59.0s: npm test", 30, "check 59.0s: npm test"),
        ("check 59.0s: npm test -- --all", 24, "check 59.0s: npm test…"),
        ("works 1m 03s: Edit", 14, "works 1m 03s…"),
        ("works 1m 03s: Edit", 13, "works 1m 03s…"),
        ("works averylongwordwithoutablank", 20, "works averylongword…"),
        ("ends with…", 10, "ends with…"),
        ("", 0, ""),
        ("ab", 1, "…"),
        ("ab", 0, ""),
    ] {
        assert_eq!(fit_words(text, width), expected, "{text} in {width}");
        assert!(columns(&fit_words(text, width)) <= width);
    }
}

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
    assert_eq!(fit_middle("claude:opus", 11), "claude:opus");
    assert_eq!(fit_middle("gemini:gemini-2.5-flash", 15), "gemini:…5-flash");
    for width in 0..30 {
        assert!(columns(&fit_middle("gemini:日本語のファイル名", width)) <= width, "{width}");
    }
}

#[test]
fn whatever_comes_in_becomes_one_harmless_line() {
    let flat = flat("a\tb\nc\r\u{1b}[31mred\u{202e}\u{7}");
    assert!(!flat.chars().any(char::is_control), "{flat:?}");
    assert!(!flat.contains('\u{202e}') && flat.starts_with("a b c "), "{flat:?}");
    let hostile = Line::styled("a\u{1b}[2Jb", BAD);
    assert_eq!(ansi(&hostile, Colours::Off), "a␛[2Jb");
    assert_eq!(ansi(&hostile, Colours::On), "\u{1b}[31ma␛[2Jb\u{1b}[0m", "only its own colour acts");
}

#[test]
fn long_lines_break_between_words_and_keep_their_colours() {
    let text = "warning: the settings of the agent changed while it ran";
    for width in [20, 30, 60, 80] {
        let lines = wrap(Line::raw(text), width, 4);
        assert!(lines.iter().all(|line| line.width() <= width), "{lines:?}");
        let joined = lines.iter().map(|line| line.to_string().trim().to_owned()).collect::<Vec<_>>().join(" ");
        assert_eq!(joined, text, "no word is broken");
    }
    let line = Line::from(vec![Span::styled("  check: ", QUIET), Span::styled("passes after a while", GOOD)]);
    let look = Look { colours: Colours::On, columns: Some(20) };
    assert_eq!(
        look.lines(line, 9),
        [
            "\u{1b}[2m  check: \u{1b}[0m\u{1b}[32mpasses\u{1b}[0m",
            "         \u{1b}[32mafter a\u{1b}[0m",
            "         \u{1b}[32mwhile\u{1b}[0m",
        ]
    );
    let path = format!("see /{}", "long/".repeat(20));
    let lines = wrap(Line::raw(path.clone()), 40, 2);
    assert_eq!(lines[1].to_string().trim(), &path[4..], "a path stays whole, so that it can be copied");
}
