//! `ralph report`: many loops in figures.

use std::fmt::Write as _;

use ralph_testkit::{Repo, Script, Step};

use crate::harness::{User, run_words_with};

/// A hundred finished loops of two days: 75 completed (70 verified), 15 stalled, 10 out of iterations.
fn hundred() -> String {
    let mut lines = String::new();
    for number in 0..100_u32 {
        let (status, reason) = match number {
            0..75 => ("COMPLETED", "null"),
            75..90 => ("ABORTED", "\"STALL\""),
            _ => ("ABORTED", "\"MAX_ITERATIONS\""),
        };
        let day = if number % 2 == 0 { "2026-03-01" } else { "2026-03-02" };
        let (skill, agent) =
            (if number < 40 { "\"tdd\"" } else { "null" }, if number < 60 { "fast" } else { "strong" });
        let _ = writeln!(
            lines,
            "{{\"loopId\":\"01999999-0000-7000-8000-{number:012}\",\"skill\":{skill},\"taskType\":null,\
             \"startTime\":\"{day}T10:00:00.000Z\",\"endTime\":\"{day}T11:00:00.000Z\",\"status\":\"{status}\",\"abortReason\":{reason},\
             \"iterations\":{},\"costUSD\":{},\"durationSeconds\":60,\"filesModified\":2,\"testsFixed\":1,\
             \"completionPromiseDetected\":true,\"verificationPassed\":{},\"falseClaims\":{},\"tampered\":0,\
             \"agent\":\"{agent}\",\"model\":null,\"inputTokens\":1000,\"outputTokens\":10}}",
            number % 10 + 1,
            f64::from(number % 10 + 1) / 10.0,
            number < 70,
            u32::from(number < 5),
        );
    }
    lines
}

#[test]
fn a_hundred_loops_in_figures() {
    let (user, repo) = (User::new(), Repo::init());
    let file = repo.outside().join("metrics/loops.jsonl");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, hundred() + "{ broken\n").unwrap();
    let path = file.to_str().unwrap();
    let words = ["report", "--metrics", path, "--since", "2026-03-01", "--date", "2026-03-02"];
    let ended = user.ralph(repo.path(), [&words[..], &["--json"]].concat()).ok();
    assert!(ended.stderr.contains("warning: line 101"), "{}", ended.stderr);
    let figures = ended.json();
    for (field, wanted) in [
        ("loops", 100.0),
        ("completed", 75.0),
        ("aborted", 25.0),
        ("errors", 0.0),
        ("verified", 70.0),
        ("unverified", 5.0),
        ("completionRate", 0.75),
        ("stallRate", 0.15),
        ("falseClaims", 5.0),
        ("filesModified", 200.0),
        ("testsFixed", 100.0),
        ("inputTokens", 100_000.0),
        ("brokenLines", 1.0),
    ] {
        assert_eq!(figures[field].as_f64(), Some(wanted), "{field} in {figures:#}");
    }
    // Ten of each from 1 to 10: the mean is 5.5, the 95th of 100 is 10.
    assert_eq!(
        (figures["iterations"]["total"].as_f64(), figures["iterations"]["p95"].as_f64()),
        (Some(550.0), Some(10.0))
    );
    assert_eq!((figures["costUSD"]["mean"].as_f64(), figures["costUSD"]["p95"].as_f64()), (Some(0.55), Some(1.0)));
    assert_eq!(
        (figures["abortReasons"]["STALL"].as_u64(), figures["abortReasons"]["MAX_ITERATIONS"].as_u64()),
        (Some(15), Some(10))
    );
    let group = |list: &str, name: &str| {
        let all = figures[list].as_array().unwrap();
        all.iter().find(|group| group["name"] == name).unwrap_or_else(|| panic!("{name} in {all:#?}"))["loops"].as_u64()
    };
    assert_eq!(
        (group("bySkill", "tdd"), group("byAgent", "fast"), group("byAgent", "strong")),
        (Some(40), Some(60), Some(40))
    );

    let text = user.ralph(repo.path(), words).ok();
    assert!(text.stdout.contains("100 finished loops from 2026-03-01 to 2026-03-02"), "{}", text.stdout);
    assert!(text.stdout.contains("completed  75, 70 of them verified"), "{}", text.stdout);
    assert!(text.stdout.contains("aborted    15 STALL, 10 MAX_ITERATIONS"), "{}", text.stdout);
    let folder = file.parent().unwrap();
    let report = std::fs::read_to_string(folder.join("ralph-report-2026-03-02.md")).unwrap();
    for wanted in ["75", "tdd", "strong", "STALL", "100"] {
        assert!(report.contains(wanted), "{wanted} is not in\n{report}");
    }
    let charts: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "svg"))
        .collect();
    assert_eq!(charts.len(), 1, "{charts:?}");
    let chart = std::fs::read_to_string(&charts[0]).unwrap();
    assert!(chart.contains("<svg") && chart.trim_end().ends_with("</svg>"));
    assert!(report.contains(charts[0].file_name().unwrap().to_str().unwrap()), "the report does not show its chart");
    // One day alone.
    let one = user.ralph(repo.path(), ["report", "--metrics", path, "--date", "2026-03-01", "--json"]).ok().json();
    assert_eq!(one["loops"], 50);
}

#[test]
fn real_loops_are_counted_where_they_ran() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = user.agent(Script::new().otherwise([Step::append("log", "x")]));
    for _ in 0..3 {
        user.ralph(repo.path(), run_words_with(&agent, 1, &["--unmetered", "--criteria", "false"])).with_code(10);
    }
    let figures = user.ralph(repo.path(), ["report", "--json"]).ok().json();
    assert_eq!((figures["loops"].as_u64(), figures["abortReasons"]["MAX_ITERATIONS"].as_u64()), (Some(3), Some(3)));
    user.ralph(repo.path(), ["report"]).ok();
    let date = figures["date"].as_str().unwrap();
    assert!(repo.exists(format!(".ralph/metrics/ralph-report-{date}.md")));
    assert!(!repo.git(["status", "--porcelain"]).contains(".ralph"));
}

#[test]
fn without_metrics_there_is_an_empty_report_and_a_hint() {
    let (user, repo) = (User::new(), Repo::init());
    let figures = user.ralph(repo.path(), ["report", "--json"]).ok().json();
    assert_eq!((figures["loops"].as_u64(), figures["completionRate"].is_null()), (Some(0), true));
    let since = user.ralph(repo.path(), ["report", "--since", "2026-03-02", "--date", "2026-03-01"]);
    assert_ne!(since.code, 0);
    assert!(since.stderr.contains("--since"), "{}", since.stderr);
}

#[test]
fn a_report_holds_no_secret_that_the_metrics_hold() {
    let (user, repo) = (User::new(), Repo::init());
    let file = repo.outside().join("metrics/loops.jsonl");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    std::fs::write(&file, hundred().replace("strong", &secret)).unwrap();
    let words = ["report", "--metrics", file.to_str().unwrap(), "--since", "2026-03-01", "--date", "2026-03-02"];
    let json = user.ralph(repo.path(), [&words[..], &["--json"]].concat()).ok();
    let shown = user.ralph(repo.path(), words).ok();
    let written = std::fs::read_to_string(file.with_file_name("ralph-report-2026-03-02.md")).unwrap();
    for text in [json.stdout, shown.stdout, written] {
        assert!(!text.contains(&secret), "{text}");
    }
}
