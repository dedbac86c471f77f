use super::*;

#[test]
fn only_public_addresses_are_connected_to() {
    let private = [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.9",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "192.88.99.1",
        "::1",
        "::",
        "fe80::1",
        "fec0::1",
        "fd00:ec2::254",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "2001::1",
        "2001:db8::1",
        "3fff::1",
        "100::1",
        "5f00::1",
    ];
    for address in private {
        assert!(!is_public(address.parse().unwrap()), "{address}");
    }
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "172.32.0.1",
        "100.128.0.1",
        "192.0.1.1",
        "198.20.0.1",
        "2606:4700::1111",
        "2a00:1450::1",
    ] {
        assert!(is_public(address.parse().unwrap()), "{address}");
    }
}

#[test]
fn results_are_found_in_the_answers_of_several_services() {
    let expected = "A\nhttps://a.example\nabout A";
    for answer in [
        r#"{"query": "x", "results": [{"title": "A", "url": "https://a.example", "content": "about A"}]}"#,
        r#"{"web": {"results": [{"title": "A", "url": "https://a.example", "description": "about A"}]}, "type": "search"}"#,
        r#"{"items": [{"title": "A", "link": "https://a.example", "snippet": "about A"}]}"#,
        r#"[{"name": "A", "href": "https://a.example", "content": "about A"}]"#,
    ] {
        let answer: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(results(&answer).and_then(|list| line(&list[0])).as_deref(), Some(expected), "{answer}");
    }
    assert_eq!(results(&serde_json::json!({"results": [], "n": 1})), None);
}
