use std::os::unix::fs::symlink;

use super::*;
use crate::testing::mixed;

#[test]
fn the_report_shows_the_chart_beside_it() {
    let folder = tempfile::TempDir::new().unwrap();
    let metrics = folder.path().join(".ralph/metrics");
    let summary = Summary::of(&mixed(100, 14));
    let (report, chart) = write(&metrics, "2026-11-15", "since 2026-11-01", &summary, 0).unwrap();
    assert_eq!(report, metrics.join("ralph-report-2026-11-15.md"));
    assert_eq!(chart, metrics.join("ralph-report-2026-11-15.svg"));
    let text = fs::read_to_string(&report).unwrap();
    assert!(text.contains("(ralph-report-2026-11-15.svg)") && text.contains("100 finished loops since 2026-11-01."));
    assert!(fs::read_to_string(&chart).unwrap().starts_with("<svg "));
}

#[test]
fn an_older_report_is_replaced_and_nothing_else_is_left_or_touched() {
    let folder = tempfile::TempDir::new().unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, b"precious").unwrap();
    let metrics = folder.path().join("metrics");
    fs::create_dir(&metrics).unwrap();
    symlink(&victim, metrics.join("ralph-report-2026-11-15.md")).unwrap();
    for count in [1, 2] {
        write(&metrics, "2026-11-15", "", &Summary::of(&mixed(count, 1)), 0).unwrap();
    }
    let mut names: Vec<_> = fs::read_dir(&metrics).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["ralph-report-2026-11-15.md", "ralph-report-2026-11-15.svg"]);
    assert!(fs::read_to_string(metrics.join("ralph-report-2026-11-15.md")).unwrap().contains("2 finished loops"));
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn a_date_that_is_none_names_no_file() {
    let folder = tempfile::TempDir::new().unwrap();
    let error = write(folder.path(), "../../etc/x", "", &Summary::default(), 0).unwrap_err();
    assert!(matches!(error, Error::Date(_)), "{error:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
