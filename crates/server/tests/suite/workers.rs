//! What a worker does.

use std::time::{Duration, Instant};

use ralph_api::{CheckpointReport, Completion, Heartbeat, Poll, ProgressReport};
use ralph_model::{CheckpointReason, Money, NewTask, TaskStatus, TaskType};
use ralph_store::{Epoch, Role, TaskLease};
use serde_json::json;

use crate::harness::Running;
use crate::{new_run, numbered};

fn task(text: &str) -> NewTask {
    NewTask { task: text.to_owned(), task_type: TaskType::Single, ..NewTask::default() }
}

fn now_or_never(agent: &str) -> Poll {
    Poll { wait_seconds: 0, ..Poll::new(agent) }
}

pub async fn a_task_goes_from_poll_to_completion(server: Running) {
    let admin = server.client();
    let worker = server.client_with(&server.token("worker", Role::Agent).await);
    assert_eq!(worker.poll(&now_or_never("w1")).await.unwrap(), None);
    let created = admin.create_task(&task("do it"), "k1").await.unwrap();
    let work = worker.poll(&now_or_never("w1")).await.unwrap().unwrap();
    assert_eq!((work.task.id, work.task.status), (created.id, TaskStatus::Pending));
    assert_eq!(worker.poll(&now_or_never("w2")).await.unwrap(), None);
    let epoch = work.lease.epoch;
    assert!(!worker.heartbeat(created.id, &Heartbeat::new(epoch)).await.unwrap().cancelled);
    let report = ProgressReport {
        epoch: Some(epoch),
        run_id: Some("01990000-0000-7000-8000-000000000001".parse().unwrap()),
        iterations: Some(2),
        cost_usd: Some(Money::dollars(1)),
        message: Some("half of it".to_owned()),
    };
    let reported = worker.progress(created.id, &report).await.unwrap();
    assert_eq!((reported.status, reported.ralph_iterations), (TaskStatus::InProgress, 2));
    let end =
        Completion { output: Some("done".to_owned()), verified: true, ..Completion::new(epoch, TaskStatus::Completed) };
    let ended = worker.complete(created.id, &end).await.unwrap();
    assert_eq!((ended.status, ended.verified, ended.cost_usd), (TaskStatus::Completed, true, Money::dollars(1)));
    assert_eq!(ended.output.as_deref(), Some("done"));
    let agents = server.ask("GET", "/api/agents", None).await.json();
    assert!(agents["agents"].as_array().unwrap().iter().any(|agent| agent["id"] == "w1"), "{agents}");
}

pub async fn stale_leases_change_nothing(server: Running) {
    let client = server.client();
    let created = client.create_task(&task("do it"), "k1").await.unwrap();
    let first = client.poll(&now_or_never("w1")).await.unwrap().unwrap();
    client.release(created.id, first.lease.epoch).await.unwrap();
    let second = client.poll(&now_or_never("w2")).await.unwrap().unwrap();
    assert!(second.lease.epoch > first.lease.epoch);
    let before = client.task(created.id).await.unwrap();
    let (id, stale) = (created.id, first.lease.epoch);
    let checkpoint = json!({"epoch": stale, "iteration": 1, "contextFull": true, "checkpointReason": "stop"});
    for (method, path, body) in [
        ("POST", format!("/api/leases/{id}/heartbeat"), Some(json!({ "epoch": stale }))),
        ("POST", format!("/api/tasks/{id}/progress"), Some(json!({ "epoch": stale, "iterations": 9 }))),
        ("POST", format!("/api/tasks/{id}/complete"), Some(json!({ "epoch": stale }))),
        ("POST", format!("/api/tasks/{id}/release"), Some(json!({ "epoch": stale }))),
        ("POST", format!("/api/tasks/{id}/checkpoint"), Some(checkpoint)),
        ("DELETE", format!("/api/tasks/{id}/checkpoint?epoch={stale}"), None),
    ] {
        let reply = server.ask(method, &path, body.as_ref()).await;
        reply.refuses(409, None);
        assert_eq!(reply.json()["type"], "urn:ralph:stale-lease", "{path}");
    }
    let missing = server.ask("POST", &format!("/api/tasks/{id}/progress"), Some(&json!({}))).await;
    missing.refuses(422, Some("epoch"));
    // The agent inside a worker has the lease of its token, and cannot name that of the next worker.
    for other in [stale, second.lease.epoch + 1] {
        for what in ["progress", "complete"] {
            let body = json!({ "epoch": other });
            let reply = server.ask_as(&second.token, "POST", &format!("/api/tasks/{id}/{what}"), Some(&body)).await;
            reply.refuses(403, Some("epoch"));
        }
    }
    assert_eq!(client.task(created.id).await.unwrap(), before);
}

