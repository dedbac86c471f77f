use super::*;

#[test]
fn a_rule_is_told_in_the_callers_spelling() {
    let error = ConfigError::new("commit", "needs a check", "@commit together with @verification_command, see @nobody");
    let said = |spelling: Spelling| spelling.rule(&error);
    assert_eq!(
        said(Spelling::Flag),
        "--commit needs a check\n  allowed: --commit together with --criteria, see @nobody"
    );
    assert!(said(Spelling::File).contains("commit together with verification_command"));
    assert!(said(Spelling::Json).contains("commit together with verificationCommand"));
    let both = ConfigError::new("@max_iterations and @max_cost_usd", "are required", "both");
    assert!(Spelling::Flag.rule(&both).starts_with("--max and --max-cost are required"));
    assert!(Spelling::Json.rule(&both).starts_with("maxIterations and maxCostUsd are required"));
    let request = ConfigError::new("objective", "is empty", "words");
    assert!(Spelling::Flag.rule(&request).starts_with("OBJECTIVE is empty"));
}
