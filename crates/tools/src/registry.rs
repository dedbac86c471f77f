//! The list of tools, and one way to call them all.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use ralph_agents::StopSignal;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::{parse, schema};
use crate::{Call, Effect, Outcome, Spec};

/// How long a call that changes something has to end by itself after it was stopped.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// What a tool answers: an outcome, or what went wrong in a sentence.
pub(crate) type Answer = Result<Outcome, String>;
type Running = Pin<Box<dyn Future<Output = Answer> + Send>>;
type Run = Box<dyn Fn(&Value, Context) -> Result<Running, String> + Send + Sync>;

/// What a tool is called with besides its arguments.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) key: String,
    pub(crate) stop: StopSignal,
}

#[derive(Default)]
pub(crate) struct Registry {
    specs: Vec<Spec>,
    /// In the order of the specs.
    runs: Vec<Run>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.specs.iter().map(|spec| &spec.name)).finish()
    }
}

impl Registry {
    pub(crate) fn specs(&self) -> &[Spec] {
        &self.specs
    }

    /// Adds a tool: a function of what all calls share, which each gets a clone of, of its arguments and of its context.
    pub(crate) fn add<S, A, F>(
        &mut self,
        shared: &S,
        name: &str,
        effect: Effect,
        description: &str,
        run: impl Fn(S, A, Context) -> F + Send + Sync + 'static,
    ) where
        S: Clone + Send + Sync + 'static,
        A: DeserializeOwned + JsonSchema,
        F: Future<Output = Answer> + Send + 'static,
    {
        let shared = shared.clone();
        let run = move |arguments, context| run(shared.clone(), arguments, context);
        self.add_raw(name, effect, description, schema::<A>(), run);
    }

    /// Adds a tool whose arguments have this schema.
    pub(crate) fn add_raw<A, F>(
        &mut self,
        name: &str,
        effect: Effect,
        description: &str,
        schema: Value,
        run: impl Fn(A, Context) -> F + Send + Sync + 'static,
    ) where
        A: DeserializeOwned,
        F: Future<Output = Answer> + Send + 'static,
    {
        let (name, description) = (name.to_owned(), description.to_owned());
        self.specs.push(Spec { name, description, schema: schema.clone(), effect });
        self.runs.push(Box::new(move |arguments, context| {
            Ok(Box::pin(run(parse(&schema, arguments)?, context)) as Running)
        }));
    }

    /// Adds a tool that works on files, on a thread that may block.
    pub(crate) fn add_blocking<S: Send + Sync + 'static, A: DeserializeOwned + JsonSchema + Send + 'static>(
        &mut self,
        shared: &Arc<S>,
        name: &str,
        effect: Effect,
        description: &str,
        run: fn(&S, A, &Context) -> Answer,
    ) {
        self.add(shared, name, effect, description, move |shared, arguments, context| async move {
            let done = tokio::task::spawn_blocking(move || run(&shared, arguments, &context)).await;
            done.unwrap_or_else(|_| Err("the tool failed inside: this is a bug in Ralph".to_owned()))
        });
    }

    pub(crate) async fn call(&self, call: Call<'_>, stop: &StopSignal) -> Outcome {
        let Some(at) = self.specs.iter().position(|spec| spec.name == call.name) else {
            let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
            return Outcome::failed(format!("there is no tool {}; there are {}", call.name, names.join(", ")));
        };
        let context = Context { key: call.key.to_owned(), stop: stop.clone() };
        let running = match (self.runs[at])(call.arguments, context) {
            Ok(running) => running,
            Err(problem) => return Outcome::failed(format!("{}: {problem}", call.name)),
        };
        let grace = if self.specs[at].effect == Effect::Reads { Duration::ZERO } else { STOP_GRACE };
        tokio::select! {
            biased;
            done = AssertUnwindSafe(running).catch_unwind() => match done {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(problem)) => Outcome::failed(problem),
                Err(_) => Outcome::failed(format!("{} failed inside: this is a bug in Ralph", call.name)),
            },
            () = stopped(stop.clone(), grace) => {
                Outcome::failed(format!("{} was stopped before it ended: it may have had an effect", call.name))
            }
        }
    }
}

/// Waits until someone stops the call, and some time more.
async fn stopped(mut stop: StopSignal, grace: Duration) {
    if stop.wait_for(Option::is_some).await.is_err() {
        // No one can stop it any more.
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(grace).await;
}
