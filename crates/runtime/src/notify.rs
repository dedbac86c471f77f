//! Tells the user's own command and the channels of the user about alerts and ends. Each can fail, hang or be missing without
//! harm to the run.

use std::path::PathBuf;
use std::time::Duration;

use ralph_engine::Alert;
use ralph_model::{Millis, RunId};
use ralph_notify::Message;
use ralph_process::{Spec, Stdin};
use ralph_view::RunResult;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::home::LoopFolder;
use crate::perform::Context;
use crate::services::Services;
use crate::stops::Stops;

const TIMEOUT: Millis = Millis::secs(10);
/// How long the last ones may take once somebody waits for the end of a stopped run.
const STOPPED_TIMEOUT: Duration = Duration::from_secs(1);

/// Notifications that are under way.
pub(crate) type Notifying = JoinSet<()>;

pub(crate) struct About<'a> {
    pub(crate) services: &'a Services,
    pub(crate) run: RunId,
    pub(crate) folder: &'a LoopFolder,
    pub(crate) workspace: &'a str,
}

impl<'a> From<&'a Context> for About<'a> {
    fn from(context: &'a Context) -> Self {
        let Context { services, loop_id, folder, config, .. } = context;
        Self { services, run: *loop_id, folder, workspace: &config.workspace }
    }
}

/// Notifies in the background: the run does not wait for it.
pub(crate) fn begin(about: &About<'_>, kind: &'static str, text: &str, notifying: &mut Notifying) {
    run_command(about, kind, text, notifying);
    notifying.spawn(to_channels(about.services.clone(), about.run, kind, text.to_owned()));
}

pub(crate) fn alert(context: &Context, alert: Alert, notifying: &mut Notifying) {
    begin(&context.into(), "alert", alert.sentence(), notifying);
}

/// Notifies of the end, and waits for everything that is under way because the program may end next.
pub(crate) async fn finished(context: &Context, result: &RunResult, mut notifying: Notifying, ending: Ending<'_>) {
    match context.config.race {
        None => begin(&context.into(), "finished", &result.headline(), &mut notifying),
        // The race has a word of its own for all of its candidates.
        Some(_) => run_command(&context.into(), "finished", &result.headline(), &mut notifying),
    }
    all_sent(&context.services, notifying, ending).await;
}

/// What decides how long a run waits for its last notifications.
pub(crate) struct Ending<'a> {
    /// Somebody stopped the run and waits for its end.
    pub(crate) is_stopped: bool,
    pub(crate) stops: &'a mut Stops,
}

/// Waits for everything that is under way; after a stop only for a moment.
pub(crate) async fn all_sent(services: &Services, mut notifying: Notifying, ending: Ending<'_>) {
    // One that panicked has notified no one, and harms no other.
    let sent = async { while notifying.join_next().await.is_some() {} };
    let given_up = async {
        if !ending.is_stopped {
            ending.stops.next().await;
        }
        tokio::time::sleep(STOPPED_TIMEOUT).await;
    };
    tokio::select! {
        biased;
        () = sent => {}
        () = given_up => services.warn("stopped before all notifications were sent"),
    }
}

fn run_command(about: &About<'_>, kind: &str, text: &str, notifying: &mut Notifying) {
    if let Some(notification) = Notification::new(about, kind, text) {
        notifying.spawn(notification.send());
    }
}

/// Tells people by the channels of the user.
pub(crate) async fn to_channels(services: Services, run: RunId, kind: &'static str, text: String) {
    let Some(notifier) = services.notifier.clone() else { return };
    let title = format!("Ralph: {} {kind}", run.short());
    let text = services.redactor.clean(&text).into_owned();
    let message = Message { title, key: format!("{run} {kind} {text}"), text };
    for (channel, sent) in notifier.notify(&message).await {
        if let Err(error) = sent {
            services.warn(format!("the notification by {channel} failed: {error}"));
        }
    }
}

struct Notification {
    services: Services,
    command: String,
    directory: PathBuf,
    log: PathBuf,
    body: String,
}

impl Notification {
    fn new(about: &About<'_>, kind: &str, text: &str) -> Option<Self> {
        let command = about.services.notify.clone()?;
        let body = json!({ "kind": kind, "loopId": about.run, "text": text, "workspace": about.workspace });
        Some(Self {
            services: about.services.clone(),
            command,
            // Not the workspace: the agent chooses what lies there.
            directory: about.folder.root().to_owned(),
            log: about.folder.root().join("notify.log"),
            body: body.to_string(),
        })
    }

    async fn send(self) {
        let spec = Spec {
            program: Spec::shell(&self.command),
            directory: self.directory,
            environment: self.services.environment.clone(),
            stdin: Stdin::Bytes(self.body.into_bytes()),
            log: self.log,
            pieces: None,
            log_limit: 64 * 1024,
            tail: 1024,
            timeout: Some(TIMEOUT),
            idle: None,
            grace: Millis(500),
            hold: Vec::new(),
            sandbox: None,
        };
        let (_never, stop) = watch::channel(None);
        match self.services.supervisor.run(spec, stop, &mut |_, _| {}).await {
            Ok(finished) if finished.ended.is_success() => {}
            Ok(finished) => self.services.warn(format!("the notify command failed: {}", finished.ended)),
            Err(error) => self.services.warn(format!("the notify command could not run: {error}")),
        }
    }
}
