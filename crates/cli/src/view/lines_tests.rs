use ralph_engine::Stop;
use ralph_model::Iteration;

use super::super::fixtures::{baseline, decided, opened};
use super::*;

fn lines(notices: &[Notice]) -> Vec<String> {
    let mut lines = Lines::default();
    notices.iter().flat_map(|notice| lines.take(notice, Timestamp(0))).map(|(_, text)| text).collect()
}

fn stopping(when: StopWhen, by: StopBy) -> Notice {
    Notice::Stopping(Stop { when, by })
}

fn started(iteration: u32) -> Notice {
    Notice::IterationStarted { iteration: Iteration(iteration), agent: "helper".into() }
}

fn of(number: usize, notice: Notice) -> Notice {
    super::super::fixtures::of(number, &format!("agent-{number}"), notice)
}

#[test]
fn a_stop_says_when_it_happens() {
    let first = || stopping(StopWhen::AfterIteration, StopBy::Keyboard);
    let trouble = ralph_model::Trouble {
        kind: ralph_model::TroubleKind::RateLimit,
        until: None,
        message: String::new(),
        advice: None,
    };
    let waiting = || Notice::Waiting { until: Timestamp(9), trouble: trouble.clone() };
    let last = |notices: Vec<Notice>| lines(&notices).pop().unwrap();
    let (later, now) =
        ("stopping after this iteration; Ctrl-C once more stops now", "stopping now: no iteration is under way");
    assert_eq!(last(vec![opened("x"), first()]), now);
    assert_eq!(last(vec![opened("x"), baseline(1, 1), started(1), first()]), later);
    assert_eq!(last(vec![opened("x"), started(1), waiting(), first()]), now);
    assert_eq!(last(vec![opened("x"), started(1), waiting(), started(1), first()]), later);
    assert_eq!(last(vec![opened("x"), started(1), decided(1, (1, 1), 1), first()]), now);
    assert_eq!(last(vec![opened("x"), started(1), stopping(StopWhen::Now, StopBy::Keyboard)]), "stopping now");
}

#[test]
fn candidates_are_named_once_and_what_holds_for_all_is_said_once() {
    let precautions = || Notice::Precautions { sandbox: "landlock".into(), pins: 2 };
    let first = || stopping(StopWhen::AfterIteration, StopBy::Keyboard);
    let said = lines(&[
        of(1, opened("Fix it")),
        of(1, precautions()),
        of(2, opened("Fix it")),
        of(2, precautions()),
        of(1, baseline(2, 7)),
        of(2, started(1)),
        of(2, decided(1, (5, 4), 4_020)),
        of(1, first()),
        of(2, first()),
        of(2, stopping(StopWhen::Now, StopBy::Request)),
    ]);
    insta::assert_snapshot!(said.join("\n"), @r"
    race: Fix it (up to 10 iterations each and $5.00 together)
    [1] agent-1, loop 099a8057
    sandbox: landlock; the checks rest on 2 pins
    [2] agent-2, loop 099a8057
    [1] before the first iteration: 2 passing, 7 failing; passing checks will complete the loop
    [2] iteration 1: helper works
    [2] iteration 1: 5 passing, 4 failing, $0.0041 spent
    stopping after the iterations that run; Ctrl-C once more stops now
    [2] stopping now
    ");
}
