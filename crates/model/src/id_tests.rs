use super::*;

#[test]
fn short_id_is_the_random_end_and_is_understood_again() {
    let id: LoopId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
    assert_eq!(id.short(), "099a8057");
    assert!(id.answers_to("099a8057"));
    assert!(id.answers_to("01890A5D-ac96"));
    assert!(id.answers_to("0") && id.answers_to("09") && id.answers_to("099A"), "any start of the short id");
    assert!(id.answers_to("8057"), "four characters of the end");
    assert!(!id.answers_to("057"), "three characters in the middle");
    assert!(!id.answers_to(""));
    assert!(!id.answers_to("deadbeef"));
}

#[test]
fn a_broken_id_is_named_in_the_error() {
    let error = "nonsense".parse::<LoopId>().unwrap_err();
    assert!(error.to_string().contains("`nonsense`"));
}
