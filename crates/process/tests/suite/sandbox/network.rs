//! What can be reached, and what can not.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use ralph_process::NetworkLevel;

use super::{Cell, landlock, levels, python};

/// Whether a listener that waits for nobody has somebody.
fn was_called(listener: &TcpListener) -> bool {
    listener.set_nonblocking(true).unwrap();
    listener.accept().is_ok()
}

fn has_namespaces(cell: &Cell) -> bool {
    let has = cell.level.network == NetworkLevel::Namespace;
    if !has {
        println!("SKIPPED: no network of its own here: {:?}", cell.level.network);
    }
    has
}

#[tokio::test]
async fn outside_is_reached_only_where_that_is_allowed() {
    let Some(python) = python() else { return };
    for level in levels() {
        let cell = Cell::new(&level);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        receiver.set_nonblocking(true).unwrap();
        let (tcp, udp) = (listener.local_addr().unwrap().port(), receiver.local_addr().unwrap().port());
        let line = format!(
            "{python} -c \"
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {udp}))
socket.create_connection(('127.0.0.1', {tcp}), 5)\" && echo reached"
        );
        assert_eq!(cell.run(&line).await.stdout, "reached\n", "{level}");
        assert!(was_called(&listener) && receiver.recv(&mut [0; 8]).is_ok(), "{level}");
        if has_namespaces(&cell) {
            assert_eq!(cell.run_alone(&line).await.stdout, "", "{level}");
            assert!(!was_called(&listener) && receiver.recv(&mut [0; 8]).is_err(), "{level}");
        }
    }
}

/// Everything that is asked for comes back, and a large answer comes whole.
#[tokio::test]
async fn ports_that_are_named_are_reached_and_no_others() {
    let Some(python) = python() else { return };
    for level in levels() {
        let cell = Cell::new(&level);
        if !has_namespaces(&cell) {
            continue;
        }
        let [first, second, other] = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [one, two, three] = [&first, &second, &other].map(|listener| listener.local_addr().unwrap().port());
        let answer = |listener: TcpListener, text: &'static str| {
            std::thread::spawn(move || {
                for _ in 0..2 {
                    let (mut stream, _) = listener.accept().unwrap();
                    let mut asked = [0; 5];
                    stream.read_exact(&mut asked).unwrap();
                    stream.write_all(text.repeat(300_000).as_bytes()).unwrap();
                }
            })
        };
        let threads = [answer(first, "one"), answer(second, "two")];
        let line = format!(
            "{python} -c \"
import socket
for port in ({one}, {two}, {one}, {two}):
    stream = socket.create_connection(('127.0.0.1', port))
    stream.sendall(b'hello')
    answer = stream.makefile('rb').read()
    print(len(answer), answer[:3].decode())
try:
    socket.create_connection(('127.0.0.1', {three}))
    print('reached')
except OSError as error:
    print(type(error).__name__)\""
        );
        let finished = cell.run_with_ports(&line, &[one, two]).await;
        let expected = "900000 one\n900000 two\n900000 one\n900000 two\nConnectionRefusedError\n";
        assert_eq!(finished.stdout, expected, "{level}: {finished:?}");
        assert!(!was_called(&other), "{level}");
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[tokio::test]
async fn a_server_and_its_client_meet_inside() {
    let Some(python) = python() else { return };
    for level in levels() {
        let cell = Cell::new(&level);
        let line = format!(
            "{python} -c \"
import socket
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname(), 5)
accepted, _ = server.accept()
client.sendall(b'hello')
print(accepted.recv(5).decode())
import os
print(' '.join(sorted(name for _, name in socket.if_nameindex())) if os.environ.get('ALONE') else '')\""
        );
        assert_eq!(cell.run(&line).await.stdout, "hello\n\n", "{level}");
        if has_namespaces(&cell) {
            let alone = cell.run_alone(&format!("export ALONE=1; {line}")).await;
            let devices: Vec<&str> = alone.stdout.lines().collect();
            assert_eq!(devices.first(), Some(&"hello"), "{level}: {}", alone.stderr);
            // Some kernels add tunnels that lead nowhere to every network.
            assert!(
                devices[1].split(' ').all(|name| !name.starts_with("eth") && !name.starts_with("en")),
                "{devices:?}"
            );
        }
    }
}

#[tokio::test]
async fn nobody_goes_back_into_the_network_outside() {
    for level in levels() {
        let cell = Cell::new(&level);
        if !has_namespaces(&cell) {
            continue;
        }
        let inside = cell.run_alone("readlink /proc/self/ns/net").await.stdout;
        let outside = std::fs::read_link("/proc/self/ns/net").unwrap();
        assert_ne!(inside.trim(), outside.to_str().unwrap(), "{level}");
        for line in ["nsenter -t $PPID -n true", "nsenter -t $RALPH -n true", "nsenter -t 1 -n true"] {
            assert_eq!(cell.run_alone(&format!("{line} && echo back")).await.stdout, "", "{level}: {line}");
        }
    }
}

#[tokio::test]
async fn abstract_sockets_end_at_the_sandbox() {
    let Some(python) = python() else { return };
    for level in levels() {
        let cell = Cell::new(&level);
        let name = format!("ralph-test-{}", cell.lab.folder.path().display());
        let outside = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        outside.set_nonblocking(true).unwrap();
        let connect = format!(
            "{python} -c \"
import socket
socket.socket(socket.AF_UNIX).connect(chr(0) + '{name}')\" && echo reached"
        );
        if landlock(&level).is_some_and(|version| version >= 6) {
            assert_eq!(cell.run(&connect).await.stdout, "", "{level}");
        } else {
            println!("SKIPPED: {level} does not scope abstract sockets");
        }
        if has_namespaces(&cell) {
            assert_eq!(cell.run_alone(&connect).await.stdout, "", "{level}");
        }
        if landlock(&level).is_some_and(|version| version >= 6) || has_namespaces(&cell) {
            assert!(outside.accept().is_err(), "{level}: somebody came");
        }
        let inside = format!(
            "{python} -c \"
import socket
server = socket.socket(socket.AF_UNIX); server.bind(chr(0) + '{name}-inside'); server.listen()
socket.socket(socket.AF_UNIX).connect(chr(0) + '{name}-inside')
print('met')\""
        );
        assert_eq!(cell.run(&inside).await.stdout, "met\n", "{level}");
    }
}
