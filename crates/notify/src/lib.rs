//! Notifies people: by a webhook that understands what Slack does, by e-mail, and on the desktop.
//!
//! Each message has an idempotency key: the header `Idempotency-Key` of a webhook, the `Message-ID` of an e-mail, so that a
//! receiver can recognise a message that is sent again. Nothing is sent twice by itself, and a failure is the caller's to judge.

mod desktop;
mod mail;
mod webhook;

use std::fmt;

pub use desktop::Desktop;
use lettre::message::Mailbox;
pub use mail::{Email, Mail};
use ralph_text::sanitize;
use sha2::{Digest as _, Sha256};
pub use webhook::Webhook;

/// What is set up, by the user alone.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub webhook: Option<Webhook>,
    pub email: Option<Email>,
    pub desktop: Option<Desktop>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub title: String,
    pub text: String,
    /// The same for a message that is sent again.
    pub key: String,
}

/// A way to reach people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    Webhook,
    /// An e-mail to the user's own addresses.
    Email,
    Desktop,
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Webhook => "webhook",
            Self::Email => "e-mail",
            Self::Desktop => "desktop",
        })
    }
}

/// Why a notification failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{key} {problem}")]
    Settings { key: &'static str, problem: String },
    #[error("{0}")]
    Failed(String),
    #[error("no mail server is configured: set notify.smtp and notify.email_from in your own configuration")]
    NoMail,
}

/// Notifies people by all channels that are set up.
#[derive(Debug)]
pub struct Notifier {
    webhook: Option<webhook::Sender>,
    mail: Option<mail::Sender>,
    desktop: Option<Desktop>,
}

impl Notifier {
    /// Checks the settings. Nothing is sent.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Ok(Self {
            webhook: settings.webhook.map(webhook::Sender::new).transpose()?,
            mail: settings.email.map(mail::Sender::new).transpose()?,
            desktop: settings.desktop,
        })
    }

    pub fn channels(&self) -> Vec<Channel> {
        let is_addressed = self.mail.as_ref().is_some_and(mail::Sender::is_addressed);
        let known = [
            (Channel::Webhook, self.webhook.is_some()),
            (Channel::Email, is_addressed),
            (Channel::Desktop, self.desktop.is_some()),
        ];
        known.into_iter().filter(|(_, is_there)| *is_there).map(|(channel, _)| channel).collect()
    }

    pub const fn can_mail(&self) -> bool {
        self.mail.is_some()
    }

    /// Notifies the user by every channel at once, and says what came of each: an id of the message, or why it failed.
    pub async fn notify(&self, message: &Message) -> Vec<(Channel, Result<String, Error>)> {
        let message = &message.cleaned();
        let webhook = async {
            let Some(webhook) = &self.webhook else { return None };
            Some((Channel::Webhook, webhook.send(message).await))
        };
        let email = async {
            let mail = self.mail.as_ref().filter(|mail| mail.is_addressed())?;
            Some((Channel::Email, mail.notify(message).await))
        };
        let desktop = async {
            let Some(desktop) = &self.desktop else { return None };
            Some((Channel::Desktop, desktop.send(message).await))
        };
        let (webhook, email, desktop) = tokio::join!(webhook, email, desktop);
        [webhook, email, desktop].into_iter().flatten().collect()
    }

    /// Sends an e-mail, and returns its `Message-ID`.
    ///
    /// # Errors
    /// When an address is none, or the server cannot be reached or refuses.
    pub async fn send_mail(&self, mail: &Mail) -> Result<String, Error> {
        self.mail.as_ref().ok_or(Error::NoMail)?.send(mail).await
    }
}

impl Message {
    /// Without what could be taken for something else than text.
    fn cleaned(&self) -> Self {
        let (title, text) = (one_line(&self.title), sanitize(&self.text).into_owned());
        Self { title, text, key: self.key.clone() }
    }
}

/// A text without line ends and control characters.
fn one_line(text: &str) -> String {
    sanitize(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands for a key where a key itself cannot.
fn digest(key: &str) -> String {
    Sha256::digest(key.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Whether this is an address that an e-mail can be sent to.
pub fn is_address(address: &str) -> bool {
    address.parse::<Mailbox>().is_ok()
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
