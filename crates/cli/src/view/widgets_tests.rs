use ralph_engine::{Stop, StopBy, StopWhen};
use ralph_view::{Progress, What};

use super::super::fixtures::{Scripted, Step, baseline, decided, opened, play, started};
use super::*;
use crate::style::{Colours, ansi, columns, drawn};

fn view(steps: &[Scripted]) -> View {
    let mut view: Option<View> = None;
    for (second, updates) in (0i64..).zip(play(steps)) {
        let now = Timestamp(second * 10_000);
        for update in updates {
            let What::Recorded { state, .. } = &update.what else {
                view.as_mut().unwrap().take(&update.what, now);
                continue;
            };
            view.get_or_insert_with(|| View::new((**state).clone(), now)).take(&update.what, now);
        }
    }
    view.unwrap()
}

fn working() -> View {
    view(&[
        opened("Fix the failing tests in src/utils\n\nAnd a long page of details."),
        baseline(2, 7),
        started(),
        decided((5, 4), 700_000),
        started(),
        decided((8, 1), 1_250_000),
        started(),
        Progress::Activity { line: "Reading src/utils/parse.ts and its tests, then 日本語のファイル".into() }.into(),
    ])
}

fn lines(view: &View, width: usize, rows: usize, now: Timestamp, colours: Colours) -> Vec<String> {
    drawn(&loop_panel(view, now).drawn(width, rows)).iter().map(|line| ansi(line, colours)).collect()
}

fn shown(view: &View, width: usize) -> String {
    lines(view, width, 24, Timestamp(102_300), Colours::Off).join("\n")
}

#[test]
fn how_fast_the_model_service_answers_is_shown() {
    let pace = Progress::Request { first_byte_ms: Some(840), tokens_per_second: Some(92) };
    let seen = shown(&view(&[opened("x"), baseline(2, 7), started(), pace.into()]), 80);
    assert!(seen.contains(", 1m 22s, first token after 0.8s, 92 tokens/s"), "{seen}");
}

