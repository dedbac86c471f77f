//! What the program itself says that a run used and cost. It may resume an older session, whose figures it then adds to its own.

use ralph_model::Tokens;
use serde_json::Value;

use crate::text::{count, text};
use crate::transcript::Transcript;

/// Models that one run uses.
const MAX_MODELS: usize = 32;

/// The sums over the results of a run.
#[derive(Debug, Default)]
pub(super) struct Spending {
    models: Vec<(String, Tokens)>,
    dollars: f64,
    /// It did not know the price of a model and took that of another.
    is_guess: bool,
}

impl Spending {
    /// Takes the figures of one result. `since` counts from the result before; older versions have only sums over the session.
    pub(super) fn add(&mut self, since: &Value, session: &Value, cost: &Value, transcript: &mut Transcript) {
        let (models, is_sum) = match (since.as_object(), session.as_object()) {
            (Some(since), _) => (since, false),
            (None, Some(session)) => (session, true),
            (None, None) => {
                if let Some(dollars) = cost.as_f64() {
                    transcript.own_cost(dollars);
                }
                return;
            }
        };
        if is_sum {
            self.models.clear();
            self.dollars = cost.as_f64().unwrap_or(0.0);
        }
        for (model, usage) in models {
            let tokens = tokens(usage);
            self.is_guess |= text(&usage["costBasis"]) == "unknown" && !tokens.is_none();
            if !is_sum {
                self.dollars += usage["costUSD"].as_f64().filter(|dollars| *dollars >= 0.0).unwrap_or(0.0);
            }
            let is_full = self.models.len() == MAX_MODELS;
            match self.models.iter_mut().find(|(known, _)| known == model) {
                Some((_, sum)) => *sum = sum.plus(tokens),
                None if is_full => {}
                None => self.models.push((model.clone(), tokens)),
            }
        }
        for (model, tokens) in &self.models {
            transcript.total(Some(model), *tokens);
        }
        match self.is_guess {
            true => transcript.no_own_cost(),
            false => transcript.own_cost(self.dollars),
        }
    }
}

fn tokens(usage: &Value) -> Tokens {
    Tokens {
        input: count(usage, "inputTokens"),
        cache_read: count(usage, "cacheReadInputTokens"),
        cache_write: count(usage, "cacheCreationInputTokens"),
        output: count(usage, "outputTokens"),
        ..Tokens::default()
    }
}

#[cfg(test)]
#[path = "spending_tests.rs"]
mod tests;
