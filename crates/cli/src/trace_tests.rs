use tracing::Level;

use super::*;

fn enabled(is_verbose: bool, wanted: &str, target: &str, level: Level) -> bool {
    let targets = filter(is_verbose, Some(OsStr::new(wanted))).unwrap();
    targets.is_some_and(|targets| targets.would_enable(target, &level))
}

#[test]
fn without_a_wish_there_is_silence() {
    assert_eq!(filter(false, None).unwrap(), None);
    assert_eq!(filter(false, Some(OsStr::new(""))).unwrap(), None);
}

#[test]
fn verbose_is_debug_for_all_crates_of_ralph_and_for_no_other() {
    for target in ["ralph", "ralph::trace", "ralph_process::supervisor", "ralph_store"] {
        assert!(enabled(true, "", target, Level::DEBUG) && !enabled(true, "", target, Level::TRACE), "{target}");
    }
    assert!(!enabled(true, "", "sqlx::query", Level::ERROR));
}

#[test]
fn a_filter_names_levels_and_targets() {
    let wanted = "info, ralph_process=TRACE ,ralph_store=off";
    assert!(enabled(false, wanted, "ralph_process::supervisor", Level::TRACE));
    assert!(enabled(false, wanted, "sqlx", Level::INFO) && !enabled(false, wanted, "sqlx", Level::DEBUG));
    assert!(!enabled(false, wanted, "ralph_store", Level::ERROR));
    assert!(!enabled(true, "ralph_store=off", "ralph_store", Level::ERROR), "the variable weighs more");
    assert!(enabled(true, "ralph_store=off", "ralph_host", Level::DEBUG));
}

#[test]
fn what_is_no_filter_is_refused_with_what_would_be() {
    for wrong in ["loud", "ralph_process", "ralph_process=", "=debug", "debug,ralph=5", "ralph=debug=x"] {
        let error = filter(false, Some(OsStr::new(wrong))).unwrap_err().to_string();
        assert!(error.contains("RALPH_LOG") && error.contains("TARGET=LEVEL"), "{wrong}: {error}");
    }
}

#[test]
fn an_event_is_one_harmless_line_without_secrets() {
    let redactor = Redactor::new([("MY_KEY", "hunter2-very-long")]);
    let text = clean(&redactor, "DEBUG said=hunter2\u{1b}[31m-very-long\nINFO forged\u{7}\n");
    assert_eq!(text, "DEBUG said=[redacted:MY_KEY]\\nINFO forged\u{2407}");
}
