use super::*;
use crate::golden;

fn meter() -> Meter {
    golden::transcript().into_meter()
}

fn tokens(input: u64, output: u64) -> Tokens {
    Tokens { input, output, ..Tokens::default() }
}

fn known(micros: i64) -> Cost {
    Cost::Known { amount: Money::from_micros(micros) }
}

const DONE: Ended = Ended::Exited { code: 0 };

#[test]
fn a_request_that_grows_is_counted_once() {
    let mut meter = meter();
    meter.request("a", Some("scripted-1"), tokens(100, 1));
    meter.request("b", Some("scripted-1"), tokens(100, 1));
    meter.request("a", Some("scripted-1"), tokens(100, 20));
    assert_eq!(meter.so_far(), Money::from_micros(100 + 200 + 100 + 10));
    assert_eq!(meter.cost(&DONE, false), known(410));
    assert_eq!((meter.usage().input_tokens, meter.usage().output_tokens), (200, 21));
}

#[test]
fn thousands_of_requests_are_summed_and_not_kept() {
    let mut meter = meter();
    for number in 0..10_000 {
        meter.request(&number.to_string(), Some("scripted-1"), tokens(1, 0));
    }
    assert_eq!(meter.open.len(), MAX_OPEN);
    assert_eq!(meter.cost(&DONE, false), known(10_000));
    for number in 0..1000 {
        meter.request(&format!("m{number}"), Some(&format!("model-{number}")), tokens(1, 0));
    }
    assert!(meter.settled.len() <= MAX_MODELS);
    assert_eq!(meter.usage().input_tokens, 11_000);
}

#[test]
fn a_total_weighs_more_than_the_sum_and_own_money_more_than_both() {
    let mut meter = meter();
    meter.request("a", Some("scripted-1"), tokens(100, 0));
    meter.total(Some("scripted-1"), tokens(300, 0));
    assert_eq!(meter.cost(&DONE, false), known(300));
    meter.total(Some("scripted-1"), tokens(250, 0));
    assert_eq!(meter.cost(&DONE, false), known(250));
    meter.own(0.000_7);
    assert_eq!(meter.cost(&DONE, false), known(700));
    assert_eq!(meter.so_far(), Money::from_micros(700));
}

#[test]
fn unknown_is_never_nothing() {
    let mut unpriced = meter();
    unpriced.request("a", Some("mystery"), tokens(5, 5));
    assert_eq!(unpriced.cost(&DONE, false), Cost::Unknown);
    assert_eq!(unpriced.unpriced(), ["mystery"]);
    // A zero beside tokens is what a program says that has no price for its model.
    unpriced.own(0.0);
    assert_eq!(unpriced.cost(&DONE, false), Cost::Unknown);
    // A part without a price leaves the whole without one.
    unpriced.request("b", Some("scripted-1"), tokens(5, 5));
    assert_eq!(unpriced.cost(&DONE, false), Cost::Unknown);

    let nothing_said = meter();
    assert_eq!(nothing_said.cost(&DONE, false), Cost::Unknown);
    assert_eq!(nothing_said.cost(&DONE, true), known(0), "a service that refused sold nothing");
    assert_eq!(nothing_said.cost(&Ended::NotStarted { why: String::new() }, false), known(0));
}

#[test]
fn absurd_figures_are_none() {
    let mut meter = meter();
    for dollars in [f64::NAN, f64::INFINITY, -1.0, 1e30] {
        meter.own(dollars);
        assert_eq!(meter.own, None, "{dollars}");
    }
    meter.request("a", Some("scripted-1"), tokens(u64::MAX, u64::MAX));
    assert!(meter.so_far() < Money::dollars(20_000_000));
}

#[test]
fn sums_of_floats_do_not_grow_a_micro_dollar() {
    let mut meter = meter();
    meter.own(0.1 + 0.2);
    assert_eq!(meter.own, Some(Money::from_micros(300_000)));
    meter.own(0.000_000_4);
    assert_eq!(meter.own, Some(Money::from_micros(1)), "a part of a micro-dollar counts as one");
}

#[test]
fn a_word_about_money_that_the_tokens_contradict_is_not_believed() {
    let mut forged = meter();
    forged.request("a", Some("scripted-1"), tokens(450_000, 0));
    forged.own(0.000_1);
    let killed = Ended::Signalled { signal: 9 };
    assert_eq!(forged.cost(&killed, false), known(450_000));
    assert_eq!(forged.cost(&DONE, false), known(450_000), "less than half of the list price");
    let mut discounted = meter();
    discounted.request("a", Some("scripted-1"), tokens(450_000, 0));
    discounted.own(0.4);
    assert_eq!(discounted.cost(&DONE, false), known(400_000), "a price of its own");
    assert_eq!(discounted.cost(&killed, false), known(450_000), "it had no time for its last word");
    let mut smaller = meter();
    smaller.request("a", Some("scripted-1"), tokens(500, 0));
    smaller.total(Some("scripted-1"), tokens(10, 0));
    assert_eq!(smaller.cost(&DONE, false), known(500), "a sum is not less than its parts");
}

#[test]
fn impossible_figures_make_the_cost_unknown_and_block_nothing() {
    let mut meter = meter();
    meter.request("a", Some("scripted-1"), tokens(100, 0));
    meter.request("b", Some("scripted-1"), tokens(1_000_000_000_000_000_000, 0));
    assert_eq!(meter.so_far(), Money::from_micros(100));
    assert_eq!(meter.cost(&DONE, false), Cost::Unknown);
}

#[test]
fn a_sum_is_priced_as_long_where_it_could_be_one_request() {
    let long = |requests: &[u64], total: u64| {
        let mut meter = meter();
        for (number, input) in requests.iter().enumerate() {
            meter.request(&number.to_string(), Some("gpt-5.4"), tokens(*input, 0));
        }
        meter.total(Some("gpt-5.4"), tokens(total, 0));
        meter.cost(&DONE, false)
    };
    assert_eq!(long(&[], 300_000), known(1_500_000), "$5 a million");
    assert_eq!(long(&[150_000, 150_000], 300_000), known(750_000), "$2.50 a million, because all of it is known");
    assert_eq!(long(&[150_000], 300_000), known(750_000));
}