pub async fn checkpoints_are_written_read_and_cleared(server: Running) {
    let client = server.client();
    let created = client.create_task(&task("do it"), "k1").await.unwrap();
    let work = client.poll(&now_or_never("w1")).await.unwrap().unwrap();
    assert_eq!(client.checkpoint(created.id).await.unwrap(), None);
    let place = format!("/api/tasks/{}/checkpoint", created.id);
    server.ask("GET", &place, None).await.refuses(404, None);
    // The agent inside the worker needs no epoch: its token brings one.
    let agent = server.client_with(&work.token);
    let report = CheckpointReport {
        epoch: None,
        task_id: Some(created.id),
        iteration: 3,
        context_full: true,
        timestamp: None,
        checkpoint_reason: CheckpointReason::Precompact,
    };
    agent.set_checkpoint(created.id, &report).await.unwrap();
    let read = server.ask("GET", &place, None).await.json();
    assert_eq!(
        (&read["iteration"], &read["contextFull"], &read["checkpointReason"]),
        (&json!(3), &json!(true), &json!("precompact"))
    );
    agent.clear_checkpoint(created.id, None).await.unwrap();
    assert_eq!(client.checkpoint(created.id).await.unwrap(), None);
}

pub async fn no_other_worker_writes_under_a_lease(server: Running) {
    let (one, two) = (server.token("one", Role::Agent).await, server.token("two", Role::Agent).await);
    let id = server.client().create_task(&task("do it"), "k1").await.unwrap().id;
    let work = server.client_with(&one).poll(&now_or_never("w1")).await.unwrap().unwrap();
    // An epoch is a small number: it can be guessed.
    let epoch = work.lease.epoch;
    let checkpoint = json!({"epoch": epoch, "iteration": 1, "contextFull": true, "checkpointReason": "stop"});
    for (method, path, body) in [
        ("POST", format!("/api/leases/{id}/heartbeat"), Some(json!({ "epoch": epoch }))),
        ("POST", format!("/api/tasks/{id}/progress"), Some(json!({ "epoch": epoch, "iterations": 9 }))),
        (
            "POST",
            format!("/api/tasks/{id}/complete"),
            Some(json!({ "epoch": epoch, "status": "completed", "verified": true })),
        ),
        ("POST", format!("/api/tasks/{id}/release"), Some(json!({ "epoch": epoch }))),
        ("POST", format!("/api/tasks/{id}/checkpoint"), Some(checkpoint)),
        ("DELETE", format!("/api/tasks/{id}/checkpoint?epoch={epoch}"), None),
    ] {
        let reply = server.ask_as(&two, method, &path, body.as_ref()).await;
        assert_eq!(reply.status, 403, "{method} {path}: {reply:?}");
    }
    // Nor does it claim what is offered to the agent of another token.
    let poll = json!({ "agentId": "w1", "waitSeconds": 0 });
    assert_eq!(server.ask_as(&two, "POST", "/api/poll", Some(&poll)).await.status, 409);
    let other =
        server.client_with(&two).store(Some(TaskLease { task: id, epoch: Epoch(epoch) }), Duration::from_secs(20));
    assert!(other.create_run(new_run(crate::id(1)), numbered(1)).await.is_err());
    let kept = server.client_with(&one).complete(id, &Completion::new(epoch, TaskStatus::Failed)).await.unwrap();
    assert_eq!((kept.status, kept.verified), (TaskStatus::Failed, false));
}

