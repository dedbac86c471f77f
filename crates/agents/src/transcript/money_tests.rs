use ralph_model::Timestamp;

use super::*;
use crate::golden;
use crate::transcript::CallEnd;

const DONE: Ended = Ended::Exited { code: 0 };

#[test]
fn a_first_answer_that_nobody_waited_for_is_charged_as_a_usual_one() {
    let broken =
        Trouble { message: "socket hang up".into(), kind: TroubleKind::Unreachable, until: None, advice: None };
    let usual = Cost::Known { amount: Money::from_micros(20_100 + 40_000) };
    let run = || {
        let mut told = golden::transcript().prompted(300);
        told.model("scripted-1");
        told
    };
    assert_eq!(run().finish(&Ended::Stopped, false).cost, usual);
    assert_eq!(run().finish(&Ended::TimedOut { after: Millis(9) }, false).cost, usual);
    assert_eq!(run().finish(&DONE, false).cost, Cost::Unknown, "one that ends by itself should have told");
    let mut broke_off = run();
    broke_off.trouble(broken.clone());
    assert_eq!(broke_off.finish(&Ended::Exited { code: 1 }, false).cost, usual);
    // With calls before it there were other answers, which nobody counted either.
    for ended in [Ended::Exited { code: 1 }, Ended::Stopped] {
        let mut busy = run();
        busy.call("1", "Bash", "npm test");
        busy.call_ended("1", "Bash", CallEnd::Done);
        busy.trouble(broken.clone());
        assert_eq!(busy.finish(&ended, false).cost, Cost::Unknown, "{ended}");
    }
    assert_eq!(golden::transcript().finish(&Ended::Stopped, false).cost, Cost::Unknown, "of which model?");
    let mut unheard = golden::transcript();
    unheard.asked_nobody();
    assert_eq!(unheard.finish(&Ended::Stopped, false).cost, Cost::Known { amount: Money::ZERO });
}

#[test]
fn a_run_that_shows_no_usage_is_given_up() {
    let mut told = golden::transcript();
    for number in 0..MANY_UNSEEN {
        told.call_ended(&number.to_string(), "Bash", CallEnd::Done);
    }
    assert!(!told.shows_no_usage(), "it may come soon");
    told.tick(Timestamp(golden::NOW.0 + i64::try_from(LONG_UNSEEN.0).unwrap()));
    assert!(told.shows_no_usage());
    told.cannot_be_watched("nothing is told");
    told.cannot_be_watched("nothing is told");
    assert!(told.is_hopeless());
    let is_limit = |event: &AgentEvent| matches!(event, AgentEvent::Limit { .. });
    assert_eq!(told.take_events().iter().filter(|event| is_limit(event)).count(), 1, "it is said once");
    told.recovered();
    assert!(told.is_hopeless());
    told.request("1", None, Tokens { output: 1, ..Tokens::default() });
    assert!(!told.shows_no_usage());
    let trouble = told.finish(&Ended::Hopeless, false).trouble.unwrap();
    assert_eq!(trouble.kind, TroubleKind::Setup, "whatever was answered since");
}

#[test]
fn what_has_no_figure_is_admitted_once() {
    let is_admission = |event: &AgentEvent| *event == AgentEvent::Uncounted;
    let mut told = golden::transcript();
    told.request("1", Some("scripted-1"), Tokens { output: 1, ..Tokens::default() });
    told.admit_uncounted();
    assert!(!told.take_events().iter().any(is_admission));
    told.request("2", Some("nobody-knows-it"), Tokens { output: 1, ..Tokens::default() });
    told.admit_uncounted();
    told.admit_uncounted();
    assert_eq!(told.take_events().iter().filter(|event| is_admission(event)).count(), 1);
    assert_eq!(told.finish(&DONE, false).cost, Cost::Unknown);
}

#[test]
fn what_is_at_stake_is_told_before_anything_is_counted_and_once() {
    let mut told = golden::transcript().prompted(300);
    told.tell_stake();
    assert_eq!(told.take_events(), [], "of which model?");
    told.model("scripted-1");
    told.tell_stake();
    told.tell_stake();
    assert_eq!(told.take_events(), [AgentEvent::Estimate { cost: Money::from_micros(60_100) }]);
    let mut counted = golden::transcript();
    counted.request("1", Some("scripted-1"), Tokens { output: 1, ..Tokens::default() });
    counted.take_events();
    counted.tell_stake();
    assert_eq!(counted.take_events(), []);
}
