use super::*;

#[test]
fn signals_close_together_are_one_press() {
    let begun = Instant::now();
    let asked = |times: &[u64]| -> Vec<Option<StopWhen>> {
        let mut presses = Presses::default();
        times.iter().map(|after| presses.press(begun + Duration::from_millis(*after))).collect()
    };
    let (later, now) = (Some(StopWhen::AfterIteration), Some(StopWhen::Now));
    assert_eq!(asked(&[0, 0, 3, 99]), [later, None, None, None]);
    assert_eq!(asked(&[0, 100]), [later, now]);
    assert_eq!(asked(&[0, 5, 900, 905]), [later, None, now, None]);
    // Nobody who leans on the key waits for ever.
    assert_eq!(asked(&[0, 60, 120]), [later, None, now]);
}
