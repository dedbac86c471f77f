use ralph_model::{
    AbortCause, AbortReason, Best, Cost, Expectation, Iteration, LoopConfig, Millis, Money, OnBlocked, Outcome,
    UnknownCharge, UnknownCost, Verdict,
};

use crate::fixtures::*;
use crate::{DayBudget, Effect, Limits, Refusal, StopWhen};

const VERIFIED: Outcome = Outcome::Completed { verified: true };
const UNVERIFIED: Outcome = Outcome::Completed { verified: false };

#[test]
fn after_a_red_baseline_passing_checks_complete_without_a_claim() {
    let mut scene = Scene::red(config());
    scene.pass(run("b"), red(&["a"]));
    assert_eq!(scene.phase(), "pausing");
    scene.pass(run("c"), green());
    assert_eq!(scene.outcome(), &VERIFIED);
    assert_eq!(scene.asked, [Effect::Finish { outcome: VERIFIED }]);
}

#[test]
fn after_a_green_baseline_a_claim_and_passing_checks_are_needed() {
    let mut scene = Scene::green(config());
    scene.pass(run("b"), green());
    assert_eq!(scene.phase(), "pausing");
    scene.pass(saying("c", CLAIM), red(&["a"]));
    assert_eq!(scene.phase(), "pausing");
    scene.pass(saying("d", CLAIM), green());
    assert_eq!(scene.outcome(), &VERIFIED);
}

#[test]
fn an_explicit_promise_is_needed_even_after_a_red_baseline() {
    let mut scene = Scene::red(LoopConfig { promise_is_explicit: true, ..config() });
    scene.pass(run("b"), green());
    assert_eq!(scene.phase(), "pausing");
    scene.pass(saying("b", CLAIM), green());
    assert_eq!(scene.outcome(), &VERIFIED);
}

#[test]
fn without_checks_a_claim_completes_and_nothing_is_verified() {
    let mut scene = Scene::start(without_checks());
    assert_eq!(scene.phase(), "pausing", "there is no baseline to wait for");
    scene.begin().agent(run("b"));
    assert_eq!(scene.phase(), "pausing");
    scene.begin().agent(saying("b", CLAIM));
    assert_eq!(scene.outcome(), &UNVERIFIED);
    assert!(!scene.all.iter().any(|effect| matches!(effect, Effect::RunChecks { .. })));
}

#[test]
fn an_expectation_that_is_not_met_stands_in_the_way_of_completion() {
    let expects = vec![Expectation::Commit];
    let mut scene = Scene::start(LoopConfig { expects: expects.clone(), ..without_checks() });
    scene.pass(saying("b", CLAIM), missing(&expects));
    assert_eq!(scene.phase(), "pausing");
    assert_eq!(scene.run.facts().false_claims(), 1);
    scene.pass(saying("c", CLAIM), missing(&[]));
    assert_eq!(scene.outcome(), &UNVERIFIED);

    let mut scene = Scene::red(LoopConfig { expects: expects.clone(), ..config() });
    scene.pass(run("b"), Verdict { missing: missing(&expects).missing, ..green() });
    assert_eq!(scene.phase(), "pausing");
    scene.pass(run("c"), green());
    assert_eq!(scene.outcome(), &VERIFIED);
}

#[test]
fn a_false_claim_is_counted_and_told() {
    let mut scene = Scene::red(config());
    scene.pass(saying("b", CLAIM), red(&["a"])).begin();
    assert_eq!(scene.run.facts().false_claims(), 1);
    assert!(scene.prompt().contains("this was a false claim"), "{}", scene.prompt());
    assert!(scene.prompt().contains("claimed to be done and was not"), "{}", scene.prompt());
    scene.agent(run("c")).checks(red(&["a"])).begin();
    assert_eq!(scene.run.facts().false_claims(), 1);
    assert!(!scene.prompt().contains("this was a false claim"), "{}", scene.prompt());
}

#[test]
fn the_same_sentence_is_a_claim_again_after_it_was_told_back() {
    let mut scene = Scene::green(config());
    scene.pass(saying("b", CLAIM), red(&["a"])).begin();
    assert!(scene.prompt().contains(CLAIM), "the envelope shows the agent's words");
    scene.agent(saying("c", CLAIM)).checks(green());
    assert_eq!(scene.outcome(), &VERIFIED);
}

