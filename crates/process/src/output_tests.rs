use super::*;

fn logged(pieces: &[&str]) -> String {
    let mut logged = Logged { unlogged: Some(|line| line.starts_with("skip")), ..Logged::default() };
    let mut text: String = pieces.iter().map(|piece| logged.of(piece).to_owned()).collect();
    text.push_str(&logged.open);
    text
}

#[test]
fn lines_are_left_out_wherever_the_pieces_end() {
    for pieces in
        [&["a\nskip b\nc\nskip"][..], &["a", "\nsk", "ip b", "\nc\n", "skip"], &["a\ns", "kip b\n", "c\nskip"]]
    {
        assert_eq!(logged(pieces), "a\nc\nskip", "{pieces:?}");
    }
    assert_eq!(logged(&["", "\n", "skip\n"]), "\n");
}

#[test]
fn a_line_that_is_too_long_is_not_waited_for() {
    let long = format!("skip {}", "x".repeat(MAX_OPEN));
    assert_eq!(logged(&[&long, "more\nskip\nend\n"]), format!("{long}more\nend\n"));
}

#[test]
fn without_such_lines_everything_is_logged() {
    let mut logged = Logged::default();
    assert_eq!(logged.of("skip a\nskip"), "skip a\nskip");
    assert_eq!(logged.open, "");
}
