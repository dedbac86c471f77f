use super::*;

fn counted(xml: &str) -> Option<(u32, u32, u32, Vec<String>)> {
    report(xml).map(|tally| (tally.passed, tally.failed, tally.skipped, tally.failing))
}

#[test]
fn a_report_of_pytest_counts_like_its_output() {
    let names = ["tests.test_cart.test_discount", "tests.test_cart.test_named[a b]", "tests.test_cart.test_save"];
    let xml = include_str!("../../tests/reports/pytest.xml");
    assert_eq!(counted(xml), Some((2, 3, 2, names.map(String::from).to_vec())));
}

#[test]
fn dialects_are_read() {
    for (xml, wanted) in [
        ("<testsuite/>", (0, 0, 0, vec![])),
        ("<testsuites><testsuite><testcase name='a' /></testsuite></testsuites>", (1, 0, 0, vec![])),
        (
            "<testsuite><testcase classname='c' name='a &gt; b &#38; &#x263a;'><failure message='x > y'/></testcase></testsuite>",
            (0, 1, 0, vec!["c.a > b & ☺".to_owned()]),
        ),
        (
            "<testsuite><testcase name=\"a\"><system-out><![CDATA[<testcase name=\"no\"><failure/>]]></system-out></testcase></testsuite>",
            (1, 0, 0, vec![]),
        ),
        (
            "<testsuite><testcase name='a&#10;b\u{1b}[31m&#x202e;'><failure/></testcase></testsuite>",
            (0, 1, 0, vec![ralph_text::sanitize("a b\u{1b}[31m\u{202e}").into_owned()]),
        ),
        ("<testsuite><!-- <testcase><failure/></testcase> --><testcase name='a'/></testsuite>", (1, 0, 0, vec![])),
        // A retry that went well in the end is no failure.
        ("<testsuite><testcase name='a'><flakyFailure/><rerunFailure/></testcase></testsuite>", (1, 0, 0, vec![])),
        // A suite that broke before its first test.
        ("<testsuite><error message='no'/></testsuite>", (0, 1, 0, vec![])),
        // Two failures of one test are one failing test.
        ("<testsuite><testcase name='a'><failure/><error/></testcase></testsuite>", (0, 1, 0, vec!["a".to_owned()])),
        ("<x:testsuite><x:testcase name='a'><x:skipped/></x:testcase></x:testsuite>", (0, 0, 1, vec![])),
        // A run that was killed leaves a report without an end.
        ("<testsuite><testcase name='a'/><testcase name='b'><system-out>working", (1, 1, 0, vec!["b".to_owned()])),
    ] {
        assert_eq!(counted(xml), Some(wanted), "{xml}");
    }
}

#[test]
fn what_is_no_report_counts_nothing() {
    for xml in
        ["", "no xml", "<html><body><failure/></body></html>", "<coverage/>", "<", "<testsuite", "<!-- <testsuite/>"]
    {
        assert_eq!(counted(xml), None, "{xml}");
    }
}
