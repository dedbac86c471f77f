//! Approvals, schedules, loops and figures.

use std::time::{Duration, Instant};

use ralph_model::{RunId, RunKind, Timestamp};
use ralph_server::Limits;
use ralph_store::{NewEvent, NewRun, Role};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::{Running, new_task, now};

pub async fn an_approval_is_asked_answered_and_kept(mut server: Running) {
    let request = json!({"action": "push to main", "why": "the task says so"});
    let agent = server.token("agent", Role::Agent).await;
    let asked = server.ask_as(&agent, "POST", "/api/approvals", Some(&request)).await;
    assert_eq!((asked.status, &asked.json()["status"]), (201, &json!("pending")), "{asked:?}");
    let place = asked.header("location").to_owned();
    let again = json!({"id": asked.json()["id"], "action": "something else", "why": ""});
    server.ask("POST", "/api/approvals", Some(&again)).await.refuses(409, None);
    let again = json!({"id": asked.json()["id"], "action": "push to main", "why": "the task says so"});
    assert_eq!(server.ask("POST", "/api/approvals", Some(&again)).await.json()["id"], asked.json()["id"]);
    assert_eq!(
        server.ask("GET", "/api/approvals?pending=true", None).await.json()["approvals"].as_array().unwrap().len(),
        1
    );
    let yes = json!({"answer": "approved", "comment": "go on"});
    server.ask_as(&agent, "POST", &format!("{place}/answer"), Some(&yes)).await.refuses(403, None);
    // The question is still there after a restart.
    server.stop();
    (&mut server.ended).await.unwrap();
    let server = Running::on(server.database.clone(), server.folder.clone(), Limits::default()).await;
    assert_eq!(server.ask("GET", &place, None).await.json()["status"], "pending");
    let answered = server.ask("POST", &format!("{place}/answer"), Some(&yes)).await;
    assert_eq!((answered.status, &answered.json()["comment"]), (200, &json!("go on")), "{answered:?}");
    let no = json!({"answer": "refused"});
    server.ask("POST", &format!("{place}/answer"), Some(&no)).await.refuses(409, None);
    assert_eq!(server.ask("GET", &place, None).await.json()["status"], "approved");
    server.ask("POST", "/api/approvals", Some(&json!({"action": " "}))).await.refuses(422, Some("action"));
    server.ask("POST", "/api/approvals", Some(&json!({"action": "x", "id": "../x"}))).await.refuses(422, Some("id"));
    server.ask("GET", "/api/approvals/x", None).await.refuses(404, None);
    let missing = format!("/api/approvals/{}/answer", Uuid::now_v7());
    server.ask("POST", &missing, Some(&yes)).await.refuses(404, None);
}

pub async fn an_approval_expires(server: Running) {
    let request = json!({"action": "push to main", "why": "", "expiresInSeconds": 1});
    let place = server.ask("POST", "/api/approvals", Some(&request)).await.header("location").to_owned();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(server.ask("GET", &place, None).await.json()["status"], "expired");
    server.ask("POST", &format!("{place}/answer"), Some(&json!({"answer": "approved"}))).await.refuses(409, None);
}

