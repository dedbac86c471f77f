//! Tasks as people create and change them.

use serde_json::{Value, json};

use crate::harness::{Running, new_task};

pub async fn a_task_is_created_and_read(server: Running) {
    // As in the documentation, byte for byte.
    let body = r#"{"task":"Create hello.ts that outputs Hello World","taskType":"ralph","ralphPromise":"hello.ts exists and outputs Hello World when run"}"#;
    let authorization = format!("Bearer {}", server.admin);
    let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
    let reply = server.raw("POST", "/api/tasks", &headers, body.as_bytes()).await;
    assert_eq!(reply.status, 201, "{reply:?}");
    let task = reply.json();
    let place = format!("/api/tasks/{}", task["id"].as_str().unwrap());
    assert_eq!(reply.header("location"), place);
    assert_eq!(task["status"], "unassigned");
    assert_eq!((&task["ralphIterations"], &task["ralphMaxIterations"]), (&json!(0), &json!(50)));
    let read = server.ask("GET", &place, None).await;
    assert_eq!((read.status, read.json()), (200, task));
    assert!(read.header("content-security-policy").contains("default-src 'none'"), "{read:?}");
}

pub async fn a_ralph_task_needs_a_promise(server: Running) {
    let mut new = new_task();
    new.as_object_mut().unwrap().remove("ralphPromise");
    server.ask("POST", "/api/tasks", Some(&new)).await.refuses(422, Some("ralphPromise"));
    new["taskType"] = json!("single");
    assert_eq!(server.ask("POST", "/api/tasks", Some(&new)).await.status, 201);
}

pub async fn fields_are_checked_and_named(server: Running) {
    let with = |field: &str, value: Value| {
        let mut new = new_task();
        new[field] = value;
        new
    };
    for (field, value) in [
        ("task", json!(" ")),
        ("task", json!(7)),
        ("task", json!("a\u{0}b")),
        ("taskType", json!("other")),
        ("ralphMaxIterations", json!(0)),
        ("ralphMaxIterations", json!(101)),
        ("ralphMaxIterations", json!("many")),
        ("maxCostUsd", json!(-1)),
        ("maxCostUsd", json!(1e6)),
        ("ralphPlanPath", json!("../../etc/passwd")),
        ("ralphPlanPath", json!("/etc/passwd")),
        ("repo", json!("--upload-pack=x")),
        ("priority", json!(5000)),
        ("stranger", json!(1)),
    ] {
        server.ask("POST", "/api/tasks", Some(&with(field, value))).await.refuses(422, Some(field));
    }
    let missing = with("dependsOn", json!(["01990000-0000-7000-8000-000000000000"]));
    server.ask("POST", "/api/tasks", Some(&missing)).await.refuses(422, Some("dependsOn"));
    let wrong = with("dependsOn", json!(["x"]));
    server.ask("POST", "/api/tasks", Some(&wrong)).await.refuses(422, Some("dependsOn[0]"));
    assert_eq!(server.ask("GET", "/api/tasks", None).await.json()["tasks"], json!([]));
}

pub async fn an_idempotency_key_creates_one_task(server: Running) {
    let authorization = format!("Bearer {}", server.admin);
    let headers = |key| {
        [("Authorization", authorization.as_str()), ("Content-Type", "application/json"), ("Idempotency-Key", key)]
    };
    let body = new_task().to_string();
    let first = server.raw("POST", "/api/tasks", &headers("a key"), body.as_bytes()).await;
    let second = server.raw("POST", "/api/tasks", &headers("a key"), body.as_bytes()).await;
    assert_eq!((first.status, second.status), (201, 200));
    assert_eq!(first.json()["id"], second.json()["id"]);
    let mut other = new_task();
    other["priority"] = json!(3);
    let reply = server.raw("POST", "/api/tasks", &headers("a key"), other.to_string().as_bytes()).await;
    reply.refuses(422, Some("Idempotency-Key"));
    let long = "k".repeat(256);
    let reply = server.raw("POST", "/api/tasks", &headers(&long), body.as_bytes()).await;
    reply.refuses(422, Some("Idempotency-Key"));
    assert_eq!(server.ask("GET", "/api/tasks", None).await.json()["tasks"].as_array().unwrap().len(), 1);
}

pub async fn pages_are_walked(server: Running) {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(server.task().await);
    }
    ids.reverse();
    let (mut found, mut path) = (Vec::new(), "/api/tasks?limit=2&status=unassigned,offered".to_owned());
    loop {
        let reply = server.ask("GET", &path, None).await;
        let page = reply.json();
        found.extend(page["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/tasks?limit=2&status=unassigned,offered&before={next}");
        assert_eq!(reply.header("link"), format!("<{path}>; rel=\"next\""));
    }
    assert_eq!(found, ids);
    assert_eq!(server.ask("GET", "/api/tasks?status=completed", None).await.json()["tasks"], json!([]));
    for (query, field) in
        [("limit=0", "limit"), ("limit=x", "limit"), ("limit=201", "limit"), ("status=odd", "status"), ("odd=1", "odd")]
    {
        server.ask("GET", &format!("/api/tasks?{query}"), None).await.refuses(422, Some(field));
    }
    server.ask("GET", "/api/tasks?tag=%00", None).await.refuses(422, Some("query"));
}

pub async fn tasks_are_changed_and_cancelled(server: Running) {
    let place = format!("/api/tasks/{}", server.task().await);
    let changed = server.ask("PATCH", &place, Some(&json!({"priority": 7, "tags": ["a"]}))).await;
    assert_eq!((changed.status, &changed.json()["priority"], &changed.json()["tags"]), (200, &json!(7), &json!(["a"])));
    server.ask("PATCH", &place, Some(&json!({"priority": 7000}))).await.refuses(422, Some("priority"));
    server.ask("PATCH", &place, Some(&json!({"status": "completed"}))).await.refuses(422, Some("status"));
    let cancelled = server.ask("POST", &format!("{place}/cancel"), None).await;
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (200, &json!("cancelled")));
    server.ask("POST", &format!("{place}/cancel"), None).await.refuses(409, None);
    server.ask("PATCH", &place, Some(&json!({"priority": 1}))).await.refuses(409, None);
    // Ids that are none name nothing, whatever they look like.
    for id in ["x", "..%2f..%2fetc%2fpasswd", "%00", "01990000-0000-7000-8000-000000000000", "%2e%2e", "%ff"] {
        server.ask("GET", &format!("/api/tasks/{id}"), None).await.refuses(404, None);
        server.ask("GET", &format!("/api/tasks/{id}/events"), None).await.refuses(404, None);
    }
}
