use ralph_model::AgentEvent;
use ralph_view::Progress;

use super::super::fixtures::{Terminal, agent, baseline, decided, opened, play, started};
use super::*;

fn now() -> Timestamp {
    Timestamp(0)
}

fn size() -> Size {
    Size { columns: 100, rows: 30 }
}

fn updates() -> Vec<Update> {
    let steps = [
        opened("Fix it"),
        baseline(2, 7),
        started(),
        Progress::Activity { line: "chatter".into() }.into(),
        agent(AgentEvent::Message { text: "I look around.".into() }),
        agent(AgentEvent::ToolStarted { id: "1".into(), tool: "Bash".into(), summary: "ls".into() }),
        decided((5, 4), 700_000),
        warning("odd\u{1b}[2J").into(),
    ];
    play(&steps).concat()
}

fn warning(text: &str) -> Progress {
    Progress::Warning { text: text.to_owned() }
}

/// A file, as plain lines are often sent to.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn show(out: impl Write + Send + 'static, mode: Mode) {
    let live = Live::on(out, mode, Look::PLAIN, now, size);
    for update in updates() {
        live.show(update);
    }
    live.close();
    // The loop's machinery may hold it for longer, and close it twice.
    live.show(warning("late").into());
    live.close();
}

#[test]
fn plain_lines_are_one_for_each_change_but_chatter() {
    let paper = Paper::default();
    show(paper.clone(), Mode::Plain);
    insta::assert_snapshot!(paper.text(), @r#"
    loop 099a8057: Fix it (helper, up to 10 iterations and $5.00)
    sandbox: landlock
    before the first iteration: 2 passing, 7 failing; passing checks will complete the loop
    iteration 1: running helper
      | I look around.
      > Bash: ls
    iteration 1: agent done after 10ms, 0 files changed, $0.70
    iteration 1: 5 passing, 4 failing, $0.70 spent
    warning: odd␛[2J
    "#);
}

#[test]
fn the_live_view_keeps_what_lasts_above_it() {
    let terminal = Terminal::new(100);
    show(terminal.clone(), Mode::Painted);
    insta::assert_snapshot!(terminal.lines().join("\n"), @"
    loop 099a8057: Fix it (helper, up to 10 iterations and $5.00)
    sandbox: landlock
    before the first iteration: 2 passing, 7 failing; passing checks will complete the loop
    iteration 1: 5 passing, 4 failing, $0.70 spent
    warning: odd␛[2J
    ralph 099a8057  Fix it                                                                          0ms
    iteration  1/10  deciding; agent: 10ms, $0.70
    failing    █▅  7 → 4
    diff       iteration 1: nothing changed
    cost       ████░░░░░░░░░░░░░░░░░░░░░░░░░░  $0.70 of $5.00
    verdict    iteration 1: 5 passing, 4 failing
    ");
}

#[test]
fn lines_of_the_log_go_above_the_view_and_never_into_it() {
    let terminal = Terminal::new(100);
    let live = Live::on(terminal.clone(), Mode::Painted, Look::PLAIN, now, size);
    live.log("DEBUG before the view".to_owned()).unwrap();
    for update in updates() {
        live.log("DEBUG between".to_owned()).unwrap();
        live.show(update);
    }
    live.log("DEBUG at the end".to_owned()).unwrap();
    live.close();
    let lines = terminal.lines();
    assert_eq!(lines[0], "DEBUG before the view");
    let view = lines.iter().position(|line| line.starts_with("ralph 099a8057")).unwrap();
    assert_eq!(lines[view - 1], "DEBUG at the end", "{lines:#?}");
    let between = lines[..view].iter().filter(|line| *line == "DEBUG between").count();
    assert_eq!(between, updates().len(), "{lines:#?}");
    let painted = lines[view..].iter().filter(|line| !line.is_empty()).count();
    assert_eq!(painted, 6, "the view is whole: {lines:#?}");
    assert_eq!(live.log("late".to_owned()), Err("late".to_owned()), "a view that is gone gives the line back");
}

#[test]
fn plain_lines_and_lines_of_the_log_are_whole_and_silence_gives_them_back() {
    let paper = Paper::default();
    let live = Live::on(paper.clone(), Mode::Plain, Look::PLAIN, now, size);
    live.log("DEBUG one".to_owned()).unwrap();
    live.close();
    assert_eq!(paper.text(), "DEBUG one\n");
    let live = Live::on(Paper::default(), Mode::Silent, Look::PLAIN, now, size);
    live.close();
    assert!(live.log("DEBUG two".to_owned()).is_err());
}

#[test]
fn silent_shows_nothing() {
    let paper = Paper::default();
    show(paper.clone(), Mode::Silent);
    assert_eq!(paper.text(), "");
}

#[test]
fn a_screen_that_is_gone_stops_nobody() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
    for mode in [Mode::Plain, Mode::Painted] {
        let live = Live::on(Gone, mode, Look::PLAIN, now, size);
        for _ in 0..1000 {
            updates().into_iter().for_each(|update| live.show(update));
        }
        live.close();
    }
}

#[test]
fn chatter_is_dropped_when_nobody_keeps_up_and_nothing_else_is() {
    // Blocks at its first write until it is let go, like a stopped terminal.
    struct Stuck(Receiver<()>, Paper);
    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            self.1.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (go, gate) = channel();
    let paper = Paper::default();
    let live = Live::on(Stuck(gate, paper.clone()), Mode::Plain, Look::PLAIN, now, size);
    for number in 0..10_000 {
        live.show(Progress::Activity { line: number.to_string() }.into());
        if number % 100 == 0 {
            live.show(warning(&format!("number {number}")).into());
        }
    }
    assert!(live.waiting.load(Ordering::Relaxed) <= MAX_WAITING + 101);
    drop(go);
    live.close();
    let warnings = paper.text().lines().filter(|line| line.starts_with("warning: number")).count();
    assert_eq!(warnings, 100);
}
