use super::*;
use crate::golden;

const MAIN: &str = "01a1df14-0600-7000-8000-000000000001";

fn rollouts() -> Rollouts {
    let mut rollouts = Rollouts::new(golden::NOW, Guard::Own);
    rollouts.begin(MAIN).unwrap();
    rollouts
}

/// A line of the record, at a second of the day.
fn line(second: &str, kind: &str, payload: &str) -> String {
    format!("{{\"timestamp\":\"2026-11-15T{second}.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}")
}

fn total(input: u64, output: u64) -> String {
    format!(
        "{{\"type\":\"token_count\",\"info\":{{\"total_token_usage\":{{\"input_tokens\":{input},\"cached_input_tokens\":10,\"output_tokens\":{output}}}}}}}"
    )
}

fn output_tokens(rollouts: &mut Rollouts, lines: &[String]) -> u64 {
    let mut transcript = golden::transcript();
    for line in lines {
        rollouts.line(MAIN, line, &mut transcript);
    }
    transcript.finish(&ralph_model::Ended::Stopped, false).usage.output_tokens
}

#[test]
fn older_records_are_counted_by_what_their_totals_grow() {
    let lines = [
        line("12:00:01", "event_msg", &total(100, 7)),
        line("12:00:02", "event_msg", &total(100, 7)),
        line("12:00:03", "event_msg", &total(200, 9)),
    ];
    assert_eq!(output_tokens(&mut rollouts(), &lines), 9);
}

#[test]
fn a_figure_that_comes_in_both_forms_counts_once() {
    let record = format!(
        "{{\"thread_id\":\"{MAIN}\",\"usage\":{{\"output_tokens\":7}},\"thread_token_usage\":{{\"input_tokens\":100,\"cached_input_tokens\":10,\"output_tokens\":7}}}}"
    );
    let lines = [line("12:00:01", "token_usage_record", &record), line("12:00:02", "event_msg", &total(100, 7))];
    assert_eq!(output_tokens(&mut rollouts(), &lines), 7);
}

#[test]
fn what_is_older_than_the_run_is_not_counted_but_known() {
    let mut rollouts = rollouts();
    let old = [line("11:59:59", "event_msg", &total(1000, 70))];
    assert_eq!(output_tokens(&mut rollouts, &old), 0);
    assert!(!rollouts.has_counted());
    let new = [line("12:00:01", "event_msg", &total(1100, 75))];
    assert_eq!(output_tokens(&mut rollouts, &new), 5);
    assert!(rollouts.has_counted());
}

#[test]
fn the_limit_that_is_used_up_says_when_it_is_over() {
    let mut rollouts = rollouts();
    let windows = |used: f64| {
        format!(
            "{{\"type\":\"token_count\",\"rate_limits\":{{\"primary\":{{\"used_percent\":{used},\"resets_at\":1794760000}},\"secondary\":{{\"used_percent\":10,\"resets_at\":1795000000}}}}}}"
        )
    };
    output_tokens(&mut rollouts, &[line("12:00:01", "event_msg", &windows(99.0))]);
    assert_eq!(rollouts.free_again(TroubleKind::RateLimit), None);
    output_tokens(&mut rollouts, &[line("12:00:01", "event_msg", &windows(100.0))]);
    assert_eq!(rollouts.free_again(TroubleKind::RateLimit), Some(Timestamp(1_794_760_000_000)));
    assert_eq!(rollouts.free_again(TroubleKind::Overload), None);
}

