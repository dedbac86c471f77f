use super::*;

fn read(text: &str) -> Result<Option<ReportFile>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    std::fs::write(&path, text).unwrap();
    read_report(&path)
}

#[test]
fn reads_flat_and_nested_figures() {
    let flat =
        read(r#"{"costUSD":0.12,"inputTokens":10,"outputTokens":2,"model":"m","summary":"did it"}"#).unwrap().unwrap();
    assert_eq!(flat.cost, Some(Money::from_micros(120_000)));
    assert_eq!(flat.usage, Usage { model: Some("m".into()), input_tokens: 10, output_tokens: 2, ..Usage::default() });
    let nested = read(r#"{"usage":{"costUSD":"0.5","input_tokens":7}}"#).unwrap().unwrap();
    assert_eq!((nested.cost, nested.usage.input_tokens), (Some(Money::from_micros(500_000)), 7));
}

#[test]
fn a_sum_of_floats_is_rounded_up_to_a_micro_dollar() {
    assert_eq!(read(r#"{"costUSD":0.30000000000000004}"#).unwrap().unwrap().cost, Some(Money::from_micros(300_001)));
}

#[test]
fn nothing_written_is_nothing_said() {
    assert_eq!(read("  \n"), Ok(None));
    assert_eq!(read_report(Path::new("/nonexistent/result.json")), Ok(None));
    assert_eq!(read("{}").unwrap().unwrap().cost, None);
}

#[test]
fn what_cannot_be_used_is_said() {
    for text in [
        "{",
        "[1]",
        r#"{"costUSD":-1}"#,
        r#"{"costUSD":"much"}"#,
        r#"{"costUSD":1e300}"#,
        r#"{"costUSD":"9223372036854"}"#,
        r#"{"costUSD":1000000}"#,
    ] {
        assert!(read(text).is_err(), "{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("result.json");
    std::os::unix::fs::symlink("/etc/hostname", &link).unwrap();
    assert!(read_report(&link).is_err(), "a link is not followed");
    assert!(read_report(folder.path()).is_err(), "a folder is no report");
}
