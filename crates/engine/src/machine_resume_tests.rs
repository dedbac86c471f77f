//! Stops and resumes in every phase, and a crash at every point of a whole loop.

use ralph_model::{
    AbortCause, AbortReason, AgentRun, Attempt, Cost, Ended, ErrorCause, Expectation, Keep, LoopConfig, Millis, Money,
    Outcome,
};

use super::*;
use crate::fixtures::*;
use crate::{DayBudget, Limits, Lost, Refusal, Stop, StopBy, StopWhen};

const VERIFIED: Outcome = Outcome::Completed { verified: true };

/// One loop in each phase that waits for something.
fn in_phase(name: &str) -> Scene {
    let mut scene = match name {
        "closing" => Scene::red(LoopConfig { commit: true, ..config() }),
        "restoring" => Scene::red(LoopConfig { ratchet: true, ..config() }),
        _ => Scene::start(config()),
    };
    match name {
        "baseline" => &mut scene,
        "pausing" => scene.baseline(red(&["a"])),
        "working" => scene.baseline(red(&["a"])).begin(),
        "guarding" => {
            scene.baseline(red(&["a"])).begin().agent(AgentRun { violations: vec![touched(".env")], ..run("b") })
        }
        "verifying" => scene.baseline(red(&["a"])).begin().agent(run("b")),
        "restoring" => scene.pass(run("b"), red(&["a", "b"])),
        "closing" => scene.pass(run("b"), green()),
        other => panic!("{other}"),
    };
    assert_eq!(scene.phase(), name);
    scene
}

const WAITING: [&str; 7] = ["baseline", "pausing", "working", "guarding", "verifying", "restoring", "closing"];

#[test]
fn one_stop_lets_the_iteration_finish_and_a_second_one_does_not() {
    for (phase, first, second) in [
        ("baseline", true, true),
        ("pausing", true, true),
        ("working", false, true),
        ("guarding", false, false),
        ("verifying", false, true),
        ("restoring", false, false),
        ("closing", false, false),
    ] {
        let mut scene = in_phase(phase);
        let attempt = scene.attempt();
        assert_eq!(scene.stop(StopWhen::AfterIteration).cuts_short(), first, "{phase}");
        assert_eq!(scene.stop(StopWhen::Now).cuts_short(), second, "{phase}");
        assert_eq!((scene.phase(), scene.attempt()), (phase, attempt), "the answer still comes");
        assert_eq!(scene.stop(StopWhen::AfterIteration).run.facts().stop.map(|stop| stop.when), Some(StopWhen::Now));
    }
}

#[test]
fn a_stop_before_the_first_iteration_starts_none() {
    for when in [StopWhen::AfterIteration, StopWhen::Now] {
        let mut scene = in_phase("baseline");
        scene.stop(when).baseline(red(&["a", "b", "c"]));
        assert_eq!(scene.reason(), AbortReason::Cancelled);
        assert_eq!(scene.run.facts().baseline, None, "checks that were cut short say nothing");
        scene.resume();
        assert_eq!(scene.phase(), "baseline");
        scene.baseline(red(&["a"])).pass(run("b"), green());
        assert_eq!(scene.outcome(), &VERIFIED);
    }
}

#[test]
fn a_stop_between_two_iterations_starts_no_other_even_when_it_comes_late() {
    for when in [StopWhen::AfterIteration, StopWhen::Now] {
        let mut scene = in_phase("pausing");
        scene.stop(when).refuse(Refusal::Stopped);
        assert_eq!(scene.reason(), AbortReason::Cancelled);
        assert_eq!(scene.cause(), &AbortCause::Cancelled { by: StopBy::Keyboard });

        // The wait was over before it could be cut short.
        let mut scene = in_phase("pausing");
        scene.stop(when).begin();
        assert_eq!(scene.reason(), AbortReason::Cancelled);
        assert_eq!((scene.agents(), scene.run.facts().iterations.len()), (0, 0));
    }
}

