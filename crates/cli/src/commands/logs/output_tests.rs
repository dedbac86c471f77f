use super::*;

#[test]
fn outputs_are_in_the_order_in_which_they_came_to_be() {
    let in_order = [
        "baseline-1-check-1.log",
        "baseline-1-check-2.log",
        "iteration-1-agent-2.log",
        "iteration-1-3-check-1.log",
        "iteration-1-3-check-1-retry-1.log",
        "iteration-1-3-check-2.log",
        "iteration-1-3-expected-expectation-1.log",
        "iteration-1-3-again-check-1.log",
        "iteration-1-3-again-expected-expectation-1.log",
        "iteration-1-agent-9.log",
        "iteration-2-agent-10.log",
        "iteration-2-11-check-1.log",
        "iteration-2-11-check-10.log",
        "iteration-2-12-tripwire-planted-check-1.log",
        "iteration-2-12-tripwire-changed-2-check-1.log",
        "iteration-2-12-tripwire-baseline-check-1.log",
    ];
    let known: Vec<Output> = in_order.into_iter().map(|name| Output::of(name).expect(name)).collect();
    assert!(known.is_sorted() && known.windows(2).all(|pair| pair[0] != pair[1]), "{known:#?}");
}

#[test]
fn a_file_that_says_nothing_of_its_place_is_none() {
    for name in ["setup-0123abcd-check-1.log", "notes.log", "iteration-1-agent-2", "iteration-x-agent-2.log", ".log"] {
        assert_eq!(Output::of(name), None, "{name}");
    }
}
