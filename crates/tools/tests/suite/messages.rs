use std::sync::Arc;

use ralph_notify::{Email, Notifier, Settings, Webhook};
use ralph_tools::Effect;
use serde_json::json;

use crate::receiver::{MailServer, Receiver};
use crate::support::Lab;

fn email(port: u16, to: &[&str]) -> Email {
    let to = to.iter().map(|address| (*address).to_owned()).collect();
    Email {
        server: format!("smtp://127.0.0.1:{port}"),
        password: None,
        from: "Ralph <ralph@example.com>".to_owned(),
        to,
    }
}

fn lab(settings: Settings) -> Lab {
    let notifier = Arc::new(Notifier::new(settings).unwrap());
    Lab::with(|services| services.notifier = Some(notifier))
}

#[tokio::test]
async fn the_user_is_notified_by_every_channel() {
    let mut server = MailServer::start().await;
    let receiver = Receiver::start(|_, _| ("200 OK".to_owned(), b"ok".to_vec())).await;
    let webhook = Some(Webhook { url: receiver.url("/services/T/B") });
    let lab = lab(Settings { webhook, email: Some(email(server.port, &["me@example.com"])), desktop: None });
    let sent = lab.done("notify_user", json!({"message": "All *tests* pass ✓", "title": "Release\r\nBcc: x@y"})).await;
    assert_eq!(sent.summary, "notified the user by webhook, e-mail");
    let mail = server.mail().await;
    assert_eq!(mail["to"], json!(["me@example.com"]));
    let data = mail["data"].as_str().unwrap();
    assert!(data.contains("Subject: Release Bcc: x@y\r\n") && data.contains("=E2=9C=93"), "{data}");
    let (head, body) = receiver.requests.lock().unwrap()[0].clone();
    assert_eq!(body, r#"{"text":"*Release Bcc: x@y*\nAll *tests* pass ✓"}"#);
    let id = sent.external_id.unwrap();
    assert!(head.starts_with("POST /services/T/B ") && head.contains(&format!("idempotency-key: {id}\r\n")), "{head}");
    assert_eq!(sent.next_step.as_deref(), Some("the user has the message"));
    let outward = |name: &str| lab.tools.spec(name).unwrap().effect == Effect::Outward;
    assert!(outward("notify_user") && outward("send_email") && outward("git_push"));
}

#[tokio::test]
async fn e_mails_are_sent_with_a_message_id_of_their_key() {
    let mut server = MailServer::start().await;
    let lab = lab(Settings { email: Some(email(server.port, &[])), ..Settings::default() });
    assert!(lab.tools.spec("notify_user").is_none(), "nobody is named who could be notified");
    let mail = json!({"to": ["Bob <bob@example.com>", "amy@example.com"], "subject": "Grüße", "body": "Hello\n.\nMAIL FROM:<x>\n"});
    let sent = lab.done("send_email", mail.clone()).await;
    assert_eq!(sent.summary, "sent \"Grüße\" to Bob <bob@example.com>, amy@example.com");
    let taken = server.mail().await;
    assert_eq!(
        (&taken["from"], &taken["to"]),
        (&json!("ralph@example.com"), &json!(["bob@example.com", "amy@example.com"]))
    );
    let id = sent.external_id.unwrap();
    let data = taken["data"].as_str().unwrap();
    assert!(id.ends_with("@example.com>") && data.contains(&format!("Message-ID: {id}\r\n")), "{data}");
    // Sent again, a receiver can tell that it is the same.
    assert_eq!(lab.done("send_email", mail).await.external_id.as_deref(), Some(id.as_str()));
    let wrong = [
        (json!([]), "to has 0 addresses"),
        (json!(["nobody"]), "`nobody` is no address"),
        (json!(["a@example.com\r\nRCPT TO:<b@example.com>"]), "is no address"),
        (json!(["refused@example.com"]), "no such user"),
    ];
    for (to, expected) in wrong {
        let failed = lab.failed("send_email", json!({"to": to, "subject": "s", "body": "b"})).await;
        assert!(failed.text.contains(expected), "{failed:?}");
    }
}

#[tokio::test]
async fn a_channel_that_fails_does_not_keep_the_others() {
    let receiver = Receiver::start(|_, _| ("200 OK".to_owned(), b"ok".to_vec())).await;
    let webhook = Some(Webhook { url: receiver.url("/") });
    // Nothing listens on port 1.
    let lab = lab(Settings { webhook, email: Some(email(1, &["me@example.com"])), desktop: None });
    let sent = lab.done("notify_user", json!({"message": "done"})).await;
    assert_eq!(sent.summary, "notified the user by webhook");
    assert!(sent.text.contains("these failed: e-mail: "), "{}", sent.text);
}
