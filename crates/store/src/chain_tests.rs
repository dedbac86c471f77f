use super::*;
use crate::testing::{event, id};

fn chain(length: i64) -> (Head, Vec<Recorded>) {
    let mut head = Head::genesis(id(1));
    let mut rows = Vec::new();
    for number in 1..=length {
        let new = event(number);
        head = head.and(id(1), &new);
        let NewEvent { at, version, kind, payload } = new;
        rows.push(Recorded { seq: head.seq, at, version, kind, payload, hash: head.hash });
    }
    (head, rows)
}

fn first_break(noted: Head, rows: Vec<Recorded>) -> Option<Broken> {
    walk(id(1), Head::genesis(id(1)), noted, rows.into_iter().map(Ok).collect()).broken
}

#[test]
fn hashes_are_the_ones_of_the_first_release() {
    // Journals on people's disks depend on these bytes: a change here breaks every one of them.
    let head = Head::genesis(id(1)).and(id(1), &event(1));
    assert_eq!(Hash::genesis(id(1)).to_string(), "ab294fa76672b4878aec4f8b19c6b65d7d720933fe2181b733ebd4ea6f6e3773");
    assert_eq!(head.hash.to_string(), "eccbc6f7ffeb95ee2715190fd5c33d7be5bbd3c1e6469dcd4738a477369b22f5");
}

#[test]
fn a_chain_as_written_has_no_break() {
    let (head, rows) = chain(5);
    let walk = walk(id(1), Head::genesis(id(1)), head, rows.clone().into_iter().map(Ok).collect());
    assert_eq!((walk.broken, walk.head, walk.intact), (None, head, rows));
}

#[test]
fn an_empty_journal_has_no_break() {
    assert_eq!(first_break(Head::genesis(id(1)), vec![]), None);
}

#[test]
fn every_changed_field_breaks_its_own_event() {
    let (head, rows) = chain(5);
    let edits: [fn(&mut Recorded); 5] = [
        |event| event.at.0 += 1,
        |event| event.version += 1,
        |event| event.kind.push('x'),
        |event| event.payload.push(' '),
        |event| event.hash = Hash::genesis(id(9)),
    ];
    for (number, edit) in edits.iter().enumerate() {
        let mut rows = rows.clone();
        edit(&mut rows[2]);
        assert_eq!(first_break(head, rows), Some(Broken { seq: Seq(3), why: Break::Changed }), "edit {number}");
    }
}

#[test]
fn text_cannot_be_moved_from_one_field_to_the_next() {
    let (head, mut rows) = chain(1);
    rows[0].kind = "iterationStarted{".to_owned();
    rows[0].payload.remove(0);
    assert_eq!(first_break(head, rows), Some(Broken { seq: Seq(1), why: Break::Changed }));
}

#[test]
fn a_gap_two_that_swapped_and_a_cut_end_are_told_apart() {
    let (head, rows) = chain(5);

    let mut gap = rows.clone();
    gap.remove(1);
    assert_eq!(first_break(head, gap), Some(Broken { seq: Seq(2), why: Break::Missing }));

    let mut swapped = rows.clone();
    swapped.swap(1, 2);
    (swapped[1].seq, swapped[2].seq) = (Seq(2), Seq(3));
    let moved = Break::Reordered { found_at: Seq(3) };
    assert_eq!(first_break(head, swapped), Some(Broken { seq: Seq(2), why: moved }));

    let mut to_the_end = rows.clone();
    let mut event = to_the_end.remove(1);
    event.seq = Seq(6);
    to_the_end.push(event);
    let moved = Break::Reordered { found_at: Seq(6) };
    assert_eq!(first_break(head, to_the_end), Some(Broken { seq: Seq(2), why: moved }));

    let cut = rows[..3].to_vec();
    assert_eq!(first_break(head, cut), Some(Broken { seq: Seq(4), why: Break::Truncated { head: Seq(5) } }));
}

#[test]
fn an_event_of_another_run_does_not_fit() {
    let (_, rows) = chain(1);
    let rows = rows.into_iter().map(Ok).collect();
    let found = walk(id(2), Head::genesis(id(2)), Head { seq: Seq(1), hash: Hash::genesis(id(1)) }, rows);
    assert_eq!(found.broken, Some(Broken { seq: Seq(1), why: Break::Changed }));
}

#[test]
fn a_chain_that_was_computed_anew_does_not_end_in_the_noted_head() {
    let (head, mut rows) = chain(3);
    let (mut before, _) = chain(2);
    before = before.and(id(1), &event(99));
    rows[2].payload = event(99).payload;
    rows[2].at = event(99).at;
    rows[2].hash = before.hash;
    assert_eq!(first_break(head, rows), Some(Broken { seq: Seq(3), why: Break::HeadDiffers }));

    let (_, longer) = chain(4);
    assert_eq!(first_break(head, longer), Some(Broken { seq: Seq(4), why: Break::BeyondHead { head: Seq(3) } }));
}

#[test]
fn an_unreadable_row_is_named_and_what_comes_before_it_kept() {
    let (head, rows) = chain(3);
    let mut rows: Vec<Result<Recorded, Unreadable>> = rows.into_iter().map(Ok).collect();
    rows[1] = Err(Unreadable("at"));
    let walk = walk(id(1), Head::genesis(id(1)), head, rows);
    assert_eq!(walk.broken, Some(Broken { seq: Seq(2), why: Break::Unreadable { column: "at".to_owned() } }));
    assert_eq!((walk.intact.len(), walk.head.seq), (1, Seq(1)));
}

#[test]
fn hashes_are_read_back_and_nothing_else_is() {
    let hash = Hash::genesis(id(1));
    assert_eq!(hash.to_string().parse(), Ok(hash));
    for text in ["", "ab", &"g".repeat(64), &"A".repeat(64), &"é".repeat(32)] {
        assert!(text.parse::<Hash>().is_err(), "{text}");
    }
}
