use super::*;
use crate::words::words;

#[test]
fn every_entry_is_written_as_requests_are_read() {
    for entry in &VOCABULARY.entries {
        for pattern in &entry.words {
            let (Pattern::Whole(text) | Pattern::Beginning(text) | Pattern::End(text)) = pattern;
            assert!(text.contains('\'') || words(text) == [*text], "{entry:?} can never match");
        }
    }
}

#[test]
fn slips_lead_to_words_that_are_known() {
    for (typed, meant) in
        [("refacotr", "refactor"), ("paymnet", "payment"), ("upgarde", "upgrade"), ("parser", "parser")]
    {
        assert_eq!(VOCABULARY.corrected(typed), meant);
    }
}
