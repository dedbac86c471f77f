//! Services that refuse, and agents that take turns.

use ralph_model::{
    AbortCause, AbortReason, AgentRun, AgentSpec, Cost, ErrorCause, Fault, FaultKind, Iteration, LoopConfig, Millis,
    Money, Status, ToolEvidence, TroubleKind, Turns, WaitLimit, Window,
};

use super::*;
use crate::fixtures::*;
use crate::{Limits, Lost, Refusal, StopWhen};

/// How long the loop waits before the next pass, for a service.
fn wait(scene: &Scene) -> Option<Millis> {
    scene.asked.iter().find_map(|effect| match effect {
        Effect::BeginIteration { wait, .. } => wait.as_ref().map(|wait| wait.until.since(scene.now)),
        _ => None,
    })
}

fn agent(scene: &Scene) -> String {
    let title = scene.asked.iter().find_map(|effect| match effect {
        Effect::RunAgent { agent, .. } => Some(agent.title()),
        _ => None,
    });
    title.expect("an agent is to run")
}

fn error(scene: &Scene) -> &ErrorCause {
    match scene.outcome() {
        Outcome::Error { cause } => cause,
        other => panic!("no error: {other:?}"),
    }
}

#[test]
fn a_limit_is_waited_out_and_does_not_count() {
    let mut scene = Scene::red(LoopConfig { max_iterations: 2, ..config() });
    let until = Timestamp(scene.now.0 + 3_600_000);
    scene.begin().agent(refused("start", TroubleKind::RateLimit, Some(until)));
    assert_eq!(scene.phase(), "pausing", "nothing changed, so there is nothing to check");
    assert_eq!(wait(&scene), Some(until.since(scene.now)));
    assert_eq!((scene.run.facts().counted(), scene.run.facts().spent), (0, cents(1)));
    scene.begin();
    assert_eq!(scene.run.facts().last_iteration().unwrap().iteration.0, 1, "it is the first pass again");
    assert!(!scene.prompt().contains("Ralph Loop Context"));
    scene.agent(run("b")).checks(red(&["a"]));
    assert_eq!((wait(&scene), scene.run.facts().waits), (None, 0));
    scene.pass(run("c"), red(&["b"]));
    assert_eq!(scene.reason(), AbortReason::MaxIterations);
    assert_eq!((scene.agents(), scene.run.facts().counted()), (3, 2));
}

#[test]
fn work_that_was_cut_short_is_checked_all_the_same() {
    let mut scene = Scene::red(config());
    scene.begin().agent(refused("b", TroubleKind::RateLimit, None));
    assert_eq!(scene.phase(), "verifying");
    scene.checks(green());
    assert_eq!(scene.outcome(), &Outcome::Completed { verified: true });
    assert_eq!(scene.run.facts().counted(), 1);

    let mut scene = Scene::red(config());
    scene.begin().agent(refused("b", TroubleKind::RateLimit, None)).checks(red(&["a"]));
    assert_eq!((scene.phase(), scene.run.facts().counted()), ("pausing", 0));
    assert_eq!(wait(&scene), Some(config().backoff));
}

#[test]
fn every_refusal_in_a_row_doubles_the_wait_until_the_loop_gives_up() {
    let mut scene = Scene::red(config());
    let mut waits = Vec::new();
    while scene.run.outcome().is_none() {
        scene.begin().agent(refused("start", TroubleKind::Overload, None));
        waits.extend(wait(&scene).map(|wait| wait.0 / 1000));
    }
    assert_eq!(waits, [15, 30, 60, 120, 240, 480, 960, 1800, 1800, 1800, 1800, 1800]);
    assert!(matches!(error(&scene), ErrorCause::WaitTooLong { limit: WaitLimit::Refusals { times: 12 }, .. }));
    scene.resume_with(None, Limits::default());
    assert_eq!((scene.phase(), wait(&scene)), ("pausing", None), "whoever goes on wants to see whether it works now");
}

