use serde_json::json;

use super::*;

#[test]
fn calls_are_told_by_what_they_are_about() {
    for (input, expected) in [
        (json!({"description": "Lists", "command": "ls -a"}), "ls -a"),
        (json!({"content": "x", "file_path": "/a"}), "/a"),
        (json!({"subject": "something"}), "something"),
        (json!({"count": 3}), ""),
        (json!(["no object"]), ""),
    ] {
        assert_eq!(called_with(&input), expected);
    }
}

#[test]
fn what_the_program_puts_around_an_error_is_left_out() {
    for (content, expected) in [
        (json!("<tool_use_error>File does not exist.</tool_use_error>"), "File does not exist."),
        (json!("PreToolUse:Write hook error: src/auth/** is prohibited"), "src/auth/** is prohibited"),
        (json!("PreToolUse: nothing else"), "PreToolUse: nothing else"),
        (json!([{"type": "image"}, {"type": "text", "text": "in a block"}]), "in a block"),
        (json!(null), ""),
    ] {
        assert_eq!(error_words(&content), expected);
    }
}

#[test]
fn the_line_that_shows_a_sandbox_is_found_anywhere() {
    for (content, expected) in [
        (json!("Exit code 1\nsh: a: Read-only file system\nmore"), Some("sh: a: Read-only file system")),
        (json!("EACCES: permission denied, open '/etc/a'"), Some("EACCES: permission denied, open '/etc/a'")),
        (json!([{"text": "one"}, {"text": "two\n<sandbox_violations>"}]), Some("<sandbox_violations>")),
        (json!("Exit code 1\nassertion failed"), None),
        (json!(7), None),
    ] {
        assert_eq!(refused_by_sandbox(&content), expected);
    }
}

#[test]
fn long_texts_are_cut_between_letters() {
    let long = "é".repeat(MAX);
    assert_eq!(beginning(&long).len(), MAX);
    assert!(beginning(&"é".repeat(MAX)[2..]).len() <= MAX);
    assert_eq!(beginning("short"), "short");
}

#[test]
fn a_refusal_is_looked_for_at_its_own_call() {
    let meta = json!([{"id": "a", "permission_decision": {"decision": "reject"}}, {"id": "b", "permission_decision": {"decision": "accept"}}]);
    assert!(is_rejected(&meta, "a"));
    assert!(!is_rejected(&meta, "b") && !is_rejected(&meta, "c") && !is_rejected(&json!("a"), "a"));
}
