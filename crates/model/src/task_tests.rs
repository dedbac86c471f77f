use super::*;
use crate::config::Caps;

fn ralph() -> NewTask {
    let promise = Some("hello.ts exists and prints Hello World".to_owned());
    NewTask { task: "Create hello.ts".to_owned(), ralph_promise: promise, ..NewTask::default() }
}

fn refused(task: &NewTask) -> &'static str {
    task.validate(&Caps::default()).unwrap_err().field
}

#[test]
fn a_task_with_a_promise_is_accepted() {
    assert_eq!(ralph().validate(&Caps::default()), Ok(()));
    let single = NewTask { task_type: TaskType::Single, ralph_promise: None, ..ralph() };
    assert_eq!(single.validate(&Caps::default()), Ok(()));
}

#[test]
fn a_refusal_names_the_field() {
    assert_eq!(refused(&NewTask { ralph_promise: None, ..ralph() }), "ralphPromise");
    assert_eq!(refused(&NewTask { task: " ".to_owned(), ..ralph() }), "task");
    assert_eq!(refused(&NewTask { ralph_max_iterations: Some(0), ..ralph() }), "ralphMaxIterations");
    assert_eq!(refused(&NewTask { max_cost_usd: Some(Money::dollars(11)), ..ralph() }), "maxCostUsd");
    assert_eq!(refused(&NewTask { repo: Some("--upload-pack=x".to_owned()), ..ralph() }), "repo");
    assert_eq!(refused(&NewTask { tags: vec![String::new()], ..ralph() }), "tags");
    assert_eq!(refused(&NewTask { priority: 1001, ..ralph() }), "priority");
    for path in ["/etc/passwd", "../plan.md", "a/../../b", "a//b", "./a", "a\\b"] {
        assert_eq!(refused(&NewTask { ralph_plan_path: Some(path.to_owned()), ..ralph() }), "ralphPlanPath", "{path}");
    }
}

#[test]
fn a_number_over_the_cap_names_the_cap() {
    let error = NewTask { ralph_max_iterations: Some(51), ..ralph() }.validate(&Caps::default()).unwrap_err();
    assert!(error.to_string().contains("cap of 50"), "{error}");
}

#[test]
fn an_id_has_one_spelling() {
    let text = "01990000-0000-7000-8000-00000000000a";
    assert_eq!(text.parse::<TaskId>().unwrap().to_string(), text);
    for other in ["01990000-0000-7000-8000-00000000000A", "0199000000007000800000000000000a", "../x", ""] {
        assert!(other.parse::<TaskId>().is_err(), "{other}");
    }
}

#[test]
fn an_unknown_field_is_refused() {
    let error = serde_json::from_str::<NewTask>(r#"{"task":"x","ralphPromis":"y"}"#).unwrap_err();
    assert!(error.to_string().contains("ralphPromis"), "{error}");
}

#[test]
fn statuses_are_read_back() {
    for status in TaskStatus::ALL {
        assert_eq!(TaskStatus::parse(status.name()), Some(status));
        assert_eq!(serde_json::to_value(status).unwrap(), status.name());
    }
}
