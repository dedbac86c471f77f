use super::*;

/// What users expect, one request per line.
const REQUESTS: &str = include_str!("requests.txt");

struct Row {
    expected: String,
    request: &'static str,
}

fn rows() -> Vec<Row> {
    let lines = REQUESTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &'static str| {
        let (expected, request) = line.split_once(": ").unwrap();
        Row { expected: expected.to_owned(), request }
    };
    lines.map(row).collect()
}

#[test]
fn requests_are_read_as_users_expect() {
    let rows = rows();
    assert!(rows.len() >= 120, "{} requests", rows.len());
    let mut wrong = Vec::new();
    for Row { expected, request } in &rows {
        let Reading { task_type, risk, scope, .. } = read(request);
        let loops = task_type.can_loop() && risk != Risk::High && scope == Scope::Specific;
        let end = if loops { "loop" } else { "pass" };
        let found = format!("{} {} {} {end}", task_type.name(), risk.name(), scope.name());
        if found != *expected {
            wrong.push(format!("{request}\n    expected {expected}\n    found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn confidence_is_a_share_and_falls_with_doubt() {
    for Row { request, .. } in rows() {
        let confidence = read(request).confidence;
        assert!((0.0..=1.0).contains(&confidence), "{request}: {confidence}");
    }
    assert!(read("Fix the crash in src/lexer.rs").confidence > read("fix or rename the parser").confidence);
    assert!(read("qwer").confidence < 0.2);
}

#[test]
fn any_text_is_read() {
    for text in ["", " ", "\0", "🦀🦀🦀", "修复登录错误", "?", "----", &"fix ".repeat(20_000), "ẞßœ'\u{301}"]
    {
        let _ = read(text);
    }
}
