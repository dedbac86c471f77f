use proptest::prelude::*;

use super::*;
use crate::sanitize::{SanitizeStream, sanitize};

fn redactor() -> Redactor {
    Redactor::new([
        ("LONGER", "hunter2hunter2!"),
        ("SHORTER", "hunter2hunt"),
        ("SHADOWED", "Authoriz"),
        ("LINES", "first line\nsecond \"line\"\n"),
        ("TINY", "seven77"),
    ])
}

/// Redacts and makes inert, byte for byte as a run does.
fn clean<'a>(redactor: &Redactor, pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let (mut redact, mut inert) = (redactor.stream(), SanitizeStream::default());
    let (mut bytes, mut out) = (Vec::new(), String::new());
    for piece in pieces {
        out.push_str(inert.pass(redact.pass(piece, &mut bytes), &mut String::from("from before")));
    }
    bytes.clear();
    redact.finish(&mut bytes);
    inert.push(&bytes, &mut out);
    inert.finish(&mut out);
    out
}

#[test]
fn known_values_are_replaced_by_their_names() {
    for (text, expected) in [
        ("x hunter2hunter2! y", "x [redacted:LONGER] y"),
        ("xhunter2hunter2y", "x[redacted:SHORTER]er2y"),
        ("seven77", "seven77"),
        ("Authoriz", "[redacted:SHADOWED]"),
        ("Authorization is", "[redacted:SHADOWED]ation is"),
        ("first line\nsecond \"line\"", "[redacted:LINES]"),
        (r#"{"text":"first line\nsecond \"line\"\n"}"#, r#"{"text":"[redacted:LINES]\n"}"#),
    ] {
        assert_eq!(redactor().text(text), expected, "{text}");
    }
}

#[test]
fn patterns_are_replaced_by_their_kinds() {
    let lower = "abcdefghijklmnopqrstuvwxyz0123456789";
    let mixed = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6kL9";
    let cases = [
        (format!("key sk-ant-api03-{mixed}_-x."), "key [redacted:anthropic-key].".to_owned()),
        (format!("\"sk-proj-{mixed}\""), "\"[redacted:api-key]\"".into()),
        (format!(r"first\nsk-{mixed}\n"), r"first\n[redacted:api-key]\n".into()),
        (format!("\x1b[32msk-{mixed}\x1b[0m"), "\x1b[32m[redacted:api-key]\x1b[0m".into()),
        (format!("ghp_{lower}"), "[redacted:github-token]".into()),
        (format!("x=gho_{lower},ghs_{lower}"), "x=[redacted:github-token],[redacted:github-token]".into()),
        (format!("github_pat_11ABC_{lower}!"), "[redacted:github-token]!".into()),
        ("AKIAIOSFODNN7EXAMPLE AKIAIOSFODNN7EXAMPLES".into(), "[redacted:aws-key-id] AKIAIOSFODNN7EXAMPLES".into()),
        (format!("AIza{}", &mixed[..35]), "[redacted:google-key]".into()),
        ("xoxb-123456789012-abcdefABCDEF".into(), "[redacted:slack-token]".into()),
        (format!("glpat-{}", &lower[..20]), "[redacted:gitlab-token]".into()),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln_nature-x rest".into(), "[redacted:web-token] rest".into()),
        (
            "Authorization: Bearer abcdefgh12/+=\nnext".into(),
            "Authorization: Bearer [redacted:authorization]\nnext".into(),
        ),
        (
            r#"{\"authorization\": \"basic dXNlcjpwYXNz\"}"#.into(),
            r#"{\"authorization\": \"basic [redacted:authorization]\"}"#.into(),
        ),
        ("git clone https://user:pa55@host/x".into(), "git clone https://[redacted:url-credentials]@host/x".into()),
        ("https://:token@host".into(), "https://[redacted:url-credentials]@host".into()),
        (format!("https://ghp_{lower}@host/"), "https://[redacted:github-token]@host/".into()),
    ];
    for (text, expected) in cases {
        assert_eq!(redactor().text(&text), expected, "{text}");
    }
}

#[test]
fn private_keys_go_whole_and_nothing_else_goes_with_them() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIB+/=\nabc\n-----END RSA PRIVATE KEY-----";
    assert_eq!(redactor().text(&format!("a {key}\nb")), "a [redacted:private-key]\nb");
    let escaped = key.replace('\n', "\\n");
    assert_eq!(redactor().text(&format!("{{\"key\":\"{escaped}\\n\"}}")), "{\"key\":\"[redacted:private-key]\\n\"}");
    let cut = "-----BEGIN PRIVATE KEY-----\nMIIB\nabc\n";
    assert_eq!(redactor().text(&format!("{cut}{{\"next\":1}}")), "[redacted:private-key]{\"next\":1}");
    // A quote that is text must not become the end of the JSON string that it stands in.
    let named = r#"{"text":"if line == \"-----BEGIN PRIVATE KEY-----\" {","more":1}"#;
    assert_eq!(redactor().text(named), r#"{"text":"if line == \"[redacted:private-key]\" {","more":1}"#);
    let endless = format!("{cut}{}", "A".repeat(20 << 10));
    let kept = redactor().text(&endless).len();
    assert!((3 << 10..5 << 10).contains(&kept), "{kept}");
    let public = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
    assert_eq!(redactor().text(public), public);
}

#[test]
fn ordinary_text_passes_unchanged() {
    for text in [
        "task-runner risk-based sk-some-very-long-css-class-name-of-many-words disk-",
        "http://localhost:3000/a?b=c@d https://host:8080/x:y@z ssh://git@host:22/x",
        "authorization: none, Authorization required: Bearer of bad news",
        "eyJ eyJhbGciOiJIUzI1NiJ9 eyJhbGciOiJIUzI1NiJ9.payload",
        "ghp_short AKIA xoxb- glpat- sk-ant- AIzaSy",
        "-----BEGIN PUBLIC KEY----- ----- -----BEGIN ",
        "error: expected `sk-ant-`, see docs://x",
    ] {
        assert_eq!(Redactor::default().text(text), text);
    }
}

#[test]
fn a_line_without_a_secret_is_not_held_back() {
    let mut stream = redactor().stream();
    for line in ["listening on http://localhost:3000\n", "eyJhbGciOiJIUzI1NiJ9\n", "Authorization\n", "-----BEGIN \n"] {
        let mut out = Vec::new();
        stream.push(line.as_bytes(), &mut out);
        let expected = redactor().text(line).into_owned();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

#[test]
fn what_waits_is_bounded() {
    let mut stream = redactor().stream();
    let mut out = Vec::new();
    for flood in ["eyJ", "a", "://", "sk-ant-", "-----BEGIN ", "://a:", "authorization: "] {
        for _ in 0..20_000 {
            stream.push(flood.as_bytes(), &mut out);
            assert!(stream.waiting.len() < 2_048, "{flood}: {}", stream.waiting.len());
        }
    }
}

#[test]
fn nobody_can_print_the_values() {
    let shown = format!("{:?} {:?}", redactor(), redactor().stream());
    assert!(!shown.contains("hunter2"), "{shown}");
}

fn fragment() -> impl Strategy<Value = Vec<u8>> {
    const TEXTS: &[&str] = &[
        "hunter2hunter2!",
        "hunter2hunt",
        "Authorization",
        ": Bearer ",
        "\": \"token ",
        "abcdefgh",
        "sk-",
        "sk-ant-",
        "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6",
        "ghp_",
        "github_pat_",
        "AKIA",
        "IOSFODNN7EXAMPLE",
        "eyJ",
        "hbGciOiJIUzI1NiJ9",
        ".",
        "://",
        "user",
        ":",
        "@",
        "-----BEGIN ",
        "RSA PRIVATE KEY",
        "-----",
        "-----END ",
        "first line\nsec",
        "ond \"line\"",
        "\r",
        "\n",
        " ",
        "\\n",
        "\\",
        "\\\"",
        "\x1b[32m",
        "ü€",
        "\u{202e}",
    ];
    prop_oneof![
        8 => proptest::sample::select(TEXTS).prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 1..4),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn cutting_changes_nothing(fragments in proptest::collection::vec(fragment(), 0..40), sizes in proptest::collection::vec(1..40_usize, 1..12)) {
        let bytes = fragments.concat();
        let redactor = redactor();
        let whole = clean(&redactor, [&bytes[..]]);
        let mut rest = &bytes[..];
        let mut pieces = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at(rest.len().min(*size));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(clean(&redactor, pieces), &whole[..]);
        prop_assert_eq!(clean(&redactor, bytes.chunks(1)), &whole[..]);
        // And neither does it whether bytes are copied or passed as they are.
        let (mut stream, mut copied) = (redactor.stream(), Vec::new());
        stream.push(&bytes, &mut copied);
        stream.finish(&mut copied);
        let copied = String::from_utf8_lossy(&copied);
        prop_assert_eq!(sanitize(&copied), whole);
    }

    #[test]
    fn no_known_value_is_left(before in ".{0,20}", after in ".{0,20}") {
        let text = format!("{before}hunter2hunter2!{after}");
        let redactor = redactor();
        prop_assert!(!redactor.text(&text).contains("hunter2hunt"));
    }
}
