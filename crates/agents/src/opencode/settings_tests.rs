use super::*;

#[test]
fn comments_and_trailing_commas_are_read() {
    let text = r#"{
        // the user's own "comment"
        "mcp": { "a": {"command": ["x", "y",],}, /* "b": {}, */ "c//d": {} },
        "text": "no // comment, /* none */ \" ,] here",
    }"#;
    let read = object(text).unwrap();
    assert_eq!(servers(&read), ["a", "c//d"]);
    assert_eq!(read["text"], "no // comment, /* none */ \" ,] here");
}

#[test]
fn what_is_no_object_is_nothing() {
    for text in ["", "[]", "{", "{\"a\":", "// only", "/*", "\"", "\"\\", "nul", "{\"a\": \"\\", "}", "],"] {
        assert_eq!(object(text), None, "{text}");
    }
}

#[test]
fn the_first_name_counts_up_to_the_root_of_the_repository() {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().join("repository");
    let inner = root.join("packages/one");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::create_dir(root.join(".git")).unwrap();
    let path = |path: std::path::PathBuf| path.into_os_string().into_string().unwrap();
    std::fs::write(outside.path().join("AGENTS.md"), "not ours").unwrap();
    assert_eq!(instructions(&inner), Vec::<String>::new());
    std::fs::write(inner.join("CLAUDE.md"), "x").unwrap();
    assert_eq!(instructions(&inner), [path(inner.join("CLAUDE.md"))]);
    std::fs::write(root.join("AGENTS.md"), "x").unwrap();
    assert_eq!(instructions(&inner), [path(root.join("AGENTS.md"))]);
    std::fs::write(inner.join("AGENTS.md"), "x").unwrap();
    assert_eq!(instructions(&inner), [path(inner.join("AGENTS.md")), path(root.join("AGENTS.md"))]);
    std::fs::remove_dir(root.join(".git")).unwrap();
    assert_eq!(instructions(&inner), [path(inner.join("AGENTS.md"))], "without a repository only the folder itself");
}
