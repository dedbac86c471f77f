use super::*;

fn all(pieces: &[&str]) -> (Vec<Option<String>>, Option<String>) {
    let (mut lines, mut got) = (Lines::default(), Vec::new());
    for piece in pieces {
        lines.push(piece, |line| got.push(line.map(str::to_owned)));
    }
    (got, lines.rest())
}

#[test]
fn lines_are_found_wherever_the_pieces_end() {
    let want = vec![Some("a".to_owned()), Some(String::new()), Some("bc".to_owned())];
    for pieces in [&["a\n\nbc\nd"][..], &["a", "\n", "\nb", "c\nd"], &["a\n\nb", "c", "\n", "d"]] {
        assert_eq!(all(pieces), (want.clone(), Some("d".to_owned())), "{pieces:?}");
    }
    assert_eq!(all(&["a\n"]), (vec![Some("a".to_owned())], None));
}

#[test]
fn a_line_that_is_too_long_is_left_out_and_the_next_one_is_not() {
    let long = "x".repeat(MAX / 2 + 1);
    let (got, rest) = all(&[&long, &long, "tail\nshort\n"]);
    assert_eq!(got, [None, Some("short".to_owned())]);
    assert_eq!(rest, None);
    let (got, _) = all(&[&format!("{}\nshort\n", "x".repeat(MAX + 1))]);
    assert_eq!(got, [None, Some("short".to_owned())]);
}