/// A service that names the next moment every time would use up the loop's patience within seconds.
#[test]
fn from_the_second_refusal_on_the_later_of_the_named_time_and_the_backoff_counts() {
    let in_vain = |named: i64| {
        let mut scene = Scene::red(config());
        let mut waits = Vec::new();
        while scene.run.outcome().is_none() {
            scene.begin();
            // The answer comes a second later.
            let until = Timestamp(scene.now.0 + 1000 + named);
            scene.agent(refused("start", TroubleKind::RateLimit, Some(until)));
            waits.extend(wait(&scene).map(|wait| wait.0));
        }
        waits
    };
    let secs = |waits: &[u64]| -> Vec<u64> { waits.iter().map(|secs| secs * 1000).collect() };
    let longer = [30, 60, 120, 240, 480, 960, 1800, 1800, 1800, 1800, 1800];
    assert_eq!(in_vain(1_500), [&[1_500][..], &secs(&longer)].concat());
    assert_eq!(in_vain(90_000), secs(&[&[90, 90, 90][..], &longer[2..]].concat()));
}

#[test]
fn a_journal_from_before_waits_as_the_service_wished() {
    let mut scene = Scene::red(config());
    let Event::LoopStarted { start, .. } = &mut scene.journal[0].1 else { panic!("no start") };
    start.behaviour = 2;
    scene.run = Loop::replay(scene.journal.clone()).unwrap();
    for _ in 0..3 {
        scene.begin();
        let until = Timestamp(scene.now.0 + 2_500);
        scene.agent(refused("start", TroubleKind::RateLimit, Some(until)));
        assert_eq!(wait(&scene), Some(Millis(1_500)));
    }
}

#[test]
fn a_clock_that_is_set_back_makes_no_wait_longer() {
    let long = LoopConfig { max_wait: Millis::minutes(30), max_duration: Some(Millis::minutes(60)), ..config() };
    let mut scene = Scene::red(long);
    scene.begin();
    scene.now.0 -= 2 * 3_600_000;
    let until = Timestamp(scene.now.0 + 1000 + 60_000);
    scene.agent(refused("start", TroubleKind::RateLimit, Some(until)));
    assert_eq!(wait(&scene), Some(Millis::minutes(1)));
    let most = scene.asked.iter().find_map(|effect| match effect {
        Effect::BeginIteration { wait: Some(wait), .. } => Some(wait.most),
        _ => None,
    });
    assert_eq!(most, Some(Millis::minutes(1)), "whatever is done to the clock meanwhile");
    scene.begin().agent(refused("start", TroubleKind::Overload, None));
    assert_eq!(wait(&scene), Some(Millis::secs(30)));
    // Time goes on from there, also for --max-duration.
    scene.wait(Millis::minutes(60)).begin();
    assert_eq!(scene.reason(), AbortReason::MaxDuration);
}

/// As a stop during its checks does.
#[test]
fn a_refused_pass_whose_tripwire_is_cut_short_is_not_counted() {
    let mut scene = Scene::red(wired());
    scene.begin().agent(refused("b", TroubleKind::RateLimit, None)).checks(green());
    assert_eq!(scene.phase(), "confirming");
    scene.stop(StopWhen::Now).wire(ralph_model::Tripwire::NotPossible { why: "stopped".into() });
    assert_eq!((scene.reason(), scene.run.facts().counted()), (AbortReason::Cancelled, 0));
}

/// A metered and a free agent, in this order or the other, turn by turn.
fn one_free(first: &str) -> LoopConfig {
    let agent = |name: &str| AgentSpec { unmetered: name == "free", ..AgentSpec::command(name, "./worker") };
    let second = if first == "free" { "paid" } else { "free" };
    LoopConfig { agent: agent(first), more_agents: vec![agent(second)], turns: Turns::Rotate, ..config() }
}

#[test]
fn spent_money_ends_a_loop_when_it_is_the_turn_of_somebody_who_costs() {
    let mut scene = Scene::red(one_free("paid"));
    scene.pass(costing("b", known(ralph_model::Money::dollars(5))), red(&["a"]));
    assert_eq!(scene.phase(), "pausing", "the next one is free");
    scene.begin();
    assert_eq!(agent(&scene), "free");
    scene.agent(costing("c", ralph_model::Cost::Unmetered)).checks(red(&["a"]));
    assert_eq!((scene.reason(), scene.agents()), (AbortReason::CostLimit, 2));
}

#[test]
fn a_refused_pass_comes_again_with_the_same_agent_and_needs_its_money() {
    let spent = ralph_model::Money::dollars(5);
    let refusal = |cost| AgentRun { cost, ..refused("b", TroubleKind::RateLimit, None) };
    let mut scene = Scene::red(one_free("paid"));
    scene.begin().agent(refusal(known(spent))).checks(red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::CostLimit, "nothing is left for the same pass");
    let mut scene = Scene::red(one_free("free"));
    scene.run.facts.spent = spent;
    scene.replays = false;
    scene.begin().agent(refusal(ralph_model::Cost::Unmetered)).checks(red(&["a"]));
    assert_eq!((scene.phase(), wait(&scene)), ("pausing", Some(config().backoff)));
}