#[test]
fn a_lost_race_names_the_winner() {
    let winner = "00000000-0000-0000-0000-0000abcdef01".parse().unwrap();
    let mut scene = in_phase("pausing");
    scene.event(Event::StopRequested { stop: Stop { when: StopWhen::Now, by: StopBy::Race { winner } } });
    scene.refuse(Refusal::Stopped);
    assert_eq!(scene.reason(), AbortReason::Cancelled);
    assert_eq!(scene.cause(), &AbortCause::Cancelled { by: StopBy::Race { winner } });
}

#[test]
fn one_stop_while_the_agent_runs_waits_for_the_verdict() {
    let mut scene = in_phase("working");
    scene.stop(StopWhen::AfterIteration).agent(run("b"));
    assert_eq!(scene.phase(), "verifying");
    scene.checks(red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::Cancelled);
    assert!(scene.run.facts().iterations[0].verdict.is_some());
}

#[test]
fn two_stops_while_the_agent_runs_end_the_loop_and_its_work_is_looked_at_later() {
    let mut scene = in_phase("working");
    scene.stop(StopWhen::AfterIteration).stop(StopWhen::Now);
    scene.agent(AgentRun { ended: Ended::Stopped, cost: known(cents(3)), ..run("b") });
    assert_eq!(scene.reason(), AbortReason::Cancelled);
    assert_eq!(scene.run.facts().spent, cents(3));
    scene.resume();
    assert_eq!(scene.phase(), "verifying");
    scene.checks(green());
    assert_eq!((scene.outcome(), scene.agents()), (&VERIFIED, 1));
}

#[test]
fn two_stops_while_the_checks_run_make_their_failure_meaningless() {
    let mut scene = in_phase("working");
    scene.agent(saying("b", "<blocked>no key</blocked> <promise>COMPLETE</promise>"));
    scene.stop(StopWhen::Now).checks(red(&["a", "b"]));
    assert_eq!(scene.reason(), AbortReason::Cancelled);
    assert_eq!(scene.run.facts().iterations[0].verdict, None);
    assert_eq!(scene.run.facts().false_claims(), 0);
    assert_eq!(scene.run.facts().progress.repeats, 0);

    let mut scene = in_phase("verifying");
    scene.stop(StopWhen::Now).checks(green());
    assert_eq!(scene.outcome(), &VERIFIED, "checks that pass have passed");
}

#[test]
fn expectations_that_nobody_looked_at_complete_nothing() {
    let expects = vec![Expectation::Commit];
    let mut scene = Scene::start(LoopConfig { expects: expects.clone(), ..without_checks() });
    scene.begin().agent(saying("b", CLAIM)).stop(StopWhen::Now).checks(missing(&expects));
    assert_eq!(scene.reason(), AbortReason::Cancelled);
    scene.resume();
    assert_eq!(scene.phase(), "verifying");
    scene.checks(missing(&[]));
    assert_eq!(scene.outcome(), &Outcome::Completed { verified: false });
}

#[test]
fn putting_back_and_closing_finish_in_spite_of_stops() {
    let mut scene = in_phase("guarding");
    scene.stop(StopWhen::Now).guard(vec![touched(".env")]);
    assert_eq!(scene.reason(), AbortReason::ProhibitedPath);
    let mut scene = in_phase("restoring");
    scene.stop(StopWhen::Now).restore("start");
    assert_eq!(scene.reason(), AbortReason::Cancelled);
    let mut scene = in_phase("closing");
    scene.stop(StopWhen::Now).commit(Some("abc123"), None);
    assert_eq!(scene.outcome(), &VERIFIED);
}

#[test]
fn a_resumed_loop_asks_again_for_what_was_lost_and_forgets_the_stop() {
    for phase in WAITING {
        for ran in [true, false] {
            let mut scene = in_phase(phase);
            let lost = scene.attempt();
            scene.stop(StopWhen::AfterIteration);
            if ran {
                scene.resume()
            } else {
                scene.resume_not_ran()
            };
            let expected = if phase == "working" { "pausing" } else { phase };
            assert_eq!(scene.phase(), expected, "{phase}, ran: {ran}");
            assert_ne!(scene.attempt(), lost, "{phase}: a late answer must not be taken for the new one");
            assert_eq!(scene.run.facts().stop, None);
            assert_eq!(scene.asked.len(), 1, "{phase}: {:?}", scene.asked);
        }
    }
}

