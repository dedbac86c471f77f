use ralph_model::{Fault, FaultKind, Money};

use super::*;

fn finished(success: bool) -> AgentEvent {
    AgentEvent::ToolFinished { id: "1".into(), tool: "Bash".into(), success, summary: "npm test: exit code 1".into() }
}

#[test]
fn a_failed_call_is_told_from_one_that_worked() {
    let started = AgentEvent::ToolStarted { id: "1".into(), tool: "Bash".into(), summary: "npm test".into() };
    assert_eq!(event_line(&started).unwrap(), "  > Bash: npm test");
    assert_eq!(event_line(&finished(false)).unwrap(), "  > FAILED Bash: npm test: exit code 1");
    assert_eq!(event_line(&finished(true)), None, "its beginning was shown");
    assert_eq!(event_words(&finished(false)).unwrap(), "FAILED Bash: npm test: exit code 1");
}

#[test]
fn a_message_is_one_line_here_and_whole_in_a_transcript() {
    let message = AgentEvent::Message { text: "First.\nSecond.\n".into() };
    assert_eq!(event_line(&message).unwrap(), "  | First. Second.");
    assert_eq!(event_line(&AgentEvent::Message { text: " \n".into() }), None);
    let long = AgentEvent::Message { text: "é".repeat(MAX_MESSAGE + 1) };
    assert_eq!(event_words(&long).unwrap(), format!("{}…", "é".repeat(MAX_MESSAGE)));
    let fault = AgentEvent::Fault { fault: Fault { kind: FaultKind::Hang, detail: String::new() } };
    let usage = AgentEvent::Usage { input_tokens: 1, output_tokens: 1, cost: Money::ZERO };
    let piece = AgentEvent::Output { text: "Fir".into() };
    assert_eq!(transcript(vec![piece, message, usage, fault]), "First.\nSecond.\n  > hang\n");
}
