use super::*;

#[test]
fn a_new_skill_has_no_problem() {
    assert_eq!(check("my-skill", &template("my-skill")), []);
}

#[test]
fn each_problem_is_named() {
    let good = template("x");
    let table = [
        ("y", good.clone(), false, "give both the same name"),
        ("X y", good.replace("name: x", "name: X y"), false, "lower-case"),
        ("x", good.replace("description:", "note:"), false, "`description` is missing"),
        ("x", good.replace("[feature, bug", "[featur, bug"), false, "`featur`; allowed: feature, bug"),
        ("x", good.replace("## Completion criteria", "## End"), false, "Completion criteria"),
        ("x", good.replace("## When something", "## If something"), false, "corrects itself"),
        (
            "x",
            good.replace("promise: <promise>COMPLETE", "promise: <promise>OTHER"),
            false,
            "never asks for its promise",
        ),
        ("x", good.replace("promise:", "other:"), false, "`promise` is missing"),
        ("x", good.replace("taskTypes: [", "taskTypes: [["), true, "not valid YAML"),
        ("x", "---\nname: x\n---\n".to_owned(), true, "no instructions"),
    ];
    for (name, text, is_fatal, wanted) in table {
        let problems = check(name, &text);
        let found = problems.iter().find(|problem| problem.text.contains(wanted));
        assert_eq!(found.map(|problem| problem.is_fatal), Some(is_fatal), "{wanted}: {problems:?}");
    }
}

#[test]
fn a_skill_that_is_not_for_loops_needs_no_promise() {
    assert_eq!(check("x", "---\nname: x\ndescription: y\nsupportsRalph: false\n---\ntext"), []);
}