#[test]
fn a_run_that_was_lost_is_used_up_and_paid_for_as_far_as_it_is_known() {
    let mut scene = in_phase("working");
    let lost = Lost { attempt: scene.attempt(), ran: true, cost: known(cents(70)), estimate: None };
    scene.resume_finding("half", Some(lost));
    let record = &scene.run.facts().iterations[0];
    assert!(record.interrupted && record.run.is_none());
    assert_eq!((record.charged, scene.run.facts().spent), (cents(70), cents(70)));
    assert_eq!(scene.run.facts().tree, tree("half"));
    scene.begin();
    assert!(matches!(scene.asked[0], Effect::RunAgent { iteration: ralph_model::Iteration(2), .. }));
}

#[test]
fn a_run_that_never_began_costs_nothing_and_uses_no_iteration() {
    let mut scene = in_phase("working");
    scene.resume_not_ran();
    assert_eq!((scene.run.facts().spent, scene.run.facts().iterations.len()), (Money::ZERO, 0));
    scene.begin();
    assert!(matches!(scene.asked[0], Effect::RunAgent { iteration: ralph_model::Iteration(1), .. }));
    assert_eq!(scene.prompt(), "Fix the parser.");
}

#[test]
fn a_run_that_nobody_can_account_for_is_charged_in_full() {
    let other = Lost { attempt: Attempt(99), ran: false, cost: known(Money::ZERO), estimate: None };
    for lost in [None, Some(other)] {
        let mut scene = in_phase("working");
        scene.resume_with(lost, Limits::default());
        assert_eq!(scene.run.facts().spent, Money::dollars(5));
        assert_eq!(scene.reason(), AbortReason::CostLimit);
    }
    let mut scene = in_phase("working");
    scene.fault();
    assert_eq!(scene.run.facts().spent, Money::dollars(5));
    let mut scene = Scene::red(unmetered(config()));
    scene.begin().resume_with(None, Limits::default());
    assert_eq!((scene.run.facts().spent, scene.phase()), (Money::ZERO, "pausing"));
}

#[test]
fn a_loop_can_be_resumed_from_every_abort_and_counts_anew_what_was_forgiven() {
    let day = DayBudget { spent: Money::dollars(50), cap: Money::dollars(50) };
    let more = Limits { max_iterations: Some(9), max_cost: Some(Money::dollars(9)), ..Limits::default() };
    let small = LoopConfig { max_iterations: 2, stall_threshold: 1, same_error_threshold: 2, ..config() };
    let mut seen = Vec::new();
    for reason in AbortReason::ALL {
        let mut scene = Scene::red(small.clone());
        match reason {
            AbortReason::MaxIterations => scene.pass(run("b"), red(&["b"])).pass(run("c"), red(&["c"])),
            AbortReason::CostLimit => scene.pass(costing("b", Cost::Unknown), red(&["a"])),
            AbortReason::DailyBudget => scene.refuse(Refusal::DailyBudget { day }),
            AbortReason::Stall => scene.pass(run("start"), red(&["a"])),
            AbortReason::SameError => scene.pass(run("b"), red(&["a"])).pass(run("c"), red(&["a"])),
            AbortReason::ProhibitedPath => {
                scene.refuse(Refusal::Prohibited { violations: vec![touched(".env")] }).guard(vec![touched(".env")])
            }
            AbortReason::Blocked => scene.pass(saying("b", "<blocked>no key</blocked>"), red(&["a"])),
            AbortReason::Cancelled => scene.stop(StopWhen::Now).refuse(Refusal::Stopped),
            // Nothing in this crate ends a loop so yet, nor with a duration that this configuration does not have.
            AbortReason::Tampered | AbortReason::MaxDuration | AbortReason::UsageLimit => continue,
        };
        assert_eq!(scene.reason(), reason);
        scene.wait(Millis::minutes(900)).resume_with(None, more.clone());
        assert_eq!(scene.phase(), "pausing", "{reason}");
        assert_eq!((scene.run.facts().progress.without, scene.run.facts().progress.repeats), (0, 0));
        scene.pass(run("z"), green());
        assert_eq!(scene.outcome(), &VERIFIED);
        seen.push(reason);
    }
    assert_eq!(seen.len(), 8);
}

