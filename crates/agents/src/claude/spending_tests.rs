use ralph_model::{Cost, Ended, Money};
use serde_json::json;

use super::*;
use crate::golden;

const ENDED: Ended = Ended::Exited { code: 0 };

fn usage(input: u64, dollars: f64, basis: &str) -> Value {
    json!({"scripted-1": {"inputTokens": input, "costUSD": dollars, "costBasis": basis}})
}

fn cost(results: &[(Value, Value, Value)]) -> Cost {
    let (mut spending, mut transcript) = (Spending::default(), golden::transcript());
    for (since, session, total) in results {
        spending.add(since, session, total, &mut transcript);
    }
    transcript.finish(&ENDED, false).cost
}

fn known(micros: i64) -> Cost {
    Cost::Known { amount: Money::from_micros(micros) }
}

#[test]
fn an_older_session_is_not_charged_again() {
    let resumed = (usage(100, 0.0008, "list"), usage(5000, 5.0, "list"), json!(5.0));
    assert_eq!(cost(&[resumed]), known(800));
}

#[test]
fn results_of_one_run_add_up() {
    let first = (usage(100, 0.5, "list"), usage(100, 0.5, "list"), json!(0.5));
    let second = (usage(100, 0.25, "list"), usage(200, 0.75, "list"), json!(0.75));
    let nothing = (json!({}), usage(200, 0.75, "list"), json!(0.75));
    assert_eq!(cost(&[first, second, nothing]), known(750_000));
}

#[test]
fn versions_without_figures_since_the_last_result_tell_sums() {
    let first = (Value::Null, usage(100, 0.5, "list"), json!(0.5));
    let second = (Value::Null, usage(200, 0.75, "list"), json!(0.75));
    assert_eq!(cost(&[first, second]), known(750_000));
}

#[test]
fn a_price_that_it_only_guessed_is_not_taken() {
    // A million tokens of this model cost a dollar, whatever it says.
    let guess = (usage(1_000_000, 40.0, "unknown"), Value::Null, json!(40.0));
    assert_eq!(cost(&[guess]), known(1_000_000));
    let unknown = json!({"foo-1": {"inputTokens": 1000, "costUSD": 4.0, "costBasis": "unknown"}});
    assert_eq!(cost(&[(unknown, Value::Null, json!(4.0))]), Cost::Unknown);
}

#[test]
fn figures_that_are_none_say_nothing() {
    assert_eq!(cost(&[(Value::Null, Value::Null, json!(3.0))]), known(3_000_000), "a figure alone is one");
    assert_eq!(cost(&[(Value::Null, Value::Null, Value::Null)]), Cost::Unknown);
    let negative = json!({"scripted-1": {"inputTokens": -5, "costUSD": -3.0}});
    assert_eq!(cost(&[(negative, Value::Null, Value::Null)]), Cost::Unknown);
    let huge = json!({"scripted-1": {"inputTokens": 1000, "costUSD": 1e300}});
    assert_eq!(cost(&[(huge, Value::Null, Value::Null)]), known(1000));
}

#[test]
fn models_are_not_remembered_without_end() {
    let (mut spending, mut transcript) = (Spending::default(), golden::transcript());
    for number in 0..200 {
        spending.add(&json!({format!("m{number}"): {"inputTokens": 1}}), &Value::Null, &Value::Null, &mut transcript);
    }
    assert_eq!(spending.models.len(), MAX_MODELS);
}
