use super::*;
use crate::record::Record;
use crate::testing::{mixed, record};

fn heading() -> Heading<'static> {
    Heading { date: "2026-11-15", period: "on 2026-11-15", chart: "ralph-report-2026-11-15.svg", broken: 0 }
}

fn of(records: &[Record]) -> String {
    markdown(&Summary::of(records), heading())
}

#[test]
fn a_report_over_one_loop_reads_like_this() {
    let text = of(&[record(1)]);
    let expected = "\
# Ralph report 2026-11-15

1 finished loop on 2026-11-15.

## Alerts

None.

![Loops per day and their cost](ralph-report-2026-11-15.svg)

## Totals

| | |
|---|---|
| Loops | 1 |
| Completed | 1 |
| … verified by checks | 1 |
| … unverified, by the agent's claim alone | 0 |
| Aborted | 0 |
| Errors | 0 |
| Completion rate | 100.0 % (target > 70 %) |
| Stall rate | 0.0 % (target < 20 %) |
| Iterations | 3 (mean 3.0, p95 3) |
| Cost | $0.25 (mean $0.25, p95 $0.25) |
| Time | 1m 00s (mean 1m 00s, p95 1m 00s) |
| False claims | 0 in 0 loops |
| Tampered with | 0 loops |
| Tests fixed | 1 |
| Files modified | 2 |
| Tokens | 1000 in, 100 out |

## By skill

| skill | loops | completed | rate | verified | iterations | cost |
|---|---:|---:|---:|---:|---:|---:|
| tdd | 1 | 1 | 100.0 % | 1 | 3 | $0.25 |

## By agent

| agent | loops | completed | rate | verified | iterations | cost |
|---|---:|---:|---:|---:|---:|---:|
| claude | 1 | 1 | 100.0 % | 1 | 3 | $0.25 |

## By day

| day (UTC) | completed | aborted | errors | cost |
|---|---:|---:|---:|---:|
| 2026-11-15 | 1 | 0 | 0 | $0.25 |

";
    assert_eq!(text, expected);
}

#[test]
fn no_loops_are_a_report_too() {
    let text = of(&[]);
    assert!(text.contains("0 finished loops"), "{text}");
    assert!(text.contains("| Completion rate | – (target > 70 %) |"), "{text}");
}

#[test]
fn names_from_records_cannot_become_markup() {
    let evil = "a|b\n# <script>alert(1)</script> [x](javascript:1) ![i](u) `c` *d* \u{202e}&amp;\u{1b}[31m";
    let records: Vec<Record> = (0..6)
        .map(|number| Record {
            agent: evil.to_owned(),
            skill: Some(evil.to_owned()),
            ..crate::testing::aborted(number, evil)
        })
        .collect();
    let text = of(&records);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    assert!(!text.contains("<script>"), "{text}");
    assert!(!text.contains("[x](") && !text.contains("![i]("), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("alert")).collect();
    // An alert, a reason, a skill and an agent: each on a line of its own, with as many cells as its head.
    assert_eq!(rows.len(), 5, "{rows:#?}");
    for row in rows.iter().filter(|row| row.starts_with('|')) {
        let cells = row.replace("\\|", "").matches('|').count();
        assert!(cells == 4 || cells == 8, "{row}");
    }
}

#[test]
fn long_names_and_long_tables_are_cut_and_say_so() {
    let records: Vec<Record> =
        (0..40).map(|number| Record { agent: format!("{number:02}{}", "é".repeat(500)), ..record(number) }).collect();
    let text = of(&records);
    assert!(text.contains("And 20 more agents."), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 200), "a line runs off");
    assert!(of(&mixed(300, 60)).contains("And 29 more days."), "days are cut too");
}

#[test]
fn broken_lines_are_an_alert() {
    let text = markdown(&Summary::of(&[record(1)]), Heading { broken: 2, ..heading() });
    assert!(text.contains("- 2 lines of the metrics could not be read and are left out."), "{text}");
}

#[test]
fn a_link_holds_nothing_that_ends_it() {
    assert_eq!(link("a b)c.svg"), "a%20b%29c.svg");
}

#[test]
fn names_of_reasons_stay_readable_and_emphasis_is_escaped() {
    assert_eq!(sanitize("COST_LIMIT"), "COST_LIMIT");
    assert_eq!(sanitize("_a_ __b__"), "\\_a\\_ \\_\\_b\\_\\_");
}
