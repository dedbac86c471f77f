use super::*;

#[test]
fn passwords_are_found_in_addresses() {
    for (url, expected) in [
        ("postgres://me:s3cret@host:5432/db", Some("s3cret")),
        ("postgresql://me:a:b@host/db?sslmode=require", Some("a:b")),
        ("postgres://me@host/db", None),
        ("postgres://host/a:b@c", None),
        ("nonsense", None),
    ] {
        assert_eq!(password(url).as_deref(), expected, "{url}");
    }
}
