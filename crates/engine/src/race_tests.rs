use uuid::Uuid;

use super::*;
use crate::{DecodeEvent, fixtures};

fn id(number: u128) -> LoopId {
    LoopId::from_uuid(Uuid::from_u128(number))
}

fn start(candidates: u128) -> RaceEvent {
    let candidates = (1..=candidates).map(|number| RaceCandidate { run: id(number), agent: format!("agent {number}") });
    RaceEvent::RaceStarted { config: Box::new(fixtures::config()), candidates: candidates.collect() }
}

fn race(candidates: u128) -> RaceRun {
    RaceRun::start(Timestamp(1), start(candidates)).unwrap().0
}

fn completed(run: u128, verified: bool) -> RaceEvent {
    let outcome = Outcome::Completed { verified };
    let end = CandidateEnd { outcome, iterations: 2, cost: Money::dollars(1), failing: Some(0), unchanged: false };
    RaceEvent::CandidateEnded { run: id(run), end }
}

/// An end without success. How exactly does not matter to the race.
fn ended(run: u128, failing: Option<u32>, unchanged: bool) -> RaceEvent {
    let outcome = Outcome::Completed { verified: false };
    let end = CandidateEnd { outcome, iterations: 2, cost: Money::dollars(1), failing, unchanged };
    RaceEvent::CandidateEnded { run: id(run), end }
}

fn lost_to(winner: u128) -> RaceEffect {
    RaceEffect::StopCandidates { stop: Stop { when: StopWhen::Now, by: StopBy::Race { winner: id(winner) } } }
}

fn cleared() -> RaceEvent {
    RaceEvent::LosersCleared { problems: vec![] }
}

#[test]
fn every_candidate_is_started() {
    let (_, effects) = RaceRun::start(Timestamp(1), start(3)).unwrap();
    assert_eq!(effects, [1, 2, 3].map(|run| RaceEffect::RunCandidate { run: id(run) }));
}

#[test]
fn a_journal_begins_with_the_start() {
    assert!(matches!(RaceRun::start(Timestamp(1), cleared()), Err(ReplayError::NoStart)));
}

#[test]
fn the_first_that_is_verified_wins_and_stops_the_others() {
    let mut race = race(3);
    assert_eq!(race.step(Timestamp(2), completed(2, true)), [lost_to(2)]);
    // One that was about to verify when it was stopped may have done so all the same.
    assert_eq!(race.step(Timestamp(3), completed(1, true)), []);
    let losers = vec![id(1), id(3)];
    assert_eq!(race.step(Timestamp(4), ended(3, None, false)), [RaceEffect::ClearWorktrees { runs: losers }]);
    let outcome = RaceOutcome { winner: Some(id(2)), counts: Some(id(2)) };
    assert_eq!(race.step(Timestamp(5), cleared()), [RaceEffect::Finish { outcome: outcome.clone() }]);
    assert_eq!(race.outcome(), Some(&outcome));
    assert_eq!(race.cost(), Money::dollars(3));
}

#[test]
fn an_unverified_completion_wins_nothing() {
    let mut race = race(2);
    assert_eq!(race.step(Timestamp(2), completed(1, false)), []);
    assert_eq!(race.winner(), None);
}

#[test]
fn without_a_winner_the_fewest_failures_count_and_idle_candidates_are_cleared() {
    let mut race = race(3);
    race.step(Timestamp(2), ended(1, Some(4), false));
    race.step(Timestamp(3), ended(2, Some(2), true));
    let effects = race.step(Timestamp(4), ended(3, Some(2), false));
    assert_eq!(effects, [RaceEffect::ClearWorktrees { runs: vec![id(2)] }]);
    let outcome = RaceOutcome { winner: None, counts: Some(id(3)) };
    assert_eq!(race.step(Timestamp(5), cleared()), [RaceEffect::Finish { outcome }]);
}

