use super::*;

#[test]
fn plain_and_quoted_values_are_read() {
    let line = r#"timestamp=2026-11-15T15:06:26.797Z level=ERROR message="stream error" session.id=ses_1 error.error="Error: a \"b\"\nc" last=x"#;
    let entry = Entry::read(line).unwrap();
    assert_eq!(entry.field("level"), "ERROR");
    assert_eq!(entry.field("message"), "stream error");
    assert_eq!(entry.field("session.id"), "ses_1");
    assert_eq!(entry.field("error.error"), r#"Error: a "b" c"#);
    assert_eq!(entry.field("last"), "x");
    assert_eq!(entry.field("absent"), "");
}

#[test]
fn a_value_cannot_pass_for_a_field() {
    let entry =
        Entry::read(r#"timestamp=1 message="resolved path" arg="x\" message=stream modelID=evil" modelID=real"#);
    let entry = entry.unwrap();
    assert_eq!((entry.field("message"), entry.field("modelID")), ("resolved path", "real"));
    let first = Entry::read("timestamp=1 message=loop message=stream").unwrap();
    assert_eq!(first.field("message"), "loop");
}

#[test]
fn broken_lines_are_read_as_far_as_they_go() {
    assert_eq!(Entry::read("error: timestamp=1"), None);
    assert_eq!(Entry::read(""), None);
    assert_eq!(Entry::read(r#"timestamp=1 message="cut of"#).unwrap().field("message"), "cut of");
    assert_eq!(Entry::read("timestamp=1 message=\"ends in \\").unwrap().field("message"), "ends in ");
    assert_eq!(Entry::read("timestamp=").unwrap().field("timestamp"), "");
    let many: String = (0..1000).map(|number| format!("k{number}=v ")).collect();
    assert_eq!(Entry::read(&format!("timestamp=1 {many}")).unwrap().fields.len(), MAX_FIELDS);
}

#[test]
fn fields_below_a_name_are_read_together() {
    let entry =
        Entry::read("timestamp=1 errors=9 error.error.type=overloaded_error error.error.message=Overloaded").unwrap();
    assert_eq!(entry.below("error"), "overloaded_error: Overloaded");
    assert_eq!(entry.below("message"), "");
}
