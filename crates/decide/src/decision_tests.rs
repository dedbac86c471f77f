use super::*;

fn skills() -> Vec<SkillFacts> {
    let skill = |name: &str, types: &[&str], supports_loops| SkillFacts {
        name: name.to_owned(),
        task_types: types.iter().map(|one| (*one).to_owned()).collect(),
        supports_loops,
    };
    vec![
        skill("tdd", &["feature", "bug", "refactor"], true),
        skill("systematic-debugging", &["bug"], true),
        skill("once", &[], false),
    ]
}

fn decided(request: &str, change: impl FnOnce(&mut Facts<'_>)) -> Decision {
    let skills = skills();
    let mut facts = Facts {
        stack: Some("cargo"),
        verification: Some(VerificationFacts { command: "cargo test", why: "there is a Cargo.toml" }),
        skills: &skills,
        ..Facts::default()
    };
    change(&mut facts);
    decide(request, &facts)
}

#[test]
fn all_four_conditions_have_to_hold_and_each_has_a_reason() {
    let good = decided("Fix the crash in the lexer", |_| {});
    assert!(good.is_loop, "{good:?}");
    assert_eq!((good.skill.as_deref(), good.why.len()), (Some("systematic-debugging"), 4));
    let broken = [
        decided("Fix the crash in the lexer", |facts| facts.verification = None),
        decided("Write tests for the lexer", |_| {}),
        decided("Fix the bug", |_| {}),
        decided("Fix the crash in the login", |_| {}),
        decided("Fix the crash in the lexer", |facts| facts.chosen_skill = Some("once")),
    ];
    let reasons = ["--criteria", "a test", "vague", "`login` concerns authentication", "supportsRalph: false"];
    for (decision, reason) in broken.into_iter().zip(reasons) {
        assert!(!decision.is_loop && decision.why.len() == 4, "{reason}: {decision:?}");
        assert!(decision.why.iter().any(|why| why.contains(reason)), "{reason}: {decision:?}");
    }
}

#[test]
fn the_user_has_the_last_word() {
    assert!(decided("do something", |facts| facts.mode = Mode::Persist).is_loop);
    assert!(!decided("Fix the crash in the lexer", |facts| facts.mode = Mode::NoRalph).is_loop);
}