#[test]
fn an_answer_in_between_makes_waits_count_anew() {
    let long = LoopConfig { max_iterations: 50, max_cost: ralph_model::Money::dollars(9), ..config() };
    let mut scene = Scene::red(LoopConfig { stall_threshold: 50, same_error_threshold: 50, ..long });
    for number in 0..20 {
        let last = scene.run.facts().tree.0.clone();
        scene.begin().agent(refused(&last, TroubleKind::Unreachable, None));
        assert_eq!(wait(&scene), Some(Millis::secs(15)));
        scene.begin().agent(refused(&last, TroubleKind::RateLimit, None));
        assert_eq!(wait(&scene), Some(Millis::secs(30)));
        scene.pass(run(&number.to_string()), red(&["a"]));
    }
    assert_eq!(scene.run.facts().counted(), 20);
}

#[test]
fn refusals_are_no_stall() {
    let mut scene = Scene::red(LoopConfig { stall_threshold: 1, same_error_threshold: 1, ..config() });
    for _ in 0..5 {
        scene.begin().agent(refused("b", TroubleKind::RateLimit, None));
        if scene.phase() == "verifying" {
            scene.checks(red(&["a"]));
        }
        assert_eq!(scene.phase(), "pausing");
    }
    assert_eq!((scene.run.facts().progress.without, scene.run.facts().progress.repeats), (0, 0));
}

#[test]
fn a_wait_that_is_too_long_is_not_begun() {
    let far = |scene: &Scene, hours: i64| Some(Timestamp(scene.now.0 + hours * 3_600_000));
    let mut scene = Scene::red(config());
    let until = far(&scene, 25);
    scene.begin().agent(refused("start", TroubleKind::RateLimit, until));
    let too_long = |scene: &Scene| match error(scene) {
        ErrorCause::WaitTooLong { limit: WaitLimit::TooLong { limit, .. }, .. } => *limit,
        other => panic!("{other:?}"),
    };
    assert_eq!(too_long(&scene), Millis::minutes(24 * 60));

    let mut scene = Scene::red(LoopConfig { max_wait: Millis(0), ..config() });
    scene.begin().agent(refused("start", TroubleKind::RateLimit, None));
    assert_eq!(too_long(&scene), Millis(0));

    let mut scene = Scene::red(LoopConfig { max_duration: Some(Millis::minutes(60)), ..config() });
    let until = far(&scene, 2);
    scene.begin().agent(refused("start", TroubleKind::RateLimit, until));
    assert_eq!(scene.reason(), AbortReason::MaxDuration);

    let mut scene = Scene::red(config());
    let until = far(&scene, -1);
    scene.begin().agent(refused("start", TroubleKind::RateLimit, until));
    assert_eq!(wait(&scene), Some(config().backoff), "a time that has passed says nothing");
}

#[test]
fn what_only_a_person_can_help_with_ends_the_loop_at_once() {
    for kind in [TroubleKind::Authentication, TroubleKind::OutOfCredit, TroubleKind::ModelNotFound] {
        let mut scene = Scene::red(config());
        let mut run = refused("start", kind, None);
        run.trouble.as_mut().unwrap().advice = Some("log in with `worker login`".into());
        let trouble = run.trouble.clone().unwrap();
        scene.begin().agent(run);
        assert_eq!(error(&scene), &ErrorCause::ServiceRefused { agent: "worker".into(), trouble });
        assert_eq!((scene.agents(), scene.run.facts().counted()), (1, 0));
        scene.resume_with(None, Limits::default());
        assert_eq!(scene.phase(), "pausing");
    }
}

#[test]
fn a_full_context_is_an_iteration_like_any_other() {
    let mut scene = Scene::red(config());
    scene.begin().agent(refused("b", TroubleKind::ContextOverflow, None)).checks(red(&["a"]));
    assert_eq!((scene.phase(), scene.run.facts().counted(), wait(&scene)), ("pausing", 1, None));
}