#[test]
fn calls_that_were_not_shown_are_told_and_shown_ones_are_not_told_again() {
    let call = |id: &str| {
        format!(
            "{{\"type\":\"function_call\",\"name\":\"exec_command\",\"arguments\":\"{{\\\"cmd\\\":\\\"make {id}\\\"}}\",\"call_id\":\"{id}\"}}"
        )
    };
    let answer = |id: &str, text: &str| {
        format!("{{\"type\":\"function_call_output\",\"call_id\":\"{id}\",\"output\":\"{text}\"}}")
    };
    let shown = |id: &str| format!("{{\"type\":\"item_completed\",\"item\":{{\"id\":\"{id}\"}}}}");
    let item = |payload: &str| line("12:00:01", "response_item", payload);
    let event = |payload: &str| line("12:00:01", "event_msg", payload);
    let mut transcript = golden::transcript();
    let mut rollouts = rollouts();
    let lines = [
        // Before the record told of any item, nothing is known about what was shown.
        item(&call("0")),
        item(&answer("0", "Process exited with code 1\\nOutput:\\nno")),
        event(&shown("user")),
        item(&call("1")),
        event(&shown("1")),
        item(&answer("1", "Process exited with code 1\\nOutput:\\nno")),
        item(&call("2")),
        item(&answer("2", "Wall time: 0 seconds\\nProcess exited with code 1\\nOutput:\\nbwrap: no\\n")),
        item(&call("3")),
        item(&answer("3", "Process running with session ID 5\\nOutput:\\nProcess exited with code 1")),
        item(&call("4")),
        item(&answer("4", "approval policy is Never; reject command")),
    ];
    for line in &lines {
        rollouts.line(MAIN, line, &mut transcript);
    }
    let transcript = transcript.finish(&ralph_model::Ended::Stopped, false);
    let calls: Vec<(&str, bool, &str)> =
        transcript.evidence.iter().map(|call| (call.tool.as_str(), call.success, call.summary.as_str())).collect();
    assert_eq!(
        calls,
        [
            ("shell", false, "make 2: exit code 1: bwrap: no"),
            ("shell", false, "not permitted: approval policy is Never; reject command"),
        ]
    );
    let faults: Vec<FaultKind> = transcript.faults.iter().map(|fault| fault.kind).collect();
    assert_eq!(faults, [FaultKind::SandboxRefused, FaultKind::Denied]);
}

#[test]
fn only_names_of_threads_are_taken_in_and_not_without_end() {
    let mut rollouts = Rollouts::new(golden::NOW, Guard::Outer);
    for name in ["", "x", "../../../../../../../../../../etc/passwd", "01a1df14-0600-7000-8000-00000000000Z"] {
        assert_eq!(rollouts.begin(name), None, "{name}");
    }
    for number in 0..MAX_THREADS {
        assert_eq!(rollouts.begin(&format!("01a1df14-0600-7000-8000-{number:012x}")), Some(()));
    }
    assert_eq!(rollouts.begin("01a1df14-0600-7000-8000-ffffffffffff"), None);
    assert_eq!(rollouts.begin("01a1df14-0600-7000-8000-000000000000"), Some(()), "a known one");
}

#[test]
fn a_record_that_names_a_cheaper_model_in_the_middle_is_not_believed() {
    let named = |second: &str, model: &str| line(second, "turn_context", &format!("{{\"model\":\"{model}\"}}"));
    let cost = |lines: &[String]| {
        let (mut rollouts, mut transcript) = (rollouts(), golden::transcript());
        for line in lines {
            rollouts.line(MAIN, line, &mut transcript);
        }
        transcript.finish(&ralph_model::Ended::Exited { code: 0 }, false).cost
    };
    let used = line("12:00:03", "event_msg", &total(1_000_000, 0));
    let dear = cost(&[named("12:00:01", "gpt-5.5"), used.clone()]);
    assert_ne!(dear, cost(&[named("12:00:01", "gpt-5-nano"), used.clone()]));
    let forged = named("12:00:02", "gpt-5-nano");
    assert_eq!(cost(&[named("12:00:01", "gpt-5.5"), forged.clone(), used.clone()]), dear);
    let settings = "{\"type\":\"thread_settings_applied\",\"thread_settings\":{\"model\":\"gpt-5-nano\"}}";
    let settings = line("12:00:02", "event_msg", settings);
    assert_eq!(cost(&[named("12:00:01", "gpt-5.5"), settings, used.clone()]), dear);
    // An earlier run of the same thread may have had another.
    let before = named("11:00:00", "gpt-5.5");
    assert_eq!(cost(&[before, forged.clone(), used.clone()]), cost(&[forged, used]));
}
