use super::*;

#[test]
fn no_password_is_in_the_place() {
    for url in ["postgres://me:s3cret@db.example:6543/work", "postgres://me@db.example:6543/work?password=s3cret"] {
        let options = PgConnectOptions::from_str(url).unwrap();
        assert_eq!(place(&options), "postgresql://me@db.example:6543/work");
    }
}

#[tokio::test]
async fn what_is_no_url_is_refused_without_repeating_it() {
    let error = open_postgres("postgres://me:s3cret@:nowhere").await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert!(!error.to_string().contains("s3cret"), "{error}");
}
