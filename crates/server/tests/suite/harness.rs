//! A server on a port of its own, and requests as bytes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use ralph_api::Client;
use ralph_model::{Caps, Timestamp};
use ralph_runtime::Home;
use ralph_server::{App, Limits, Secret, Server, ServerOptions};
use ralph_store::{Database, Role, RunEntry, Token};
use ralph_testkit::scratch;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub fn now() -> Timestamp {
    Timestamp(i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap())
}

/// Where the data of a test is.
pub struct Place {
    pub folder: Arc<TempDir>,
    url: Option<String>,
}

impl Place {
    pub fn sqlite() -> Self {
        Self { folder: Arc::new(scratch()), url: None }
    }

    pub fn postgres(url: String) -> Self {
        Self { folder: Arc::new(scratch()), url: Some(url) }
    }

    pub async fn open(&self) -> Database {
        match &self.url {
            Some(url) => Database::open_postgres(url).await.unwrap(),
            None => Database::open_sqlite(&self.folder.path().join("ralph.db")).await.unwrap(),
        }
    }
}

/// A server that runs.
pub struct Running {
    pub address: SocketAddr,
    pub database: Database,
    pub app: App,
    /// The secret of an administrator.
    pub admin: String,
    /// What the server said to the person who runs it.
    pub log: Arc<Mutex<Vec<String>>>,
    stop: Option<oneshot::Sender<()>>,
    pub ended: JoinHandle<()>,
    /// Removed once nobody uses it.
    pub folder: Arc<TempDir>,
}

impl Running {
    pub async fn start(place: &Place) -> Self {
        Self::with_limits(place, Limits::default()).await
    }

    pub async fn with_limits(place: &Place, limits: Limits) -> Self {
        let database = place.open().await;
        Self::on(database, Arc::clone(&place.folder), limits).await
    }

    pub async fn on(database: Database, folder: Arc<TempDir>, limits: Limits) -> Self {
        Self::listening(database, folder, limits, "127.0.0.1:0".parse().unwrap()).await
    }

    pub async fn listening(database: Database, folder: Arc<TempDir>, limits: Limits, address: SocketAddr) -> Self {
        let log = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&log);
        let home = Home::new(folder.path().to_owned());
        let app = App::new(ServerOptions {
            store: Arc::clone(&database.store),
            board: Arc::clone(&database.board),
            listed: Arc::new(move |entry: &RunEntry| ralph_runtime::listed(entry, &home)),
            home: Home::new(folder.path().to_owned()),
            git: None,
            caps: Caps::default(),
            version: "test".to_owned(),
            now,
            allow_hosts: vec!["ralph.example.org".to_owned()],
            allow_origins: vec!["https://dash.example.org".to_owned()],
            limits,
            notifier: None,
            log: Arc::new(move |text: &str| written.lock().unwrap().push(text.to_owned())),
        });
        let server = Server::bind(app.clone(), address, None, false).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let address = server.address();
        let ended = tokio::spawn(server.run(async { drop(stopped.await) }));
        let mut running = Self { address, database, app, admin: String::new(), log, stop: Some(stop), ended, folder };
        running.admin = running.token("admin", Role::Admin).await;
        running
    }

    /// Makes a token.
    pub async fn token(&self, name: &str, role: Role) -> String {
        let secret = Secret::generate().unwrap();
        let token = Token { name: format!("{name} {}", secret.hash()), role, created_at: now() };
        self.database.board.add_token(&token, &secret.hash()).await.unwrap();
        secret.reveal().to_owned()
    }

    /// Asks the server to end.
    pub fn stop(&mut self) {
        drop(self.stop.take());
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn client(&self) -> Client {
        Client::new(&self.url(), &self.admin).unwrap()
    }

    pub fn client_with(&self, token: &str) -> Client {
        Client::new(&self.url(), token).unwrap()
    }

    /// A request of an administrator.
    pub async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        self.ask_as(&self.admin, method, path, body).await
    }

    pub async fn ask_as(&self, token: &str, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let mut headers = vec![("Authorization".to_owned(), format!("Bearer {token}"))];
        let body = body.map(Value::to_string);
        if body.is_some() {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.raw(method, path, &headers, body.unwrap_or_default().as_bytes()).await
    }

    /// A request with exactly these headers besides Host, length and connection; a Host of the test's own replaces the usual.
    pub async fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text.push_str(&format!("Host: {}\r\n", self.address));
        }
        if !body.is_empty() || method != "GET" {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(body);
        self.bytes(&bytes).await
    }

    pub async fn bytes(&self, request: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // A server that refuses early may close before everything was sent.
        let _ = stream.write_all(request).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        Reply::parse(&answer)
    }

    /// Creates a task and gives its id.
    pub async fn task(&self) -> String {
        let reply = self.ask("POST", "/api/tasks", Some(&new_task())).await;
        assert_eq!(reply.status, 201, "{reply:?}");
        reply.json()["id"].as_str().unwrap().to_owned()
    }
}

/// A task that is accepted.
pub fn new_task() -> Value {
    serde_json::json!({
        "task": "Create hello.ts that outputs Hello World",
        "taskType": "ralph",
        "ralphPromise": "hello.ts exists and outputs Hello World when run",
    })
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Reply {
    fn parse(answer: &[u8]) -> Self {
        let text = String::from_utf8_lossy(answer);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or(0);
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        let headers: BTreeMap<String, String> = headers.collect();
        let body = match headers.get("transfer-encoding") {
            Some(_) => unchunked(body),
            None => body.to_owned(),
        };
        Self { status, headers, body }
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// It is a problem document about this field.
    #[track_caller]
    pub fn refuses(&self, status: u16, field: Option<&str>) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(problem["field"].as_str(), field, "{problem}");
        for key in ["type", "title", "detail"] {
            assert!(problem[key].as_str().is_some_and(|text| !text.is_empty()), "{key} is missing in {problem}");
        }
    }
}

fn unchunked(body: &str) -> String {
    let (mut rest, mut text) = (body, String::new());
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap_or(0);
        if length == 0 || after.len() < length {
            break;
        }
        text.push_str(&after[..length]);
        rest = after[length..].trim_start_matches("\r\n");
    }
    text
}
