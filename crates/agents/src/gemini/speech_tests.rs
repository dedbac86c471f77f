use super::*;

fn said(line: &str) -> Option<String> {
    match read(line) {
        StreamLine::Chunk(piece) => Some(piece.words.into_owned()),
        StreamLine::End | StreamLine::Other => None,
    }
}

#[test]
fn the_agents_words_are_pieces_and_other_lines_are_not() {
    let line = r#"{"type":"message","timestamp":"t","role":"assistant","content":"a \"b\"\n","delta":true}"#;
    assert_eq!(said(line).unwrap(), "a \"b\"\n");
    assert_eq!(said(&with(line, "c \"d\"\n")).unwrap(), "c \"d\"\n");
    assert!(with(line, "c").contains(r#""delta":true"#) && with(line, "c").contains(r#""timestamp":"t""#));
    for end in [r#"{"type":"tool_use","content":[]}"#, r#"{"type":"result","status":"success"}"#] {
        assert_eq!(read(end), StreamLine::End);
    }
    for beside in [r#"{"type":"message","role":"user","content":"do it"}"#, r#"{"type":"tool_result"}"#, "{", "", "[]"]
    {
        assert_eq!(read(beside), StreamLine::Other);
    }
}
