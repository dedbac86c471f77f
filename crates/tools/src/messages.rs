//! `notify_user` and `send_email`.

use std::sync::Arc;

use ralph_notify::{Mail, Message, Notifier};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Effect::Outward;
use crate::Outcome;
use crate::files::count;
use crate::registry::{Answer, Context, Registry};

/// The most addresses of one e-mail.
const MAX_ADDRESSES: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Notify {
    /// What the user is told.
    message: String,
    /// A few words before it.
    title: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Send {
    /// Addresses.
    to: Vec<String>,
    /// The subject.
    subject: String,
    /// Plain text.
    body: String,
}

pub(crate) fn register(registry: &mut Registry, notifier: &Arc<Notifier>) {
    if !notifier.channels().is_empty() {
        let channels = notifier.channels().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        registry.add(notifier, "notify_user", Outward, &format!("Notifies the user, by {channels}."), notify);
    }
    if notifier.can_mail() {
        registry.add(notifier, "send_email", Outward, "Sends an e-mail.", send);
    }
}

async fn notify(notifier: Arc<Notifier>, Notify { message, title }: Notify, context: Context) -> Answer {
    let title = title.unwrap_or_else(|| "Ralph".to_owned());
    let sent = notifier.notify(&Message { title, text: message, key: context.key }).await;
    let channels = |works: bool| {
        let some = sent.iter().filter(move |(_, sent)| sent.is_ok() == works).map(|(channel, _)| channel.to_string());
        some.collect::<Vec<_>>().join(", ")
    };
    let failures = sent.iter().filter_map(|(channel, sent)| Some(format!("{channel}: {}", sent.as_ref().err()?)));
    let failures = failures.collect::<Vec<_>>().join("; ");
    let Some(id) = sent.iter().find_map(|(_, sent)| sent.as_ref().ok()) else {
        return Err(format!("the user was not notified: {failures}"));
    };
    let summary = format!("notified the user by {}", channels(true));
    let text = if failures.is_empty() { summary.clone() } else { format!("{summary}; these failed: {failures}") };
    Ok(Outcome::done(summary, text).with_id(id, "the user has the message"))
}

async fn send(notifier: Arc<Notifier>, Send { to, subject, body }: Send, context: Context) -> Answer {
    if to.is_empty() || to.len() > MAX_ADDRESSES {
        return Err(format!(
            "to has {}: it has to be 1 to {MAX_ADDRESSES}",
            count(to.len(), "address").replace("addresss", "addresses")
        ));
    }
    if let Some(address) = to.iter().find(|address| !ralph_notify::is_address(address)) {
        return Err(format!("`{address}` is no address"));
    }
    let receivers = to.join(", ");
    let mail = Mail { to, subject: subject.clone(), body, key: context.key };
    let id = notifier.send_mail(&mail).await.map_err(|error| format!("the e-mail was not sent: {error}"))?;
    let next = format!("wait for an answer of {receivers}");
    Ok(Outcome::noted(format!("sent \"{subject}\" to {receivers}")).with_id(id, next))
}
