//! The end of a server.

use std::time::Duration;

use ralph_api::Poll;

use crate::harness::{Place, Running};

#[tokio::test]
async fn streams_and_polls_end_with_the_server() {
    let mut server = Running::start(&Place::sqlite()).await;
    let client = server.client();
    let task: ralph_model::TaskId = server.task().await.parse().unwrap();
    let mut events = client.events(task, 0).await.unwrap();
    events.next().await.unwrap().unwrap();
    let poll = Poll { wait_seconds: 60, types: Some(vec![ralph_model::TaskType::Crew]), ..Poll::new("w1") };
    let polling = tokio::spawn({
        let client = client.clone();
        async move { client.poll(&poll).await }
    });
    // The poll has arrived.
    while server.database.board.agents(1).await.unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.stop();
    assert_eq!(polling.await.unwrap().unwrap(), None);
    assert!(events.next().await.is_err());
    (&mut server.ended).await.unwrap();
    assert!(tokio::net::TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let server = Running::start(&Place::sqlite()).await;
    let error = ralph_server::Server::bind(server.app.clone(), server.address, None, false).await.unwrap_err();
    assert!(error.to_string().contains("another program uses this address"), "{error}");
    let open = "0.0.0.0:0".parse().unwrap();
    let error = ralph_server::Server::bind(server.app.clone(), open, None, false).await.unwrap_err();
    assert!(error.to_string().contains("--insecure-listen"), "{error}");
    ralph_server::Server::bind(server.app.clone(), open, None, true).await.unwrap();
}
