use std::sync::Arc;

use super::*;

fn prohibited() -> Prohibited {
    let matches = |path: &Path| path.starts_with("src/auth").then(|| "src/auth/**".to_owned());
    Prohibited { matches: Arc::new(matches), ..Prohibited::default() }
}

#[test]
fn a_prohibited_path_is_found_wherever_a_call_names_it() {
    for call in [
        json!({"kind": "edit", "locations": [{"path": "src/main"}, {"path": "src/x/../auth/key"}]}),
        json!({"content": [{"type": "diff", "path": "src/auth/key"}]}),
        json!({"rawInput": {"path": "src/auth/key"}}),
    ] {
        let why = prohibited_path(&call, &prohibited());
        assert_eq!(why.as_deref(), Some("src/auth/key is prohibited by src/auth/**"), "{call}");
    }
    assert_eq!(prohibited_path(&json!({"locations": [{"path": "src/main"}]}), &prohibited()), None);
}

#[test]
fn only_what_reads_is_harmless() {
    for kind in ["read", "search", "fetch", "think"] {
        assert!(is_harmless(Some(kind)), "{kind}");
    }
    for kind in ["edit", "delete", "move", "execute", "other", "switch_mode", "something new"] {
        assert!(!is_harmless(Some(kind)), "{kind}");
    }
    assert!(!is_harmless(None));
}

#[test]
fn the_narrowest_option_is_taken() {
    let options = json!([
        {"optionId": "a", "kind": "allow_always"}, {"optionId": "b", "kind": "allow_once"},
        {"optionId": "c", "kind": "reject_always"}, {"optionId": "d", "kind": "reject_once"},
    ]);
    let selected = |id: &str| json!({"outcome": {"outcome": "selected", "optionId": id}});
    assert_eq!(outcome(&options, Decision::Allow), selected("b"));
    assert_eq!(outcome(&options, Decision::Reject), selected("d"));
    let always = json!([{"optionId": "a", "kind": "allow_always"}, {"optionId": "c", "kind": "reject_always"}]);
    assert_eq!(
        outcome(&always, Decision::Allow),
        json!({"outcome": {"outcome": "cancelled"}}),
        "it would not ask again"
    );
    assert_eq!(outcome(&always, Decision::Reject), selected("c"));
}

#[test]
fn without_an_option_that_fits_nothing_is_permitted() {
    let cancelled = json!({"outcome": {"outcome": "cancelled"}});
    for options in [json!(null), json!([]), json!([{"kind": "allow_once"}]), json!([{"optionId": "x", "kind": "new"}])]
    {
        assert_eq!(outcome(&options, Decision::Reject), cancelled);
        assert_eq!(outcome(&options, Decision::Allow), cancelled);
    }
    let only_allow = json!([{"optionId": "a", "kind": "allow_once"}]);
    assert_eq!(outcome(&only_allow, Decision::Reject), cancelled);
    assert_eq!(outcome(&only_allow, Decision::Cancelled), cancelled);
}
