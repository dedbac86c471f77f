use serde_json::json;

use super::*;
use crate::fixtures::layer;

fn said(value: Value) -> Result<Layer, String> {
    let Value::Object(object) = value else { panic!("{value}") };
    Layer::from_json(&object).map_err(|error| error.to_string())
}

#[test]
fn a_request_says_what_a_file_says() {
    let request = json!({
        "maxIterations": 5,
        "maxCostUsd": 2,
        "verificationCommand": "npm test",
        "maxDuration": "2h",
        "pauseMs": 250,
        "agent": ["claude", "codex"],
        "model": null,
    });
    let file = "max_iterations = 5\nmax_cost_usd = 2\nverification_command = 'npm test'\nmax_duration = '2h'\n\
                pause_ms = 250\nagent = ['claude', 'codex']";
    assert_eq!(said(request).unwrap(), layer(file));
    assert_eq!(said(json!({})).unwrap(), Layer::default());
}

#[test]
fn unknown_names_are_refused_with_the_nearest() {
    for (name, nearest) in
        [("maxIteration", "maxIterations"), ("max_cost_usd", "maxCostUsd"), ("criteria", "verificationCommand")]
    {
        let error = said(json!({ name: 1 })).unwrap_err();
        assert!(error.contains(name) && error.contains(&format!("did you mean `{nearest}`?")), "{error}");
    }
}

#[test]
fn what_is_the_users_alone_is_refused() {
    for name in ["env", "sandbox", "sandboxWritable", "metricsPath", "agentOrder"] {
        let error = said(json!({ name: "x" })).unwrap_err();
        assert!(error.contains(name) && error.contains("your own configuration"), "{error}");
    }
    for name in ["caps", "agents", "prices", "notify"] {
        assert!(said(json!({ name: {} })).is_err(), "{name}");
    }
    let error = said(json!({ "prohibitedPaths": ["!infra/**"] })).unwrap_err();
    assert!(error.contains("prohibitedPaths") && error.contains("would allow"), "{error}");
}

#[test]
fn a_wrong_value_names_its_key() {
    for (name, value) in [
        ("maxIterations", json!("many")),
        ("maxIterations", json!(-1)),
        ("keep", json!("worst")),
        ("maxDuration", json!(5)),
    ] {
        let error = said(json!({ name: value })).unwrap_err();
        assert!(error.starts_with(&format!("{name}: ")), "{error}");
    }
}
