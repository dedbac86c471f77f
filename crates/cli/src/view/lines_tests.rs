use super::super::fixtures::{Scripted, Step, agent, baseline, decided, opened, play, started};
use super::*;

fn lines(steps: &[Scripted]) -> Vec<String> {
    let mut lines = Lines::default();
    play(steps).iter().flatten().flat_map(|update| lines.take(update, Timestamp(0))).map(|said| said.text).collect()
}

#[test]
fn a_log_says_once_in_an_iteration_what_a_service_said() {
    let trouble = ralph_model::Trouble {
        kind: ralph_model::TroubleKind::Overload,
        until: Some(Timestamp(9)),
        message: "529 Overloaded.".to_owned(),
        advice: None,
    };
    let limit = || agent(AgentEvent::Limit { trouble: trouble.clone() });
    let steps = [opened("x"), started(), limit(), Step::Refused(trouble.clone()).into(), started(), limit()];
    let said = |mut lines: Lines| -> Vec<String> {
        let updates = play(&steps);
        updates.iter().flatten().flat_map(|update| lines.take(update, Timestamp(0))).map(|said| said.text).collect()
    };
    let log = said(Lines::of_log());
    let repeated = log.iter().filter(|line| line.contains("529 Overloaded")).count();
    assert_eq!(repeated, 2, "once in each iteration: {log:#?}");
    assert!(log.iter().any(|line| line.starts_with("waiting until ")), "{log:#?}");
    // Of the live view only the line about the wait stays.
    let view = said(Lines::default());
    assert!(view.iter().any(|line| line.starts_with("waiting until ") && line.contains("529 Overloaded")), "{view:#?}");
}

fn stopping(when: StopWhen, by: StopBy) -> Scripted {
    Step::Stopping(Stop { when, by }).into()
}

fn of(number: u32, step: Scripted) -> Scripted {
    super::super::fixtures::of(number, &format!("agent-{number}"), step)
}

#[test]
fn a_stop_says_when_it_happens() {
    let first = || stopping(StopWhen::AfterIteration, StopBy::Keyboard);
    let trouble = ralph_model::Trouble {
        kind: ralph_model::TroubleKind::RateLimit,
        until: Some(Timestamp(9)),
        message: String::new(),
        advice: None,
    };
    let waiting = || Step::Refused(trouble.clone()).into();
    let last = |steps: Vec<Scripted>| lines(&steps).pop().unwrap();
    let (later, now) =
        ("stopping after this iteration; Ctrl-C once more stops now", "stopping now: no iteration is under way");
    assert_eq!(last(vec![opened("x"), first()]), now);
    assert_eq!(last(vec![opened("x"), baseline(1, 1), started(), first()]), later);
    assert_eq!(last(vec![opened("x"), started(), waiting(), first()]), now);
    assert_eq!(last(vec![opened("x"), started(), waiting(), started(), first()]), later);
    assert_eq!(last(vec![opened("x"), started(), decided((1, 1), 1), first()]), now);
    assert_eq!(last(vec![opened("x"), started(), stopping(StopWhen::Now, StopBy::Keyboard)]), "stopping now");
}

#[test]
fn candidates_are_named_once_and_what_holds_for_all_is_said_once() {
    let first = || stopping(StopWhen::AfterIteration, StopBy::Keyboard);
    let said = lines(&[
        of(1, opened("Fix it")),
        of(2, opened("Fix it")),
        of(1, baseline(2, 7)),
        of(2, started()),
        of(2, decided((5, 4), 4_020)),
        of(1, first()),
        of(2, first()),
        of(2, stopping(StopWhen::Now, StopBy::Request)),
    ]);
    insta::assert_snapshot!(said.join("\n"), @r"
    race: Fix it (up to 10 iterations each and $5.00 together)
    [1] agent-1, loop 099a8057
    sandbox: landlock
    [2] agent-2, loop 099a8057
    [1] before the first iteration: 2 passing, 7 failing; passing checks will complete the loop
    [2] before the first iteration: 1 passing, 1 failing; passing checks will complete the loop
    [2] iteration 1: running agent-2
    [2] iteration 1: agent done after 10ms, 0 files changed, $0.0041
    [2] iteration 1: 5 passing, 4 failing, $0.0041 spent
    stopping after the iterations that run; Ctrl-C once more stops now
    [2] stopping now
    ");
}

#[test]
fn a_stop_is_said_when_it_is_heard_and_not_again_when_it_is_recorded() {
    let stop = Stop { when: StopWhen::Now, by: StopBy::Keyboard };
    let said = lines(&[opened("x"), started(), Progress::StopHeard { stop }.into(), Step::Stopping(stop).into()]);
    assert_eq!(said.iter().filter(|line| line.starts_with("stopping")).count(), 1, "{said:?}");
}
