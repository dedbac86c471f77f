//! What counts as a report.

use super::*;

fn plant(path: &str, runner: Runner, stops: Stops, marks: &[&str]) -> Plant {
    let marks = marks.iter().map(|mark| (*mark).to_owned()).collect();
    let presence = Presence::Sure;
    Plant { path: path.to_owned(), content: vec![], marks, is_new: false, runner, presence, stops }
}

fn two(stops: Stops) -> Vec<Plant> {
    vec![
        plant("test_a.py", Runner::Pytest, stops, &["amber_bay_1000", "hazel_river_4071"]),
        plant("test_b.py", Runner::Pytest, stops, &["pale_path_2000"]),
    ]
}

fn failed(output: &str) -> Seen<'_> {
    Seen { exit_ok: false, failing: &[], output }
}

const ALL: &str = "E AssertionError: amber bay 1000\nFAILED test_a.py::test_hazel_river_4071\nFAIL: pale_path_2000\n";

#[test]
fn a_command_that_passes_reports_nothing() {
    let seen = Seen { exit_ok: true, ..failed(ALL) };
    let paths = vec!["test_a.py".to_owned(), "test_b.py".to_owned()];
    assert_eq!(judge(&two(Stops::Never), &|_| false, &seen), Judgement::NotReported { paths, why: Why::Passed });
}

#[test]
fn a_command_that_fails_for_another_reason_is_told_apart() {
    let judgement = judge(&two(Stops::Never), &|_| false, &failed("error: could not compile"));
    assert!(matches!(judgement, Judgement::NotReported { why: Why::FailedOtherwise, .. }));
}

#[test]
fn all_marks_make_a_report() {
    assert_eq!(judge(&two(Stops::Never), &|_| true, &failed(ALL)), Judgement::Reported);
    let failing: Vec<String> =
        ["a::amber_bay_1000", "hazel_river_4071", "x pale_path_2000 (1)"].map(str::to_owned).into();
    let seen = Seen { failing: &failing, ..failed("") };
    assert_eq!(judge(&two(Stops::Never), &|_| true, &seen), Judgement::Reported);
    let coloured = ALL.replace("bay", "\u{1b}[31mbay\u{1b}[0m");
    assert_eq!(judge(&two(Stops::Never), &|_| true, &failed(&coloured)), Judgement::Reported);
}

#[test]
fn a_test_that_passed_or_is_only_quoted_is_not_reported() {
    let marks = [
        "amber_bay_1000 PASSED",
        "✓ amber_bay_1000",
        "  > 12 | test('amber_bay_1000', () => {",
        "amber_bay_10001 FAILED",
    ];
    for line in marks {
        let output = format!("FAILED hazel_river_4071\n{line}\n");
        let judgement = judge(&two(Stops::Never), &|_| false, &failed(&output));
        let paths = vec!["test_a.py".to_owned()];
        assert_eq!(judgement, Judgement::NotReported { paths, why: Why::Partly }, "{line}");
    }
}

#[test]
fn due_files_have_to_be_reported_and_others_not() {
    let output = ALL.replace("FAIL: pale_path_2000\n", "");
    assert_eq!(judge(&two(Stops::Never), &|_| false, &failed(&output)), Judgement::Reported);
    let paths = vec!["test_b.py".to_owned()];
    let expected = Judgement::NotReported { paths, why: Why::Partly };
    assert_eq!(judge(&two(Stops::Never), &|_| true, &failed(&output)), expected);
    let mut conditional = two(Stops::Never);
    conditional[1].presence = Presence::Conditional;
    assert_eq!(judge(&conditional, &|_| true, &failed(&output)), Judgement::Reported);
}

#[test]
fn a_run_that_stops_after_a_file_owes_only_what_it_names() {
    let output = ALL.replace("FAIL: pale_path_2000\n", "");
    assert_eq!(judge(&two(Stops::AfterFile), &|_| true, &failed(&output)), Judgement::Reported);
    let named = format!("test_b.py .\n{output}");
    assert_ne!(judge(&two(Stops::AfterFile), &|_| true, &failed(&named)), Judgement::Reported);
    let partly = "E amber bay 1000\n";
    assert_ne!(judge(&two(Stops::AfterFile), &|_| false, &failed(partly)), Judgement::Reported);
}

#[test]
fn a_run_that_stops_at_the_first_failure_owes_the_first_one() {
    assert_eq!(judge(&two(Stops::AfterFirst), &|_| true, &failed("E amber bay 1000")), Judgement::Reported);
    assert_ne!(judge(&two(Stops::AfterFirst), &|_| true, &failed("E hazel river 4071")), Judgement::Reported);
    assert_eq!(judge(&two(Stops::AfterFailure), &|_| true, &failed("E hazel river 4071")), Judgement::Reported);
}

#[test]
fn more_failing_tests_than_are_kept_excuse_due_files() {
    let failing: Vec<String> = (0..TestTally::MAX_NAMES).map(|number| format!("a{number}")).collect();
    let output = ALL.replace("FAIL: pale_path_2000\n", "");
    let seen = Seen { failing: &failing, ..failed(&output) };
    assert_eq!(judge(&two(Stops::Never), &|_| true, &seen), Judgement::Reported);
}

#[test]
fn a_test_binary_without_a_result_is_no_report() {
    let plants = [
        plant("src/lib.rs", Runner::CargoTest, Stops::Never, &["amber_bay_1000"]),
        plant("tests/a.rs", Runner::CargoTest, Stops::Never, &["pale_path_2000"]),
    ];
    let whole = "running 1 test\ntest amber_bay_1000 ... FAILED\ntest result: FAILED. 0 passed\n";
    assert_eq!(judge(&plants, &|_| false, &failed(whole)), Judgement::Reported);
    let cut = format!("running 3 tests\n{whole}");
    let paths = vec!["tests/a.rs".to_owned()];
    assert_eq!(judge(&plants, &|_| false, &failed(&cut)), Judgement::NotReported { paths, why: Why::Partly });
}

#[test]
fn nothing_planted_is_nothing_reported() {
    assert_ne!(judge(&[], &|_| true, &failed(ALL)), Judgement::Reported);
}
