//! Traces of runs: sent where the variables of OpenTelemetry name a collector.

use std::sync::Arc;
use std::time::Duration;

use ralph_api::{OnFailure, TraceTarget, Traces};
use ralph_runtime::Watcher;
use ralph_view::{Progress, Update};

/// How long the end of the program waits for a collector.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// What the environment says about traces.
#[derive(Debug, Clone)]
pub(crate) enum TraceSetting {
    Off,
    To(Traces),
    /// They are wanted, and cannot be sent for this reason.
    Unusable(String),
}

impl TraceSetting {
    pub(crate) fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        match TraceTarget::from_variables(variable) {
            Ok(None) => Self::Off,
            Ok(Some(target)) => Self::To(Traces::new(target)),
            Err(problem) => Self::Unusable(problem),
        }
    }

    /// A watcher that passes everything on, and sends the spans that end.
    pub(crate) fn watched_by(&self, watcher: Watcher) -> Watcher {
        match self {
            Self::Off => watcher,
            Self::Unusable(problem) => {
                watcher(warning(format!("no traces are sent: {problem}")));
                watcher
            }
            Self::To(traces) => {
                let (traces, to) = (traces.clone(), Arc::clone(&watcher));
                let on_failure: OnFailure = Arc::new(move |problem| to(warning(problem)));
                Arc::new(move |update: Update| {
                    traces.send(ralph_view::spans(&update), &on_failure);
                    watcher(update);
                })
            }
        }
    }

    pub(crate) async fn flush(&self) {
        if let Self::To(traces) = self {
            traces.flush(FLUSH_TIMEOUT).await;
        }
    }
}

fn warning(text: String) -> Update {
    Progress::Warning { text }.into()
}
