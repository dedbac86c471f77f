use super::*;

#[test]
fn the_names_are_those_that_scripts_read() {
    let checkpoint = Checkpoint {
        task_id: Uuid::from_u128(7),
        iteration: 3,
        context_full: true,
        timestamp: Timestamp(1_763_000_000_123),
        checkpoint_reason: CheckpointReason::PreCompact,
    };
    let text = serde_json::to_string(&checkpoint).unwrap();
    assert_eq!(
        text,
        r#"{"taskId":"00000000-0000-0000-0000-000000000007","iteration":3,"contextFull":true,"timestamp":"2025-11-13T02:13:20.123Z","checkpointReason":"precompact"}"#
    );
    assert_eq!(serde_json::from_str::<Checkpoint>(&text).unwrap(), checkpoint);
    let traversing = text.replace("00000000-0000-0000-0000-000000000007", "../../etc/passwd");
    assert!(serde_json::from_str::<Checkpoint>(&traversing).is_err(), "an id is a UUID");
}
