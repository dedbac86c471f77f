//! What was typed, as a layer of configuration.

use ralph_model::Isolation;

use super::RunArgs;
use ralph_config::{Dollars, Layer, OneOrMore, Pause, Span};

impl From<&RunArgs> for Layer {
    fn from(args: &RunArgs) -> Self {
        args.access.onto(Self {
            max_iterations: args.max_iterations,
            max_cost_usd: args.max_cost.map(Dollars),
            max_tokens: args.max_tokens,
            max_window: args.max_window,
            max_file_size: args.max_file_size,
            max_duration: args.max_duration.map(Span),
            iteration_timeout: args.iteration_timeout.map(Span),
            verification_timeout: args.verification_timeout.map(Span),
            idle_timeout: args.idle_timeout.map(Span),
            pause_ms: args.pause.map(Pause),
            stall_detection_threshold: args.stall_threshold,
            same_error_threshold: args.same_error_threshold,
            escalate_to_deep_debug: args.deep_debug.then_some(true),
            verification_command: several(&args.criteria).map(OneOrMore),
            expects: several(&args.expects),
            junit: several(&args.junit),
            completion_promise: args.promise.clone(),
            agent: several(&args.agent).map(OneOrMore),
            agent_args: several(&args.agent_args.iter().flat_map(|words| words.0.clone()).collect::<Vec<_>>()),
            model: args.model.clone(),
            escalate_after: args.escalate_after,
            rotate: args.rotate.then_some(true),
            max_wait: args.max_wait.map(Span),
            failover: several(&args.failover).map(OneOrMore),
            agent_command: args.agent_command.clone(),
            unmetered: args.unmetered.then_some(true),
            cost_after_run: args.cost_after_run.then_some(true),
            meter: args.meter,
            record_requests: args.record_requests.then_some(true),
            skill: args.skill.clone(),
            context_injection: args.no_context.then_some(false),
            on_blocked: args.on_blocked,
            isolation: args.worktree.then_some(Isolation::Worktree),
            commit: args.commit.then_some(true),
            keep: args.keep,
            ratchet: args.ratchet.then_some(true),
            prohibited_paths: several(&args.prohibit),
            protected_paths: several(&args.protect),
            allow_test_change: several(&args.allow_test_change),
            verify: args.verify,
            setup: several(&args.setup).map(OneOrMore),
            retries: args.retries,
            tripwire: args.no_tripwire.then_some(false),
            require: args.require,
            allow_network: args.allow_network.then_some(true),
            sandbox: args.sandbox,
            sandbox_writable: several(&args.allow_write),
            env: several(&args.env),
            ..Self::default()
        })
    }
}

pub(super) fn several<T: Clone>(values: &[T]) -> Option<Vec<T>> {
    (!values.is_empty()).then(|| values.to_vec())
}

#[cfg(test)]
#[path = "layer_tests.rs"]
mod tests;
