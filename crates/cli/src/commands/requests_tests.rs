use super::*;
use crate::style::{Colours, Look};

#[test]
fn a_list_of_requests_fits_on_80_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.jsonl");
    let line = |number: u64, model: &str, status: Value, retries: u64| {
        json!({
            "iteration": 12, "attempt": 12, "agent": "claude", "number": number, "at": 0, "model": model, "outcome": "answered",
            "status": status, "retries": retries, "cost": 12_345_678, "isEstimate": true, "firstByteMs": 12_841, "durationMs": 123_456,
            "tokens": {"input": 123_456, "cacheRead": 123_456, "cacheWrite": 0, "cacheWriteHour": 0, "output": 12_345},
            "context": {"used": 190_000, "window": 200_000},
        })
        .to_string()
    };
    let lines = [line(1, "claude-sonnet-4-5-20250929", 200.into(), 0), line(12, "gemini-2.5-flash", 429.into(), 3)];
    std::fs::write(&path, lines.join("\n")).unwrap();
    let shown = as_text(&path).unwrap().lines(Look { colours: Colours::Off, columns: Some(80) }).join("\n");
    assert!(shown.lines().count() == 3 && shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    for part in ["12.12", "429 ×4", "246k", "123k", "12k", "~$12.3", "12.8s", "123.4s", "95%", "5-flash"] {
        assert!(shown.contains(part), "no {part} in\n{shown}");
    }
}
