use ralph_engine::{Stop, StopBy, StopWhen};
use ralph_view::{Progress, What};

use super::super::fixtures::{Scripted, Step, baseline, decided, opened, play, started};
use super::super::text::columns;
use super::*;

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

fn shown(view: &View, width: usize) -> String {
    render(view, width, Timestamp(102_300), Colours::Off).join("\n")
}

#[test]
fn a_working_loop_at_three_widths() {
    insta::assert_snapshot!(shown(&working(), 40), @r#"
    ralph 099a8057  Fix the failing…  1m 42s
    iteration  3/10  helper works, 42.3s
    failing    █▅▂  7 → 4 → 1
    cost       ███░░░░░░░░░░  $1.25 of $5.00
    verdict    iteration 2: 8 passing, 1 fa…
    > Reading src/utils/parse.ts and its te…
    "#);
    insta::assert_snapshot!(shown(&working(), 80), @r#"
    ralph 099a8057  Fix the failing tests in src/utils                        1m 42s
    iteration  3/10  helper works, 42.3s
    failing    █▅▂  7 → 4 → 1
    cost       ███████░░░░░░░░░░░░░░░░░░░░░░░  $1.25 of $5.00
    verdict    iteration 2: 8 passing, 1 failing, although the agent claims to be d…
    > Reading src/utils/parse.ts and its tests, then 日本語のファイル
    "#);
    insta::assert_snapshot!(shown(&working(), 120), @r#"
    ralph 099a8057  Fix the failing tests in src/utils                                                                1m 42s
    iteration  3/10  helper works, 42.3s
    failing    █▅▂  7 → 4 → 1
    cost       ███████░░░░░░░░░░░░░░░░░░░░░░░  $1.25 of $5.00
    verdict    iteration 2: 8 passing, 1 failing, although the agent claims to be done
    > Reading src/utils/parse.ts and its tests, then 日本語のファイル
    "#);
}

#[test]
fn a_loop_at_its_beginning_and_in_a_check() {
    insta::assert_snapshot!(shown(&view(&[opened("Fix it")]), 80), @r#"
    ralph 099a8057  Fix it                                                    1m 42s
    iteration  0/10  starting
    cost       ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  $0.00 of $5.00
    "#);
    let checking = [opened("Fix it"), Progress::CheckStarted { command: "npm test -- --all".into() }.into()];
    insta::assert_snapshot!(shown(&view(&checking), 80), @r#"
    ralph 099a8057  Fix it                                                    1m 42s
    iteration  0/10  check 1m 32s: npm test -- --all
    cost       ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  $0.00 of $5.00
    "#);
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
            for line in render(&view, width, Timestamp(9_999_999), Colours::Off) {
                assert!(columns(&line) <= width, "{width}: {line}");
                assert!(!line.chars().any(char::is_control), "{width}: {line:?}");
                assert!(!line.contains(['\u{202e}', '\u{200d}', '\u{fe0f}']), "{width}: {line:?}");
            }
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let plain = render(&working(), 80, Timestamp(102_300), Colours::Off);
    let coloured = render(&working(), 80, Timestamp(102_300), Colours::On);
    assert!(coloured.iter().any(|line| line.starts_with("\u{1b}[31m") && line.ends_with("\u{1b}[0m")));
    let stripped: Vec<String> = coloured
        .iter()
        .map(|line| match line.strip_prefix('\u{1b}') {
            Some(rest) => rest.split_once('m').unwrap().1.strip_suffix("\u{1b}[0m").unwrap().to_owned(),
            None => line.clone(),
        })
        .collect();
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