#[test]
fn a_candidate_that_breaks_leaves_the_race_to_the_others() {
    let mut race = race(2);
    let broke = |run| RaceEvent::CandidateBroke { run: id(run), error: "no disk".into() };
    assert_eq!(race.step(Timestamp(2), broke(1)), []);
    assert_eq!(
        race.step(Timestamp(3), broke(2)),
        [RaceEffect::Finish { outcome: RaceOutcome { winner: None, counts: None } }]
    );
}

#[test]
fn a_stop_reaches_candidates_that_run() {
    let mut race = race(2);
    let stop = Stop { when: StopWhen::AfterIteration, by: StopBy::Keyboard };
    assert_eq!(race.step(Timestamp(2), RaceEvent::StopRequested { stop }), [RaceEffect::StopCandidates { stop }]);
}

#[test]
fn a_late_or_repeated_answer_changes_nothing() {
    let mut race = race(2);
    race.step(Timestamp(2), completed(1, true));
    let before = race.clone();
    assert_eq!(race.step(Timestamp(2), completed(1, false)), []);
    assert_eq!(race.step(Timestamp(2), completed(7, true)), []);
    assert_eq!(race.step(Timestamp(2), cleared()), []);
    assert_eq!(race, before);
}

#[test]
fn a_resumed_race_continues_candidates_without_an_end() {
    let mut race = race(3);
    race.step(Timestamp(2), ended(2, Some(1), false));
    race.step(Timestamp(3), RaceEvent::CandidateBroke { run: id(3), error: "no disk".into() });
    let effects = race.step(Timestamp(4), RaceEvent::Resumed);
    assert_eq!(effects, [1, 3].map(|run| RaceEffect::RunCandidate { run: id(run) }));
}

#[test]
fn a_resumed_race_with_a_winner_stops_the_rest() {
    let mut race = race(2);
    race.step(Timestamp(2), completed(1, true));
    let effects = race.step(Timestamp(3), RaceEvent::Resumed);
    assert_eq!(effects, [RaceEffect::RunCandidate { run: id(2) }, lost_to(1)]);
}

/// A process that dies after any event leaves a journal from which the next process comes to the same winner.
#[test]
fn a_crash_after_any_event_changes_no_winner() {
    let journal = [start(3), completed(2, true), ended(1, None, false), ended(3, Some(1), false), cleared()];
    for crash in 1..=journal.len() {
        let events = journal[..crash].iter().cloned().enumerate();
        let mut race = RaceRun::replay(events.map(|(at, event)| (Timestamp(at as i64), event))).unwrap();
        let mut effects = race.step(Timestamp(9), RaceEvent::Resumed);
        let mut rounds = 0;
        while race.outcome().is_none() {
            rounds += 1;
            assert!(rounds < 10, "the race does not end: {effects:?}");
            for effect in std::mem::take(&mut effects) {
                let answer = match effect {
                    RaceEffect::RunCandidate { run } if run == id(2) => completed(2, true),
                    RaceEffect::RunCandidate { run } => ended(if run == id(1) { 1 } else { 3 }, Some(1), false),
                    RaceEffect::ClearWorktrees { .. } => cleared(),
                    RaceEffect::StopCandidates { .. } | RaceEffect::Finish { .. } => continue,
                };
                effects.extend(race.step(Timestamp(10), answer));
            }
        }
        assert_eq!(race.outcome().unwrap().winner, Some(id(2)), "crashed after event {crash}");
    }
}

#[test]
fn events_are_read_as_they_were_written() {
    for event in [start(2), completed(1, true), cleared(), RaceEvent::Resumed] {
        let text = event.encode().unwrap();
        assert_eq!(RaceEvent::decode(RaceEvent::VERSION, &text).unwrap(), event);
    }
    assert!(matches!(RaceEvent::decode(RaceEvent::VERSION + 1, "{}"), Err(DecodeEvent::Newer { .. })));
}
