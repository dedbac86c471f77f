//! Tells the user's own command and the channels of the user about alerts and ends. Each can fail, hang or be missing without
//! harm to the run.

use std::path::PathBuf;

use ralph_engine::Alert;
use ralph_model::{Millis, RunId};
use ralph_notify::Message;
use ralph_process::{Spec, Stdin};
use ralph_view::RunResult;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::perform::Context;

const TIMEOUT: Millis = Millis::secs(10);

/// Notifications that are under way.
pub(crate) type Notifying = JoinSet<()>;

/// Tells of an alert in the background: the loop does not wait for it.
pub(crate) fn alert(context: &Context, alert: Alert, notifying: &mut Notifying) {
    if let Some(notification) = Notification::new(context, "alert", alert.sentence()) {
        notifying.spawn(notification.send());
    }
    notifying.spawn(to_channels(context.services.clone(), context.loop_id, "alert", alert.sentence().to_owned()));
}

/// Tells of the end, and waits for everything that is under way because the program may end next.
pub(crate) async fn finished(context: &Context, result: &RunResult, mut notifying: Notifying) {
    if let Some(notification) = Notification::new(context, "finished", &result.headline()) {
        notifying.spawn(notification.send());
    }
    // The race has a word of its own for all of its candidates.
    if context.config.race.is_none() {
        notifying.spawn(to_channels(context.services.clone(), context.loop_id, "finished", result.headline()));
    }
    // One that panicked has told the watcher nothing, and harms nobody else.
    while notifying.join_next().await.is_some() {}
}

/// Tells people by the channels of the user.
pub(crate) async fn to_channels(services: crate::services::Services, run: RunId, kind: &'static str, text: String) {
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
    services: crate::services::Services,
    command: String,
    directory: PathBuf,
    log: PathBuf,
    body: String,
}

impl Notification {
    fn new(context: &Context, kind: &str, text: &str) -> Option<Self> {
        let command = context.services.notify.clone()?;
        let body =
            json!({ "kind": kind, "loopId": context.loop_id, "text": text, "workspace": context.config.workspace });
        Some(Self {
            services: context.services.clone(),
            command,
            // Not the workspace: the agent chooses what lies there.
            directory: context.folder.root().to_owned(),
            log: context.folder.root().join("notify.log"),
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