#[test]
fn a_loop_whose_time_is_up_continues_only_with_more_time() {
    let mut scene = Scene::red(LoopConfig { max_duration: Some(Millis::secs(10)), ..config() });
    scene.begin().wait(Millis::secs(10)).agent(run("b")).checks(red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::MaxDuration);
    scene.resume();
    assert_eq!(scene.reason(), AbortReason::MaxDuration);
    assert_eq!((scene.agents(), scene.finishes()), (1, 2));
    scene.resume_with(None, Limits { max_duration: Some(Millis::minutes(1)), ..Limits::default() });
    scene.pass(run("c"), green());
    assert_eq!(scene.outcome(), &VERIFIED);
}

#[test]
fn a_fault_during_a_run_charges_what_is_known_of_it() {
    for (ran, cost, iterations, spent) in [
        (true, known(cents(5)), 1, cents(5)),
        (true, Cost::Unknown, 1, config().max_cost),
        (false, Cost::Unknown, 0, Money::ZERO),
    ] {
        let mut scene = in_phase("working");
        let lost = Some(Lost { attempt: scene.attempt(), ran, cost, estimate: None });
        scene.event(Event::Faulted { error: "no space left on device".into(), lost, stopped: false });
        let facts = scene.run.facts();
        assert_eq!((facts.iterations.len(), facts.spent), (iterations, spent), "ran: {ran}, {cost:?}");
        assert!(matches!(scene.run.outcome(), Some(Outcome::Error { .. })));
    }
}

#[test]
fn a_step_that_was_cut_short_on_request_ends_the_loop_as_cancelled() {
    for phase in ["baseline", "pausing", "guarding", "verifying", "restoring", "closing", "working"] {
        let mut scene = in_phase(phase);
        scene.stop(StopWhen::Now);
        scene.event(Event::Faulted { error: "stopped".into(), lost: None, stopped: true });
        assert_eq!(scene.reason(), AbortReason::Cancelled, "while {phase}");
    }
}

#[test]
fn a_fault_in_any_phase_ends_the_loop_for_now_and_it_goes_on_where_it_was() {
    for (phase, then) in [
        ("baseline", "baseline"),
        ("pausing", "pausing"),
        ("guarding", "verifying"),
        ("verifying", "verifying"),
        ("restoring", "pausing"),
        ("closing", "closing"),
    ] {
        let mut scene = in_phase(phase);
        scene.fault();
        assert_eq!(
            scene.outcome(),
            &Outcome::Error { cause: ErrorCause::Faulted { error: "no space left on device".into() } }
        );
        scene.resume();
        assert_eq!(scene.phase(), then, "after a fault while {phase}");
    }
    let mut scene = in_phase("working");
    scene
        .fault()
        .resume_with(None, Limits { max_iterations: None, max_cost: Some(Money::dollars(9)), ..Limits::default() });
    assert_eq!(scene.phase(), "pausing");
    assert!(scene.run.facts().iterations[0].interrupted);
}

#[test]
fn what_is_checked_after_a_resume_is_the_workspace_as_it_was_found() {
    for name in ["verifying", "cut short"] {
        let mut scene = Scene::red(config());
        scene.begin().agent(run("b"));
        if name == "cut short" {
            scene.stop(StopWhen::Now).checks(red(&["a"]));
        }
        scene.resume_finding("edited by the user", None);
        assert_eq!(scene.phase(), "verifying", "{name}");
        assert_eq!(scene.run.facts().tree, tree("edited by the user"), "{name}");
    }
}

/// A loop of four passes; the work of the last one was not checked.
fn unseen(name: &str) -> Scene {
    let mut scene = Scene::red(if name == "confirming" { wired() } else { config() });
    for state in ["b", "c", "d"] {
        scene.pass(run(state), red(&[state]));
    }
    scene.begin();
    match name {
        "agent stopped" => scene.stop(StopWhen::Now).agent(run("e")),
        "checks stopped" => scene.agent(run("e")).stop(StopWhen::Now).checks(red(&["e"])),
        "faulted" => scene.agent(run("e")).fault(),
        "prohibited" => {
            let run = AgentRun { violations: vec![touched(".env")], ..run("e") };
            scene.agent(run).guard(vec![touched(".env")])
        }
        "verifying" => scene.agent(run("e")),
        "confirming" => scene.agent(run("e")).checks(green()),
        other => panic!("{other}"),
    };
    scene
}