#[test]
fn a_working_loop_at_three_widths() {
    insta::assert_snapshot!(shown(&working(), 40), @"
    ralph 099a8057  Fix the failing…  1m 42s
    iteration  3/10  running helper, 42.3s
    failing    █▅▂  7 → 4 → 1
    diff       iteration 2: nothing changed
    cost       ███░░░░░░░░░░  $1.25 of $5.00
    verdict    iteration 2: 8 passing, 1 fa…
    > Reading src/utils/parse.ts and its te…
    ");
    insta::assert_snapshot!(shown(&working(), 80), @"
    ralph 099a8057  Fix the failing tests in src/utils                        1m 42s
    iteration  3/10  running helper, 42.3s
    failing    █▅▂  7 → 4 → 1
    diff       iteration 2: nothing changed
    cost       ███████░░░░░░░░░░░░░░░░░░░░░░░  $1.25 of $5.00
    verdict    iteration 2: 8 passing, 1 failing, although the agent claims to be d…
    > Reading src/utils/parse.ts and its tests, then 日本語のファイル
    ");
    insta::assert_snapshot!(shown(&working(), 120), @"
    ralph 099a8057  Fix the failing tests in src/utils                                                                1m 42s
    iteration  3/10  running helper, 42.3s
    failing    █▅▂  7 → 4 → 1
    diff       iteration 2: nothing changed
    cost       ███████░░░░░░░░░░░░░░░░░░░░░░░  $1.25 of $5.00
    verdict    iteration 2: 8 passing, 1 failing, although the agent claims to be done
    > Reading src/utils/parse.ts and its tests, then 日本語のファイル
    ");
}

#[test]
fn a_loop_at_its_beginning_and_in_a_check() {
    insta::assert_snapshot!(shown(&view(&[opened("Fix it")]), 80), @r#"
    ralph 099a8057  Fix it                                                    1m 42s
    iteration  0/10  starting
    cost       ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  $0.00 of $5.00
    "#);
    let checking = [opened("Fix it"), Progress::CheckStarted { command: "npm test -- --all".into() }.into()];
    insta::assert_snapshot!(shown(&view(&checking), 80), @"
    ralph 099a8057  Fix it                                                    1m 42s
    iteration  0/10  checks
    waiting    1m 32s for npm test -- --all
    cost       ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  $0.00 of $5.00
    ");
}

#[test]
fn a_loop_whose_money_is_not_counted_shows_none() {
    let mut view = working();
    view.run.metered = false;
    let shown = shown(&view, 80);
    assert!(shown.contains("\ncost       not metered\n") && !shown.contains('$'), "{shown}");
}

#[test]
fn a_loop_that_is_told_to_stop_says_so() {
    let stop = Stop { when: StopWhen::AfterIteration, by: StopBy::Keyboard };
    for stopping in [Step::Stopping(stop).into(), Progress::StopHeard { stop }.into()] {
        assert!(shown(&view(&[opened("Fix it"), started(), stopping]), 80).contains("(stopping)"));
    }
}

/// The contract of the whole module, tried on everything that could break it.
#[test]
fn no_line_is_wider_than_the_terminal_and_nothing_in_it_acts() {
    let hostile = "\u{1b}[2J\u{1b}]0;x\u{7}日本語日本語日本語 \u{202e}👩‍👩‍👧 ☀\u{fe0f} e\u{301}\u{301} \t\r\n".repeat(9);
    let mut steps = vec![opened(&hostile), baseline(1, 99)];
    for iteration in 1..10 {
        steps.push(decided((iteration, 99_999 - iteration), i64::from(iteration) * 90_000));
    }
    steps.push(started());
    for last in [Progress::Activity { line: hostile.clone() }, Progress::CheckStarted { command: hostile.clone() }] {
        steps.push(last.into());
        let mut view = view(&steps);
        view.run.failing = (0..60).map(|failing| Some(99_999 - failing)).collect();
        for width in 0..200 {
            for line in lines(&view, width, 24, Timestamp(9_999_999), Colours::Off) {
                assert!(columns(&line) <= width, "{width}: {line}");
                assert!(!line.chars().any(char::is_control), "{width}: {line:?}");
                assert!(!line.contains(['\u{202e}', '\u{200d}', '\u{fe0f}']), "{width}: {line:?}");
            }
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let plain = lines(&working(), 80, 24, Timestamp(102_300), Colours::Off);
    let coloured = lines(&working(), 80, 24, Timestamp(102_300), Colours::On);
    for part in ["\u{1b}[1mralph 099a8057", "\u{1b}[2miteration", "\u{1b}[31miteration 2: 8 passing, 1 failing"] {
        assert!(coloured.iter().any(|line| line.contains(part)), "{part:?} in {coloured:#?}");
    }
    let strip = |line: &String| {
        let parts = line.split('\u{1b}').enumerate();
        parts.map(|(at, part)| if at == 0 { part } else { part.split_once('m').unwrap().1 }).collect::<String>()
    };
    let stripped: Vec<String> = coloured.iter().map(strip).collect();
    assert_eq!(stripped, plain);
}

#[test]
fn a_bar_is_empty_only_for_nothing_and_full_only_for_all() {
    let dollars = Money::dollars;
    let table = [
        (Money::ZERO, dollars(5), 0),
        (Money::from_micros(1), dollars(5), 1),
        (dollars(2), dollars(4), 10),
        (Money::from_micros(4_999_999), dollars(5), 19),
        (dollars(5), dollars(5), 20),
        (dollars(9), dollars(5), 20),
        (dollars(1), Money::ZERO, 0),
    ];
    for (part, whole, wanted) in table {
        assert_eq!(share(part, whole, 20), wanted, "{part} of {whole}");
    }
    assert_eq!((share(dollars(1), dollars(2), 0), share(dollars(1), dollars(2), 1)), (0, 1));
}

#[test]
fn what_happened_last_is_shown_as_far_as_there_are_rows_and_failures_are_marked() {
    let mut view = working();
    let now = Timestamp(80_000);
    let tool = |success, summary: &str| {
        let (id, tool, summary) = ("1".to_owned(), "Bash".to_owned(), summary.to_owned());
        let event = if success {
            ralph_model::AgentEvent::ToolStarted { id, tool, summary }
        } else {
            ralph_model::AgentEvent::ToolFinished { id, tool, success, summary }
        };
        What::Progress { progress: Progress::Agent { event } }
    };
    view.take(&tool(true, "npm test"), now);
    view.take(&tool(false, "npm test: exit code 1"), now);
    view.failing_tests =
        ["parses an empty file", "keeps the order of keys", "rejects a list"].map(str::to_owned).to_vec();
    for (width, tests) in [
        (60, "tests      parses an empty file and 2 more"),
        (75, "tests      parses an empty file, keeps the order of keys, rejects a list"),
        (71, "tests      parses an empty file, keeps the order of keys and 1 more"),
        (120, "tests      parses an empty file, keeps the order of keys, rejects a list"),
    ] {
        let lines = lines(&view, width, 24, now, Colours::Off);
        assert!(lines.iter().any(|line| line == tests), "{lines:#?}");
        let last = &lines[lines.len() - 2..];
        assert_eq!(last, ["> Bash: npm test", "✗ FAILED Bash: npm test: exit code 1"], "{lines:#?}");
    }
    let few = lines(&view, 80, 9, now, Colours::On);
    assert_eq!(few.len(), 9);
    assert_eq!(few.last().unwrap(), "\u{1b}[31m✗ FAILED Bash: npm test: exit code 1\u{1b}[0m", "the newest, in red");
    let waiting = |view: &View, at| lines(view, 80, 24, Timestamp(at), Colours::Off)[2].clone();
    assert_eq!(waiting(&view, 145_000), "waiting    1m 05s for the model");
    view.take(&tool(true, "npm run build"), Timestamp(145_000));
    assert_eq!(waiting(&view, 147_000), "waiting    2.0s for Bash: npm run build");
}

fn bars(values: &[u32]) -> String {
    sparkline(&values.iter().copied().map(Some).collect::<Vec<_>>(), 80)
}

#[test]
fn bars_fall_as_failures_do() {
    assert_eq!(bars(&[7, 6, 5, 4, 3, 2, 1, 0]), "█▇▆▅▄▃▂▁");
    assert_eq!(bars(&[1000, 1, 0]), "█▂▁");
    assert_eq!(bars(&[u32::MAX, 1]), "█▂");
}

#[test]
fn nothing_failing_is_the_lowest_bar_and_unknown_is_a_dot() {
    assert_eq!(bars(&[0, 0]), "▁▁");
    assert_eq!(sparkline(&[Some(4), None, Some(2)], 80), "█·▅");
    assert_eq!(sparkline(&[], 80), "");
}

#[test]
fn the_newest_are_shown_in_the_scale_of_all() {
    assert_eq!(sparkline(&[Some(8), Some(4), Some(0)], 2), "▅▁");
    assert_eq!(sparkline(&[Some(8)], 0), "");
}
