use super::*;

#[test]
fn a_task_does_not_fail_for_its_database() {
    let away = || ralph_store::Error::Unreachable { place: "a server".to_owned(), detail: "it starts".to_owned() };
    let in_run = || ralph_runtime::Error::Store(away());
    for error in [
        Error::Store(away()),
        Error::Runtime(in_run()),
        Error::Host(ralph_host::Error::Store(away())),
        Error::Host(ralph_host::Error::Runtime(in_run())),
    ] {
        assert!(error.is_passing(), "{error:?}");
    }
    assert!(!Error::Task("it has no promise".to_owned()).is_passing());
}
