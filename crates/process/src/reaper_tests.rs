use super::*;

#[test]
fn arguments_are_refused() {
    // The codes have no equality of their own.
    assert_eq!(format!("{:?}", reaper_main([OsString::from("x")].into_iter())), format!("{:?}", ExitCode::from(2)));
}

fn heard(words: &[u8]) -> Vec<Inbox> {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(words).unwrap();
    drop(ours);
    let mut events = Events::new(&theirs, child_signals().unwrap(), 0);
    let heard = (0..2).map_while(|_| events.next(Some(Instant::now()))).collect();
    assert!(events.next(Some(Instant::now())).is_none(), "the end is told once");
    heard
}

#[test]
fn orders_are_heard_and_the_end_of_the_socket() {
    let heard = heard(&Order::End { grace: 7 }.encode());
    assert!(matches!(heard[..], [Inbox::Order(Order::End { grace: 7 }), Inbox::SupervisorGone]));
}

#[test]
fn nonsense_is_taken_for_the_end() {
    assert!(matches!(heard(&[0xFF; 64])[..], [Inbox::SupervisorGone]));
}
