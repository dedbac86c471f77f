use super::*;

#[test]
fn the_steps_of_a_run_are_listed_then_default_then_the_last() {
    let listed = Script::new().run([Step::Exit(1)]).run([Step::Exit(2)]);
    assert_eq!(listed.steps(1), [Step::Exit(1)]);
    assert_eq!(listed.steps(2), [Step::Exit(2)]);
    assert_eq!(listed.steps(9), [Step::Exit(2)]);
    assert_eq!(listed.clone().otherwise([Step::Exit(3)]).steps(9), [Step::Exit(3)]);
    assert_eq!(listed.otherwise([]).steps(9), []);
    assert_eq!(Script::new().steps(1), []);
}

#[test]
fn a_script_reads_as_people_write_it() {
    let text = r#"{
        "state": "/tmp/count",
        "runs": [
            [{"write": {"path": "a.txt", "text": "x"}}, {"exit": 3}],
            ["echo_prompt", {"fork": {"stay_ms": 5, "ignore": ["TERM"]}}, {"flood": {"bytes": 9, "lines": "one"}}]
        ],
        "default": [{"wait_for_file": {"path": "go"}}, {"hold_stdout": {"ms": 7}}, {"kill_parent": "KILL"}]
    }"#;
    let script: Script = serde_json::from_str(text).unwrap();
    assert_eq!(script.runs[0], [Step::write("a.txt", "x"), Step::Exit(3)]);
    assert_eq!(script.runs[1].len(), 3);
    assert_eq!(script.steps(3)[0], Step::wait_for_file("go"));
}

#[test]
fn what_is_saved_is_what_is_loaded() {
    let folder = crate::scratch();
    let script = Script::new().run([Step::claim(), Step::ignore_signals(), Step::cost(5)]).stdin(StdinUse::Leave);
    let (first, second) = (script.clone().save(folder.path()), script.clone().save(folder.path()));
    assert_ne!(first, second);
    let loaded = Script::load(&first).unwrap();
    assert_eq!(loaded.state, Some(first.with_extension("runs")));
    assert_eq!(Script { state: None, ..loaded }, script);
}

#[test]
fn a_broken_count_is_an_error() {
    let folder = crate::scratch();
    let script = Script { state: Some(folder.path().join("count")), ..Script::new() };
    assert_eq!(script.count_run().unwrap(), 1);
    assert_eq!(script.count_run().unwrap(), 2);
    fs::write(folder.path().join("count"), "many").unwrap();
    assert!(script.count_run().is_err());
}
