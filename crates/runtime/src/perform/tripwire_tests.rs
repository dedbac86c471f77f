use super::*;

#[test]
fn only_a_plain_cargo_test_is_told_to_go_on() {
    assert_eq!(to_the_end("cargo test"), "cargo test --no-fail-fast");
    assert_eq!(to_the_end("cargo test -p shop -- cart"), "cargo test --no-fail-fast -p shop -- cart");
    for command in ["cargo tests", "make test", "cargo test --no-fail-fast", "./cargo test"] {
        assert_eq!(to_the_end(command), command);
    }
}

#[test]
fn failures_of_planted_tests_and_of_their_files_are_no_others() {
    let plant = Plant {
        path: "tests/cart.test.js".into(),
        content: vec![],
        marks: vec!["hazel_river_1".into()],
        is_new: false,
        runner: ralph_model::Runner::NodeTest,
        presence: ralph_verify::tripwire::Presence::Sure,
        stops: ralph_verify::tripwire::Stops::Never,
    };
    let names = ["adds", "hazel_river_1", "shop/tests/cart.test.js", "unheard of"].map(str::to_owned);
    let tests = ralph_model::TestTally { names: names[..3].to_vec(), ..Default::default() };
    let mut baseline = Verdict::new(TreeHash::default(), vec![]);
    baseline.checks.push(CheckOutcome {
        command: "node --test".into(),
        passed: false,
        ended: ralph_model::Ended::Exited { code: 1 },
        tests: Some(tests),
        shrunk: None,
        flaky: false,
        retries: 0,
        duration: ralph_model::Millis(1),
        excerpt: String::new(),
        signature: None,
        output: ralph_model::OutputRef::default(),
    });
    assert_eq!(others(&names, &[plant], Some(&baseline)), ["adds"]);
}
