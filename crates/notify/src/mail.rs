//! E-mail over SMTP.

use std::time::Duration;

use lettre::message::{Mailbox, header::ContentType};
use lettre::transport::smtp::authentication::Credentials;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use percent_encoding::percent_decode_str;
use ralph_text::sanitize;

use crate::{Error, Message, digest, one_line};

const TIMEOUT: Duration = Duration::from_secs(30);
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

#[derive(Clone)]
pub struct Email {
    /// `smtps://USER@HOST:465` or `smtp://USER@HOST:587?tls=required`. Without TLS only on this machine.
    pub server: String,
    pub password: Option<String>,
    pub from: String,
    /// The user's own addresses, which notifications go to.
    pub to: Vec<String>,
}

impl std::fmt::Debug for Email {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Email").field("from", &self.from).field("to", &self.to).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Addresses, with or without a name.
    pub to: Vec<String>,
    pub subject: String,
    pub body: String,
    /// The same for a mail that is sent again: the `Message-ID` is made of it.
    pub key: String,
}

#[derive(Debug)]
pub(crate) struct Sender {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    to: Vec<String>,
}

impl Sender {
    pub(crate) fn new(email: Email) -> Result<Self, Error> {
        let wrong = |key, problem: String| Error::Settings { key, problem };
        let from =
            email.from.parse().map_err(|_| wrong("notify.email_from", format!("`{}` is no address", email.from)))?;
        if let Some(address) = email.to.iter().find(|address| !crate::is_address(address)) {
            return Err(wrong("notify.email_to", format!("`{address}` is no address")));
        }
        let no_server = |problem: &str| {
            let example = "write it like smtps://USER@HOST or smtp://USER@HOST:587?tls=required";
            wrong("notify.smtp", format!("{problem}: {example}"))
        };
        let Some((scheme, rest)) = email.server.split_once("://") else { return Err(no_server("is no address")) };
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        // A password must not travel where anyone can read it, and nothing says that a mail may.
        if scheme == "smtp" && !rest.contains("tls=required") && !LOOPBACK.contains(&host) {
            return Err(no_server("would send mail without encryption"));
        }
        let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(&email.server);
        let mut builder = builder.map_err(|error| no_server(&error.to_string()))?.timeout(Some(TIMEOUT));
        if let (Some(user), Some(password)) = (user, email.password) {
            let user = user.split(':').next().unwrap_or_default();
            let user = percent_decode_str(user).decode_utf8_lossy().into_owned();
            builder = builder.credentials(Credentials::new(user, password));
        }
        Ok(Self { transport: builder.build(), from, to: email.to })
    }

    /// Whether notifications can be sent to the user.
    pub(crate) fn is_addressed(&self) -> bool {
        !self.to.is_empty()
    }

    pub(crate) async fn notify(&self, message: &Message) -> Result<String, Error> {
        let Message { title, text, key } = message.clone();
        self.send(&Mail { to: self.to.clone(), subject: title, body: text, key }).await
    }

    pub(crate) async fn send(&self, mail: &Mail) -> Result<String, Error> {
        let failed = |error: &dyn std::fmt::Display| Error::Failed(error.to_string());
        let id = format!("<{}@{}>", digest(&mail.key), self.from.email.domain());
        let subject = one_line(&mail.subject);
        let mut builder =
            lettre::Message::builder().from(self.from.clone()).message_id(Some(id.clone())).subject(subject);
        for address in &mail.to {
            let address: Mailbox = address.parse().map_err(|_| Error::Failed(format!("`{address}` is no address")))?;
            builder = builder.to(address);
        }
        let body = sanitize(&mail.body).into_owned();
        let message = builder.header(ContentType::TEXT_PLAIN).body(body).map_err(|error| failed(&error))?;
        let sent = tokio::time::timeout(TIMEOUT, self.transport.send(message)).await;
        match sent {
            Ok(Ok(_)) => Ok(id),
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => Err(Error::Failed(format!("the mail server did not answer within {} s", TIMEOUT.as_secs()))),
        }
    }
}
