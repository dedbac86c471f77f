use proptest::prelude::*;

use super::*;
use crate::escapes::EscapeStream;
use crate::sanitize::SanitizeStream;

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
    let (mut escapes, mut redact, mut inert) = (EscapeStream::default(), redactor.stream(), SanitizeStream::default());
    let (mut stripped, mut bytes, mut out) = (Vec::new(), Vec::new(), String::new());
    for piece in pieces {
        let piece = escapes.pass(piece, &mut stripped);
        out.push_str(inert.pass(redact.pass(piece, &mut bytes), &mut String::from("from before")));
    }
    stripped.clear();
    bytes.clear();
    escapes.finish(&mut stripped);
    redact.push(&stripped, &mut bytes);
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
        (format!("ghp_{lower}"), "[redacted:github-token]".into()),
        (format!("x=gho_{lower},ghs_{lower}"), "x=[redacted:github-token],[redacted:github-token]".into()),
        (format!("github_pat_11ABC_{lower}!"), "[redacted:github-token]!".into()),
        ("AKIAIOSFODNN7EXAMPLE AKIAIOSFODNN7EXAMPLES".into(), "[redacted:aws-key-id] AKIAIOSFODNN7EXAMPLES".into()),
        (format!("AIza{}", &mixed[..35]), "[redacted:google-key]".into()),
        ("xoxb-123456789012-abcdefABCDEF".into(), "[redacted:slack-token]".into()),
        ("xapp-1-A123456789-abcdefABCDEF".into(), "[redacted:slack-token]".into()),
        (
            ["gldt-", "glrt-", "glcbt-", "glptt-"].map(|begin| format!("{begin}{mixed} ")).concat(),
            "[redacted:gitlab-token] ".repeat(4),
        ),
        (format!("ya29.{mixed}_{mixed}"), "[redacted:google-token]".into()),
        (format!("GOCSPX-{mixed}"), "[redacted:google-secret]".into()),
        (
            [
                "dop_v1_", "dckr_pat_", "lin_api_", "figd_", "glsa_", "shpat_", "shpss_", "sbp_", "sntrys_", "rubygems_", "nvapi-",
                "gsk_", "hvs.", "PMAK-", "ATATT3",
            ]
            .map(|begin| format!("{begin}{mixed} "))
            .concat(),
            "[redacted:api-token] ".repeat(15),
        ),
        (format!("AGE-SECRET-KEY-1{}", mixed.to_uppercase().repeat(2)), "[redacted:age-key]".into()),
        ("PRIVATE-TOKEN x private_token=abcdefgh1".into(), "PRIVATE-TOKEN x private_token=[redacted:token]".into()),
        ("aws_secret_access_key = abcdefgh1/+".into(), "aws_secret_access_key = [redacted:token]".into()),
        (r#"{"SecretAccessKey": "abcdefgh1/+"}"#.into(), r#"{"SecretAccessKey": "[redacted:token]"}"#.into()),
        (
            "?X-Amz-Security-Token=abcdefgh1%2F&X-Amz-Signature=0123456789abcdef".into(),
            "?X-Amz-Security-Token=[redacted:token]&X-Amz-Signature=[redacted:token]".into(),
        ),
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
        (format!("https://ghp_{lower}@host/"), "https://[redacted:url-credentials]@host/".into()),
        ("git clone https://0123456789abcdef0123@host/x".into(), "git clone https://[redacted:url-credentials]@host/x".into()),
        ("ASIAIOSFODNN7EXAMPLE".into(), "[redacted:aws-key-id]".into()),
        (format!("ghu_{lower} ghr_{lower}"), "[redacted:github-token] [redacted:github-token]".into()),
        (
            "xoxa-123456789012-abcdefABCDEF,xoxp-123456789012-abcdefABCDEF,xoxr-123456789012-abcdefABCDEF,xoxs-123456789012-abc".into(),
            "[redacted:slack-token],[redacted:slack-token],[redacted:slack-token],[redacted:slack-token]".into(),
        ),
        ("AUTHORIZATION=Token abcdefgh12".into(), "AUTHORIZATION=Token [redacted:authorization]".into()),
        ("-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----".into(), "[redacted:private-key]".into()),
        (format!("sk_live_{} sk_test_{}", &lower[..24], &mixed[..24]), "[redacted:stripe-key] [redacted:stripe-key]".into()),
        (format!("rk_live_{} rk_test_{}", &lower[..24], &mixed[..24]), "[redacted:stripe-key] [redacted:stripe-key]".into()),
        (format!("whsec_{}+/==", &mixed[..24]), "[redacted:stripe-key]".into()),
        (format!("//host/:_authToken=npm_{lower}"), "//host/:_authToken=[redacted:npm-token]".into()),
        (format!("pypi-AgEIcHlwaS5vcmc{mixed}-_"), "[redacted:pypi-token]".into()),
        (format!("hf_{}", &mixed[..34]), "[redacted:hugging-face-token]".into()),
        (format!("SG.{}.{mixed}abcd", &mixed[..22]), "[redacted:sendgrid-key]".into()),
        (
            format!("AccountName=a;AccountKey={mixed}+/==;EndpointSuffix=x"),
            "AccountName=a;AccountKey=[redacted:azure-key];EndpointSuffix=x".into(),
        ),
        (
            format!("SharedAccessKey={mixed}=;SharedAccessSignature=sr%3d{mixed}"),
            "SharedAccessKey=[redacted:azure-key];SharedAccessSignature=[redacted:azure-key]".into(),
        ),
        (
            format!("https://a/b?sig={mixed}%2B%3D&x=1 &sig={mixed}"),
            "https://a/b?sig=[redacted:azure-key]&x=1 &sig=[redacted:azure-key]".into(),
        ),
        ("x-api-key: abcdefgh1".into(), "x-api-key: [redacted:api-key]".into()),
        ("X-Api-Key: abcdefgh1, X-API-Key: abcdefgh1".into(), "X-Api-Key: [redacted:api-key], X-API-Key: [redacted:api-key]".into()),
        (r#"{\"X-API-KEY\": \"abcdefgh1\"}"#.into(), r#"{\"X-API-KEY\": \"[redacted:api-key]\"}"#.into()),
        ("GET /x?access_token=abcdefgh1%2F&y=1".into(), "GET /x?access_token=[redacted:token]&y=1".into()),
        (r#"{"refresh_token":"abcdefgh1"}"#.into(), r#"{"refresh_token":"[redacted:token]"}"#.into()),
        ("id_token=abcdefgh1 client_secret = abc~defgh1".into(), "id_token=[redacted:token] client_secret = [redacted:token]".into()),
        ("password: hunter2".into(), "password: [redacted:password]".into()),
        ("Password = 's3cr3t!pass'".into(), "Password = '[redacted:password]'".into()),
        ("DB_PASSWORD=hunter2&x passwd:hunter22".into(), "DB_PASSWORD=[redacted:password] passwd:[redacted:password]".into()),
    ];
    for (text, expected) in &cases {
        assert_eq!(redactor().text(text), *expected, "{text}");
    }
    for begin in PATTERNS.iter().flat_map(|pattern| pattern.begins) {
        assert!(cases.iter().any(|(text, _)| text.contains(begin)), "{begin} has no row");
    }
}

#[test]
fn known_values_are_found_in_other_forms() {
    let redactor = Redactor::new([("TOKEN", "p@ss/word+with=signs")]);
    for (text, expected) in [
        ("https://host/?t=p%40ss%2Fword%2Bwith%3Dsigns&x", "https://host/?t=[redacted:TOKEN]&x"),
        ("p%40ss%2fword%2bwith%3dsigns", "[redacted:TOKEN]"),
        ("cEBzcy93b3JkK3dpdGg9c2lnbnM=", "[redacted:TOKEN]"),
        ("0x704073732f776f72642b776974683d7369676e73.", "0x[redacted:TOKEN]."),
        ("704073732F776F72642B776974683D7369676E73", "[redacted:TOKEN]"),
        // `user:` and `admin1:` before it: the other two places in a group of characters.
        ("Basic dXNlcjpwQHNzL3dvcmQrd2l0aD1zaWducw==", "Basic dXNlcjp[redacted:TOKEN]"),
        ("YWRtaW4xOnBAc3Mvd29yZCt3aXRoPXNpZ25z", "YWRtaW4xOn[redacted:TOKEN]"),
    ] {
        assert_eq!(redactor.text(text), expected, "{text}");
    }
    let lines = Redactor::new([("LINES", "first line\r\nsecond line")]);
    for text in [
        "first line\nsecond line",
        "first line\r\nsecond line",
        r"first line\r\nsecond line",
        r"first line\nsecond line",
        r"first line\\nsecond line",
    ] {
        assert_eq!(lines.clean(text), "[redacted:LINES]", "{text:?}");
    }
}

#[test]
fn a_secret_with_an_escape_inside_is_not_put_together() {
    for secret in
        ["hunter2\x1b[31mhunter2!", "hunter2\x1b]0;x\x07hunter2!", "hunter\x1b2hunter2!", "hunter2\x1b(Bhunter2!"]
    {
        assert_eq!(redactor().clean(&format!("a {secret} b")), "a [redacted:LONGER] b", "{secret:?}");
        for size in 1..secret.len() {
            assert_eq!(clean(&redactor(), secret.as_bytes().chunks(size)), "[redacted:LONGER]", "{secret:?}");
        }
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
        "password: string; password: undefined, passwd: Optional[str], password = process.env.DB_PASSWORD",
        "npm_config_user_agent_of_this_very_long_name hf_hub_download(repo_id) SG.method sk_live_ rk_test_x",
        "x-api-key: required, access_token: String, AccountKey=..., ssh://git@host https://deploy-user@host/x",
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
fn the_same_is_found_however_much_was_searched() {
    let redactor = redactor();
    let line = "x hunter2hunter2! xhunter2hunter2y ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let expected = "x [redacted:LONGER] x[redacted:SHORTER]er2y [redacted:github-token]";
    assert_eq!(redactor.text(line), expected);
    assert!(redactor.rules.table.get().is_none());
    redactor.text(&"nothing here\n".repeat(WORTH_TABLE / 8));
    assert!(redactor.rules.table.get().is_some_and(Option::is_some));
    assert_eq!(redactor.text(line), expected);
    let large = Redactor::new([("LARGE", "x7".repeat(MAX_FOR_TABLE))]);
    large.text(&"nothing here\n".repeat(WORTH_TABLE / 8));
    assert!(large.rules.table.get().is_some_and(Option::is_none));
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
        if let Ok(text) = std::str::from_utf8(&bytes) {
            prop_assert_eq!(redactor.clean(text), whole);
        }
    }

    #[test]
    fn no_known_value_is_left(before in ".{0,20}", after in ".{0,20}") {
        let text = format!("{before}hunter2hunter2!{after}");
        let redactor = redactor();
        prop_assert!(!redactor.text(&text).contains("hunter2hunt"));
    }
}
