use super::*;

fn hosts(address: &str, is_secure: bool, allowed: &[&str]) -> Vec<String> {
    let allowed: Vec<String> = allowed.iter().map(|host| (*host).to_owned()).collect();
    Names::new(address.parse().unwrap(), is_secure, &allowed, &[]).hosts.into_iter().collect()
}

#[test]
fn names_follow_from_the_address() {
    assert_eq!(hosts("127.0.0.1:3013", false, &[]), ["127.0.0.1:3013", "[::1]:3013", "localhost:3013"]);
    assert_eq!(hosts("192.0.2.1:80", false, &[]), ["192.0.2.1", "192.0.2.1:80"]);
    assert_eq!(hosts("192.0.2.1:443", true, &[]), ["192.0.2.1", "192.0.2.1:443"]);
    assert_eq!(hosts("[2001:db8::1]:1", false, &[]), ["[2001:db8::1]:1"]);
    let all = hosts("0.0.0.0:1", false, &["Ralph.example.org", "other:9", "[2001:db8::2]", "[2001:db8::3]:5"]);
    for name in ["ralph.example.org", "ralph.example.org:1", "other:9", "[2001:db8::2]:1", "[2001:db8::3]:5"] {
        assert!(all.iter().any(|known| known == name), "{name} in {all:?}");
    }
    assert!(!all.iter().any(|known| known == "0.0.0.0:1" || known == "other" || known == "other:9:1"), "{all:?}");
}