#[test]
fn an_agent_that_only_repeats_its_prompt_claims_nothing() {
    let mut scene = Scene::start(without_checks());
    scene.begin().agent(saying("b", CLAIM.trim_end_matches("</promise>"))).begin();
    let echo = scene.prompt().to_owned();
    scene.agent(saying("c", &echo));
    assert_eq!(scene.phase(), "pausing");
    let last_words: String = echo.lines().rev().take(3).collect::<Vec<_>>().join("\n");
    scene.begin().agent(saying("d", &last_words));
    assert_eq!(scene.phase(), "pausing");
}

#[test]
fn a_blocked_agent_with_failing_checks_ends_the_loop() {
    let mut scene = Scene::red(config());
    scene.pass(saying("b", "<blocked>no access to the database</blocked>"), red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::Blocked);
    assert_eq!(scene.cause(), &AbortCause::Blocked { why: "no access to the database".into() });
}

#[test]
fn a_blocked_agent_without_checks_ends_the_loop() {
    let mut scene = Scene::start(without_checks());
    scene.begin().agent(saying("b", "<blocked>which colour?</blocked>"));
    assert_eq!(scene.reason(), AbortReason::Blocked);
}

#[test]
fn a_blocked_agent_with_passing_checks_is_done_all_the_same() {
    let mut scene = Scene::red(config());
    scene.pass(saying("b", "<blocked>no access to the database</blocked>"), green());
    assert_eq!(scene.outcome(), &VERIFIED);
}

#[test]
fn a_blocked_agent_can_be_told_to_go_on() {
    let mut scene = Scene::red(LoopConfig { on_blocked: OnBlocked::Continue, ..config() });
    let blocked = || saying("b", "<blocked>no access to the database</blocked>");
    scene.pass(blocked(), red(&["a"])).begin();
    assert!(scene.prompt().contains("you said that you are blocked (no access to the database)"), "{}", scene.prompt());
    // Said in the same words once more, it is noted once more.
    scene.agent(blocked()).checks(red(&["a"]));
    assert!(scene.run.facts().iterations.iter().all(|record| record.blocked.is_some()));
}

#[test]
fn an_unchanged_tree_with_unchanged_failures_is_a_stall() {
    let mut scene = Scene::red(LoopConfig { stall_threshold: 3, ..config() });
    scene.pass(run("start"), red(&["a"])).pass(run("start"), red(&["a"]));
    assert_eq!(scene.phase(), "pausing");
    scene.pass(run("start"), red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::Stall);
    assert_eq!(
        scene.cause(),
        &AbortCause::Stalled { iterations: 3, headline: Some("a failed: expected 1, got 2".into()) }
    );
}

#[test]
fn going_to_and_fro_is_a_stall() {
    let mut scene = Scene::red(LoopConfig { stall_threshold: 2, same_error_threshold: 9, ..config() });
    scene.pass(run("b"), red(&["a"]));
    assert_eq!(scene.run.facts().progress.without, 0, "a new tree is progress");
    scene.pass(run("start"), red(&["a"])).pass(run("b"), red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::Stall);
}

#[test]
fn a_changed_set_of_failures_is_progress_even_on_the_same_tree() {
    let mut scene = Scene::red(LoopConfig { stall_threshold: 2, ..config() });
    scene.pass(run("start"), red(&["a"])).pass(run("start"), red(&["b"]));
    assert_eq!(scene.run.facts().progress.without, 0);
    scene.pass(run("start"), red(&["a"]));
    assert_eq!(scene.run.facts().progress.without, 1, "the same failures on the same tree were there before");
}

#[test]
fn checks_that_pass_on_the_untouched_tree_are_progress_after_a_red_baseline() {
    let mut scene = Scene::red(LoopConfig { promise_is_explicit: true, stall_threshold: 1, ..config() });
    scene.pass(run("start"), green());
    assert_eq!(scene.phase(), "pausing");
}

#[test]
fn without_checks_an_unchanged_tree_is_a_stall() {
    let mut scene = Scene::start(LoopConfig { stall_threshold: 2, ..without_checks() });
    scene.begin().agent(run("start")).begin().agent(run("start"));
    assert_eq!(scene.reason(), AbortReason::Stall);

    let expects = vec![Expectation::File("src/**".into()), Expectation::Commit];
    let mut scene = Scene::start(LoopConfig { stall_threshold: 1, expects: expects.clone(), ..without_checks() });
    scene.pass(run("start"), missing(&expects));
    assert_eq!(scene.reason(), AbortReason::Stall, "what is missing from the start is no news");
}

