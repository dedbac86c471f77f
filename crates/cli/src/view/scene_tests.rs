use ralph_engine::{Stop, StopBy, StopWhen};
use ralph_model::{AgentEvent, Trouble, TroubleKind};
use ralph_view::Progress;

use super::super::fixtures::{self, Scripted, Step, Terminal, agent, baseline, decided, of, opened, play};
use super::super::painter::{Painter, Size};
use super::*;
use crate::style::{Colours, drawn};

const AGENTS: [&str; 3] = ["claude:opus", "codex", "gemini:gemini-2.5-flash"];

fn of_agent(number: u32, step: impl Into<Scripted>) -> Scripted {
    of(number, AGENTS[number as usize - 1], step)
}

fn started(number: u32) -> Scripted {
    of_agent(number, fixtures::started())
}

fn scene(steps: &[Scripted]) -> Scene {
    let mut scene = Scene::default();
    for (second, updates) in (0i64..).zip(play(steps)) {
        updates.iter().for_each(|update| scene.take(update, Timestamp(second * 1000)));
    }
    scene
}

fn racing() -> Vec<Scripted> {
    let until = Some(Timestamp(200_000));
    let trouble = Trouble { kind: TroubleKind::RateLimit, until, message: "slow down".into(), advice: None };
    let opened = || opened("Fix the failing tests in src/utils\n\nAnd a page of details.");
    vec![
        of_agent(1, opened()),
        of_agent(2, opened()),
        of_agent(3, opened()),
        of_agent(1, baseline(2, 7)),
        of_agent(2, baseline(2, 7)),
        started(1),
        of_agent(1, decided((5, 4), 333_334)),
        started(1),
        of_agent(
            1,
            agent(AgentEvent::ToolStarted {
                id: "1".into(),
                tool: "Edit".into(),
                summary: "src/utils/parse.ts".into(),
            }),
        ),
        of_agent(1, agent(AgentEvent::Usage { input_tokens: 0, output_tokens: 0, cost: Money::from_micros(4_020) })),
        started(2),
        of_agent(2, Progress::CheckStarted { command: "npm test -- --all".into() }),
        of_agent(3, Step::Refused(trouble)),
    ]
}

fn lines_of(scene: &Scene, width: usize, now: Timestamp) -> Vec<String> {
    drawn(&scene.panel(width, now).drawn(width, 100)).iter().map(ToString::to_string).collect()
}

fn shown(steps: &[Scripted], width: usize) -> String {
    lines_of(&scene(steps), width, Timestamp(70_000)).join("\n")
}

