//! Lists what a crew asks its own models, as the gateway lists what programs ask theirs.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ralph_crew::AskModel;
use ralph_gateway::{RequestOutcome, RequestRecord};
use ralph_llm::Watch;
use ralph_model::{Access, Attempt, Iteration, Tokens};

use super::CrewParts;
use crate::home::LoopFolder;
use crate::perform::Wire;
use crate::services::Services;

/// Asks models as before, and adds every request to the list of the run.
pub(super) fn listed(parts: &CrewParts, services: &Services, folder: &LoopFolder, round: &Arc<AtomicU32>) -> AskModel {
    let (ask, model_name) = (Arc::clone(&parts.ask), Arc::clone(&parts.model_name));
    let (services, folder, round) = (services.clone(), folder.clone(), Arc::clone(round));
    let numbers = Arc::new(AtomicU64::new(0));
    Arc::new(move |wanted, watch| {
        let (services, folder, agent) = (services.clone(), folder.clone(), wanted.agent.name.clone());
        let (number, round) = (numbers.fetch_add(1, Ordering::Relaxed) + 1, round.load(Ordering::Relaxed));
        let model = model_name(&wanted.agent, wanted.is_fast);
        let (at, began, seen) = ((services.now)(), Instant::now(), Arc::new(Seen::default()));
        let seeing = Arc::clone(&seen);
        let asking = ask(
            wanted,
            Arc::new(move |event: Watch| {
                match &event {
                    Watch::Delta(_) => _ = seeing.first.set(began.elapsed()),
                    Watch::Again { .. } | Watch::Fallback { .. } => _ = seeing.retries.fetch_add(1, Ordering::Relaxed),
                }
                watch(event);
            }),
        );
        Box::pin(async move {
            let asked = asking.await;
            let answer = asked.as_ref().ok().map(|asked| &asked.answer);
            let price = answer.and_then(|answer| services.prices.of(&answer.model)).or(services.prices.of(&model));
            let tokens = answer.and_then(|answer| answer.tokens);
            let record = RequestRecord {
                number,
                at,
                answered_by: answer.map(|answer| answer.model.clone()).filter(|name| *name != model),
                outcome: if answer.is_some() { RequestOutcome::Answered } else { RequestOutcome::Failed },
                status: answer.map(|_| 200),
                retries: seen.retries.load(Ordering::Relaxed),
                cost: price.zip(tokens).map(|(price, tokens)| price.request(tokens)),
                tokens: tokens.unwrap_or_else(Tokens::default),
                is_estimate: false,
                first_byte_ms: seen.first.get().copied().map(millis),
                duration_ms: millis(began.elapsed()),
                context: None,
                model,
            };
            let wire = Wire { services: &services, folder: &folder, access: &Access::default() };
            wire.list(Iteration(round), Attempt(0), &agent, &record);
            asked
        })
    })
}

/// What was seen of an answer on its way.
#[derive(Default)]
struct Seen {
    first: OnceLock<Duration>,
    retries: AtomicU32,
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
