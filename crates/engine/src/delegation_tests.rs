use ralph_model::{Expectation, Iteration, Millis, Status, Timestamp, ToolEvidence};

use super::*;
use crate::fixtures::{Scene, cents, config, known, red, run, tampered, tree, without_checks};

fn record(run: Option<ralph_model::AgentRun>) -> IterationRecord {
    IterationRecord {
        iteration: Iteration(1),
        agent: "worker".into(),
        started: Timestamp(0),
        ended: None,
        active_before: Millis(0),
        worked: Millis(0),
        before: tree("before"),
        run,
        verdict: None,
        charged: cents(0),
        claimed: false,
        blocked: None,
        interrupted: false,
        cost_unknown: false,
        estimated: false,
        undone: false,
        uncounted: false,
        took_over_from: None,
    }
}

#[test]
fn a_loop_delegates_its_objective_with_its_limits() {
    let config = LoopConfig { expects: vec![Expectation::Commit], ..config() };
    let asked = delegation(&config, &config.agent);
    assert_eq!((asked.target.as_str(), asked.objective.as_str()), ("worker", "Fix the parser."));
    assert_eq!(asked.expected_outcome.as_deref(), Some("these checks pass: make test"));
    assert_eq!(asked.constraints, ["do not change files that match .env"]);
    assert_eq!(asked.expects, [Expectation::Commit]);
    assert_eq!(delegation(&without_checks(), &config.agent).expected_outcome, None);
}

#[test]
fn a_result_is_what_was_seen_and_never_what_was_said() {
    let mut ran = run("after");
    ran.opaque = false;
    ran.evidence = vec![ToolEvidence::ok("edit", "a"), ToolEvidence::error("bash", "make: exit code 2")];
    ran.final_message = "All done.".into();
    ran.cost = known(cents(10));
    let result = delegation_result(&record(Some(ran.clone())), None);
    assert_eq!((result.status, result.summary.as_str()), (Status::Partial, "All done."));
    assert_eq!(result.tool_evidence, ran.evidence);
    assert_eq!(result.usage.unwrap().cost, Some(cents(10)));

    ran.escalation = Some("who am I?".into());
    ran.cost = Cost::Unknown;
    let result = delegation_result(&record(Some(ran)), None);
    assert_eq!((result.status, result.escalation.as_deref()), (Status::Escalated, Some("who am I?")));
    assert_eq!(result.usage.unwrap().cost, None, "nobody knows is not nothing");

    let lost = delegation_result(&record(None), None);
    assert_eq!((lost.status, lost.usage), (Status::Failed, None));
}

#[test]
fn the_envelope_says_what_the_result_says() {
    let mut scene = Scene::red(config());
    scene.pass(run("b"), tampered(red(&["a", "b"]), "tests/a.rs"));
    let facts = scene.run.facts();
    let record = facts.last_iteration().unwrap();
    let result = delegation_result(record, facts.baseline.as_ref());
    let envelope = scene.run.envelope(record);
    assert!(envelope.contains(&format!("Status: {}\n", result.status.shout())), "{envelope}");
    assert_eq!(scene.run.status(record), result.status);
    for evidence in &result.tool_evidence {
        assert!(envelope.contains(&evidence.summary), "{evidence:?} is not in {envelope}");
    }
    assert!(envelope.contains("did not fail before the first iteration"), "{envelope}");
    assert!(envelope.contains("[TAMPERED] tests/a.rs"), "{envelope}");
}
