//! What each answer of the model used, as the service reports it. Adds nothing up.

use std::collections::VecDeque;

use ralph_model::Tokens;
use serde_json::Value;

use crate::text::{count, text};
use crate::transcript::Transcript;

/// Answers that are under way at once: more than there are subagents, and fewer than the meter can still correct.
const MAX: usize = 48;

/// The answers of a run, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Answers {
    known: VecDeque<Answer>,
}

#[derive(Debug, Default)]
struct Answer {
    id: String,
    model: String,
    tokens: Tokens,
    /// Its figures are those of its beginning or of its end, and not only what stands in its blocks.
    is_reported: bool,
}

impl Answer {
    /// Takes figures that are there; none is ever smaller than before.
    fn take(&mut self, usage: &Value, transcript: &mut Transcript) {
        let hour = count(&usage["cache_creation"], "ephemeral_1h_input_tokens");
        let Tokens { input, cache_read, cache_write, cache_write_hour, output } = &mut self.tokens;
        *input = count(usage, "input_tokens").max(*input);
        *cache_read = count(usage, "cache_read_input_tokens").max(*cache_read);
        // The sum of both kinds; not every figure says which they are.
        let written = count(usage, "cache_creation_input_tokens").max(cache_write.saturating_add(*cache_write_hour));
        *cache_write_hour = hour.min(written).max(*cache_write_hour);
        *cache_write = written - *cache_write_hour;
        *output = count(usage, "output_tokens").max(*output);
        let model = Some(self.model.as_str()).filter(|model| !model.is_empty());
        transcript.request(&self.id, model, self.tokens);
    }
}

impl Answers {
    /// Nothing is answered without being read: a service that says so does not count.
    pub(super) fn look_for_uncounted(&self, transcript: &mut Transcript) {
        if self.known.iter().any(|answer| answer.is_reported && answer.tokens.read() == 0) {
            transcript.lost_count("the service does not report the usage of an answer");
        }
    }

    /// An answer begins, or a block of it is whole.
    pub(super) fn told(&mut self, message: &Value, transcript: &mut Transcript) {
        let Some(answer) = self.of(text(&message["id"])) else { return };
        text(&message["model"]).clone_into(&mut answer.model);
        answer.is_reported |= !text(&message["stop_reason"]).is_empty();
        answer.take(&message["usage"], transcript);
    }

    /// An answer begins that will come bit by bit.
    pub(super) fn begin(&mut self, message: &Value, transcript: &mut Transcript) {
        self.look_for_uncounted(transcript);
        self.told(message, transcript);
        if let Some(answer) = self.of(text(&message["id"])) {
            answer.is_reported = true;
        }
    }

    /// The true figures of an answer; of the latest one where none is named.
    pub(super) fn settle(&mut self, id: &str, usage: &Value, transcript: &mut Transcript) {
        let is_meant = |answer: &&mut Answer| answer.is_reported && (id.is_empty() || answer.id == id);
        if let Some(answer) = self.known.iter_mut().rev().find(is_meant) {
            answer.take(usage, transcript);
        }
    }

    fn of(&mut self, id: &str) -> Option<&mut Answer> {
        if id.is_empty() {
            return None;
        }
        if let Some(at) = self.known.iter().position(|answer| answer.id == id) {
            return self.known.get_mut(at);
        }
        if self.known.len() == MAX {
            self.known.pop_front();
        }
        self.known.push_back(Answer { id: id.to_owned(), ..Answer::default() });
        self.known.back_mut()
    }
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
