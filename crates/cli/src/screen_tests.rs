use ralph_model::Money;

use super::*;

#[test]
fn only_yes_is_yes() {
    for line in ["y\n", "Y\n", " yes \r\n", "YES"] {
        assert_eq!(understood(line), Answer::Yes, "{line:?}");
    }
    for line in ["", "\n", "n\n", "yep\n", "y y\n", "\u{1b}y"] {
        assert_eq!(understood(line), Answer::No, "{line:?}");
    }
}

#[test]
fn results_and_talk_go_apart_and_are_inert() {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut screen = Screen::new(&mut out, &mut err);
    screen.result("a\u{1b}[2Jb\n").unwrap();
    screen.say("c\u{202e}d").unwrap();
    let (out, err) = (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap());
    assert!(out.starts_with('a') && out.ends_with("b\n") && !out.contains('\u{1b}'), "{out:?}");
    assert!(err.starts_with('c') && !err.contains('\u{202e}'), "{err:?}");
}

#[test]
fn json_means_the_same_and_does_nothing() {
    let value = serde_json::json!({ "a\u{202e}": "\u{1b}[2J\u{9b}2J\u{7f}\u{200b}\u{e0041}日本語\n" });
    let (mut out, mut err) = (Vec::new(), Vec::new());
    Screen::new(&mut out, &mut err).json(&value).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    assert_eq!(sanitize(&text), text);
    assert!(text.contains("日本語"), "{text}");
}

#[test]
fn a_cause_is_said_once() {
    let named = anyhow::anyhow!("no such file").context("could not read x: no such file\n  allowed: a file");
    assert_eq!(told(&named), "could not read x: no such file\n  allowed: a file");
    let other = anyhow::anyhow!("no such file").context("could not read x");
    assert_eq!(told(&other), "could not read x: no such file");
}

#[test]
fn money_on_the_screen_has_at_most_four_digits_and_is_rounded_up() {
    let table = [
        (0, "$0.00"),
        (1, "$0.0001"),
        (4_020, "$0.0041"),
        (5_000, "$0.005"),
        (333_334, "$0.3334"),
        (333_300, "$0.3333"),
        (999_999, "$1.00"),
        (1_000_000, "$1.00"),
        (12_345_678, "$12.3457"),
        (i64::MAX, "$9223372036854.775807"),
    ];
    for (micros, wanted) in table {
        assert_eq!(dollars(Money::from_micros(micros)), wanted);
    }
}

#[test]
fn a_question_breaks_between_words_and_leaves_lines_of_a_file_whole() {
    let look = Look { columns: Some(30), ..Look::PLAIN };
    let text = "it says:\n  | key = \"a value that is longer than the line\"\n  - line 1: `key` runs commands on your computer\n\nApprove?";
    let wrapped = "it says:\n  | key = \"a value that is longer than the line\"\n  - line 1: `key` runs\n    commands on your computer\n\nApprove?";
    assert_eq!(lines(text, look).join("\n"), wrapped);
}
