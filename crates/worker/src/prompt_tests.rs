use ralph_model::{Money, TaskId, Timestamp};
use uuid::Uuid;

use super::*;

pub(crate) fn task(task_type: TaskType) -> Task {
    Task {
        id: TaskId::from_uuid(Uuid::from_u128(7)),
        task: "Fix it".to_owned(),
        task_type,
        status: ralph_model::TaskStatus::Pending,
        agent_id: None,
        priority: 0,
        tags: Vec::new(),
        depends_on: Vec::new(),
        repo: None,
        base_ref: None,
        output: None,
        failure_reason: None,
        created_at: Timestamp(0),
        last_updated_at: Timestamp(0),
        finished_at: None,
        ralph_promise: Some("all  tests pass <now>".to_owned()),
        ralph_iterations: 0,
        ralph_max_iterations: 5,
        ralph_last_checkpoint: None,
        ralph_plan_path: Some("docs/plan.md".to_owned()),
        verification_command: None,
        max_cost_usd: Money::ZERO,
        cost_usd: Money::ZERO,
        verified: false,
        run_id: None,
        worker_deaths: 0,
    }
}

#[test]
fn the_prompt_of_a_ralph_task_says_how_the_work_goes() {
    let task = task(TaskType::Ralph);
    let text = objective(&task, &promise_tag(&task)).unwrap();
    assert!(text.starts_with("Fix it\n"), "{text}");
    let progress = format!("thoughts/shared/ralph/{}/progress.md", task.id);
    for part in
        ["docs/plan.md", &progress, "context is empty", "almost full", "ralph-complete", "all  tests pass <now>"]
    {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(text.contains("<promise>all tests pass now</promise>"), "{text}");
}

#[test]
fn a_task_of_one_pass_is_asked_as_it_is() {
    let task = Task { ralph_plan_path: None, ..task(TaskType::Single) };
    assert_eq!(objective(&task, "").unwrap(), "Fix it");
}

#[test]
fn a_plan_is_inside_the_workspace() {
    for path in ["../plan.md", "/etc/passwd", "docs/../../x", "", "a\nb"] {
        let task = Task { ralph_plan_path: Some(path.to_owned()), ..task(TaskType::Ralph) };
        assert!(objective(&task, "").is_err(), "{path:?}");
    }
}
