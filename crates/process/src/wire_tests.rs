use std::io::Write;
use std::os::unix::net::UnixStream;

use super::*;

fn request() -> Request {
    Request {
        program: vec!["sh".into(), OsString::from_vec(vec![0xFF, b'x']), "".into()],
        directory: "/some/where".into(),
        environment: vec![("A".into(), "b=c\n".into()), ("B".into(), "".into())],
        jail: Some(Jail {
            arguments: vec!["__reaper".into()],
            bubblewrap: Some("/usr/bin/bwrap".into()),
            landlock: Some(7),
            own_mounts: true,
            network: Network::Loopback,
            writable: vec!["/work".into(), "/tmp".into()],
            hidden: vec!["/state".into()],
        }),
    }
}

#[test]
fn requests_survive_the_journey() {
    let without = Request { program: vec![], environment: vec![], jail: None, ..request() };
    let open = request().jail.map(|jail| Jail { bubblewrap: None, landlock: None, network: Network::Allowed, ..jail });
    let ports = request().jail.map(|jail| Jail { network: Network::Ports(vec![8080, 65_535]), ..jail });
    for request in [request(), without, Request { jail: open, ..request() }, Request { jail: ports, ..request() }] {
        assert_eq!(Request::decode(&request.encode()), Some(request));
    }
}

#[test]
fn a_request_that_is_cut_or_has_a_tail_is_none() {
    let bytes = request().encode();
    for end in 0..bytes.len() {
        assert_eq!(Request::decode(&bytes[..end]), None, "{end}");
    }
    assert_eq!(Request::decode(&[bytes, vec![0]].concat()), None);
}

#[test]
fn reports_and_orders_survive_being_cut_anywhere() {
    let reports = [
        Report::Started { pid: 77 },
        Report::NotStarted { why: "för ingen".into() },
        Report::Exited { code: -1 },
        Report::Signalled { signal: 9 },
        Report::Gone { swept: u32::MAX },
        Report::Stuck { processes: vec![1, 2, 3] },
    ];
    let mut frames = Frames::default();
    let mut received = Vec::new();
    for byte in reports.iter().flat_map(Report::encode) {
        frames.received.push(byte);
        while let Some(frame) = frames.next().unwrap() {
            received.push(Report::decode(&frame).unwrap());
        }
    }
    assert_eq!(received, reports);
    frames.received = Order::End { grace: u64::MAX }.encode();
    assert_eq!(Order::decode(&frames.next().unwrap().unwrap()), Some(Order::End { grace: u64::MAX }));
}

#[test]
fn nonsense_is_refused_before_memory_is_taken_for_it() {
    let mut frames = Frames { received: vec![0xFF; 16] };
    assert_eq!(frames.next().unwrap_err().kind(), io::ErrorKind::InvalidData);
    for bytes in [&[][..], &[99, 0, 0, 0, 0], &[1, 0], &[7, 0]] {
        assert_eq!(Report::decode(bytes), None, "{bytes:?}");
    }
}

#[test]
fn descriptors_travel_with_the_request_and_close_on_exec() {
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    let (read, write) = rustix::pipe::pipe().unwrap();
    let content = request().encode();
    send_descriptors(ours.as_fd(), content.len(), &[write.as_fd()]).unwrap();
    ours.write_all(&content).unwrap();
    drop(write);
    let (received, descriptors) = receive_request(&mut theirs).unwrap();
    assert_eq!(received, request());
    let [descriptor] = &descriptors[..] else { panic!("{descriptors:?}") };
    assert!(rustix::io::fcntl_getfd(descriptor).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    rustix::io::write(descriptor, b"through").unwrap();
    let mut buffer = [0; 16];
    assert_eq!(rustix::io::read(&read, &mut buffer).unwrap(), 7);
}

#[test]
fn a_supervisor_that_dies_early_is_the_end_of_the_request() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    drop(ours);
    assert_eq!(receive_request(&mut theirs).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}
