//! The arguments of a call: their schema, and errors that name every one that is unknown or missing.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// No arguments at all.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// The schema of a type, without what only people need: a model pays for each word of it.
pub(crate) fn schema<A: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true).into_generator();
    let mut schema = generator.into_root_schema_for::<A>().to_value();
    if let Some(root) = schema.as_object_mut() {
        for name in ["$schema", "title", "description"] {
            root.remove(name);
        }
        root.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    schema
}

pub(crate) fn parse<A: DeserializeOwned>(schema: &Value, arguments: &Value) -> Result<A, String> {
    let nothing = serde_json::Map::new();
    // A model that has nothing to say sends nothing, or null.
    let given = match arguments {
        Value::Null => &nothing,
        Value::Object(given) => given,
        _ => return Err("the arguments are not a JSON object".to_owned()),
    };
    let known = schema["properties"].as_object().unwrap_or(&nothing);
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    // The schemas of MCP servers may leave it open.
    let is_closed = schema["additionalProperties"] == false;
    let unknown = given.keys().filter(|name| is_closed && !known.contains_key(*name)).map(String::as_str);
    let missing = required.iter().filter_map(Value::as_str).filter(|name| !given.contains_key(*name));
    let quoted = |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let (unknown, missing): (Vec<&str>, Vec<&str>) = (unknown.collect(), missing.collect());
    let mut problems = Vec::new();
    if !unknown.is_empty() {
        problems.push(format!("unknown arguments: {}", quoted(unknown)));
    }
    if !missing.is_empty() {
        problems.push(format!("missing arguments: {}", quoted(missing)));
    }
    if !problems.is_empty() {
        let known = quoted(known.keys().map(String::as_str).collect());
        return Err(format!("{} (it takes {})", problems.join("; "), if known.is_empty() { "none" } else { &known }));
    }
    serde_json::from_value(Value::Object(given.clone())).map_err(|error| format!("bad arguments: {error}"))
}