#[test]
fn the_same_error_in_a_row_ends_the_loop() {
    let mut scene = Scene::red(LoopConfig { same_error_threshold: 3, ..config() });
    scene.pass(run("b"), red(&["a"])).pass(run("c"), red(&["a"]));
    assert_eq!(scene.phase(), "pausing");
    scene.pass(run("d"), red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::SameError);
    assert_eq!(
        scene.cause(),
        &AbortCause::SameError { times: 3, headline: Some("a failed: expected 1, got 2".into()) }
    );
}

#[test]
fn another_error_in_between_begins_the_count_anew() {
    let mut scene = Scene::red(LoopConfig { same_error_threshold: 3, ..config() });
    scene.pass(run("b"), red(&["a"])).pass(run("c"), red(&["a"])).pass(run("d"), red(&["b"]));
    scene.pass(run("e"), red(&["a"]));
    assert_eq!(scene.run.facts().progress.repeats, 1);
    assert_eq!(scene.phase(), "pausing");
}

#[test]
fn when_all_come_at_once_a_stall_is_named_before_the_same_error_before_the_iterations() {
    let all = LoopConfig { stall_threshold: 2, same_error_threshold: 2, max_iterations: 2, ..config() };
    for (config, reason) in [
        (all.clone(), AbortReason::Stall),
        (LoopConfig { stall_threshold: 9, ..all.clone() }, AbortReason::SameError),
        (LoopConfig { stall_threshold: 9, same_error_threshold: 9, ..all }, AbortReason::MaxIterations),
    ] {
        let mut scene = Scene::red(config);
        scene.pass(run("start"), red(&["a"])).pass(run("start"), red(&["a"]));
        assert_eq!(scene.reason(), reason);
    }
}

#[test]
fn the_iterations_run_out_with_the_best_state_named() {
    let mut scene = Scene::red(LoopConfig { max_iterations: 2, ..config() });
    scene.pass(run("b"), red(&["a"])).pass(run("c"), red(&["a", "b"]));
    assert_eq!(scene.reason(), AbortReason::MaxIterations);
    let best = Some(Best { iteration: Iteration(1), failing: 1, tree: tree("b") });
    assert_eq!(scene.cause(), &AbortCause::IterationsUsed { max: 2, best, missing_claim: None, tampered: 0 });
    assert_eq!(scene.agents(), 2);
}

#[test]
fn a_stall_switches_to_the_debugging_skill_once_and_then_aborts() {
    let mut scene =
        Scene::red(LoopConfig { stall_threshold: 2, deep_debug: Some(debugging()), max_iterations: 9, ..config() });
    scene.pass(run("start"), red(&["a"])).pass(run("start"), red(&["a"]));
    assert!(scene.run.facts().escalated);
    scene.begin();
    assert!(scene.prompt().starts_with("Fix the parser.\n\nFind the cause first.\n\n---\n"), "{}", scene.prompt());
    assert!(scene.prompt().contains("- History:\n  1: 1 file changed"), "{}", scene.prompt());
    scene.agent(run("start")).checks(red(&["a"]));
    assert_eq!(scene.phase(), "pausing", "the skill gets a chance of its own");
    scene.pass(run("start"), red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::Stall);
}

#[test]
fn the_promise_of_the_debugging_skill_counts_while_it_is_in_use_and_only_then() {
    let fixed = || saying("start", "<promise>BUG_FIXED</promise>");
    let mut scene = Scene::green(LoopConfig { stall_threshold: 1, deep_debug: Some(debugging()), ..config() });
    scene.pass(fixed(), green());
    assert_eq!(scene.phase(), "pausing");
    scene.pass(saying("b", "<promise>BUG_FIXED</promise>"), green());
    assert_eq!(scene.outcome(), &VERIFIED);
}

#[test]
fn a_stall_in_the_last_iteration_has_nothing_left_to_switch_for() {
    let mut scene =
        Scene::red(LoopConfig { stall_threshold: 2, deep_debug: Some(debugging()), max_iterations: 2, ..config() });
    scene.pass(run("start"), red(&["a"])).pass(run("start"), red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::MaxIterations);
    assert!(!scene.run.facts().escalated);
}

