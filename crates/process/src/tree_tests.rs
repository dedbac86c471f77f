use super::*;

fn process(pid: i32, parent: i32) -> Process {
    Process { pid, parent, session: 1, state: State::Alive, own_ticks: 0, children_ticks: 0, started: 0 }
}

#[test]
fn a_name_cannot_forge_the_fields() {
    let line = b"42 (a) Z 1 1 (b) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 70 80 20 0 1 0 900 1 2";
    let expected = Process {
        pid: 42,
        parent: 7,
        session: 9,
        state: State::Alive,
        own_ticks: 11,
        children_ticks: 150,
        started: 900,
    };
    assert_eq!(Process::parse(line), Some(expected));
    assert_eq!(Process::parse(&line[..40]), None);
    assert_eq!(Process::parse(b""), None);
    assert_eq!(Process::parse(b")("), None);
}

#[test]
fn descent_is_followed_in_any_order_and_without_circles() {
    let all = [process(5, 4), process(4, 2), process(2, 9), process(9, 2), process(3, 1), process(6, 5)];
    let mut found: Vec<i32> = below(&all, &HashSet::from([2])).iter().map(|process| process.pid).collect();
    found.sort_unstable();
    assert_eq!(found, [4, 5, 6, 9]);
}

#[test]
fn this_process_is_below_its_parent() {
    let own = i32::try_from(std::process::id()).unwrap();
    let parent = Process::look(own).unwrap().parent;
    assert!(descendants(parent).unwrap().iter().any(|process| process.pid == own));
}

#[test]
fn a_number_that_was_given_to_another_is_not_signalled() {
    let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let process = Process::look(i32::try_from(child.id()).unwrap()).unwrap();
    let earlier = Process { started: process.started - 1, ..process };
    earlier.signal(Signal::KILL).unwrap();
    assert_eq!(child.try_wait().unwrap(), None);
    process.signal(Signal::KILL).unwrap();
    assert!(!child.wait().unwrap().success());
    process.signal(Signal::KILL).unwrap();
}

#[test]
fn children_are_found_without_a_look_at_the_rest() {
    let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let own = i32::try_from(std::process::id()).unwrap();
    let found = children(own);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(found.iter().any(|process| process.pid == pid && process.parent == own), "{found:?}");
    assert!(!children(own).iter().any(|process| process.pid == pid));
}
