//! The OpenAPI 3.1 document, made from the table of routes.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use ralph_api::Problem;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::auth::Access;
use crate::problem::PROBLEM_JSON;
use crate::route::{Body, Content, Route};
use crate::routes::table;

pub fn document(version: &str) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = SchemaGenerator::new(settings);
    let problem = generator.subschema_for::<Problem>();
    let mut paths: Map<String, Value> = Map::new();
    for route in table() {
        let operation = operation(&route, &problem, &mut generator);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ralph",
            "version": version,
            "description": "Tasks, workers, loops, approvals and schedules. Errors are problem documents (RFC 9457).",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "`ralph token` prints the first one." },
            },
        },
    })
}

fn operation(route: &Route, problem: &Schema, generator: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    for reply in &route.replies {
        let mut response = json!({ "description": reply.description });
        match reply.content {
            Content::Empty => {}
            Content::Json(schema) => {
                response["content"] = json!({ "application/json": { "schema": schema(generator) } });
            }
            Content::Text(media) => response["content"] = json!({ media: { "schema": { "type": "string" } } }),
        }
        if reply.status == 201 {
            response["headers"] = json!({
                "Location": { "description": "Where it is.", "schema": { "type": "string" } },
            });
        }
        responses.insert(reply.status.to_string(), response);
    }
    for status in route.refused() {
        let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
        let response = json!({
            "description": reason.unwrap_or("Refused"),
            "content": { PROBLEM_JSON: { "schema": problem } },
        });
        responses.entry(status.to_string()).or_insert(response);
    }
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.summary,
        "description": route.access.sentence(),
        "responses": responses,
        "security": if route.access == Access::Open { json!([]) } else { json!([{ "token": [] }]) },
    });
    let parameters = parameters(route, generator);
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    let body = match route.body {
        Body::None => None,
        Body::Json(body) | Body::LongJson(body) => Some(json!({ "application/json": { "schema": body(generator) } })),
        Body::File => Some(json!({ "application/octet-stream": {} })),
    };
    if let Some(content) = body {
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    operation
}

fn parameters(route: &Route, generator: &mut SchemaGenerator) -> Vec<Value> {
    let names = route.path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let in_path = names.map(|name| {
        let schema = match name {
            "sha256" => json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" }),
            "n" => json!({ "type": "integer", "minimum": 0, "maximum": 1_000_000 }),
            _ => json!({ "type": "string", "format": "uuid" }),
        };
        json!({ "name": name, "in": "path", "required": true, "schema": schema })
    });
    let in_header = route.headers.iter().map(|(name, description)| {
        let schema = json!({ "type": "string", "maxLength": 255 });
        json!({ "name": name, "in": "header", "required": false, "description": description, "schema": schema })
    });
    let mut parameters: Vec<Value> = in_path.chain(in_header).collect();
    if let Some(query) = route.query {
        parameters.extend(in_query(&query(generator), generator));
    }
    parameters
}

/// The fields of a type as parameters of the query.
fn in_query(schema: &Schema, generator: &SchemaGenerator) -> Vec<Value> {
    let schema = schema.as_value();
    let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
    let schema = name.and_then(|name| generator.definitions().get(name)).unwrap_or(schema);
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields
        .map(|(name, field)| {
            let mut schema = without_null(field.clone());
            let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            json!({
                "name": name,
                "in": "query",
                "required": required.contains(name.as_str()),
                "description": description.unwrap_or_default(),
                "schema": schema,
                "style": "form",
                "explode": false,
            })
        })
        .collect()
}

/// A parameter is left out, it is never null.
fn without_null(mut schema: Value) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.retain(|name, value| name != "default" || !value.is_null());
    }
    if let Some(types) = schema["type"].as_array().cloned() {
        let types: Vec<Value> = types.into_iter().filter(|name| name != "null").collect();
        schema["type"] = if let [one] = &types[..] { one.clone() } else { Value::Array(types) };
    } else if let Some(choices) = schema["anyOf"].as_array().cloned() {
        let choices: Vec<Value> = choices.into_iter().filter(|choice| choice["type"] != "null").collect();
        if let [one] = &choices[..] {
            let description = schema["description"].clone();
            schema = one.clone();
            schema["description"] = description;
        }
    }
    schema
}
