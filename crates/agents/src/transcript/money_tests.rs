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
        let mut transcript = golden::transcript().prompted(300);
        transcript.model("scripted-1");
        transcript
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
    let mut transcript = golden::transcript();
    for number in 0..MANY_UNSEEN {
        transcript.call_ended(&number.to_string(), "Bash", CallEnd::Done);
    }
    assert!(!transcript.shows_no_usage(), "it may come soon");
    transcript.tick(Timestamp(golden::NOW.0 + i64::try_from(LONG_UNSEEN.0).unwrap()));
    assert!(transcript.shows_no_usage());
    transcript.cannot_be_watched("nothing is told");
    transcript.cannot_be_watched("nothing is told");
    assert!(transcript.is_hopeless());
    let is_limit = |event: &AgentEvent| matches!(event, AgentEvent::Limit { .. });
    assert_eq!(transcript.take_events().iter().filter(|event| is_limit(event)).count(), 1, "it is said once");
    transcript.recovered();
    assert!(transcript.is_hopeless());
    transcript.request("1", None, Tokens { output: 1, ..Tokens::default() });
    assert!(!transcript.shows_no_usage());
    let trouble = transcript.finish(&Ended::Hopeless, false).trouble.unwrap();
    assert_eq!(trouble.kind, TroubleKind::Setup, "whatever was answered since");
}

#[test]
fn what_has_no_figure_is_admitted_once() {
    let is_admission = |event: &AgentEvent| *event == AgentEvent::Uncounted;
    let mut transcript = golden::transcript();
    transcript.request("1", Some("scripted-1"), Tokens { output: 1, ..Tokens::default() });
    transcript.admit_uncounted();
    assert!(!transcript.take_events().iter().any(is_admission));
    transcript.request("2", Some("nobody-knows-it"), Tokens { output: 1, ..Tokens::default() });
    transcript.admit_uncounted();
    transcript.admit_uncounted();
    assert_eq!(transcript.take_events().iter().filter(|event| is_admission(event)).count(), 1);
    assert_eq!(transcript.finish(&DONE, false).cost, Cost::Unknown);
}

#[test]
fn what_is_at_stake_is_told_before_anything_is_counted_and_once() {
    let mut transcript = golden::transcript().prompted(300);
    transcript.tell_stake();
    assert_eq!(transcript.take_events(), [], "of which model?");
    transcript.model("scripted-1");
    transcript.tell_stake();
    transcript.tell_stake();
    assert_eq!(transcript.take_events(), [AgentEvent::Estimate { cost: Money::from_micros(60_100) }]);
    let mut counted = golden::transcript();
    counted.request("1", Some("scripted-1"), Tokens { output: 1, ..Tokens::default() });
    counted.take_events();
    counted.tell_stake();
    assert_eq!(counted.take_events(), []);
}

#[test]
fn a_service_that_was_never_reached_sold_nothing() {
    let cost = |message: &str| {
        let mut transcript = golden::transcript().prompted(300);
        transcript.model("scripted-1");
        let kind = TroubleKind::Unreachable;
        transcript.trouble(Trouble { message: message.into(), kind, until: None, advice: None });
        transcript.finish(&Ended::Exited { code: 1 }, false).cost
    };
    for never_made in [
        "connect ECONNREFUSED 127.0.0.1:443",
        "connect ENETUNREACH 160.79.104.10:443",
        "connect EHOSTUNREACH 160.79.104.10:443",
        "Network is unreachable (os error 101)",
        "No route to host (os error 113)",
        "getaddrinfo EAI_AGAIN api.anthropic.com",
        "getaddrinfo ENOTFOUND api.anthropic.com",
        "fetch failed",
        "error sending request for url (https://api.openai.com/v1/responses)",
    ] {
        assert_eq!(cost(never_made), Cost::Known { amount: Money::ZERO }, "{never_made}");
    }
    for broke_off in ["socket hang up", "stream closed before the end", "connection reset by peer"] {
        assert!(matches!(cost(broke_off), Cost::Known { amount } if amount > Money::ZERO), "{broke_off}");
    }
}