#[test]
fn spent_money_ends_the_loop_after_its_work_was_looked_at() {
    let mut scene = Scene::red(config());
    scene.pass(costing("b", known(Money::dollars(3))), red(&["a"]));
    assert_eq!(scene.phase(), "pausing");
    scene.begin().agent(costing("c", known(Money::dollars(3))));
    assert_eq!(scene.phase(), "verifying");
    scene.checks(red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::CostLimit);
    assert_eq!(scene.run.facts().spent, Money::dollars(6));
    let (spent, limit) = (Money::dollars(6), Money::dollars(5));
    assert_eq!(scene.cause(), &AbortCause::BudgetSpent { spent, limit, unknown: None });

    let mut scene = Scene::red(config());
    scene.pass(costing("b", known(Money::dollars(5))), green());
    assert_eq!(scene.outcome(), &VERIFIED, "the money is spent and the work is done");
}

#[test]
fn an_unknown_cost_takes_the_whole_reservation() {
    let mut scene = Scene::red(config());
    scene.pass(costing("b", known(Money::dollars(1))), red(&["a"]));
    scene.pass(costing("c", Cost::Unknown), red(&["a"]));
    assert_eq!(scene.run.facts().spent, Money::dollars(5));
    assert_eq!(scene.reason(), AbortReason::CostLimit);
    let unknown = UnknownCharge { iteration: Iteration(2), charged: Money::dollars(4), why: UnknownCost::NotReported };
    let (spent, limit) = (Money::dollars(5), Money::dollars(5));
    assert_eq!(scene.cause(), &AbortCause::BudgetSpent { spent, limit, unknown: Some(unknown) });
}

#[test]
fn an_unmetered_agent_never_meets_the_cost_limit() {
    for cost in [Cost::Unmetered, Cost::Unknown] {
        let mut scene = Scene::red(unmetered(LoopConfig { max_cost: cents(1), ..config() }));
        for name in ["b", "c", "d", "e", "f"] {
            scene.pass(costing(name, cost), red(&[name]));
        }
        assert_eq!(scene.reason(), AbortReason::MaxIterations, "{cost:?}");
        assert_eq!(scene.run.facts().spent, Money::ZERO);
        let without_bounds = |effect: &Effect| match effect {
            Effect::BeginIteration { reserve, .. } => *reserve == Money::ZERO,
            Effect::RunAgent { budget, .. } => budget.is_none(),
            _ => true,
        };
        assert!(scene.all.iter().all(without_bounds));
    }
}

#[test]
fn an_agent_gets_what_was_reserved_and_nothing_more() {
    let mut scene = Scene::red(config());
    let wanted = |scene: &Scene| match scene.asked.last() {
        Some(Effect::BeginIteration { reserve, pause, .. }) => (*reserve, *pause),
        other => panic!("{other:?}"),
    };
    assert_eq!(wanted(&scene), (Money::dollars(5), Millis(0)), "nobody rests before the first iteration");
    scene.begin();
    assert!(
        matches!(scene.asked.last(), Some(Effect::RunAgent { budget: Some(budget), .. }) if *budget == Money::dollars(5))
    );
    scene.agent(costing("b", known(cents(125)))).checks(red(&["a"]));
    assert_eq!(wanted(&scene), (cents(375), Millis(500)));
}

#[test]
fn a_spent_day_refuses_the_iteration_and_uses_none() {
    let mut scene = Scene::red(config());
    let day = DayBudget { spent: Money::dollars(50), cap: Money::dollars(50) };
    scene.refuse(Refusal::DailyBudget { day });
    assert_eq!(scene.reason(), AbortReason::DailyBudget);
    assert_eq!(scene.cause(), &AbortCause::DayBudgetSpent { spent: Money::dollars(50), limit: Money::dollars(50) });
    assert_eq!((scene.agents(), scene.run.facts().iterations.len()), (0, 0));
}

#[test]
fn the_duration_counts_only_the_time_that_somebody_worked() {
    let mut scene = Scene::red(LoopConfig { max_duration: Some(Millis::secs(60)), ..config() });
    scene.begin().wait(Millis::minutes(600)).resume();
    assert_eq!(scene.phase(), "pausing", "nobody worked in those ten hours");
    scene.begin();
    assert!(matches!(scene.asked.last(), Some(Effect::RunAgent { timeout, .. }) if *timeout == Millis::secs(57)));
    scene.wait(Millis::secs(57)).agent(run("b")).checks(red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::MaxDuration);
    assert_eq!(scene.cause(), &AbortCause::TimeUp { active: Millis(62_000), limit: Millis::minutes(1) });
}

