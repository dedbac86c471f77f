use std::fs::File;
use std::io::Write as _;
use std::time::Duration;

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use super::*;

fn pipe() -> (Outlet, File) {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    // Larger than twice what any test here prints, so that nothing is a flood.
    fcntl_setpipe_size(&ours, 1 << 20).unwrap();
    (Outlet::new(ours).unwrap(), File::from(theirs))
}

fn rests(outlet: &Outlet) -> bool {
    matches!(outlet.state, State::Resting { .. })
}

/// Reads to the end, and gives how much there was and how many reads found something.
async fn drink(outlet: &mut Outlet) -> (usize, usize) {
    let mut piece = vec![0; 64 << 10];
    let (mut bytes, mut reads) = (0, 0);
    while !matches!(outlet.state, State::Ended) {
        outlet.readable().await;
        if let Read::Bytes(count) = outlet.read(&mut piece) {
            (bytes, reads) = (bytes + count, reads + 1);
        }
    }
    (bytes, reads)
}

#[tokio::test]
async fn many_small_writes_are_read_in_few_gulps() {
    let (mut outlet, mut program) = pipe();
    let writer = std::thread::spawn(move || {
        for _ in 0..20_000 {
            program.write_all(b"a line of twenty-one\n").unwrap();
        }
    });
    let (bytes, reads) = drink(&mut outlet).await;
    writer.join().unwrap();
    assert_eq!(bytes, 420_000);
    assert!(reads < 2_000, "{reads} reads");
}

#[tokio::test]
async fn what_is_printed_in_a_rest_is_read_after_it() {
    let (mut outlet, mut program) = pipe();
    let mut piece = [0; 64];
    // Two reads so close to each other are the sign of a program that prints quickly; a slow machine may need another try.
    while !rests(&outlet) {
        program.write_all(b"1").unwrap();
        outlet.readable().await;
        assert_eq!(outlet.read(&mut piece), Read::Bytes(1));
    }
    program.write_all(b"23").unwrap();
    outlet.readable().await;
    assert_eq!(outlet.read(&mut piece), Read::Bytes(2));
    assert_eq!(piece[..2], *b"23");
    drop(program);
    assert_eq!(drink(&mut outlet).await, (0, 0), "the end is noticed in a rest, too");
}

#[tokio::test]
async fn who_fell_silent_is_watched_again() {
    let (mut outlet, mut program) = pipe();
    let mut piece = [0; 64];
    while !rests(&outlet) {
        program.write_all(b"1").unwrap();
        outlet.readable().await;
        outlet.read(&mut piece);
    }
    outlet.readable().await;
    assert_eq!(outlet.read(&mut piece), Read::Nothing);
    assert!(!rests(&outlet));
    let waited = tokio::time::timeout(Duration::from_millis(20), outlet.readable()).await;
    assert!(waited.is_err(), "there is nothing to read");
    program.write_all(b"2").unwrap();
    outlet.readable().await;
    assert_eq!(outlet.read(&mut piece), Read::Bytes(1));
}

#[tokio::test]
async fn the_end_comes_once_and_nothing_after_it() {
    let (mut outlet, mut program) = pipe();
    program.write_all(b"last").unwrap();
    drop(program);
    assert_eq!(drink(&mut outlet).await.0, 4);
    assert_eq!(outlet.read(&mut [0; 8]), Read::Nothing);
    assert_eq!(outlet.read_rest(&mut [0; 8]), Read::Nothing);
    assert!(tokio::time::timeout(Duration::from_millis(5), outlet.readable()).await.is_err());
}
