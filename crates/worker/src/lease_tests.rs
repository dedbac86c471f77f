#![allow(clippy::unwrap_used, reason = "tests panic with what went wrong")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use ralph_api::LeaseView;
use ralph_model::TaskType;

use super::*;
use crate::prompt::tests::task;

/// Reached only by a test that fails.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A server whose heartbeats never say that the task was cancelled.
struct Server {
    url: String,
    requests: Receiver<String>,
    /// The streams of events that are open.
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Server {
    fn start(has_streams: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        let streams: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let open = Arc::clone(&streams);
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let (sender, open) = (sender.clone(), Arc::clone(&open));
                std::thread::spawn(move || answer(connection, has_streams, &sender, &open));
            }
        });
        Self { url, requests, streams }
    }

    /// The path of the next request.
    fn request(&self) -> String {
        self.requests.recv_timeout(TIMEOUT).unwrap()
    }
}

/// Answers the requests of one connection.
fn answer(connection: TcpStream, has_streams: bool, requests: &Sender<String>, open: &Mutex<Vec<TcpStream>>) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut writer = connection;
    loop {
        let mut head = Vec::new();
        for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
            head.push(line.to_ascii_lowercase());
        }
        let Some(path) = head.first().and_then(|line| line.split(' ').nth(1)).map(str::to_owned) else { return };
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
        reader.read_exact(&mut vec![0; length]).unwrap();
        let (status, body) = match path.ends_with("/events") {
            true if has_streams => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n:\n\n";
                writer.write_all(head.as_bytes()).unwrap();
                open.lock().unwrap().push(writer);
                let _ = requests.send(path);
                return;
            }
            true => ("429 Too Many Requests", "{}"),
            false => ("200 OK", r#"{"expiresAt":"2026-01-01T00:00:00Z","cancelled":false}"#),
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let _ = writer.write_all(answer.as_bytes());
        let _ = requests.send(path);
    }
}

fn keeper(server: &Server) -> (Keeper, watch::Receiver<Option<Interruption>>, tempfile::TempDir) {
    let (task, folder) = (task(TaskType::Ralph), tempfile::tempdir().unwrap());
    // Renewed only every 10 s.
    let seconds = 600;
    let lease = LeaseView { id: task.id, epoch: 1, expires_at: Timestamp(1000 * i64::from(seconds)) };
    let work = Work { task, lease, token: "t".to_owned() };
    let (interrupt, interruption) = watch::channel(None);
    let checkpoints = Checkpoints::new(folder.path().to_owned());
    let client = Client::new(&server.url, "t").unwrap();
    let (full, iteration) = (watch::Sender::new(0), watch::Sender::new(1).subscribe());
    (Keeper::new((client, seconds), &work, checkpoints, interrupt, full, iteration), interruption, folder)
}

#[tokio::test]
async fn a_cancellation_comes_as_an_event_and_not_with_the_next_renewal() {
    let server = Server::start(true);
    let (keeper, mut interruption, _folder) = keeper(&server);
    let waiting = async {
        let requests = tokio::task::spawn_blocking(move || {
            while !server.request().ends_with("/events") {}
            server
        });
        let server = requests.await.unwrap();
        let event = r#"{"seq":1,"at":"2026-01-01T00:00:00Z","kind":"cancelRequested","details":{}}"#;
        let text = format!("id: 1\nevent: cancelRequested\ndata: {event}\n\n");
        server.streams.lock().unwrap()[0].write_all(text.as_bytes()).unwrap();
        // No renewal ever says it.
        let found = tokio::time::timeout(TIMEOUT, interruption.wait_for(Option::is_some)).await.unwrap();
        assert_eq!(*found.unwrap(), Some(Interruption::Cancelled));
    };
    tokio::select! {
        () = keeper.keep() => unreachable!("it keeps the lease until it is dropped"),
        () = waiting => {}
    }
}

#[tokio::test]
async fn without_a_stream_the_lease_is_renewed_as_often_as_a_stream_is_tried() {
    let server = Server::start(false);
    let (keeper, _interruption, _folder) = keeper(&server);
    let counting = tokio::task::spawn_blocking(move || {
        let (mut streams, mut renewals) = (0, 0);
        while streams < 4 {
            match server.request().ends_with("/events") {
                true => streams += 1,
                false => renewals += 1,
            }
        }
        renewals
    });
    let renewals = tokio::select! {
        () = keeper.keep() => unreachable!("it keeps the lease until it is dropped"),
        renewals = counting => renewals.unwrap(),
    };
    assert!(renewals >= 2, "{renewals} renewals in the time of 4 tries, which are a second apart");
}
