use super::*;
use crate::testing::store;

#[tokio::test]
async fn trust_holds_for_this_content_in_this_place_until_revoked() {
    let (_folder, store) = store().await;
    assert!(!store.is_trusted("aa", "/a").await.unwrap());
    store.trust("aa", "/a", Timestamp(1)).await.unwrap();
    store.trust("aa", "/a", Timestamp(2)).await.unwrap();
    store.trust("aa", "/b", Timestamp(3)).await.unwrap();
    store.trust("bb", "/a", Timestamp(4)).await.unwrap();
    assert!(store.is_trusted("aa", "/a").await.unwrap());
    assert!(!store.is_trusted("bb", "/b").await.unwrap());

    let places: Vec<_> = store.trusted().await.unwrap().into_iter().map(|one| (one.hash, one.path, one.at.0)).collect();
    let expected = [("bb", "/a", 4), ("aa", "/b", 3), ("aa", "/a", 1)];
    assert_eq!(places, expected.map(|(hash, path, at)| (hash.to_owned(), path.to_owned(), at)));
    assert_eq!(store.revoke("aa").await.unwrap(), 2);
    assert!(!store.is_trusted("aa", "/a").await.unwrap());
    assert!(store.is_trusted("bb", "/a").await.unwrap());
}
