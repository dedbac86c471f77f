use std::sync::Arc;

use ralph_model::{Caps, Timestamp};
use ralph_notify::{Notifier, Settings, Webhook};
use ralph_store::{BoardHandle, Database};
use ralph_tools::{BoardService, send_reminders};
use serde_json::{Value, json};

use crate::receiver::Receiver;
use crate::support::{Lab, NOON};

async fn lab() -> (Lab, BoardHandle, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let board = Database::open_sqlite(&folder.path().join("ralph.db")).await.unwrap().board;
    let service = BoardService { board: Arc::clone(&board), caps: Caps::default() };
    let memory = folder.path().join("memory");
    let lab = Lab::with(|services| (services.board, services.memory) = (Some(service), Some(memory)));
    (lab, board, folder)
}

#[tokio::test]
async fn tasks_are_created_once_changed_commented_and_shown() {
    let (lab, _, _folder) = lab().await;
    let new = json!({"task": "Write the release notes\nfor 1.0", "taskType": "single", "tags": ["docs"]});
    let created = lab.done("task_create", new.clone()).await;
    let id = created.external_id.clone().unwrap();
    assert!(created.next_step.unwrap().contains(&id));
    // The same key is the same task.
    assert_eq!(lab.done("task_create", new).await.external_id.as_deref(), Some(id.as_str()));
    let refused = lab.failed("task_create", json!({"task": "x"})).await.text;
    assert!(refused.contains("ralphPromise is required"), "{refused}");
    let list = lab.done("task_list", json!({"status": "unassigned", "tag": "docs"})).await;
    assert_eq!(list.text, format!("{id} unassigned Write the release notes"));
    assert_eq!(lab.done("task_list", json!({"status": "failed"})).await.text, "there are no such tasks");
    assert!(lab.failed("task_list", json!({"status": "done"})).await.text.contains("there are unassigned, offered"));
    lab.done("task_comment", json!({"id": id, "comment": "use the changelog"})).await;
    lab.done("task_comment", json!({"id": id, "comment": "use the changelog"})).await;
    let moved = lab.done("task_move", json!({"id": id, "priority": 7, "agentId": "amy"})).await;
    assert_eq!(moved.summary, format!("changed the task {id} (offered)"));
    let shown = lab.done("task_get", json!({"id": id})).await.text;
    assert_eq!(shown.matches("use the changelog").count(), 1, "{shown}");
    assert!(shown.contains("\"priority\": 7"), "{shown}");
    for wrong in [
        json!({"id": id}),
        json!({"id": id, "status": "completed"}),
        json!({"id": id, "priority": 5000}),
        json!({"id": "x", "priority": 1}),
    ] {
        lab.failed("task_move", wrong).await;
    }
    assert!(lab.done("task_move", json!({"id": id, "status": "cancelled"})).await.summary.ends_with("(cancelled)"));
    assert!(!lab.call("task_move", json!({"id": id, "status": "cancelled"})).await.success);
}

#[tokio::test]
async fn schedules_are_written_changed_and_removed() {
    let (lab, board, _folder) = lab().await;
    let new = json!({"name": "nightly", "cron": "0 3 * * *", "timeZone": "Europe/Zurich", "task": {"task": "test", "taskType": "single"}});
    let created = lab.done("scheduler_create", new.clone()).await;
    let id = created.external_id.unwrap();
    assert_eq!(created.next_step.as_deref(), Some("it creates a task at 2026-11-17 02:00 UTC while a server runs"));
    assert_eq!(lab.done("scheduler_create", new).await.external_id.as_deref(), Some(id.as_str()));
    assert_eq!(board.schedules().await.unwrap().len(), 1);
    lab.done("scheduler_update", json!({"id": id, "cron": "0 4 * * *", "enabled": false})).await;
    let listed: Value = serde_json::from_str(&lab.done("scheduler_list", json!({})).await.text).unwrap();
    assert_eq!(
        (&listed[0]["cron"], &listed[0]["enabled"], &listed[0]["nextAt"]),
        (&json!("0 4 * * *"), &json!(false), &Value::Null)
    );
    for wrong in [json!({"id": id, "cron": "soon"}), json!({"id": id, "timeZone": "Mars"}), json!({"id": "x"})] {
        lab.failed("scheduler_update", wrong).await;
    }
    lab.done("scheduler_delete", json!({"id": id})).await;
    lab.failed("scheduler_delete", json!({"id": id})).await;
}

