use super::*;

fn target(variables: &[(&str, &str)]) -> Result<Option<TraceTarget>, String> {
    TraceTarget::from_variables(|name| {
        variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn without_an_endpoint_nothing_is_sent() {
    assert_eq!(target(&[]), Ok(None));
    assert_eq!(target(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), Ok(None));
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    assert_eq!(target(&[endpoint, ("OTEL_SDK_DISABLED", "true")]), Ok(None));
    assert_eq!(target(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")]), Ok(None));
}

#[test]
fn the_general_endpoint_gets_the_path_and_the_specific_one_is_taken_as_it_is() {
    let general = target(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/")]).unwrap().unwrap();
    assert_eq!(general.url, "http://127.0.0.1:4318/v1/traces");
    let specific = target(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces.example.org/in"),
    ]);
    assert_eq!(specific.unwrap().unwrap().url, "https://traces.example.org/in");
}

#[test]
fn what_cannot_be_used_is_named() {
    let error = target(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318")]).unwrap_err();
    assert!(error.contains("`127.0.0.1:4318/v1/traces`"), "{error}");
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317");
    assert!(target(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).unwrap_err().contains("HTTP only"));
    let error = target(&[endpoint, ("OTEL_EXPORTER_OTLP_HEADERS", "bad name=1")]).unwrap_err();
    assert!(error.contains("`bad name`"), "{error}");
}

#[test]
fn headers_and_resource_attributes_are_read_and_keys_are_not_shown() {
    let target = target(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b%zz,  other = c"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=first,team=blue"),
        ("OTEL_SERVICE_NAME", "builds"),
    ]);
    let target = target.unwrap().unwrap();
    let header = |name: &str| {
        let found = target.headers.iter().find(|(key, _)| key.as_str() == name);
        found.map(|(_, value)| value.to_str().unwrap().to_owned())
    };
    assert_eq!(header("x-key").as_deref(), Some("a b%zz"));
    assert_eq!(header("other").as_deref(), Some("c"));
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(target.resource, [pair("team", "blue"), pair("service.name", "builds")]);
    assert!(!format!("{target:?}").contains("a b"));
}
