use super::*;

fn judged(evidence: &[ToolEvidence]) -> Judged<'_> {
    Judged {
        conduct: Conduct::Acting,
        escalated: false,
        has_content: true,
        evidence,
        tool_calls: evidence.len(),
        unmet: 0,
        confidence: None,
        out_of_turns: false,
    }
}

fn ok() -> ToolEvidence {
    ToolEvidence::ok("fs_edit", "changed")
}

fn bad() -> ToolEvidence {
    ToolEvidence::error("bash", "exit code 1")
}

fn pending() -> ToolEvidence {
    ToolEvidence { pending_approval: Some(true), ..ToolEvidence::ok("send_email", "waits") }
}

#[test]
fn evidence_decides() {
    for (evidence, status) in [
        (vec![ok()], Status::Success),
        (vec![ok(), ok()], Status::Success),
        (vec![bad()], Status::Failed),
        (vec![ok(), bad()], Status::Partial),
        (vec![pending()], Status::Partial),
        (vec![pending(), ok()], Status::Partial),
        (vec![pending(), bad()], Status::Partial),
    ] {
        assert_eq!(derive_status(&judged(&evidence)), status, "{evidence:?}");
    }
}

#[test]
fn nothing_seen_and_nothing_said_is_a_failure() {
    for conduct in [Conduct::Acting, Conduct::Opaque, Conduct::Talking] {
        assert_eq!(derive_status(&Judged { conduct, has_content: false, ..judged(&[]) }), Status::Failed);
    }
}

#[test]
fn an_acting_agent_that_called_no_tool_failed_whatever_it_says() {
    assert_eq!(derive_status(&judged(&[])), Status::Failed);
    let check = [ToolEvidence::ok("verify", "make (exit code 0)")];
    assert_eq!(derive_status(&Judged { tool_calls: 0, ..judged(&check) }), Status::Failed);
    assert_eq!(derive_status(&Judged { tool_calls: 0, conduct: Conduct::Opaque, ..judged(&check) }), Status::Success);
}

#[test]
fn a_talking_one_succeeds_by_its_content() {
    let talking = Judged { conduct: Conduct::Talking, ..judged(&[]) };
    assert_eq!(derive_status(&talking), Status::Success);
    assert_eq!(derive_status(&Judged { confidence: Some(Confidence::Low), ..talking }), Status::Partial);
}

#[test]
fn doubts_turn_success_into_partial_and_nothing_else() {
    let (good, wrong) = ([ok()], [bad()]);
    for doubtful in [Judged { unmet: 1, ..judged(&good) }, Judged { out_of_turns: true, ..judged(&good) }] {
        assert_eq!(derive_status(&doubtful), Status::Partial);
    }
    assert_eq!(derive_status(&Judged { unmet: 1, ..judged(&wrong) }), Status::Failed);
}

#[test]
fn an_escalation_stands_over_all() {
    assert_eq!(derive_status(&Judged { escalated: true, ..judged(&[ok()]) }), Status::Escalated);
}
