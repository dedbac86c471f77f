use axum::http::Method;
use std::collections::BTreeSet;

use super::*;

#[test]
fn routes_and_their_names_are_unique() {
    let table = table();
    let ids: BTreeSet<&str> = table.iter().map(|route| route.id).collect();
    let places: BTreeSet<(String, &str)> = table.iter().map(|route| (route.method.to_string(), route.path)).collect();
    assert_eq!((ids.len(), places.len()), (table.len(), table.len()));
}

#[test]
fn only_these_routes_need_no_token() {
    let open: Vec<&str> = table().iter().filter(|route| route.access == Access::Open).map(|route| route.path).collect();
    assert_eq!(open, ["/", "/healthz"]);
}

#[test]
fn every_write_takes_json_or_nothing() {
    for route in table().iter().filter(|route| route.method == Method::POST || route.method == Method::PATCH) {
        assert!(route.body.is_some() || route.path.ends_with("/cancel"), "{} {}", route.method, route.path);
    }
}

#[test]
fn the_document_lists_every_route() {
    let document = crate::document("1");
    assert_eq!(document["openapi"], "3.1.0");
    for route in table() {
        let operation = &document["paths"][route.path][route.method.as_str().to_ascii_lowercase()];
        assert_eq!(operation["operationId"], route.id, "{} {}", route.method, route.path);
        for status in route.refused() {
            let content = &operation["responses"][status.to_string()]["content"];
            assert!(content["application/problem+json"].is_object(), "{} {status}: {operation}", route.path);
        }
        let is_open = operation["security"].as_array().unwrap().is_empty();
        assert_eq!(is_open, route.access == Access::Open, "{}", route.path);
    }
    // What is referred to exists.
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        let found = document.pointer(reference.strip_prefix('#').unwrap());
        assert!(found.is_some(), "{reference}");
    }
}
