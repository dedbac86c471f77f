use super::*;

#[test]
fn only_a_short_question_is_trivial() {
    assert!(is_trivial("Which tests fail?"));
    for request in ["Fix the tests", "Is it slow?\nThen make it fast.", &"why ".repeat(20)] {
        assert!(!is_trivial(request), "{request}");
    }
}

#[test]
fn a_loop_of_a_crew_stays_within_its_money() {
    let call = json!({ "objective": "x", "verification_command": "true", "max_cost_usd": 9.0 });
    let (layer, objective) = loop_settings(&call, Money::dollars(2), Access::default()).unwrap();
    assert_eq!((objective.as_str(), layer.max_cost_usd.unwrap().0), ("x", Money::dollars(2)));
    assert!(
        loop_settings(&json!({ "objective": "x" }), Money::ZERO, Access::default())
            .unwrap_err()
            .contains("verification_command")
    );
    let unknown = json!({ "objective": "x", "verification_command": "true", "force": true });
    assert!(loop_settings(&unknown, Money::ZERO, Access::default()).unwrap_err().contains("`force`"));
}
