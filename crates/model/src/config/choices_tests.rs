use super::*;

#[test]
fn a_rule_for_hosts_permits_what_it_names_and_nothing_else() {
    let cases = [
        ("registry.example.com", "Registry.Example.com.", 443, true),
        ("registry.example.com", "registry.example.com", 80, true),
        ("registry.example.com", "registry.example.com", 8080, false),
        ("registry.example.com", "registry.example.com.evil.org", 443, false),
        ("registry.example.com", "evil-registry.example.com", 443, false),
        ("*.example.com", "a.b.example.com", 443, true),
        ("*.example.com", "example.com", 443, false),
        ("*.example.com", "badexample.com", 443, false),
        ("127.0.0.1:8080", "127.0.0.1", 8080, true),
        ("127.0.0.1:8080", "127.0.0.1", 443, false),
        ("[::1]:8080", "::1", 8080, true),
        ("::1", "::1", 443, true),
    ];
    for (rule, host, port, is_permitted) in cases {
        let rule = HostRule::parse(rule).unwrap();
        assert_eq!(rule.permits(host, port), is_permitted, "{rule}: {host}:{port}");
        assert_eq!(HostRule::parse(&rule.to_string()), Ok(rule));
    }
    for broken in [
        "",
        "*",
        "*.",
        "a b",
        "https://example.com",
        "example.com/path",
        "example.com:0",
        "example.com:x",
        "[::1]8080",
        "a..b",
    ] {
        assert!(HostRule::parse(broken).is_err(), "{broken}");
    }
}
