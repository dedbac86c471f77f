use super::*;

fn line(values: &[u32]) -> String {
    sparkline(&values.iter().copied().map(Some).collect::<Vec<_>>(), 80)
}

#[test]
fn bars_fall_as_failures_do() {
    assert_eq!(line(&[7, 6, 5, 4, 3, 2, 1, 0]), "█▇▆▅▄▃▂▁");
    assert_eq!(line(&[1000, 1, 0]), "█▂▁");
    assert_eq!(line(&[u32::MAX, 1]), "█▂");
}

#[test]
fn nothing_failing_is_the_lowest_bar_and_unknown_is_a_dot() {
    assert_eq!(line(&[0, 0]), "▁▁");
    assert_eq!(sparkline(&[Some(4), None, Some(2)], 80), "█·▅");
    assert_eq!(sparkline(&[], 80), "");
}

#[test]
fn the_newest_are_shown_in_the_scale_of_all() {
    assert_eq!(sparkline(&[Some(8), Some(4), Some(0)], 2), "▅▁");
    assert_eq!(sparkline(&[Some(8)], 0), "");
}
