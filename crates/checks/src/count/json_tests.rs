use proptest::prelude::*;

use super::*;

const JEST: &str = r#"{"numFailedTestSuites":1,"snapshot":{"added":0,"list":[]},"success":false,"testResults":[
 {"assertionResults":[
  {"ancestorTitles":["cart","tax"],"failureMessages":["{\"numFailedTestSuites\":9}"],"status":"failed","title":"rate\n\u00e9"},
  {"ancestorTitles":[],"status":"passed","title":"adds","duration":1.5e-3,"location":null},
  {"ancestorTitles":[],"status":"pending","title":"later"},{"ancestorTitles":[],"status":"todo","title":"someday"}],
  "message":"","name":"/shop/cart.test.js","status":"failed"},
 {"assertionResults":[],"message":"broken","name":"/shop/broken.test.js","status":"failed"}]}"#;

fn counted(text: &str) -> Option<TestTally> {
    report(text)
}

fn stream(text: &str, cuts: &[usize]) -> Option<TestTally> {
    let (mut reports, mut rest) = (Reports::default(), text);
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let at = rest.ceil_char_boundary((*cut).clamp(1, rest.len()));
        reports.feed(&rest[..at]);
        rest = &rest[at..];
    }
    let Found { jest, mocha } = reports.finish();
    jest.or(mocha).map(Gathered::tally)
}

#[test]
fn a_report_is_read_whatever_its_messages_hold() {
    let tally = counted(JEST).unwrap();
    assert_eq!((tally.passed, tally.failed, tally.skipped), (1, 2, 2));
    assert_eq!(tally.failing, ["/shop/broken.test.js", "/shop/cart.test.js > cart › tax › rate é"]);
    assert_eq!(tally.names, ["/shop/cart.test.js > adds", "/shop/cart.test.js > cart › tax › rate é"]);
    assert_eq!(counted(&format!("\u{feff}\n {JEST}\n")), Some(tally));
}

#[test]
fn a_report_is_found_among_other_output() {
    let one = stream(JEST, &[100_000]);
    for text in [
        format!("> shop@1.0.0 test\n> jest --json\n\n{JEST}\nDone.\n"),
        format!("{{\"Time\":\"x\"}}\n{{ not json\n{JEST}"),
        format!("{{\"numFailedTestSuites\":1, broken\n{JEST}"),
        format!("{{\"numFailedTestSuites\":\"broken\n{JEST}"),
    ] {
        assert_eq!(stream(&text, &[100_000]), one, "{text}");
    }
    let twice = stream(&format!("{JEST}\n{JEST}\n"), &[100_000]).unwrap();
    assert_eq!((twice.passed, twice.failed), (2, 4));
    let after_a_broken_one = format!("{{\"numFailedTestSuites\":1, broken\n{JEST}\n{JEST}\n");
    assert_eq!(stream(&after_a_broken_one, &[100_000]), Some(twice));
}

#[test]
fn what_is_no_report_or_breaks_off_counts_nothing() {
    for text in [
        "",
        "{}",
        "[]",
        "{\"stats\":",
        "{\"stats\":}",
        "{\"stats\":{}]",
        "{\"stats\":{},}",
        "{\"stats\":\"\\x\"}",
        "{\"version\":1}",
        "{\"name\":\"numFailedTestSuites\"}",
        &JEST[..JEST.len() - 1],
        &format!("x{JEST}"),
    ] {
        assert_eq!(stream(text, &[100_000]), None, "{text}");
    }
    let deep = format!("{{\"passes\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(stream(&deep.replace("{", "{\"stats\":1,"), &[100_000]), None);
    assert_eq!(stream("{\"stats\":{}}", &[100_000]), Some(TestTally::default()));
}

#[test]
fn a_report_of_one_huge_line_needs_no_memory() {
    let case = r#"{"ancestorTitles":["cart"],"failureMessages":["MESSAGE"],"status":"failed","title":"rate"},"#;
    let case = case.replace("MESSAGE", &"x".repeat(10_000));
    let mut reports = Reports::default();
    reports.feed("{\"numTotalTestSuites\":1,\"testResults\":[{\"assertionResults\":[");
    for number in 0..3000 {
        reports.feed(&case.replace("rate", &format!("rate {number}")));
    }
    assert!(reports.open.len() < 4 << 20, "{}", reports.open.len());
    reports.feed("{\"title\":\"last\",\"status\":\"passed\"}],\"name\":\"a.test.js\"}]}");
    let tally = reports.finish().jest.map(Gathered::tally).unwrap();
    assert_eq!((tally.failed, tally.passed, tally.names.len()), (3000, 1, 3001));
}

#[test]
fn long_texts_are_cut_at_the_same_place_however_they_come() {
    let text = JEST.replace("adds", &"aé".repeat(2000));
    let whole = stream(&text, &[100_000]).unwrap();
    assert!(whole.names.iter().all(|name| name.len() <= 300));
    assert_eq!(stream(&text, &[1]), Some(whole.clone()));
    assert_eq!(stream(&text, &[7, 3]), Some(whole));
}

#[test]
fn a_text_is_never_cut_inside_an_escape() {
    for escape in [r"\u00e9", r"\\", r#"\""#, r"\n", r"\\\u00e9", r"\\u00e9"] {
        for length in 980..1002 {
            let text = JEST.replace("adds", &("a".repeat(length) + &escape.repeat(20)));
            let tally = stream(&text, &[100_000]).map(|tally| (tally.passed, tally.failed, tally.names.len()));
            assert_eq!(tally, Some((1, 2, 2)), "{escape} after {length}");
            assert_eq!(stream(&text, &[3]), stream(&text, &[100_000]));
        }
    }
}

proptest! {
    #[test]
    fn pieces_do_not_matter(
        start in 0..JEST.len(),
        junk in "[{}\\[\\]\",:\\\\\n a1u]{0,12}",
        cuts in proptest::collection::vec(1_usize..50, 1..6),
    ) {
        let at = JEST.floor_char_boundary(start);
        let text = format!("{}{junk}{}\n{JEST}", &JEST[..at], &JEST[at..]);
        prop_assert_eq!(stream(&text, &cuts), stream(&text, &[100_000]));
    }
}
