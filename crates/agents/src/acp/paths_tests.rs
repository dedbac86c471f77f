use serde_json::json;

use super::*;

fn found(call: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    of_call(call, &mut |path| paths.push(path.to_string_lossy().into_owned()));
    paths.sort();
    paths.dedup();
    paths
}

#[test]
fn locations_diffs_and_inputs_name_paths() {
    let call = json!({
        "locations": [{"path": "/w/a", "line": 3}, {"line": 1}],
        "content": [{"type": "diff", "path": "/w/b", "newText": "x"}, {"type": "content", "content": {"text": "/w/no"}}],
        "rawInput": {
            "file_path": "/w/c", "filePath": "/w/d", "notebook_path": "/w/e", "paths": ["/w/f", {"uri": "file:///w/g"}],
            "changes": {"src/auth/h": {"type": "add"}}, "command": "cat /w/no", "content": "/w/no", "old_string": ".env",
        },
    });
    assert_eq!(found(&call), ["/w/a", "/w/b", "/w/c", "/w/d", "/w/e", "/w/f", "/w/g", "src/auth/h"]);
}

#[test]
fn dots_do_not_hide_a_path() {
    let call =
        json!({"locations": [{"path": "src/x/.././auth/../auth/k"}, {"path": "/../../etc/x"}, {"path": "../up"}]});
    assert_eq!(found(&call), ["../up", "/../../etc/x", "/etc/x", "src/auth/k", "src/x/.././auth/../auth/k"],);
}

#[test]
fn odd_inputs_are_no_trouble() {
    let mut deep = json!("/w/x");
    for _ in 0..200 {
        deep = json!({"path": deep});
    }
    for call in [
        json!(null),
        json!({"locations": "x", "content": 3, "rawInput": deep}),
        json!({"rawInput": {"path": ""}, "locations": [{"path": "a\nb"}, {"path": "x".repeat(5000)}, {"path": 7}]}),
    ] {
        assert_eq!(found(&call), [""; 0], "{call}");
    }
    let many = json!({"rawInput": {"paths": vec!["a"; 20_000]}});
    let mut count = 0;
    of_call(&many, &mut |_| count += 1);
    assert!(count < 20_000, "{count}");
}
