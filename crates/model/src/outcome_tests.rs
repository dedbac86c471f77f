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
        ]
    );
    for reason in AbortReason::ALL {
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
    }
}

#[test]
fn outcomes_on_the_wire() {
    let aborted = Outcome::Aborted { reason: AbortReason::Stall, details: "d".into() };
    assert_eq!(
        serde_json::to_value(&aborted).unwrap(),
        serde_json::json!({"status":"ABORTED","reason":"STALL","details":"d"})
    );
    assert_eq!(serde_json::to_value(Outcome::Completed { verified: true }).unwrap()["status"], "COMPLETED");
    assert_eq!((aborted.exit_code(), Outcome::Error { error: "e".into() }.exit_code()), (14, 1));
}
