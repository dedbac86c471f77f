use super::*;

#[test]
#[should_panic(expected = "an empty marker would be found everywhere")]
fn an_empty_marker_is_refused() {
    let _ = Processes::with_marker("");
}

#[test]
fn the_test_itself_is_never_found() {
    assert!(
        Processes::working_in(std::env::current_dir().unwrap())
            .list()
            .iter()
            .all(|found| found.pid != std::process::id())
    );
}
