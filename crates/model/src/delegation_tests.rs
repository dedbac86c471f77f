use super::*;

#[test]
fn expectations_survive_their_text_form() {
    for text in ["tool:git_commit", "commit", "file:src/**/*.rs", "command:make lint", "clean-tree"] {
        assert_eq!(text.parse::<Expectation>().unwrap().to_string(), text);
    }
    for text in ["", "tool:", "commits", "file", "command: ", "clean"] {
        assert!(text.parse::<Expectation>().unwrap_err().to_string().contains("clean-tree"), "{text}");
    }
}

#[test]
fn wire_names_are_the_contract() {
    let evidence = ToolEvidence {
        pending_approval: Some(true),
        external_id: Some("msg-17".into()),
        ..ToolEvidence::ok("send_email", "waits")
    };
    let json = serde_json::to_value(&evidence).unwrap();
    assert_eq!(
        json,
        serde_json::json!({"tool":"send_email","success":true,"summary":"waits","pendingApproval":true,"externalId":"msg-17"})
    );
    let result: DelegationResult =
        serde_json::from_str(r#"{"status":"partial","summary":"s","toolEvidence":[],"findings":{"confidence":"low"}}"#)
            .unwrap();
    assert_eq!((result.status, result.findings.unwrap().confidence), (Status::Partial, Confidence::Low));
}
