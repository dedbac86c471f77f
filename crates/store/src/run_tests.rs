use super::*;

#[test]
fn a_status_is_read_in_any_case() {
    assert_eq!("completed".parse(), Ok(RunStatus::Completed));
    let error = "done".parse::<RunStatus>().unwrap_err();
    assert!(error.to_string().contains("completed"), "{error}");
}
