//! What each answer of the model used, as long as the figures can change. Adds nothing up.

use std::collections::VecDeque;

use ralph_model::Tokens;
use serde_json::Value;

use super::words::text;
use crate::transcript::Transcript;

/// Answers that are under way at once: more than there are subagents, and fewer than the meter can still correct.
const MAX: usize = 48;
/// Bytes of an answer that make a token, about. Holds only until the true figure comes.
const BYTES_A_TOKEN: usize = 4;
/// Bytes after which an estimate is worth telling: a model needs about a second for them.
const TELLING: usize = 256;

/// The answers of a run, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Answers {
    known: VecDeque<Answer>,
}

#[derive(Debug, Default)]
struct Answer {
    id: String,
    model: String,
    /// As the service said.
    tokens: Tokens,
    /// Bytes that were seen of it.
    bytes: usize,
    /// Bytes of them that are told.
    transcript: usize,
    /// Tokens of hidden thought, by the program's estimate.
    thought: u64,
    /// How its figures came.
    source: Source,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// In whole blocks, with the figures of its beginning.
    #[default]
    Blocks,
    /// Bit by bit.
    Pieces,
    /// With its end: they are true.
    End,
}

impl Answer {
    fn tokens(&self) -> Tokens {
        let seen = u64::try_from(self.bytes / BYTES_A_TOKEN).unwrap_or(u64::MAX).saturating_add(self.thought);
        let output = if self.source == Source::End { self.tokens.output } else { self.tokens.output.max(seen) };
        Tokens { output, ..self.tokens }
    }

    fn tell(&mut self, transcript: &mut Transcript) {
        self.transcript = self.bytes;
        let model = Some(self.model.as_str()).filter(|model| !model.is_empty());
        transcript.request(&self.id, model, self.tokens());
    }

    /// Takes figures that are there; none is ever smaller than before.
    fn take(&mut self, usage: &Value) {
        let count = |name: &str| usage[name].as_u64().unwrap_or(0);
        let hour = usage["cache_creation"]["ephemeral_1h_input_tokens"].as_u64().unwrap_or(0);
        let Tokens { input, cache_read, cache_write, cache_write_hour, output } = &mut self.tokens;
        *input = count("input_tokens").max(*input);
        *cache_read = count("cache_read_input_tokens").max(*cache_read);
        // The sum of both kinds; not every figure says which they are.
        let written = count("cache_creation_input_tokens").max(cache_write.saturating_add(*cache_write_hour));
        *cache_write_hour = hour.min(written).max(*cache_write_hour);
        *cache_write = written - *cache_write_hour;
        *output = count("output_tokens").max(*output);
    }
}

impl Answers {
    /// Nothing is answered without being read: a service that says so does not count.
    pub(super) fn look_for_uncounted(&self, transcript: &mut Transcript) {
        if self.known.iter().any(|answer| answer.source != Source::Blocks && answer.tokens.read() == 0) {
            transcript.lost_count("the service does not report the usage of an answer");
        }
    }

    /// An answer begins, and will come bit by bit.
    pub(super) fn begin(&mut self, id: &str, model: &str, usage: &Value, transcript: &mut Transcript) {
        self.look_for_uncounted(transcript);
        let Some(answer) = self.of(id) else { return };
        model.clone_into(&mut answer.model);
        answer.source = Source::Pieces;
        answer.take(usage);
        answer.tell(transcript);
    }

    /// An answer grew by so many bytes.
    pub(super) fn grow(&mut self, id: &str, bytes: usize, transcript: &mut Transcript) {
        if let Some(answer) = self.under_way(id) {
            answer.bytes = answer.bytes.saturating_add(bytes);
            if answer.bytes - answer.transcript >= TELLING {
                answer.tell(transcript);
            }
        }
    }

    /// The model thought, out of sight.
    pub(super) fn think(&mut self, tokens: u64, transcript: &mut Transcript) {
        if let Some(answer) = self.under_way("") {
            answer.thought = answer.thought.saturating_add(tokens);
            answer.tell(transcript);
        }
    }

    /// The true figures of an answer.
    pub(super) fn settle(&mut self, id: &str, usage: &Value, transcript: &mut Transcript) {
        if let Some(answer) = self.under_way(id)
            && usage["output_tokens"].is_u64()
        {
            answer.take(usage);
            answer.source = Source::End;
            answer.tell(transcript);
        }
    }

    /// A block of an answer, whole.
    pub(super) fn block(&mut self, message: &Value, content: &[Value], transcript: &mut Transcript) {
        let Some(answer) = self.of(text(&message["id"])) else { return };
        text(&message["model"]).clone_into(&mut answer.model);
        answer.take(&message["usage"]);
        if !text(&message["stop_reason"]).is_empty() {
            // It came in one piece, with its end.
            answer.source = Source::End;
        }
        if answer.source == Source::Blocks {
            let bytes: usize = content.iter().map(size).sum();
            answer.bytes = answer.bytes.saturating_add(bytes);
        }
        answer.tell(transcript);
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

    /// The answer of that id that comes bit by bit; the latest such for events that name none.
    fn under_way(&mut self, id: &str) -> Option<&mut Answer> {
        let is_meant = |answer: &&mut Answer| answer.source == Source::Pieces && (id.is_empty() || answer.id == id);
        self.known.iter_mut().rev().find(is_meant)
    }
}

/// Bytes of a block that the model wrote.
fn size(block: &Value) -> usize {
    let input = block["input"].as_object().map_or(0, |input| input.values().map(|value| text(value).len()).sum());
    ["text", "thinking"].iter().map(|name| text(&block[*name]).len()).sum::<usize>() + input
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
