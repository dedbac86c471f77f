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

/// One combination of everything that a status is derived from.
#[derive(Debug, Clone, Copy)]
struct Combination {
    conduct: Conduct,
    successes: usize,
    failures: usize,
    pending: usize,
    unmet: usize,
    escalated: bool,
    has_content: bool,
    has_called: bool,
    confidence: Option<Confidence>,
    out_of_turns: bool,
}

type Rule = (&'static str, fn(&Combination) -> bool, Status);

/// The rules as they are promised, the first that applies.
const RULES: [Rule; 9] = [
    ("escalated", |case| case.escalated, Status::Escalated),
    (
        "nothing seen, nothing said",
        |case| case.successes + case.failures + case.pending == 0 && !case.has_content,
        Status::Failed,
    ),
    ("no tool was called", |case| case.conduct == Conduct::Acting && !case.has_called, Status::Failed),
    ("only failures", |case| case.failures > 0 && case.successes + case.pending == 0, Status::Failed),
    ("failures among others", |case| case.failures > 0, Status::Partial),
    ("something pending", |case| case.pending > 0, Status::Partial),
    ("nothing done by one that acts", |case| case.successes == 0 && case.conduct != Conduct::Talking, Status::Failed),
    (
        "success in doubt",
        |case| case.unmet > 0 || case.out_of_turns || case.confidence == Some(Confidence::Low),
        Status::Partial,
    ),
    ("success", |_| true, Status::Success),
];

#[test]
fn every_combination_follows_the_first_rule_that_applies() {
    let both = [false, true];
    let mut reached = [0_usize; RULES.len()];
    let mut check = |case: Combination| {
        let evidence: Vec<ToolEvidence> = [(case.successes, ok()), (case.failures, bad()), (case.pending, pending())]
            .into_iter()
            .flat_map(|(count, evidence)| std::iter::repeat_n(evidence, count))
            .collect();
        let judged = Judged {
            conduct: case.conduct,
            escalated: case.escalated,
            has_content: case.has_content,
            evidence: &evidence,
            tool_calls: usize::from(case.has_called),
            unmet: case.unmet,
            confidence: case.confidence,
            out_of_turns: case.out_of_turns,
        };
        let rule = RULES.iter().position(|(_, applies, _)| applies(&case)).unwrap();
        reached[rule] += 1;
        assert_eq!(derive_status(&judged), RULES[rule].2, "{}: {case:?}", RULES[rule].0);
    };
    for conduct in [Conduct::Acting, Conduct::Opaque, Conduct::Talking] {
        for counts in 0..3 * 3 * 3 * 2 {
            let (successes, failures, pending, unmet) = (counts % 3, counts / 3 % 3, counts / 9 % 3, counts / 27);
            for (escalated, has_content) in both.into_iter().flat_map(|first| both.map(|second| (first, second))) {
                for (has_called, out_of_turns) in both.into_iter().flat_map(|first| both.map(|second| (first, second)))
                {
                    for confidence in [None, Some(Confidence::Low), Some(Confidence::Medium), Some(Confidence::High)] {
                        check(Combination {
                            conduct,
                            successes,
                            failures,
                            pending,
                            unmet,
                            escalated,
                            has_content,
                            has_called,
                            confidence,
                            out_of_turns,
                        });
                    }
                }
            }
        }
    }
    assert_eq!(reached.iter().sum::<usize>(), 3 * 54 * 4 * 4 * 4);
    assert!(reached.iter().all(|count| *count > 0), "{reached:?}");
}