pub async fn a_schedule_creates_tasks(server: Running) {
    let request = json!({"name": "nightly", "cron": "* * * * * *", "timeZone": "Europe/Zurich", "task": new_task()});
    let made = server.ask("POST", "/api/schedules", Some(&request)).await;
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(made.json()["upcoming"].as_array().unwrap().len(), 5);
    let place = made.header("location").to_owned();
    let tasks = async || server.ask("GET", "/api/tasks", None).await.json()["tasks"].as_array().unwrap().clone();
    let begun = Instant::now();
    let wait = async || {
        assert!(begun.elapsed() < Duration::from_secs(60), "the schedule does nothing");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    while tasks().await.is_empty() {
        wait().await;
    }
    let schedule = server.ask("GET", &place, None).await.json();
    assert!(schedule["lastTaskId"].is_string() && schedule["lastAt"].is_string(), "{schedule}");
    // Its time comes again, and as long as no worker took the task there is no other.
    while server.ask("GET", &place, None).await.json()["nextAt"] == schedule["nextAt"] {
        wait().await;
    }
    let first = tasks().await;
    assert_eq!(first.len(), 1, "{first:?}");
    let cancel = format!("/api/tasks/{}/cancel", first[0]["id"].as_str().unwrap());
    assert_eq!(server.ask("POST", &cancel, Some(&json!({}))).await.status, 200);
    while tasks().await.len() < 2 {
        wait().await;
    }
    let mut off = request.clone();
    off["enabled"] = json!(false);
    let replaced = server.ask("PUT", &place, Some(&off)).await;
    assert_eq!((replaced.status, &replaced.json()["nextAt"]), (200, &Value::Null), "{replaced:?}");
    assert_eq!(replaced.json()["upcoming"], json!([]));
    assert_eq!(server.ask("DELETE", &place, None).await.status, 204);
    server.ask("DELETE", &place, None).await.refuses(404, None);
    assert_eq!(server.ask("GET", "/api/schedules", None).await.json()["schedules"], json!([]));
}

pub async fn a_schedule_that_cannot_create_its_task_keeps_no_other_from_it(server: Running) {
    let create = async |name: &str, cron: &str| {
        let request = json!({"name": name, "cron": cron, "timeZone": "UTC", "task": new_task()});
        assert_eq!(server.ask("POST", "/api/schedules", Some(&request)).await.status, 201);
    };
    create("a", "0 3 1 1 *").await;
    let board = &server.database.board;
    let mut broken = board.schedules().await.unwrap().remove(0);
    broken.next_at = Some(now());
    broken.task.depends_on = vec![Uuid::now_v7().to_string().parse().unwrap()];
    board.put_schedule(&broken).await.unwrap();
    create("b", "* * * * * *").await;
    let begun = Instant::now();
    while server.ask("GET", "/api/tasks", None).await.json()["tasks"].as_array().unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the second schedule creates nothing");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub async fn schedules_are_checked(server: Running) {
    let with = |field: &str, value: Value| {
        let mut request = json!({"name": "nightly", "cron": "0 3 * * *", "timeZone": "UTC", "task": new_task()});
        request[field] = value;
        request
    };
    for (field, value) in [
        ("name", json!(" ")),
        ("cron", json!("often")),
        ("cron", json!("0 0 31 2 *")),
        ("timeZone", json!("Mars/Base")),
        ("timeZone", json!("/etc/passwd")),
    ] {
        server.ask("POST", "/api/schedules", Some(&with(field, value))).await.refuses(422, Some(field));
    }
    let mut dependent = new_task();
    dependent["dependsOn"] = json!([Uuid::now_v7()]);
    server.ask("POST", "/api/schedules", Some(&with("task", dependent))).await.refuses(422, Some("task.dependsOn"));
    let wrong = with("task", json!({"task": "x"}));
    server.ask("POST", "/api/schedules", Some(&wrong)).await.refuses(422, Some("task.ralphPromise"));
    let request = with("enabled", json!(true));
    assert_eq!(server.ask("POST", "/api/schedules", Some(&request)).await.status, 201);
    server.ask("POST", "/api/schedules", Some(&request)).await.refuses(409, None);
}

pub async fn figures_are_shown(server: Running) {
    server.task().await;
    server.ask("POST", "/api/agents", Some(&json!({"agentId": "w1"}))).await;
    let stats = server.ask("GET", "/api/stats", None).await.json();
    let unassigned = stats["tasks"].as_array().unwrap().iter().find(|count| count["status"] == "unassigned").unwrap();
    assert_eq!((&unassigned["tasks"], &stats["agentsOnline"]), (&json!(1), &json!(1)), "{stats}");
    let metrics = server.ask("GET", "/metrics", None).await;
    assert!(metrics.header("content-type").starts_with("text/plain; version=0.0.4"), "{metrics:?}");
    for line in [
        "ralph_tasks{status=\"unassigned\"} 1",
        "ralph_cost_today_usd 0",
        "ralph_http_requests_total{status=\"201\"} 1",
    ] {
        assert!(metrics.body.lines().any(|found| found == line), "{line} in {}", metrics.body);
    }
    server.raw("GET", "/metrics", &[], b"").await.refuses(401, None);
}

pub async fn loops_are_listed(server: Running) {
    let mut ids = Vec::new();
    for number in 0..3 {
        let id: RunId = Uuid::now_v7().to_string().parse().unwrap();
        let new = NewRun {
            id,
            kind: RunKind::Loop,
            parent: None,
            workspace: "/nowhere".to_owned(),
            origin: None,
            objective: format!("objective {number}"),
            agent: "scripted".to_owned(),
            skill: None,
            holder: None,
            at: Timestamp(now().0 + number),
        };
        let first = NewEvent { at: now(), version: 1, kind: "odd".to_owned(), payload: "{}".to_owned() };
        server.database.store.create_run(new, first).await.unwrap();
        ids.insert(0, id.to_string());
    }
    let first = server.ask("GET", "/api/loops?limit=2&status=running", None).await;
    let page = first.json();
    // A loop of another machine has no lock here, so that nothing is said about its process.
    assert_eq!(page["loops"][0]["status"], "RUNNING", "{page}");
    assert!(first.header("link").contains("before="), "{first:?}");
    let next = format!("/api/loops?limit=2&before={}", page["next"].as_str().unwrap());
    let second = server.ask("GET", &next, None).await.json();
    let both = page["loops"].as_array().unwrap().iter().chain(second["loops"].as_array().unwrap());
    let found: Vec<String> = both.map(|entry| entry["loopId"].as_str().unwrap().to_owned()).collect();
    assert_eq!((found, &second["next"]), (ids.clone(), &Value::Null));
    server.ask("GET", "/api/loops?status=odd", None).await.refuses(422, Some("status"));
    for path in ["/api/loops/x", "/api/loops/..%2f..", &format!("/api/loops/{}", Uuid::now_v7())] {
        server.ask("GET", path, None).await.refuses(404, None);
    }
    // Its first event is none that this Ralph knows.
    for _ in 0..2 {
        server.ask("GET", &format!("/api/loops/{}", ids[0]), None).await.refuses(500, None);
    }
    assert_eq!(server.log.lock().unwrap().len(), 1, "the same failure is said once");
}
