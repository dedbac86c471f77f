use super::*;

fn email(server: &str) -> Email {
    let to = vec!["Me <me@example.com>".to_owned()];
    Email { server: server.to_owned(), password: Some("pw".to_owned()), from: "ralph@example.com".to_owned(), to }
}

#[tokio::test]
async fn settings_that_cannot_work_are_named() {
    let settings = |settings: Settings| Notifier::new(settings).map(|notifier| notifier.channels());
    for url in ["", "hooks.example.com", "ftp://example.com/x", "http:///x", "file:///etc/passwd"] {
        let webhook = Some(Webhook { url: url.to_owned() });
        let error = settings(Settings { webhook, ..Settings::default() }).unwrap_err().to_string();
        assert!(error.starts_with("notify.webhook is no address"), "{url}: {error}");
    }
    for server in
        ["mail.example.com", "smtp://mail.example.com", "smtp://me@mail.example.com:25?tls=opportunistic", "imap://x"]
    {
        let error = settings(Settings { email: Some(email(server)), ..Settings::default() }).unwrap_err().to_string();
        assert!(error.starts_with("notify.smtp "), "{server}: {error}");
    }
    for server in
        ["smtps://me@mail.example.com", "smtp://me@mail.example.com:587?tls=required", "smtp://localhost:2525"]
    {
        let channels = settings(Settings { email: Some(email(server)), ..Settings::default() });
        assert_eq!(channels, Ok(vec![Channel::Email]), "{server}");
    }
    let wrong = Email { from: "nobody".to_owned(), ..email("smtps://h") };
    assert!(Notifier::new(Settings { email: Some(wrong), ..Settings::default() }).is_err());
    let nowhere = Email { to: Vec::new(), ..email("smtps://h") };
    let notifier = Notifier::new(Settings { email: Some(nowhere), ..Settings::default() }).unwrap();
    assert!(notifier.can_mail() && notifier.channels().is_empty());
}

#[tokio::test]
async fn the_desktop_is_notified_by_a_program_that_may_fail() {
    let desktop = |program: &str| Desktop { program: program.into(), environment: Vec::new() };
    let message = Message { title: "done\u{1b}[31m".to_owned(), text: "all\nof it".to_owned(), key: "k".to_owned() };
    for (program, works) in [("/bin/true", true), ("/bin/false", false), ("/nonexistent", false)] {
        let notifier = Notifier::new(Settings { desktop: Some(desktop(program)), ..Settings::default() }).unwrap();
        let sent = notifier.notify(&message).await;
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].1.is_ok(), works, "{sent:?}");
    }
}
