use serde_json::json;

use super::*;
use crate::golden;

/// `scripted-1` costs a dollar for a million tokens read and ten for a million written.
fn begun(output: u64) -> (Answers, Transcript) {
    let (mut answers, mut transcript) = (Answers::default(), golden::transcript());
    let usage = json!({"input_tokens": 1000, "output_tokens": output});
    answers.begin(&message("a", "scripted-1", &usage), &mut transcript);
    (answers, transcript)
}

fn message(id: &str, model: &str, usage: &Value) -> Value {
    json!({"id": id, "model": model, "usage": usage})
}

fn micros(transcript: &Transcript) -> i64 {
    transcript.spent().micros()
}

#[test]
fn what_was_read_counts_at_once_and_what_is_written_with_its_end() {
    let (mut answers, mut transcript) = begun(1);
    assert_eq!(micros(&transcript), 1010);
    answers.settle("a", &json!({"output_tokens": 50}), &mut transcript);
    assert_eq!(micros(&transcript), 1500);
    // A late block repeats the figures of the beginning.
    answers.told(&message("a", "scripted-1", &json!({"input_tokens": 1000, "output_tokens": 1})), &mut transcript);
    assert_eq!(micros(&transcript), 1500);
}

#[test]
fn answers_of_subagents_count_by_their_blocks() {
    let (mut answers, mut transcript) = (Answers::default(), golden::transcript());
    for output in [1, 5] {
        let usage = json!({"input_tokens": 1000, "output_tokens": output});
        answers.told(&message("s", "scripted-1", &usage), &mut transcript);
        assert_eq!(micros(&transcript), 1000 + 10 * output);
    }
}

#[test]
fn answers_are_forgotten_before_they_are_too_many() {
    let (mut answers, mut transcript) = (Answers::default(), golden::transcript());
    for number in 0..1000 {
        let message = message(&number.to_string(), "scripted-1", &json!({"input_tokens": 1000}));
        answers.begin(&message, &mut transcript);
    }
    assert_eq!(answers.known.len(), MAX);
    assert_eq!(micros(&transcript), 1000 * 1000);
}

#[test]
fn answers_without_a_name_are_nobodys() {
    let (mut answers, mut transcript) = (Answers::default(), golden::transcript());
    answers.begin(&message("", "scripted-1", &json!({"input_tokens": 1000})), &mut transcript);
    answers.settle("x", &json!({"output_tokens": 50}), &mut transcript);
    assert_eq!(micros(&transcript), 0);
}

#[test]
fn what_is_cached_for_an_hour_is_dearer() {
    let (mut answers, mut transcript) = (Answers::default(), golden::transcript());
    let usage = json!({"cache_creation_input_tokens": 5000,
        "cache_creation": {"ephemeral_5m_input_tokens": 2000, "ephemeral_1h_input_tokens": 3000}});
    answers.begin(&message("a", "claude-opus-4-5", &usage), &mut transcript);
    // A later figure that does not tell them apart changes nothing.
    answers.settle("a", &json!({"cache_creation_input_tokens": 5000, "output_tokens": 0}), &mut transcript);
    assert_eq!(micros(&transcript), 2000 * 25 / 4 + 3000 * 10);
    let usage = transcript.into_meter().usage();
    assert_eq!((usage.cache_write_tokens, usage.input_tokens), (5000, 5000));
}

#[test]
fn a_service_that_does_not_count_is_found_out() {
    for usage in [json!({}), json!({"input_tokens": 0, "output_tokens": 3}), json!(null)] {
        let (mut answers, mut transcript) = (Answers::default(), golden::transcript());
        answers.begin(&message("a", "scripted-1", &usage), &mut transcript);
        assert_eq!(transcript.why_lost_count(), None, "some tell it with the end of an answer");
        answers.settle("a", &usage, &mut transcript);
        answers.begin(&message("b", "scripted-1", &usage), &mut transcript);
        assert!(transcript.why_lost_count().is_some(), "{usage}");
        transcript.own_cost(0.000_1);
        let done = ralph_model::Ended::Exited { code: 0 };
        assert_eq!(transcript.finish(&done, false).cost, ralph_model::Cost::Unknown, "{usage}");
    }
    let (mut answers, mut transcript) = begun(1);
    answers.settle("a", &json!({"output_tokens": 5}), &mut transcript);
    answers.look_for_uncounted(&mut transcript);
    assert_eq!(transcript.why_lost_count(), None);
}
