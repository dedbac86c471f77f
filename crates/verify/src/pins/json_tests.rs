use proptest::prelude::*;

use super::*;

#[test]
fn what_is_json_is_read_and_written_back() {
    for text in ["{}", "[]", "null", "-1.5e3", r#""a\"b\u00e9""#, r#"{"b": [1, {"a": null}], "a": "x"}"#, "\u{feff}{}"]
    {
        let value = Json::parse(text).unwrap();
        assert!(Json::parse(&value.write()).unwrap().same(&value), "{text}");
    }
}

#[test]
fn what_is_not_json_is_refused() {
    let deep = "[".repeat(100_000);
    for text in
        ["", "{", "[1,]", "{\"a\":1,}", "{a: 1}", "'a'", "\"a", "\"a\nb\"", "nul", "1 2", "{} // x", "NaN", &deep]
    {
        assert_eq!(Json::parse(text), None, "{text:.20}");
    }
}

#[test]
fn order_and_escapes_mean_nothing_and_the_last_of_two_counts() {
    let same = |one: &str, other: &str| Json::parse(one).unwrap().same(&Json::parse(other).unwrap());
    assert!(same(r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "a": 1}"#));
    assert!(same(r#"{"\u0061": "\u0041"}"#, r#"{"a": "A"}"#));
    assert!(!same(r#"{"a": 1}"#, r#"{"a": 2}"#));
    assert!(!same(r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#));
    assert!(!same("[1, 2]", "[2, 1]"));
    let twice = Json::parse(r#"{"a": 1, "\u0061": 2}"#).unwrap();
    assert_eq!(twice.get("a"), Some(&Json::Plain("2".to_owned())));
}

#[test]
fn members_are_put_in_place() {
    let mut value = Json::parse(r#"{"b": 1, "a": 2}"#).unwrap();
    value.set("b", Some(Json::Plain("3".to_owned())));
    value.set("a", None);
    value.set("ü\"", Some(Json::Plain("4".to_owned())));
    assert_eq!(value.keys(), ["b", "ü\""]);
    assert_eq!(value.get("ü\""), Some(&Json::Plain("4".to_owned())));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic(text in r#"(?s)[\[\]{}":,0-9a-z\\ \né.-]{0,60}"#) {
        if let Some(value) = Json::parse(&text) {
            prop_assert!(Json::parse(&value.write()).is_some_and(|again| again.same(&value)));
        }
    }
}
