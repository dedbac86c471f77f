use proptest::prelude::*;

use super::*;
use crate::fixtures::cases;

const TAG: &str = "<promise>COMPLETE</promise>";
const PROMPT: &str = "Fix it.\n\n---\nWhen ALL requirements are met, output <promise>COMPLETE</promise>.\nIf you cannot go on without a person, output <blocked>why</blocked>.\n";

#[test]
fn the_exact_tag_counts_wherever_it_stands_in_plain_words() {
    for message in [
        TAG,
        "All done. <promise>COMPLETE</promise>",
        "x\n<promise>\n  COMPLETE\n</promise>\ny",
        "<promise> COMPLETE </promise>",
    ] {
        assert!(find_claim(message, PROMPT, TAG), "{message}");
    }
}

#[test]
fn other_words_do_not_count() {
    for message in [
        "",
        "COMPLETE",
        "<promise>COMPLETED</promise>",
        "<promise>complete</promise>",
        "<promise>NOT COMPLETE</promise>",
        "promise COMPLETE",
        "<promise>COMPLETE",
    ] {
        assert!(!find_claim(message, PROMPT, TAG), "{message}");
    }
}

#[test]
fn quotes_fences_and_code_spans_do_not_count() {
    for message in [
        "```\n<promise>COMPLETE</promise>\n```",
        "~~~text\n<promise>COMPLETE</promise>\n~~~\nmore",
        "````\n```\n<promise>COMPLETE</promise>\n```\n````",
        "```\nnever closed\n<promise>COMPLETE</promise>",
        "> <promise>COMPLETE</promise>",
        "  > quoted <promise>COMPLETE</promise>",
        "I will say `<promise>COMPLETE</promise>` when it is done",
    ] {
        assert!(!find_claim(message, PROMPT, TAG), "{message}");
    }
    assert!(find_claim("```\ncode\n```\n<promise>COMPLETE</promise>", PROMPT, TAG));
}

#[test]
fn an_echo_of_the_prompt_does_not_count() {
    assert!(!find_claim(PROMPT, PROMPT, TAG));
    assert!(!find_claim(&format!("You said:\n{PROMPT}\nI am thinking"), PROMPT, TAG));
    assert!(!find_claim("prompt> When ALL requirements are met, output <promise>COMPLETE</promise>.", PROMPT, TAG));
    assert!(find_claim(&format!("{PROMPT}\n<promise>COMPLETE</promise>"), PROMPT, TAG));
}

#[test]
fn an_objective_that_is_the_tag_itself_can_still_be_claimed() {
    assert!(find_claim(TAG, "Say\n<promise>COMPLETE</promise>\nwhen ready", TAG));
}

#[test]
fn a_bare_promise_counts_in_a_tag_or_alone_on_a_line() {
    assert!(find_claim("<promise>ALL DONE</promise>", "p", "ALL DONE"));
    assert!(find_claim("text\n  ALL   DONE \n", "p", "ALL DONE"));
    assert!(!find_claim("not ALL DONE yet", "p", "ALL DONE"));
}

#[test]
fn a_json_promise_is_the_object_that_a_message_ends_with() {
    let promise = r#"{"status":"PASS"}"#;
    let prompt = "Do it.\nWhen ALL requirements are met, output {\"status\":\"PASS\"}.\n```json\n{\"status\":\"PASS|FAIL\",\"error_log\":\"…\"}\n```";
    for message in [
        r#"{"status":"PASS","error_log":""}"#,
        "Done.\n\n```json\n{\n  \"status\": \"PASS\",\n  \"error_log\": \"\"\n}\n```\n",
        r#"Changed a {brace}. {"status":"PASS","details":{"status":"FAIL"}}"#,
    ] {
        assert!(find_claim(message, prompt, promise), "{message}");
    }
    for message in [
        "",
        "PASS",
        prompt,
        r#"{"status":"FAIL","error_log":"x"}"#,
        r#"{"status":"PASS|FAIL","error_log":"…"}"#,
        r#"{"status":"PASS"} is what I would say when it is done."#,
        r#"{"status":"PASS"}{"status":"FAIL"}"#,
        r#"{"nested":{"status":"PASS"}}"#,
        "When ALL requirements are met, output {\"status\":\"PASS\"}.",
        r#"{"status":"pass"}"#,
    ] {
        assert!(!find_claim(message, prompt, promise), "{message}");
    }
}

