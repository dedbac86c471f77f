use super::*;

#[test]
fn the_local_token_goes_to_local_servers_only() {
    for local in
        ["http://127.0.0.1:3013", "https://localhost", "http://localhost:1/", "http://[::1]:3013", "http://[::1]"]
    {
        assert!(is_local(local), "{local}");
    }
    for other in [
        "http://127.0.0.1.example.org",
        "http://localhost.:3013",
        "http://localhost@example.org",
        "http://10.0.0.1:3013",
        "",
    ] {
        assert!(!is_local(other), "{other}");
    }
}
