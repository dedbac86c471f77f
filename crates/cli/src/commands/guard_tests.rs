use super::*;

fn said(event: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list.json");
    std::fs::write(&list, r#"{"root": "/work", "globs": [".env", "src/auth/**"]}"#).unwrap();
    let mut out = Vec::new();
    guard(Some(list.into_os_string()), &mut event.as_bytes(), &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_prohibited_path_is_refused_with_the_glob() {
    for event in [
        r#"{"tool_name": "Write", "tool_input": {"file_path": "/work/.env", "content": "x"}}"#,
        r#"{"tool_name": "Edit", "tool_input": {"file_path": ".env"}}"#,
        r#"{"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "/work/src/auth/a.ipynb"}}"#,
    ] {
        let said = said(event);
        assert!(said.contains(r#""permissionDecision":"deny""#) && said.contains("is prohibited"), "{event}: {said}");
    }
}

#[test]
fn everything_else_passes_without_a_word() {
    for event in [
        r#"{"tool_name": "Write", "tool_input": {"file_path": "/work/src/main.rs"}}"#,
        r#"{"tool_name": "Write", "tool_input": {"file_path": "/elsewhere/.env"}}"#,
        r#"{"tool_name": "Bash", "tool_input": {"command": "cat .env"}}"#,
        r#"{"tool_input": {"file_path": 7}}"#,
        "not JSON",
        "",
    ] {
        assert_eq!(said(event), "", "{event}");
    }
    let mut out = Vec::new();
    guard(None, &mut "{}".as_bytes(), &mut out);
    guard(Some("/does/not/exist".into()), &mut "{}".as_bytes(), &mut out);
    assert_eq!(out, b"");
}
