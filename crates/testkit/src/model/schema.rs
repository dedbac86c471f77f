//! Makes up a value that a JSON schema accepts. Knows no tool and no service.

use serde_json::{Map, Value, json};

/// A value that follows the schema: what it requires, and the blandest choice where there is one.
pub(super) fn sample(schema: &Value) -> Value {
    if let Some(value) = schema.get("const").or_else(|| schema.get("default")) {
        return value.clone();
    }
    if let Some(choices) = schema["enum"].as_array() {
        // Gemini asks who speaks next; any answer but the user makes it ask again and again.
        return choices.iter().find(|choice| **choice == "user").or(choices.first()).cloned().unwrap_or_default();
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema[key].as_array().and_then(|choices| choices.first()) {
            return sample(first);
        }
    }
    match kind(schema).as_deref() {
        Some("object") => Value::Object(object(schema, Map::new())),
        Some("array") => json!([]),
        Some("integer") => integer(schema),
        // A likelihood, where the Gemini CLI asks for one.
        Some("number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
        Some("boolean") => json!(false),
        Some("null") => Value::Null,
        _ => json!("scripted"),
    }
}

/// The properties that are given, and a sample of each other one that the schema requires.
pub(super) fn object(schema: &Value, mut given: Map<String, Value>) -> Map<String, Value> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in required {
        if !given.contains_key(name) {
            given.insert(name.to_owned(), sample(&schema["properties"][name]));
        }
    }
    given
}

/// The type, in lower case: Gemini writes it in capitals.
pub(super) fn kind(schema: &Value) -> Option<String> {
    let named = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        other => other.as_str(),
    };
    named.map(str::to_lowercase).or_else(|| schema["properties"].is_object().then(|| "object".to_owned()))
}

fn integer(schema: &Value) -> Value {
    // In the middle of the hundred, which is how the Gemini CLI has tasks scored, unless the schema knows better.
    const MIDDLE: i64 = 50;
    let bound = |key: &str| schema[key].as_i64();
    let value = MIDDLE.min(bound("maximum").unwrap_or(MIDDLE)).max(bound("minimum").unwrap_or(i64::MIN));
    json!(value)
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
