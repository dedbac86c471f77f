#![allow(clippy::unwrap_used, reason = "tests panic with what went wrong")]

use serde_json::{Value, json};

use super::*;

/// What clients put into every prompt.
const MAX_BYTES: usize = 12 * 1024;

#[test]
fn all_tools_fit_in_a_prompt() {
    let listed = serde_json::to_string(&json!({"tools": tools()})).unwrap();
    assert!(listed.len() <= MAX_BYTES, "tools/list has {} bytes", listed.len());
}

#[test]
fn every_tool_says_what_it_does_and_takes_an_object_of_known_arguments() {
    for tool in tools() {
        let schema = Value::Object((*tool.input_schema).clone());
        assert_eq!(schema["type"], "object", "{}: {schema}", tool.name);
        assert_eq!(schema["additionalProperties"], false, "{}: {schema}", tool.name);
        assert!(tool.description.as_ref().is_some_and(|text| text.len() > 20), "{}", tool.name);
        for (name, argument) in schema["properties"].as_object().unwrap() {
            assert!(argument["description"].is_string(), "{}: {name} has no description: {argument}", tool.name);
        }
    }
}

#[test]
fn a_loop_needs_everything_but_the_agent() {
    let tools = tools();
    let schema = &tools.iter().find(|tool| tool.name == RALPH_LOOP).unwrap().input_schema;
    let required = json!(["objective", "verification_command", "max_iterations", "max_cost_usd"]);
    assert_eq!(schema["required"], required);
}
