use super::*;
use crate::testing::{id, started, store};

#[tokio::test]
async fn a_request_is_seen_by_others_and_gone_when_cleared() {
    let (_folder, store) = store().await;
    started(&store, id(1), 1).await;
    let other = Store::open(store.path()).await.unwrap();
    assert_eq!(store.stop_requested(id(1)).await.unwrap(), None);
    other.request_stop(id(1), StopMode::AfterIteration, Timestamp(5)).await.unwrap();
    assert_eq!(store.stop_requested(id(1)).await.unwrap(), Some(StopMode::AfterIteration));
    store.clear_stop(id(1)).await.unwrap();
    assert_eq!(other.stop_requested(id(1)).await.unwrap(), None);
}

#[tokio::test]
async fn now_stays_now() {
    let (_folder, store) = store().await;
    started(&store, id(1), 1).await;
    for how in [StopMode::AfterIteration, StopMode::Now, StopMode::AfterIteration] {
        store.request_stop(id(1), how, Timestamp(5)).await.unwrap();
    }
    assert_eq!(store.stop_requested(id(1)).await.unwrap(), Some(StopMode::Now));
}
