use super::*;

#[test]
fn columns_line_up_and_lines_do_not_trail() {
    let rows = [["a".to_owned(), "é".to_owned()], ["long".to_owned(), String::new()]];
    assert_eq!(columns(&rows), "a     é\nlong");
}

#[test]
fn long_text_is_shortened_by_characters() {
    assert_eq!(shortened("éééé", 4), "éééé");
    assert_eq!(shortened("ééééé", 4), "ééé…");
}