const UNSEEN: [&str; 6] = ["agent stopped", "checks stopped", "faulted", "prohibited", "verifying", "confirming"];

#[test]
fn a_rewound_workspace_is_not_checked_as_the_work_of_the_last_pass() {
    for name in UNSEEN {
        for state in ["start", "b", "c", "d"] {
            let mut scene = unseen(name);
            scene.resume_finding(state, None);
            assert_eq!((scene.phase(), &scene.run.facts().tree), ("pausing", &tree(state)), "{name}, {state}");
            let before = scene.run.facts().iterations.clone();
            let last = before.last().unwrap();
            assert_eq!((&last.run.as_ref().unwrap().tree, &last.verdict), (&tree("e"), &None), "{name}, {state}");
            scene.pass(run("f"), green());
            let now = &scene.run.facts().iterations;
            assert_eq!((now.len(), &now[..4]), (5, &before[..]), "{name}, {state}: earlier passes stay as they were");
            scene.replay();
        }
    }
}

#[test]
fn work_that_is_back_or_still_there_is_checked() {
    for name in UNSEEN.into_iter().filter(|name| *name != "prohibited") {
        let mut scene = unseen(name);
        scene.resume_finding("e", None);
        assert!(["verifying", "confirming"].contains(&scene.phase()), "{name}");
    }
    // An iteration that undoes the work of others leaves an earlier state, and that is its work.
    let mut scene = Scene::red(config());
    scene.pass(run("b"), red(&["b"])).begin().agent(run("start")).resume_finding("start", None);
    assert_eq!(scene.phase(), "verifying");
}

#[test]
fn a_journal_from_before_rewinds_were_noticed_replays_as_it_was() {
    let mut scene = Scene::with_behaviour(config(), crate::event::V5_REWINDS - 1);
    scene.baseline(red(&["a"])).pass(run("b"), red(&["b"])).begin().agent(run("c")).fault();
    scene.resume_finding("b", None);
    assert_eq!(scene.phase(), "verifying");
}

#[test]
fn work_that_was_verified_is_what_is_committed_whatever_came_since() {
    for faulted in [false, true] {
        let mut scene = Scene::red(LoopConfig { commit: true, ..config() });
        scene.pass(run("b"), green());
        if faulted {
            scene.fault();
        }
        scene.resume_finding("edited by the user", None);
        assert!(matches!(scene.asked[..], [Effect::CommitWork { .. }]));
        assert_eq!(scene.run.facts().tree, tree("b"));
    }
}

#[test]
fn an_alert_that_nobody_was_told_of_is_raised_by_the_next_process() {
    let mut scene = Scene::red(config());
    scene.begin().agent(costing("b", known(Money::dollars(4))));
    assert_eq!(scene.asked[0], Effect::RaiseAlert(crate::Alert::Cost80));
    scene.resume();
    assert_eq!(scene.asked[0], Effect::RaiseAlert(crate::Alert::Cost80), "the former process died before it told");
    scene.event(Event::AlertRaised { alert: crate::Alert::Cost80 }).resume();
    assert!(!matches!(scene.asked[0], Effect::RaiseAlert(_)));
}

#[test]
fn a_completed_loop_refuses_to_move() {
    let mut scene = Scene::red(config());
    scene.pass(run("b"), green());
    let more = Limits { max_iterations: Some(50), max_cost: Some(Money::dollars(10)), ..Limits::default() };
    scene.resume_with(None, more).stop(StopWhen::Now).fault();
    assert_eq!((scene.outcome(), scene.finishes()), (&VERIFIED, 1));
    assert_eq!(scene.run.facts().config.max_iterations, 5);
}

