use super::*;

#[test]
fn arguments_are_refused() {
    // The codes have no equality of their own.
    assert_eq!(format!("{:?}", reaper_main([OsString::from("x")].into_iter())), format!("{:?}", ExitCode::from(2)));
}

#[test]
fn a_listener_obeys_orders_and_ends_with_the_socket() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(&Order::End { grace: 7 }.encode()).unwrap();
    drop(ours);
    let (sender, inbox) = mpsc::channel();
    listen(theirs, &sender);
    assert!(matches!(inbox.recv(), Ok(Inbox::Order(Order::End { grace: 7 }))));
    assert!(matches!(inbox.recv(), Ok(Inbox::SupervisorGone)));
}

#[test]
fn a_listener_takes_nonsense_for_the_end() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(&[0xFF; 64]).unwrap();
    let (sender, inbox) = mpsc::channel();
    listen(theirs, &sender);
    assert!(matches!(inbox.recv(), Ok(Inbox::SupervisorGone)));
}
