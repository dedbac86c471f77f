use super::*;

#[test]
fn a_sample_has_what_is_required_and_nothing_else() {
    let schema = json!({
        "type": "OBJECT",
        "properties": {
            "score": { "type": "INTEGER" },
            "low": { "type": "integer", "maximum": 9 },
            "high": { "type": "integer", "minimum": 60 },
            "confidence": { "type": "number" },
            "sure": { "type": "boolean" },
            "why": { "type": ["string", "null"] },
            "list": { "type": "array", "items": {} },
            "inner": { "properties": { "a": { "const": 1 } }, "required": ["a"] },
            "either": { "anyOf": [{ "type": "null" }, {}] },
            "extra": {},
        },
        "required": ["score", "low", "high", "confidence", "sure", "why", "list", "inner", "either"],
    });
    let wanted = json!({
        "score": 50, "low": 9, "high": 60, "confidence": 0, "sure": false, "why": "scripted", "list": [],
        "inner": { "a": 1 }, "either": null,
    });
    assert_eq!(sample(&schema), wanted);
}

#[test]
fn a_choice_is_the_first_unless_the_user_is_among_them() {
    assert_eq!(sample(&json!({ "enum": ["flash", "pro"] })), "flash");
    assert_eq!(sample(&json!({ "type": "STRING", "enum": ["model", "user"] })), "user");
    assert_eq!(sample(&json!({ "default": 7, "type": "string" })), 7);
}

#[test]
fn what_is_given_stays() {
    let schema =
        json!({ "properties": { "a": { "type": "string" }, "b": { "type": "boolean" } }, "required": ["a", "b"] });
    let given = Map::from_iter([("a".to_owned(), json!("mine")), ("c".to_owned(), json!(1))]);
    assert_eq!(Value::Object(object(&schema, given)), json!({ "a": "mine", "b": false, "c": 1 }));
}