#[tokio::test]
async fn reminders_are_sent_when_they_are_due_and_once() {
    let (lab, board, _folder) = lab().await;
    let created = lab.done("reminder_create", json!({"message": "call Bob", "inMinutes": 5})).await;
    assert_eq!(created.summary, "reminder at 2026-11-16 12:05 UTC: call Bob");
    lab.done("reminder_create", json!({"message": "call Bob", "inMinutes": 5})).await;
    for wrong in [
        json!({"message": "x"}),
        json!({"message": "x", "at": "tomorrow"}),
        json!({"message": "x", "at": "2020-01-01T00:00:00Z"}),
        json!({"message": " ", "inMinutes": 1}),
        json!({"message": "x", "inMinutes": 1, "at": "2030-01-01T00:00:00Z"}),
    ] {
        lab.failed("reminder_create", wrong).await;
    }
    let receiver = Receiver::start(|path, _| match path {
        "/broken" => ("500 Oh".to_owned(), b"no".to_vec()),
        _ => ("200 OK".to_owned(), b"ok".to_vec()),
    })
    .await;
    let notifier = |path: &str| {
        let webhook = Some(Webhook { url: receiver.url(path) });
        Notifier::new(Settings { webhook, ..Settings::default() }).unwrap()
    };
    let (early, due, later) = (Timestamp(NOON + 299_999), Timestamp(NOON + 300_000), Timestamp(NOON + 600_000));
    assert_eq!(send_reminders(&board, &notifier("/hook"), early).await.unwrap(), Vec::<String>::new());
    assert_eq!(receiver.requests.lock().unwrap().len(), 0);
    let failures = send_reminders(&board, &notifier("/broken"), due).await.unwrap();
    assert_eq!(failures, ["webhook: the webhook answered 500 Internal Server Error: no"]);
    // Not at once again, but later.
    for at in [due, later, later] {
        assert_eq!(send_reminders(&board, &notifier("/hook"), at).await.unwrap(), Vec::<String>::new());
    }
    let requests = receiver.requests.lock().unwrap();
    let bodies: Vec<&str> = requests.iter().map(|(_, body)| body.as_str()).collect();
    assert_eq!(bodies, [r#"{"text":"*Reminder*\ncall Bob"}"#; 2]);
}

#[tokio::test]
async fn what_is_remembered_is_found() {
    let (lab, _, folder) = lab().await;
    assert_eq!(lab.done("memory_readToday", json!({})).await.text, "nothing was remembered today");
    lab.done("memory_remember", json!({"text": "The key is correct-horse-battery.\n- 00:00 not an entry"})).await;
    lab.done("memory_remember", json!({"text": "Tests need Redis"})).await;
    let file = folder.path().join("memory/2026-11-16.md");
    let expected = "- 12:00 The key is [redacted:TOKEN]. - 00:00 not an entry\n- 12:00 Tests need Redis\n";
    assert_eq!(std::fs::read_to_string(file).unwrap(), expected);
    std::fs::write(folder.path().join("memory/2026-11-02.md"), "- 09:30 redis runs in a container\n").unwrap();
    assert_eq!(lab.done("memory_readToday", json!({})).await.text, expected);
    let found = lab.done("memory_search", json!({"query": "REDIS"})).await;
    assert_eq!(found.text, "2026-11-16 12:00 Tests need Redis\n2026-11-02 09:30 redis runs in a container\n");
    assert_eq!(lab.done("memory_search", json!({"query": "redis kafka"})).await.text, "nothing found");
    for wrong in [json!({"text": " "}), json!({"text": "x".repeat(9000)})] {
        lab.failed("memory_remember", wrong).await;
    }
}