pub async fn the_agent_inside_a_worker_only_claims(server: Running) {
    let client = server.client();
    let created = client.create_task(&task("do it"), "k1").await.unwrap();
    let other = client.create_task(&task("something else"), "k2").await.unwrap();
    let work = client.poll(&now_or_never("w1")).await.unwrap().unwrap();
    assert_eq!(work.task.id, created.id);
    let path = format!("/api/tasks/{}/complete", created.id);
    let claim = json!({"output": "all done", "verified": true});
    let reply = server.ask_as(&work.token, "POST", &path, Some(&claim)).await;
    assert_eq!(reply.status, 202, "{reply:?}");
    let task = client.task(created.id).await.unwrap();
    assert!(!task.status.is_final() && !task.verified, "{task:?}");
    let path = format!("/api/tasks/{}/progress", created.id);
    let reply = server.ask_as(&work.token, "POST", &path, Some(&json!({"iterations": 9}))).await;
    reply.refuses(403, Some("iterations"));
    let reply = server.ask_as(&work.token, "POST", &path, Some(&json!({"message": "half"}))).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    // Nothing of another task, and nothing that is for workers or people.
    for (method, path) in [
        ("GET", format!("/api/tasks/{}", other.id)),
        ("GET", format!("/api/tasks/{}/events", other.id)),
        ("POST", format!("/api/tasks/{}/complete", other.id)),
        ("POST", format!("/api/tasks/{}/release", created.id)),
        ("POST", format!("/api/tasks/{}/cancel", created.id)),
        ("GET", "/api/tasks".to_owned()),
        ("POST", "/api/poll".to_owned()),
    ] {
        let reply = server.ask_as(&work.token, method, &path, Some(&json!({}))).await;
        assert_eq!(reply.status, 403, "{method} {path}: {reply:?}");
    }
    assert_eq!(server.ask_as(&work.token, "GET", &format!("/api/tasks/{}", created.id), None).await.status, 200);
}

pub async fn a_poll_waits_for_a_task(server: Running) {
    let client = server.client();
    let mut waited = Vec::new();
    // A busy machine may be late several times.
    while waited.iter().all(|time| *time > Duration::from_secs(3)) {
        assert!(waited.len() < 10, "the worker waited {waited:?}");
        let waiting = {
            let client = client.clone();
            let poll = Poll { wait_seconds: 60, ..Poll::new("w1") };
            tokio::spawn(async move { (client.poll(&poll).await, Instant::now()) })
        };
        tokio::time::sleep(Duration::from_millis(300)).await;
        let created_at = Instant::now();
        let created = client.create_task(&task("do it"), &format!("k{}", waited.len())).await.unwrap();
        let (polled, at) = waiting.await.unwrap();
        assert_eq!(polled.unwrap().unwrap().task.id, created.id);
        waited.push(at.saturating_duration_since(created_at));
    }
}

pub async fn a_cancelled_task_reaches_its_worker(server: Running) {
    let client = server.client();
    let created = client.create_task(&task("do it"), "k1").await.unwrap();
    let work = client.poll(&now_or_never("w1")).await.unwrap().unwrap();
    assert!(!client.cancel_task(created.id).await.unwrap().status.is_final());
    let heartbeat = Heartbeat::new(work.lease.epoch);
    assert!(client.heartbeat(created.id, &heartbeat).await.unwrap().cancelled);
    let end = Completion::new(work.lease.epoch, TaskStatus::Cancelled);
    assert_eq!(client.complete(created.id, &end).await.unwrap().status, TaskStatus::Cancelled);
}
