use ralph_view::{Progress, Update};

use super::super::fixtures::{Scripted, Terminal, baseline, decided, opened, play, started};
use super::*;

fn view() -> Scene {
    let mut view = Scene::default();
    take(&mut view, &play(&[opened("Fix it")])[0]);
    view
}

fn take(view: &mut Scene, updates: &[Update]) {
    updates.iter().for_each(|update| view.take(update, Timestamp(0)));
}

/// What the last of these steps sends.
fn last(steps: &[Scripted]) -> Vec<Update> {
    play(steps).pop().unwrap()
}

fn activity(line: &str) -> Vec<Update> {
    vec![Progress::Activity { line: line.to_owned() }.into()]
}

const SIZE: Size = Size { columns: 60, rows: 24 };

#[test]
fn the_view_is_painted_in_place_below_what_stays() {
    let terminal = Terminal::new(60);
    let mut painter = Painter::new(terminal.clone(), Colours::On);
    let mut view = view();
    painter.paint(vec!["one".into()], &view, SIZE, Timestamp(0)).unwrap();
    let before = terminal.lines();
    take(&mut view, &last(&[opened("Fix it"), baseline(1, 3)]));
    take(&mut view, &activity("thinking"));
    painter.paint(vec!["two".into()], &view, SIZE, Timestamp(20)).unwrap();
    assert_eq!(terminal.lines().len(), before.len() + 4);
    // Fewer lines than before leave nothing behind.
    take(&mut view, &last(&[opened("Fix it"), baseline(1, 3), decided((4, 0), 1)]));
    painter.paint(vec![], &view, SIZE, Timestamp(30)).unwrap();
    let lines = terminal.lines();
    assert_eq!(lines[..2], ["one", "two"]);
    assert_eq!(lines.iter().filter(|line| line.starts_with("ralph ")).count(), 1, "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("thinking")), "{lines:#?}");
    drop(painter);
    assert_eq!(terminal.lines().last().map(String::as_str), Some(""), "the prompt comes on a line of its own");
}

#[test]
fn a_terminal_that_becomes_narrower_is_painted_clean() {
    let terminal = Terminal::new(60);
    let mut painter = Painter::new(terminal.clone(), Colours::Off);
    let mut view = view();
    take(&mut view, &last(&[opened("Fix it"), baseline(1, 3), started()]));
    take(&mut view, &activity(&"x".repeat(200)));
    painter.paint(vec!["kept".into()], &view, SIZE, Timestamp(0)).unwrap();
    terminal.resize(25);
    painter.paint(vec![], &view, Size { columns: 25, rows: 24 }, Timestamp(0)).unwrap();
    let lines = terminal.lines();
    assert_eq!(lines[0], "kept");
    assert_eq!(lines.len(), 6, "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("ralph ")).count(), 1, "{lines:#?}");
}

/// The terminal shows a pressed Ctrl-C by itself, at the cursor. It must not wrap there: the painter would not know.
#[test]
fn a_key_that_is_pressed_tears_nothing() {
    for columns in [60, 120] {
        let (terminal, size) = (Terminal::new(columns), Size { columns, rows: 24 });
        let mut painter = Painter::new(terminal.clone(), Colours::On);
        let mut view = view();
        take(&mut view, &activity(&"a limit is reached, ".repeat(20)));
        painter.paint(vec!["kept".into()], &view, size, Timestamp(0)).unwrap();
        terminal.echo("^C");
        painter.paint(vec!["stopping".into()], &view, size, Timestamp(0)).unwrap();
        let lines = terminal.lines();
        assert_eq!(lines[..2], ["kept", "stopping"], "{lines:#?}");
        assert_eq!(lines.len(), 6, "{lines:#?}");
        assert!(!lines.iter().any(|line| line.contains("^C")), "{lines:#?}");
        drop(painter);
        assert_eq!(terminal.lines().len(), 7, "{:#?}", terminal.lines());
    }
}

#[test]
fn a_terminal_of_few_rows_shows_the_first_lines() {
    for (rows, shown) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 3), (9, 3)] {
        let terminal = Terminal::new(60);
        let mut painter = Painter::new(terminal.clone(), Colours::Off);
        for _ in 0..3 {
            painter.paint(vec![], &view(), Size { columns: 60, rows }, Timestamp(0)).unwrap();
        }
        assert_eq!(terminal.lines().len(), shown, "{rows}: {:#?}", terminal.lines());
    }
}

#[test]
fn nothing_painted_leaves_nothing() {
    let terminal = Terminal::new(60);
    drop(Painter::new(terminal.clone(), Colours::On));
    assert_eq!(terminal.lines(), [""]);
}
