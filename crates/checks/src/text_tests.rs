use super::*;

fn lines(pieces: &[&str]) -> Vec<String> {
    let (mut lines, mut seen) = (Lines::default(), vec![]);
    for piece in pieces {
        lines.feed(piece, &mut |line| seen.push(line.to_owned()));
    }
    lines.finish(&mut |line| seen.push(line.to_owned()));
    seen
}

#[test]
fn lines_do_not_depend_on_the_pieces() {
    assert_eq!(lines(&["one\ntw", "o\r\n", "\nthree"]), ["one", "two", "", "three"]);
    let long = format!("start{}é end", "ä".repeat(9000));
    let whole = lines(&[&format!("{long}\nnext\n")]);
    assert_eq!(whole.len(), 2);
    assert!(whole[0].starts_with("start") && whole[0].ends_with("é end"), "{}", whole[0]);
    assert!(whole[0].contains("bytes of this line left out") && whole[0].len() < 5300);
    let text = format!("{long}\nnext\n");
    for size in [1, 7, 1000, 5000] {
        let mut pieces = vec![];
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let cut = rest.ceil_char_boundary(size.min(rest.len()));
            pieces.push(&rest[..cut]);
            rest = &rest[cut..];
        }
        assert_eq!(lines(&pieces), whole, "pieces of {size}");
    }
}

#[test]
fn events_of_go_are_read_as_their_text() {
    assert_eq!(readable("plain"), Some(Cow::Borrowed("plain")));
    assert_eq!(readable("{\"not an event\""), Some(Cow::Borrowed("{\"not an event\"")));
    assert_eq!(readable(r#"{"Action":"output","Output":"--- FAIL: TestA\n"}"#).unwrap(), "--- FAIL: TestA");
    assert_eq!(readable(r#"{"Time":"x","Action":"run","Test":"TestA"}"#), None);
}