#[test]
fn a_stop_while_the_loop_waits_ends_it() {
    let mut scene = Scene::red(config());
    scene.begin().agent(refused("start", TroubleKind::RateLimit, None)).stop(StopWhen::AfterIteration);
    assert!(scene.cuts_short());
    scene.refuse(Refusal::Stopped);
    assert_eq!(scene.reason(), AbortReason::Cancelled);
}

#[test]
fn money_that_is_spent_is_not_waited_with() {
    let mut scene = Scene::red(config());
    let run =
        AgentRun { cost: known(ralph_model::Money::dollars(9)), ..refused("start", TroubleKind::RateLimit, None) };
    scene.begin().agent(run);
    assert_eq!(scene.reason(), AbortReason::CostLimit);
}

#[test]
fn a_race_that_is_out_of_money_ends_its_loops() {
    let mut scene = Scene::red(config());
    scene.refuse(Refusal::Race { spent: cents(300), cap: cents(300) });
    assert_eq!(scene.reason(), AbortReason::CostLimit);
    assert_eq!(scene.cause(), &AbortCause::RaceBudgetSpent { spent: cents(300), limit: cents(300) });
}

#[test]
fn a_stronger_agent_comes_after_two_failures() {
    let mut scene = Scene::red(taking_turns());
    let mut seen = Vec::new();
    for name in ["b", "c", "d", "e"] {
        seen.push(agent(scene.begin()));
        scene.agent(run(name)).checks(red(&[name]));
        if name == "b" {
            // What the service refused is nobody's failure.
            scene.begin().agent(refused("b", TroubleKind::RateLimit, None));
        }
    }
    assert_eq!(seen, ["worker", "worker", "worker:strong", "worker:strong"]);
    let recorded: Vec<&str> = scene.run.facts().iterations.iter().map(|record| record.agent.as_str()).collect();
    assert_eq!(recorded, ["worker", "worker", "worker", "worker:strong", "worker:strong"]);
}

#[test]
fn agents_rotate_from_pass_to_pass() {
    let third = AgentSpec { unmetered: true, ..AgentSpec::command("third", "./third") };
    let mut base = taking_turns();
    base.more_agents.push(third);
    let mut scene = Scene::red(LoopConfig { turns: Turns::Rotate, ..base });
    let mut seen = Vec::new();
    for name in ["b", "c", "d", "e"] {
        seen.push(agent(scene.begin()));
        scene.agent(run(name)).checks(red(&[name]));
    }
    assert_eq!(seen, ["worker", "worker:strong", "third", "worker"]);
    let budgets: Vec<bool> = scene
        .all
        .iter()
        .filter_map(|effect| match effect {
            Effect::RunAgent { budget, .. } => Some(budget.is_some()),
            _ => None,
        })
        .collect();
    assert_eq!(budgets, [true, true, false, true], "only a metered agent has a budget");
}

#[test]
fn what_was_wrong_with_a_run_is_told_and_judged() {
    let mut scene = Scene::red(config());
    let fault = Fault { kind: FaultKind::Denied, detail: "Write: .env".into() };
    let run = AgentRun {
        opaque: false,
        evidence: vec![ToolEvidence::ok("Bash", "ls")],
        faults: vec![fault],
        ended: ralph_model::Ended::Exited { code: 0 },
        ..run("b")
    };
    scene.begin().agent(run).checks(red(&["a"]));
    let record = scene.run.facts().last_iteration().unwrap();
    let envelope = scene.run.envelope(record);
    assert!(envelope.contains("[ERROR] worker: permission denied: Write: .env"), "{envelope}");
}

#[test]
fn the_exit_code_of_an_agent_with_a_stream_says_nothing() {
    let stream = |code: i32, faults: Vec<Fault>| {
        let mut scene = Scene::start(without_checks());
        let run = AgentRun {
            opaque: false,
            evidence: vec![ToolEvidence::ok("Write", "a")],
            faults,
            ended: ralph_model::Ended::Exited { code },
            ..run("b")
        };
        scene.begin().agent(run);
        let record = scene.run.facts().last_iteration().unwrap();
        scene.run.status(record)
    };
    assert_eq!(stream(1, vec![]), Status::Success);
    assert_eq!(stream(0, vec![]), Status::Success);
    let cut = Fault { kind: FaultKind::CutStream, detail: String::new() };
    assert_eq!(stream(0, vec![cut]), Status::Partial);
    let turns = Fault { kind: FaultKind::TurnLimit, detail: String::new() };
    assert_eq!(stream(0, vec![turns]), Status::Partial);
}

