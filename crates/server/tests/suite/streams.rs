//! Streams of events.

use ralph_api::{Completion, Poll, ProgressReport};
use ralph_model::{NewTask, TaskStatus, TaskType};

use crate::harness::Running;

fn task() -> NewTask {
    NewTask { task: "do it".to_owned(), task_type: TaskType::Single, ..NewTask::default() }
}

fn message(epoch: u64, text: &str) -> ProgressReport {
    ProgressReport { epoch: Some(epoch), message: Some(text.to_owned()), ..ProgressReport::default() }
}

pub async fn a_stream_shows_what_happens(server: Running) {
    let client = server.client();
    let created = client.create_task(&task(), "k1").await.unwrap();
    let mut events = client.events(created.id, 0).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().kind, "created");
    let work = client.poll(&Poll { wait_seconds: 0, ..Poll::new("w1") }).await.unwrap().unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().kind, "claimed");
    client.progress(created.id, &message(work.lease.epoch, "half of it")).await.unwrap();
    let event = events.next().await.unwrap().unwrap();
    assert_eq!(event.kind, "progress");
    assert!(event.details.to_string().contains("half of it"), "{event:?}");
    let end = Completion::new(work.lease.epoch, TaskStatus::Completed);
    client.complete(created.id, &end).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().kind, "completed");
    assert_eq!(events.next().await.unwrap(), None);
}

pub async fn a_stream_continues_after_the_last_event(server: Running) {
    let client = server.client();
    let created = client.create_task(&task(), "k1").await.unwrap();
    let work = client.poll(&Poll { wait_seconds: 0, ..Poll::new("w1") }).await.unwrap().unwrap();
    // More than the server reads at once.
    for number in 0..150 {
        client.progress(created.id, &message(work.lease.epoch, &format!("step {number}"))).await.unwrap();
    }
    let (mut seen, mut after) = (Vec::new(), 0);
    let mut events = client.events(created.id, after).await.unwrap();
    while seen.len() < 50 {
        let event = events.next().await.unwrap().unwrap();
        after = event.seq;
        seen.push(event.seq);
    }
    drop(events);
    let end = Completion::new(work.lease.epoch, TaskStatus::Failed);
    client.complete(created.id, &end).await.unwrap();
    let mut events = client.events(created.id, after).await.unwrap();
    while let Some(event) = events.next().await.unwrap() {
        seen.push(event.seq);
        after = event.seq;
    }
    let expected: Vec<u64> = (1..=after).collect();
    assert_eq!(seen, expected);
    assert!(after >= 153, "{after}");
    // All of it was seen: nothing more will come.
    let headers = [("Authorization", &*format!("Bearer {}", server.admin)), ("Last-Event-ID", &*after.to_string())]
        .map(|(name, value)| (name, value.to_owned()));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let path = format!("/api/tasks/{}/events", created.id);
    assert_eq!(server.raw("GET", &path, &headers, b"").await.status, 204);
    let headers = [headers[0], ("Last-Event-ID", "x")];
    server.raw("GET", &path, &headers, b"").await.refuses(422, Some("Last-Event-ID"));
}
