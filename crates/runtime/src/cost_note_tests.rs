use super::*;

const CENT: Money = Money::from_micros(10_000);

#[test]
fn a_note_says_no_more_than_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("note");
    assert_eq!(CostNote::read(&path), None, "nobody watched");
    let mut note = CostNote::begin(path.clone()).unwrap();
    assert_eq!(CostNote::read(&path), Some(Cost::Unknown), "nothing was told yet");
    note.spent(CENT);
    assert_eq!(CostNote::read(&path), Some(Cost::Known { amount: CENT }));
    note.incomplete();
    note.spent(CENT);
    assert_eq!(CostNote::read(&path), Some(Cost::Unknown), "a sum with something missing is no cost");
    note.settled(Cost::Known { amount: Money::ZERO });
    assert_eq!(CostNote::read(&path), Some(Cost::Known { amount: Money::ZERO }), "the last word counts");
    note.settled(Cost::Unknown);
    assert_eq!(CostNote::read(&path), Some(Cost::Unknown));
    for odd in ["", "-1", "much"] {
        std::fs::write(&path, odd).unwrap();
        assert_eq!(CostNote::read(&path), Some(Cost::Unknown), "{odd:?}");
    }
}
