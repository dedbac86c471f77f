use serde_json::json;

use super::*;

fn changed(is: &Value, was: &Value) -> Value {
    let was = parts(was.to_string().as_bytes()).unwrap();
    serde_json::from_slice(&with_parts(is.to_string().as_bytes(), &was).unwrap()).unwrap()
}

#[test]
fn steering_keys_are_put_back_at_the_top_and_in_projects() {
    let was = json!({
        "mcpServers": {"mine": {"command": "x"}},
        "projects": {"/a": {"mcpServers": {"here": {}}, "lastCost": 1}, "/gone": {"allowedTools": ["Bash"]}},
    });
    let is = json!({
        "env": {"NODE_OPTIONS": "--require evil"},
        "hooks": {"Stop": []},
        "oauthAccount": {"emailAddress": "a@b"},
        "projects": {
            "/a": {"mcpServers": {}, "lastCost": 2, "hasTrustDialogAccepted": true},
            "/new": {"mcpServers": {"evil": {}}, "history": ["x"], "hasTrustDialogAccepted": false},
        },
    });
    let expected = json!({
        "mcpServers": {"mine": {"command": "x"}},
        "oauthAccount": {"emailAddress": "a@b"},
        "projects": {
            "/a": {"mcpServers": {"here": {}}, "lastCost": 2},
            "/new": {"history": ["x"], "hasTrustDialogAccepted": false},
            "/gone": {"allowedTools": ["Bash"]},
        },
    });
    assert_eq!(changed(&is, &was), expected);
    assert_eq!(changed(&was, &was), was);
}

#[test]
fn what_is_empty_is_not_there() {
    let empty = json!({"mcpServers": {}, "env": null, "projects": {"/a": {"allowedTools": [], "hasTrustDialogAccepted": false}}});
    assert_eq!(parts(empty.to_string().as_bytes()), Some(Parts::new()));
    for no_state in ["", "[]", "{", "null"] {
        assert_eq!(parts(no_state.as_bytes()), None, "{no_state}");
    }
    assert!(parts(b"\xef\xbb\xbf{\"env\": {\"A\": \"b\"}}").is_some_and(|parts| parts.len() == 1));
}

#[test]
fn an_address_that_a_program_adds_is_no_change() {
    let path = Path::new("/users/ada/.config/opencode/opencode.json");
    let added = r#"{"$schema":"https://opencode.ai/config.json","#;
    let same = |was: &str, is: &str| means_the_same(path, was.as_bytes(), is.as_bytes());
    assert!(same(r#"{"model": "a"}"#, &format!("{added}\"model\":\"a\"}}")));
    assert!(same("", &format!("{}}}", added.trim_end_matches(','))) && same("", "{}"));
    assert!(same("{\n  // mine\n  \"model\": \"a\",\n}", &format!("{added}\n  // mine\n  \"model\": \"a\",\n}}")));
    assert!(!same(r#"{"model": "a"}"#, &format!("{added}\"model\":\"b\"}}")));
    assert!(!same("{\n  // mine\n}", &format!("{added}\n  // mine\n\"plugin\": [\"evil\"]}}")));
    assert!(!same("{\n  // mine\n \"a\": 1}", "{\n // mine \"$schema\": \"x\", \"a\": 1}"), "a line more is a comment");
    assert!(!same("", r#"{"plugin": ["evil"]}"#));
    assert!(!means_the_same(Path::new("/x/settings.json"), b"{}", b"{\"$schema\": \"x\"}"));
}
