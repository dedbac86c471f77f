use super::*;

/// Longer than anything here takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
const TWO_HOURS: Timestamp = Timestamp(7_200_000);

#[tokio::test]
async fn a_clock_that_was_set_back_holds_nobody_up() {
    let waiting = wait_until(TWO_HOURS, Millis(20), || Timestamp(0));
    assert!(tokio::time::timeout(TIMEOUT, waiting).await.is_ok(), "it waits until the clock is where it was");
}

#[tokio::test]
async fn a_computer_that_slept_is_not_late() {
    let waiting = wait_until(TWO_HOURS, Millis(7_200_000), || TWO_HOURS);
    assert!(tokio::time::timeout(TIMEOUT, waiting).await.is_ok(), "the time has come already");
}