#[test]
fn blocked_needs_a_reason_of_its_own() {
    assert_eq!(
        find_blocked("<blocked>no access\n to the database</blocked>", PROMPT).as_deref(),
        Some("no access to the database")
    );
    assert_eq!(find_blocked(PROMPT, PROMPT), None);
    assert_eq!(find_blocked("<blocked>why</blocked>", PROMPT), None);
    assert_eq!(find_blocked("<blocked></blocked>", PROMPT), None);
    assert_eq!(find_blocked("```\n<blocked>x</blocked>\n```", PROMPT), None);
}

#[test]
fn a_code_span_of_three_ticks_opens_no_fence() {
    assert!(find_claim("```cargo test``` passes\n<promise>COMPLETE</promise>", PROMPT, TAG));
    assert!(!find_claim("```rust\n<promise>COMPLETE</promise>", PROMPT, TAG));
}

#[test]
fn brackets_in_the_objective_take_no_words_from_the_agent() {
    for objective in ["if a\n<\nb", "cat\n<p\n", "x <"] {
        assert!(find_claim(TAG, objective, TAG), "{objective}");
        assert_eq!(find_blocked("<blocked>no key</blocked>", objective).as_deref(), Some("no key"));
    }
}

#[test]
fn a_reason_counts_behind_a_paraphrase_of_the_prompt() {
    let message = "I may say <blocked>why</blocked>, so: <blocked>no key</blocked>";
    assert_eq!(find_blocked(message, PROMPT).as_deref(), Some("no key"));
}

#[test]
fn an_empty_promise_is_never_given() {
    assert!(!find_claim("anything", PROMPT, " "));
    assert!(!find_claim("", "", ""));
}

/// Words without a tag of their own.
fn words() -> impl Strategy<Value = String> {
    "[a-zA-Z>.,:# \\n-]{0,30}"
}

/// Text that is made of what the search looks for.
fn nasty() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("<promise>".to_owned()),
        Just("COMPLETE".to_owned()),
        Just("</promise>".to_owned()),
        Just("<blocked>".to_owned()),
        Just("</blocked>".to_owned()),
        Just("```".to_owned()),
        Just("`".to_owned()),
        Just("~~~~".to_owned()),
        Just("\n> ".to_owned()),
        Just("\n".to_owned()),
        any::<char>().prop_map(String::from),
        "\\PC{0,8}",
    ];
    proptest::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(cases(64, 3000))]

    #[test]
    fn no_text_breaks_the_search(message in nasty(), prompt in nasty(), promise in nasty()) {
        let _ = find_claim(&message, &prompt, &promise);
        if let Some(why) = find_blocked(&message, &prompt) {
            prop_assert!(!why.trim().is_empty() && message.contains("<blocked>"));
        }
        prop_assert!(!find_claim(&message, &prompt, TAG) || message.contains("COMPLETE"));
    }

    #[test]
    fn an_echo_is_no_claim_whatever_surrounds_it(before in words(), told in "[a-z]{1,12}", after in words()) {
        let line = format!("When {told} is done, output {TAG}.");
        let prompt = format!("Fix {told}.\n{line}\nIf you cannot go on, output <blocked>why</blocked>.\n");
        for echo in [&prompt, &line] {
            let message = format!("{before}{echo}{after}");
            prop_assert!(!find_claim(&message, &prompt, TAG), "{message}");
            prop_assert_eq!(find_blocked(&message, &prompt), None);
        }
    }

    #[test]
    fn a_claim_behind_an_echo_counts(before in "[a-z ]{0,30}", told in "[a-z]{1,12}", after in "[a-z \\n]{0,30}") {
        let prompt = format!("Fix {told}.\nWhen {told} is done, output {TAG}.\n");
        let message = format!("{before}{prompt}\n{TAG}\n{after}");
        prop_assert!(find_claim(&message, &prompt, TAG), "{}", message);
    }
}
