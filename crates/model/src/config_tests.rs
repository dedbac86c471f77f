use super::*;

fn config() -> LoopConfig {
    let agent = AgentSpec { unmetered: true, ..AgentSpec::command("command", "./a") };
    LoopConfig {
        verification_commands: vec!["npm test".into()],
        ..LoopConfig::new("Fix the tests".into(), 10, Money::dollars(5), agent, "/w".into())
    }
}

#[test]
fn an_ordinary_configuration_is_fine() {
    assert_eq!(config().validate(&Caps::default()).map(ValidLoopConfig::into_inner), Ok(config()));
}

#[test]
fn every_refusal_names_the_key_and_what_is_allowed() {
    type Breaker = fn(&mut LoopConfig);
    let table: [(&str, Breaker); 21] = [
        ("require", |c| (c.require, c.verification_commands) = (Some(Grade::Weak), vec![])),
        ("require", |c| (c.require, c.tripwire) = (Some(Grade::Standard), false)),
        ("require", |c| c.require = Some(Grade::Strong)),
        ("retries", |c| c.retries = 11),
        ("setup", |c| c.setup = vec!["npm ci".into()]),
        ("setup", |c| (c.verify, c.setup) = (Verify::Isolated, vec![" ".into()])),
        ("verify", |c| (c.verify, c.verification_commands) = (Verify::Isolated, vec![])),
        ("objective", |c| c.objective = " \n".into()),
        ("max_iterations", |c| c.max_iterations = 0),
        ("max_iterations", |c| c.max_iterations = 51),
        ("max_cost_usd", |c| (c.max_cost, c.agent.unmetered) = (Money::ZERO, false)),
        ("max_cost_usd", |c| c.max_cost = Money::from_micros(10_000_001)),
        ("stall_detection_threshold", |c| c.stall_threshold = 0),
        ("same_error_threshold", |c| c.same_error_threshold = 0),
        ("iteration_timeout", |c| c.iteration_timeout = Millis(0)),
        ("max_duration", |c| c.max_duration = Some(Millis(0))),
        ("verification_command", |c| c.verification_commands.push(" ".into())),
        ("completion_promise", |c| c.completion_promise = String::new()),
        ("agent_command", |c| c.agent = AgentSpec::command("x", "")),
        ("commit", |c| (c.commit, c.verification_commands) = (true, vec![])),
        ("ratchet", |c| (c.ratchet, c.verification_commands) = (true, vec![])),
    ];
    for (field, breaker) in table {
        let mut broken = config();
        breaker(&mut broken);
        let error = broken.validate(&Caps::default()).unwrap_err();
        assert_eq!(error.key, field);
        let text = error.to_string();
        assert!(text.contains("allowed: "), "{text}");
    }
}

#[test]
fn the_cap_is_in_the_message() {
    let mut over = config();
    over.max_cost = Money::dollars(20);
    assert!(over.clone().validate(&Caps::default()).unwrap_err().to_string().contains("$10.00"));
    assert!(over.validate(&Caps { loop_cost: Money::dollars(20), ..Caps::default() }).is_ok());
}

#[test]
fn a_bare_promise_becomes_a_tag() {
    let mut bare = config();
    assert_eq!(bare.promise_tag(), DEFAULT_PROMISE);
    bare.completion_promise = "ALL DONE".into();
    assert_eq!(bare.promise_tag(), "<promise>ALL DONE</promise>");
}

#[test]
fn a_configuration_survives_its_journal_form() {
    let json = serde_json::to_string(&config()).unwrap();
    assert!(json.contains("\"maxIterations\":10") && json.contains("\"maxCost\":5000000"), "{json}");
    assert_eq!(serde_json::from_str::<LoopConfig>(&json).unwrap(), config());
}

#[test]
fn the_shares_of_a_race_leave_no_rest_that_nobody_holds() {
    for (cap, candidates) in [(1_000_000, 3), (1_000_000, 8), (1, 3), (7, 7), (999_999, 2), (0, 4), (5, 0)] {
        let race = Race { id: "race".into(), candidates, cap: Money::from_micros(cap) };
        let share = race.share().micros();
        assert!(share * i64::from(candidates.max(1)) >= cap, "{candidates} of {cap}");
        assert!(share <= cap, "{candidates} of {cap}");
    }
}
