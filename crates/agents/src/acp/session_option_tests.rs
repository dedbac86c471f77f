use super::*;

fn of(opened: &Value, model: Option<&str>) -> Result<Vec<SessionOption>, Trouble> {
    super::of(opened, model, Confinement::None)
}

fn session(current: &str) -> Value {
    json!({"models": {"currentModelId": current, "availableModels": [{"modelId": "a"}, {"modelId": "b"}]}})
}

fn option() -> Value {
    let options = json!([{"value": "p/a"}, {"value": "p/b"}]);
    json!({"configOptions": [
        {"id": "mode", "category": "mode", "currentValue": "build"},
        {"id": "which", "category": "model", "currentValue": "p/a", "options": options},
    ]})
}

#[test]
fn a_model_is_chosen_in_the_way_that_the_server_has() {
    let by = |model: &str, by| Ok(vec![SessionOption::Model { model: model.into(), by }]);
    assert_eq!(of(&session("a"), Some("b")), by("b", By::Method));
    assert_eq!(of(&option(), Some("p/b")), by("p/b", By::Option("which".into())));
    // It is chosen already, or nobody asks.
    assert_eq!(of(&session("a"), Some("a")), Ok(vec![]));
    assert_eq!(of(&session("a"), None), Ok(vec![]));
    assert_eq!((current_model(&option()), offered(&option())), (Some("p/a".into()), vec!["p/a".into(), "p/b".into()]));
    assert_eq!(offered(&session("a")), ["a", "b"]);
    assert_eq!(current_model(&session("default")), None);
}

#[test]
fn a_model_that_cannot_be_had_is_a_trouble_with_advice() {
    let trouble = of(&json!({}), Some("b")).unwrap_err();
    assert_eq!(trouble.kind, TroubleKind::ModelNotFound);
    assert!(trouble.message.contains('b') && trouble.advice.unwrap().contains("command line"));
    let session_option = SessionOption::Model { model: "m".into(), by: By::Method };
    let trouble = session_option.trouble(&["a".into(), "b".into()], "no such model").unwrap();
    assert_eq!((trouble.kind, trouble.message.as_str()), (TroubleKind::ModelNotFound, "m: no such model"));
    assert!(trouble.advice.unwrap().ends_with("a, b"));
    assert_eq!(SessionOption::Mode { mode: "x".into() }.trouble(&[], "no"), None);
}

#[test]
fn a_session_that_can_only_read_or_plan_is_moved_on() {
    let modes = |current: &str, modes: &[&str]| {
        let modes: Vec<Value> = modes.iter().map(|mode| json!({"id": mode})).collect();
        json!({"modes": {"currentModeId": current, "availableModes": modes}})
    };
    let mode = |mode: &str| Ok(vec![SessionOption::Mode { mode: mode.into() }]);
    assert_eq!(of(&modes("read-only", &["read-only", "full-access", "auto"]), None), mode("auto"));
    assert_eq!(of(&modes("plan", &["plan", "acceptEdits", "default"]), None), mode("default"));
    assert_eq!(of(&modes("default", &["default", "yolo"]), None), Ok(vec![]));
    assert_eq!(of(&modes("plan", &["plan"]), None), Ok(vec![]));

    let inside = |opened: &Value| super::of(opened, None, Confinement::Sandbox);
    let codex = ["read-only", "auto", "full-access"];
    assert_eq!(inside(&modes("read-only", &codex)), mode("full-access"), "its own sandbox does not work in Ralph's");
    assert_eq!(inside(&modes("auto", &codex)), mode("full-access"));
    assert_eq!(inside(&modes("full-access", &codex)), Ok(vec![]));
    assert_eq!(inside(&modes("plan", &["plan", "acceptEdits", "default"])), mode("default"));
}

#[test]
fn requests_name_the_session() {
    let (method, params) = SessionOption::Mode { mode: "auto".into() }.request("s");
    assert_eq!((method, params), ("session/set_mode", json!({"sessionId": "s", "modeId": "auto"})));
    let (method, params) = SessionOption::Model { model: "m".into(), by: By::Method }.request("s");
    assert_eq!((method, params), ("session/set_model", json!({"sessionId": "s", "modelId": "m"})));
    let (method, params) = SessionOption::Model { model: "m".into(), by: By::Option("o".into()) }.request("s");
    assert_eq!(
        (method, params),
        ("session/set_config_option", json!({"sessionId": "s", "configId": "o", "value": "m"}))
    );
}