#[test]
fn a_race_at_four_widths() {
    insta::assert_snapshot!(shown(&racing(), 40), @"
    ralph race  Fix the failing tes…  1m 10s
    1  clau…:opus  2/10  works 1m…   $0.3374
    2  codex       1/10  check…        $0.00
    3  gemi…flash  1/10  waits 2m…     $0.00
    cost       █░░░░░░░░░░  $0.3374 of $5.00
    ");
    insta::assert_snapshot!(shown(&racing(), 60), @"
    ralph race  Fix the failing tests in src/utils        1m 10s
    1  claude:opus      2/10  works 1m 03s…   4 failing  $0.3374
    2  codex            1/10  check 59.0s…    7 failing    $0.00
    3  gemini:…5-flash  1/10  waits 2m 10s…   1 failing    $0.00
    cost       ██░░░░░░░░░░░░░░░░░░░░░░░░░░░░  $0.3374 of $5.00
    ");
    insta::assert_snapshot!(shown(&racing(), 80), @"
    ralph race  Fix the failing tests in src/utils                            1m 10s
    1  claude:opus           2/10  works 1m 03s: Edit…            4 failing  $0.3374
    2  codex                 1/10  check 59.0s: npm test --…      7 failing    $0.00
    3  gemini:ge…-2.5-flash  1/10  waits 2m 10s: rate or usage…   1 failing    $0.00
    cost       ██░░░░░░░░░░░░░░░░░░░░░░░░░░░░  $0.3374 of $5.00
    ");
    insta::assert_snapshot!(shown(&racing(), 120), @"
    ralph race  Fix the failing tests in src/utils                                                                    1m 10s
    1  claude:opus              2/10  works 1m 03s: Edit: src/utils/parse.ts                              4 failing  $0.3374
    2  codex                    1/10  check 59.0s: npm test -- --all                                      7 failing    $0.00
    3  gemini:gemini-2.5-flash  1/10  waits 2m 10s: rate or usage limit                                   1 failing    $0.00
    cost       ██░░░░░░░░░░░░░░░░░░░░░░░░░░░░  $0.3374 of $5.00
    ");
}

/// The columns stand below each other whatever the figures are.
#[test]
fn a_race_whose_figures_have_more_digits() {
    let mut steps = racing();
    steps.extend((0..8).flat_map(|_| [of_agent(1, decided((5, 104), 1_333_334)), started(1)]));
    for width in [60, 80, 120] {
        let lines = lines_of(&scene(&steps), width, Timestamp(70_000));
        let at = |text: &str| {
            let column = |line: &String| line.find(text).map(|at| columns(&line[..at + text.len()]));
            lines[1..].iter().filter_map(column).collect::<Vec<_>>()
        };
        assert_eq!((at("/10").len(), at(" failing").len()), (3, 3), "{lines:#?}");
        assert!([at("/10"), at(" failing")].iter().all(|ends| ends.iter().all(|end| *end == ends[0])), "{lines:#?}");
    }
    insta::assert_snapshot!(shown(&steps, 60), @"
    ralph race  Fix the failing tests in src/utils        1m 10s
    1  claude:opus      10/10  works 42.0s  104 failing  $1.3334
    2  codex             1/10  check…         7 failing    $0.00
    3  gemini:…5-flash   1/10  waits 2m…      1 failing    $0.00
    cost       ████████░░░░░░░░░░░░░░░░░░░░░░  $1.3334 of $5.00
    ");
    insta::assert_snapshot!(shown(&steps, 80), @"
    ralph race  Fix the failing tests in src/utils                            1m 10s
    1  claude:opus           10/10  works 42.0s                 104 failing  $1.3334
    2  codex                  1/10  check 59.0s: npm test --…     7 failing    $0.00
    3  gemini:ge…-2.5-flash   1/10  waits 2m 10s: rate or…        1 failing    $0.00
    cost       ████████░░░░░░░░░░░░░░░░░░░░░░  $1.3334 of $5.00
    ");
}

#[test]
fn a_race_at_its_beginning_and_at_its_end() {
    let mut steps = racing();
    insta::assert_snapshot!(shown(&steps[..2], 80), @"
    ralph race  Fix the failing tests in src/utils                            1m 10s
    1  claude:opus  0/10  starting                                             $0.00
    2  codex        0/10  starting                                             $0.00
    cost       ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  $0.00 of $5.00
    ");
    let stop = Stop { when: StopWhen::Now, by: StopBy::Request };
    steps.extend([
        of_agent(1, decided((9, 0), 337_354)),
        of_agent(2, Step::Stopping(stop)),
        of_agent(3, Step::Stopping(stop)),
        of_agent(3, Step::Cut),
    ]);
    insta::assert_snapshot!(shown(&steps, 80), @"
    ralph race  Fix the failing tests in src/utils                            1m 10s
    1  claude:opus           2/10  verified                       0 failing  $0.3374
    2  codex                 1/10  stopping, check 59.0s: npm…    7 failing    $0.00
    3  gemini:ge…-2.5-flash  1/10  CANCELLED                      1 failing    $0.00
    cost       ██░░░░░░░░░░░░░░░░░░░░░░░░░░░░  $0.3374 of $5.00
    ");
    let told = [started(2), of_agent(2, Step::Stopping(stop))];
    assert!(shown(&[&racing()[..2], &told].concat(), 80).contains("1/10  stopping, works 1m 08s"));
    // When all have ended the clock stands still.
    steps.push(of_agent(2, Step::Cut));
    let scene = scene(&steps);
    let at = |second: i64| lines_of(&scene, 80, Timestamp(second * 1000));
    assert_eq!(at(100), at(1000));
}

#[test]
fn a_race_whose_money_is_not_counted_shows_none() {
    let mut scene = scene(&racing());
    scene.candidates.values_mut().for_each(|view| view.run.metered = false);
    let shown = lines_of(&scene, 80, Timestamp(70_000)).join("\n");
    assert!(shown.contains("cost       not metered") && !shown.contains('$'), "{shown}");
}

#[test]
fn a_race_is_painted_in_place() {
    let terminal = Terminal::new(80);
    let mut painter = Painter::new(terminal.clone(), Colours::On);
    let mut scene = Scene::default();
    assert!(!scene.is_open());
    for (second, updates) in (0i64..).zip(play(&racing())) {
        updates.iter().for_each(|update| scene.take(update, Timestamp(second * 1000)));
        assert!(scene.is_open());
        painter.paint(vec![], &scene, Size { columns: 80, rows: 24 }, Timestamp(second * 1000)).unwrap();
    }
    assert_eq!(terminal.lines(), lines_of(&scene, 79, Timestamp(12_000)));
}

#[test]
fn no_line_of_a_race_is_wider_than_the_terminal_and_nothing_in_it_acts() {
    let hostile = "\u{1b}[2J日本語 \u{202e}👩‍👩‍👧 ☀\u{fe0f} e\u{301} \t\r\n".repeat(9);
    let mut steps = Vec::new();
    for number in 1..30 {
        steps.push(of(number, &hostile, opened(&hostile)));
        steps.push(of(number, &hostile, fixtures::started()));
        steps.push(of(number, &hostile, Progress::Activity { line: hostile.clone() }));
    }
    let scene = scene(&steps);
    // Every width at which columns come and go, then some.
    for width in (0..90).chain((90..200).step_by(11)) {
        for line in lines_of(&scene, width, Timestamp(9_999_999)) {
            assert!(columns(&line) <= width, "{width}: {line}");
            assert!(!line.chars().any(char::is_control), "{width}: {line:?}");
            assert!(!line.contains(['\u{202e}', '\u{200d}', '\u{fe0f}']), "{width}: {line:?}");
        }
    }
}