/// What a pretend runtime answers to a loop that makes things worse and worse.
fn answer(scene: &mut Scene) {
    let passes = scene.run.facts().iterations.len();
    match scene.phase() {
        "baseline" => scene.baseline(red(&["a"])),
        "pausing" => scene.begin(),
        "working" => scene.agent(run(&format!("tree-{passes}"))),
        "verifying" => scene.checks(red(&["a", "b", "c", "d", "e", "f"][..=passes])),
        "closing" => scene.restore("start"),
        other => panic!("{other}"),
    };
}

/// Runs a loop to its end with crashes when the journal has so many events, and counts the agents that may have run.
fn agents_with_crashes(config: &LoopConfig, crashes: &[(usize, bool)]) -> usize {
    let mut scene = Scene { replays: false, ..Scene::start(config.clone()) };
    let mut never_ran = 0;
    while scene.run.outcome().is_none() {
        match crashes.iter().find(|(point, _)| *point == scene.journal.len()) {
            Some((_, true)) => _ = scene.resume(),
            Some((_, false)) => {
                never_ran += usize::from(scene.phase() == "working");
                scene.resume_not_ran();
            }
            None => answer(&mut scene),
        }
    }
    scene.replay();
    assert_eq!(scene.finishes(), 1);
    assert_eq!(scene.reason(), AbortReason::MaxIterations);
    assert_eq!(scene.run.facts().tree, tree("start"), "the best state is handed back");
    scene.agents() - never_ran
}

#[test]
fn exactly_the_allowed_agents_run_wherever_a_crash_comes() {
    let config = LoopConfig { keep: Keep::Best, ..config() };
    assert_eq!(agents_with_crashes(&config, &[]), 5);
    // The start, the baseline, three events for each of five iterations and the end.
    for point in 1..=18 {
        for ran in [true, false] {
            assert_eq!(agents_with_crashes(&config, &[(point, ran)]), 5, "crash after {point} events, ran: {ran}");
        }
    }
}

#[test]
fn exactly_the_allowed_agents_run_wherever_two_crashes_come() {
    let config = LoopConfig { keep: Keep::Best, max_iterations: 3, ..config() };
    for first in 1..=12 {
        for second in first + 1..=13 {
            for (ran, ran_again) in [(true, true), (true, false), (false, true), (false, false)] {
                let crashes = [(first, ran), (second, ran_again)];
                assert_eq!(agents_with_crashes(&config, &crashes), 3, "{crashes:?}");
            }
        }
    }
}

/// What was set aside took its cost with it; the books still have it.
#[test]
fn the_larger_of_what_is_remembered_and_what_is_booked_is_spent() {
    let resumed = |lost, dollars| Event::Resumed {
        lost,
        limits: Limits::default(),
        attempts: Attempt(0),
        tree: None,
        rewound: false,
        settled: Money::dollars(dollars),
    };
    let mut scene = Scene::red(config());
    scene.pass(costing("b", known(Money::dollars(2))), red(&["a"])).event(resumed(None, 1));
    assert_eq!(scene.run.facts().spent, Money::dollars(2));
    scene.begin();
    let lost = Lost { attempt: scene.attempt(), ran: true, cost: known(cents(5)), estimate: None };
    scene.event(resumed(Some(lost), 4));
    assert_eq!(scene.run.facts().spent, Money::dollars(4) + cents(5), "the lost run is not among those on the books");
    scene.begin().event(resumed(None, 5));
    assert_eq!(scene.reason(), AbortReason::CostLimit);
}

#[test]
fn the_pause_before_a_resume_is_no_work_on_a_pass() {
    let worked = |scene: &Scene| scene.run.facts().last_iteration().unwrap().worked;
    let mut scene = in_phase("verifying");
    assert_eq!(worked(&scene), Millis(1000), "the agent");
    scene.wait(Millis::minutes(3)).resume().checks(red(&["a"]));
    assert_eq!(worked(&scene), Millis(2000), "agent and checks");
    // The rest between two passes belongs to neither.
    scene.wait(Millis::minutes(3)).begin();
    assert_eq!(scene.run.facts().iterations[0].worked, Millis(2000));
    // A pass that died with its process: nothing is known of its end.
    scene.wait(Millis::minutes(3)).resume();
    assert_eq!((worked(&scene), scene.run.facts().last_iteration().unwrap().interrupted), (Millis(0), true));
}