#[test]
fn a_context_that_is_always_full_is_a_stall() {
    let mut scene = Scene::red(LoopConfig { stall_threshold: 3, ..config() });
    while scene.run.outcome().is_none() {
        scene.begin().agent(refused("start", TroubleKind::ContextOverflow, None));
    }
    assert_eq!((scene.reason(), scene.run.facts().counted()), (AbortReason::Stall, 3));
}

#[test]
fn a_stop_in_a_pass_that_the_service_refused_uses_no_iteration() {
    let mut scene = Scene::red(config());
    scene.begin().stop(StopWhen::Now).agent(refused("b", TroubleKind::RateLimit, None));
    assert_eq!((scene.reason(), scene.run.facts().counted()), (AbortReason::Cancelled, 0));
}

#[test]
fn a_loop_with_money_of_its_own_leaves_the_race() {
    let race = ralph_model::Race { id: "r".into(), candidates: 2, cap: cents(300) };
    let mut scene = Scene::red(LoopConfig { race: Some(race), ..config() });
    scene.refuse(Refusal::Race { spent: cents(300), cap: cents(300) });
    scene.resume_with(None, Limits { max_cost: Some(cents(400)), ..Limits::default() });
    assert_eq!((scene.phase(), &scene.run.facts().config.race), ("pausing", &None));
}

/// An agent and one that stands by for it.
fn with_standby() -> LoopConfig {
    let standby = |name: &str| AgentSpec::command(name, "./other");
    LoopConfig { failover: vec![standby("second"), standby("third")], max_wait: Millis::minutes(10), ..config() }
}

#[test]
fn another_agent_takes_over_when_a_service_is_away_for_too_long() {
    let mut scene = Scene::red(with_standby());
    let in_an_hour = |scene: &Scene| Some(Timestamp(scene.now.0 + 3_600_000));
    let until = in_an_hour(&scene);
    scene.begin().agent(refused("start", TroubleKind::RateLimit, until));
    assert_eq!((scene.phase(), wait(&scene)), ("pausing", None), "nobody waits for an hour");
    scene.begin();
    assert_eq!(agent(&scene), "second");
    let facts = scene.run.facts();
    assert_eq!(facts.last_iteration().unwrap().iteration.0, 1, "it is the same pass");
    assert_eq!(facts.last_iteration().unwrap().took_over_from.as_deref(), Some("worker"));
    // It stays with the one that works.
    scene.agent(run("b")).checks(red(&["a"])).begin();
    assert_eq!(
        (agent(&scene), scene.run.facts().last_iteration().unwrap().took_over_from.clone()),
        ("second".into(), None)
    );
    // An account without credit is no service either; after the last one the loop ends as ever.
    scene.agent(refused("b", TroubleKind::OutOfCredit, None)).begin();
    assert_eq!(agent(&scene), "third");
    scene.agent(refused("b", TroubleKind::OutOfCredit, None));
    assert!(matches!(error(&scene), ErrorCause::ServiceRefused { .. }));
    scene.resume_with(None, Limits::default());
    scene.begin();
    assert_eq!(agent(&scene), "worker", "whoever goes on wants to see whether it works now");
}

#[test]
fn short_waits_in_a_row_are_as_long_as_one_long_one() {
    let mut scene = Scene::red(with_standby());
    let mut waits = Vec::new();
    for _ in 0..20 {
        scene.begin();
        if agent(&scene) != "worker" {
            break;
        }
        scene.agent(refused("start", TroubleKind::Overload, None));
        waits.extend(wait(&scene).map(|wait| wait.0 / 1000));
    }
    assert_eq!(waits, [15, 30, 60, 120, 240], "eight minutes more would be over ten");
    assert_eq!(agent(&scene), "second");
    // Its own patience is whole.
    scene.agent(refused("start", TroubleKind::Overload, None));
    assert_eq!(wait(&scene), Some(Millis::secs(15)));
}

#[test]
fn nobody_takes_over_for_a_login_that_is_wrong_or_after_a_stop() {
    let mut scene = Scene::red(with_standby());
    scene.begin().agent(refused("start", TroubleKind::Authentication, None));
    assert!(matches!(error(&scene), ErrorCause::ServiceRefused { .. }));
    let mut scene = Scene::red(with_standby());
    scene.begin().stop(StopWhen::AfterIteration).agent(refused("start", TroubleKind::OutOfCredit, None));
    assert_eq!(scene.reason(), AbortReason::Cancelled);
}

