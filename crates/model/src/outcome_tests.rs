use super::*;

#[test]
fn exit_codes_and_names_are_the_contract() {
    let codes: Vec<_> = AbortReason::ALL.iter().map(|reason| (reason.name(), reason.exit_code())).collect();
    assert_eq!(
        codes,
        [
            ("MAX_ITERATIONS", 10),
            ("COST_LIMIT", 11),
            ("DAILY_BUDGET", 12),
            ("MAX_DURATION", 13),
            ("STALL", 14),
            ("SAME_ERROR_5X", 15),
            ("PROHIBITED_PATH", 16),
            ("TAMPERED", 17),
            ("BLOCKED", 18),
            ("CANCELLED", 19),
            ("USAGE_LIMIT", 20),
        ]
    );
    for reason in AbortReason::ALL {
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
    }
}

fn stalled() -> Outcome {
    Outcome::Aborted { cause: AbortCause::Stalled { iterations: 3, headline: Some("a failed".into()) } }
}

#[test]
fn outcomes_on_the_wire() {
    let aborted = stalled();
    let json = serde_json::json!({
        "status": "ABORTED", "reason": "STALL", "cause": {"kind": "stalled", "iterations": 3, "headline": "a failed"}
    });
    assert_eq!(serde_json::to_value(&aborted).unwrap(), json);
    assert_eq!(serde_json::from_value::<Outcome>(json).unwrap(), aborted);
    assert_eq!(serde_json::to_value(Outcome::Completed { verified: true }).unwrap()["status"], "COMPLETED");
    let error = Outcome::Error { cause: ErrorCause::Faulted { error: "disk full".into() } };
    assert_eq!(serde_json::from_value::<Outcome>(serde_json::to_value(&error).unwrap()).unwrap(), error);
    assert_eq!((aborted.exit_code(), error.exit_code()), (14, 1));
}

#[test]
fn records_with_a_sentence_are_read_and_kept_as_they_are() {
    for json in [
        serde_json::json!({"status": "ABORTED", "reason": "STALL", "details": "nothing moved"}),
        serde_json::json!({"status": "ERROR", "error": "no space left"}),
    ] {
        let outcome: Outcome = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&outcome).unwrap(), json);
    }
}

#[test]
fn a_sentence_is_not_compared_and_a_cause_is() {
    let old = |json: serde_json::Value| serde_json::from_value::<Outcome>(json).unwrap();
    let worded = old(serde_json::json!({"status": "ABORTED", "reason": "STALL", "details": "reworded since"}));
    assert!(stalled().agrees_with(&worded));
    let other = old(serde_json::json!({"status": "ABORTED", "reason": "COST_LIMIT", "details": "reworded since"}));
    assert!(!stalled().agrees_with(&other));
    let error = old(serde_json::json!({"status": "ERROR", "error": "reworded since"}));
    assert!(!stalled().agrees_with(&error));
    assert!(Outcome::Error { cause: ErrorCause::Idle }.agrees_with(&error));
    let other_count =
        Outcome::Aborted { cause: AbortCause::Stalled { iterations: 4, headline: Some("a failed".into()) } };
    assert!(stalled().agrees_with(&stalled()) && !stalled().agrees_with(&other_count));
}