#[test]
fn a_duration_that_is_used_to_the_millisecond_is_used_up() {
    // The baseline, the start of the iteration, the agent and the checks take one second each.
    for (limit, ends) in [(Millis(4000), true), (Millis(4001), false)] {
        let mut scene = Scene::red(LoopConfig { max_duration: Some(limit), ..config() });
        scene.pass(run("b"), red(&["a"]));
        assert_eq!(scene.run.outcome().is_some(), ends, "{limit}");
    }
}

#[test]
fn time_that_runs_out_while_the_loop_rests_starts_no_agent() {
    let mut scene = Scene::red(LoopConfig { max_duration: Some(Millis::secs(60)), ..config() });
    scene.wait(Millis::secs(60)).begin();
    assert_eq!(scene.reason(), AbortReason::MaxDuration);
    assert_eq!((scene.agents(), scene.run.facts().iterations.len()), (0, 0));
}

#[test]
fn a_clock_that_goes_backwards_costs_no_time() {
    let mut scene = Scene::red(LoopConfig { max_duration: Some(Millis::secs(60)), ..config() });
    scene.begin();
    let active = scene.run.facts().active;
    scene.now.0 -= 3_600_000;
    scene.agent(run("b"));
    assert_eq!(scene.run.facts().active, active);
    assert_eq!(scene.phase(), "verifying");
}

#[test]
fn raised_limits_let_a_loop_go_on() {
    let mut scene = Scene::red(LoopConfig { max_iterations: 1, ..config() });
    scene.pass(run("b"), red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::MaxIterations);
    scene.resume();
    assert_eq!(scene.reason(), AbortReason::MaxIterations, "nothing changed, so nothing changes");
    scene.resume_with(None, Limits { max_iterations: Some(2), max_cost: None, ..Limits::default() });
    assert_eq!(scene.phase(), "pausing");
    scene.pass(costing("c", Cost::Unknown), red(&["a"]));
    assert_eq!(scene.reason(), AbortReason::CostLimit);
    scene.resume_with(None, Limits { max_iterations: Some(3), max_cost: Some(Money::dollars(9)), ..Limits::default() });
    assert!(
        matches!(scene.asked.last(), Some(Effect::BeginIteration { reserve, .. }) if *reserve == Money::dollars(4))
    );
    scene.pass(run("d"), green());
    assert_eq!(scene.outcome(), &VERIFIED);
    assert_eq!((scene.agents(), scene.finishes()), (3, 4));
}

#[test]
fn a_stop_outranks_the_limits_but_not_success_or_a_blocked_agent() {
    let config = || LoopConfig { max_iterations: 1, stall_threshold: 1, ..config() };
    for (message, verdict, reason) in [
        ("", red(&["a"]), Some(AbortReason::Cancelled)),
        ("<blocked>no key</blocked>", red(&["a"]), Some(AbortReason::Blocked)),
        ("", green(), None),
    ] {
        let mut scene = Scene::red(config());
        scene.begin().stop(StopWhen::AfterIteration).agent(saying("b", message)).checks(verdict);
        assert_eq!(scene.outcome().reason(), reason);
    }
}

#[test]
fn the_tree_of_the_start_is_not_verified() {
    let mut scene = Scene::green(config());
    scene.pass(saying("start", CLAIM), green());
    assert_eq!(scene.outcome(), &UNVERIFIED, "nothing was done");
    let mut scene = Scene::green(config());
    scene.pass(saying("b", CLAIM), Verdict { tree: tree("start"), ..green() });
    assert_eq!(scene.outcome(), &UNVERIFIED, "without the changes to protected files nothing is left");
}

#[test]
fn an_agent_that_cannot_be_started_ends_the_loop_at_once() {
    let mut scene = Scene::red(config());
    let why = "bwrap: not found".to_owned();
    let ended = ralph_model::Ended::NotStarted { why: why.clone() };
    scene.begin().agent(ralph_model::AgentRun { ended, ..run("start") });
    let cause = ralph_model::ErrorCause::AgentNotStarted { agent: "worker".into(), why };
    assert_eq!(scene.outcome(), &Outcome::Error { cause });
    assert_eq!(scene.run.facts().counted(), 0, "it uses no iteration");
    scene.resume();
    assert_eq!(scene.phase(), "pausing");
}