#[test]
fn a_resumed_loop_can_be_given_agents_that_stand_by() {
    let mut scene = Scene::red(LoopConfig { max_wait: Millis(0), ..config() });
    scene.begin().agent(refused("start", TroubleKind::RateLimit, None));
    assert!(matches!(error(&scene), ErrorCause::WaitTooLong { .. }));
    let failover = vec![AgentSpec::command("second", "./other")];
    scene.resume_with(None, Limits { failover, ..Limits::default() });
    scene.begin().agent(refused("start", TroubleKind::RateLimit, None)).begin();
    assert_eq!(agent(&scene), "second");
}

/// A run with so many tokens.
fn using(after: &str, tokens: u64) -> AgentRun {
    let mut run = run(after);
    run.usage.input_tokens = tokens / 2;
    run.usage.output_tokens = tokens - tokens / 2;
    run
}

#[test]
fn a_loop_ends_when_its_tokens_are_used() {
    let mut scene = Scene::red(unmetered(LoopConfig { max_tokens: Some(1000), ..config() }));
    let left = |scene: &Scene| {
        scene.asked.iter().find_map(|effect| match effect {
            Effect::RunAgent { tokens, .. } => *tokens,
            _ => None,
        })
    };
    scene.begin();
    assert_eq!(left(&scene), Some(1000));
    scene.agent(using("b", 601)).checks(red(&["a"])).begin();
    assert_eq!(left(&scene), Some(399));
    scene.agent(using("c", 500)).checks(red(&["a"]));
    let used = AbortCause::TokensUsed { used: 1101, limit: 1000, unreported: None };
    assert_eq!(scene.outcome(), &Outcome::Aborted { cause: used });
    assert_eq!(scene.reason(), AbortReason::UsageLimit);
    // More of them let it go on.
    scene.resume_with(None, Limits { max_tokens: Some(2000), ..Limits::default() });
    scene.begin();
    assert_eq!(left(&scene), Some(899));
}

#[test]
fn tokens_that_nobody_reports_are_not_none() {
    let mut scene = Scene::red(LoopConfig { max_tokens: Some(1000), ..config() });
    scene.begin().agent(run("b")).checks(red(&["a"]));
    assert!(
        matches!(
            scene.outcome(),
            Outcome::Aborted { cause: AbortCause::TokensUsed { unreported: Some(Iteration(1)), .. } }
        ),
        "{:?}",
        scene.outcome()
    );
    // Work that is done is done.
    let mut scene = Scene::red(LoopConfig { max_tokens: Some(1000), ..config() });
    scene.begin().agent(using("b", 5000)).checks(green());
    assert_eq!(scene.outcome(), &Outcome::Completed { verified: true });
}

#[test]
fn a_loop_ends_when_enough_of_the_plan_is_used() {
    let with_window = |percent: u32| {
        let mut run = run("b");
        run.usage.window = Some(Window { percent, resets_at: None });
        run
    };
    let mut scene = Scene::red(LoopConfig { max_window: Some(80), ..config() });
    scene.begin().agent(with_window(79)).checks(red(&["a"]));
    assert_eq!(scene.phase(), "pausing");
    scene.begin().agent(with_window(80)).checks(red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::UsageLimit);
    // The plan may have begun anew: a resume looks again.
    scene.resume_with(None, Limits::default());
    scene.begin().agent(with_window(3)).checks(red(&["b"]));
    assert_eq!(scene.phase(), "pausing");
}

#[test]
fn a_lost_run_of_unknown_cost_is_charged_as_estimated_and_never_more_than_was_reserved() {
    let lose = |estimate: Option<Money>| {
        let mut scene = Scene::red(config());
        scene.begin();
        let attempt = scene.attempt();
        scene.resume_with(Some(Lost { attempt, ran: true, cost: Cost::Unknown, estimate }), Limits::default());
        scene
    };
    let facts = |scene: &Scene| (scene.run.facts().spent, scene.run.facts().iterations[0].estimated);
    assert_eq!(facts(&lose(Some(cents(40)))), (cents(40), true));
    assert_eq!(facts(&lose(Some(Money::dollars(9)))), (Money::dollars(5), true));
    // As a journal of an older version has it.
    let scene = lose(None);
    assert_eq!(facts(&scene), (Money::dollars(5), false));
    assert_eq!(scene.reason(), AbortReason::CostLimit);
}
