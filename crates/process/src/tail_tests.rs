use super::*;

fn tail(most: usize, pieces: &[&str]) -> String {
    let mut tail = Tail::new(most);
    for piece in pieces {
        tail.push(piece);
        assert!(tail.kept.len() <= most * 2, "bounded");
    }
    tail.into_string()
}

#[test]
fn keeps_the_end_however_it_comes() {
    assert_eq!(tail(5, &["ab", "c"]), "abc");
    assert_eq!(tail(5, &["abcdefgh"]), "defgh");
    assert_eq!(tail(5, &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]), "hijkl");
    assert_eq!(tail(0, &["abc", ""]), "");
}

#[test]
fn never_cuts_a_character() {
    assert_eq!(tail(5, &["üüü"]), "üü");
    assert_eq!(tail(5, &["ü", "ü", "ü", "ü", "ü", "ü"]), "üü");
}
