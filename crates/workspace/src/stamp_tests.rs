use super::*;

fn changed_at(changed: i64) -> Stamp {
    Stamp { device: 1, inode: 2, mode: 0o100_644, size: 3, modified: 0, changed }
}

#[test]
fn a_change_within_a_tick_of_the_look_is_racy() {
    let looked = Instant(1_000_000_000);
    assert!(changed_at(1_000_000_000).is_racy(looked));
    assert!(changed_at(1_000_000_000 - TICK).is_racy(looked));
    assert!(changed_at(2_000_000_000).is_racy(looked));
    assert!(!changed_at(1_000_000_000 - TICK - 1).is_racy(looked));
}

#[test]
fn an_old_modification_time_hides_nothing() {
    let forged = Stamp { modified: 5, ..changed_at(999_999_999) };
    assert!(forged.is_racy(Instant(1_000_000_000)));
}
