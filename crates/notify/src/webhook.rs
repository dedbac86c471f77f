//! A webhook that understands what Slack does: a JSON object with a `text`.

use std::time::Duration;

use ralph_http::{Call, HeaderName, HeaderValue, Http, Method, Uri, header, is_address, read};
use serde_json::json;

use crate::{Error, Message, digest};

const TIMEOUT: Duration = Duration::from_secs(15);
/// What is read of an answer.
const MAX_ANSWER: usize = 64 << 10;

#[derive(Clone)]
pub struct Webhook {
    /// Its address, which is a secret: anyone who knows it can write there.
    pub url: String,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Webhook")
    }
}

#[derive(Debug)]
pub(crate) struct Sender {
    webhook: Webhook,
    http: Http,
}

impl Sender {
    pub(crate) fn new(webhook: Webhook) -> Result<Self, Error> {
        let wrong = |problem: &str| Error::Settings { key: "notify.webhook", problem: problem.to_owned() };
        let uri: Uri = webhook.url.parse().map_err(|_| wrong("is no address"))?;
        if !is_address(&uri) {
            return Err(wrong("is no address: write it like https://hooks.example.com/services/…"));
        }
        let http = Http::new(uri.scheme_str() == Some("https")).map_err(|error| wrong(&error.to_string()))?;
        Ok(Self { webhook, http })
    }

    pub(crate) async fn send(&self, message: &Message) -> Result<String, Error> {
        let id = digest(&message.key);
        let text = match message.text.is_empty() {
            true => message.title.clone(),
            false => format!("*{}*\n{}", message.title, message.text),
        };
        let key = HeaderValue::from_str(&id).map_err(|error| Error::Failed(error.to_string()))?;
        let headers = vec![
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (HeaderName::from_static("idempotency-key"), key),
        ];
        let body = json!({ "text": text }).to_string().into();
        let call = Call { method: Method::POST, url: self.webhook.url.clone(), headers, body };
        let failed = |error: ralph_http::Error| Error::Failed(error.to_string());
        let answer = self.http.send(call, TIMEOUT).await.map_err(failed)?;
        let status = answer.status();
        if status.is_success() {
            return Ok(id);
        }
        let body = read(answer.into_body(), MAX_ANSWER, TIMEOUT).await.unwrap_or_default();
        let why: String = String::from_utf8_lossy(&body).chars().take(200).collect();
        Err(Error::Failed(format!("the webhook answered {status}: {}", crate::one_line(&why))))
    }
}
