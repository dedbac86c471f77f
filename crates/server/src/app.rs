//! What all requests share.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_model::{Caps, Timestamp};
use ralph_notify::{Message, Notifier};
use ralph_runtime::Home;
use ralph_store::{BoardHandle, RunEntry, StoreHandle};
use ralph_view::ListEntry;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use crate::auth::TokenCache;

/// How often the same message is repeated.
const REPEAT_INTERVAL: Duration = Duration::from_secs(60);

/// What a server may use of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub connections: usize,
    pub streams: usize,
    pub body_bytes: usize,
    /// The largest body of a call on the store: events and what is committed with them.
    pub store_bytes: usize,
    /// The largest artifact: the log of an agent, as long as its limit lets it grow.
    pub artifact_bytes: usize,
    /// How long a client may take for the headers of a request, and how long a connection may be idle.
    pub header_timeout: Duration,
    /// How long a client may take for the body of a request.
    pub body_timeout: Duration,
    /// How long a worker may take for a call on the store or an artifact.
    pub upload_timeout: Duration,
    /// How long a client may take nothing of an answer.
    pub write_timeout: Duration,
    /// How often a stream of events says that it is still there.
    pub heartbeat: Duration,
    /// How long requests may take to finish once the server is asked to end.
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            streams: 2048,
            body_bytes: 1024 * 1024,
            store_bytes: 16 * 1024 * 1024,
            artifact_bytes: 80 * 1024 * 1024,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(15),
            upload_timeout: Duration::from_secs(300),
            write_timeout: Duration::from_secs(60),
            heartbeat: Duration::from_secs(15),
            shutdown: Duration::from_secs(5),
        }
    }
}

pub struct ServerOptions {
    pub store: StoreHandle,
    pub board: BoardHandle,
    /// A run as listings show it: whether its process lives, and where.
    pub listed: Arc<dyn Fn(&RunEntry) -> ListEntry + Send + Sync>,
    pub home: Home,
    pub git: Option<PathBuf>,
    pub caps: Caps,
    pub version: String,
    pub now: fn() -> Timestamp,
    /// Values of the Host header that are accepted besides the names of the loopback address and the listening address.
    pub allow_hosts: Vec<String>,
    /// Values of the Origin header that are accepted besides the server's own.
    pub allow_origins: Vec<String>,
    pub limits: Limits,
    pub notifier: Option<Arc<Notifier>>,
    /// Where messages for the person who runs the server go.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
}

/// What all requests share. Clones are the same.
#[derive(Clone)]
pub struct App(Arc<Shared>);

/// The one behind all clones.
pub struct Shared {
    pub(crate) options: ServerOptions,
    pub(crate) tokens: TokenCache,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) counters: Counters,
    pub(crate) document: serde_json::Value,
    last_message: Mutex<Option<(String, Instant)>>,
    stopping: watch::Sender<bool>,
}

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("store", &self.options.store.place()).finish_non_exhaustive()
    }
}

impl App {
    pub fn new(options: ServerOptions) -> Self {
        let document = crate::openapi::document(&options.version);
        Self(Arc::new(Shared {
            streams: Arc::new(Semaphore::new(options.limits.streams)),
            tokens: TokenCache::default(),
            counters: Counters::default(),
            last_message: Mutex::default(),
            stopping: watch::Sender::new(false),
            document,
            options,
        }))
    }

    pub fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    pub fn board(&self) -> &BoardHandle {
        &self.options.board
    }

    pub fn caps(&self) -> &Caps {
        &self.options.caps
    }

    pub fn now(&self) -> Timestamp {
        (self.options.now)()
    }

    /// How many streams of events are open.
    pub fn open_streams(&self) -> usize {
        self.options.limits.streams.saturating_sub(self.streams.available_permits())
    }

    /// Tells the person who runs the server. The same thing again is told once a minute: with a full disk, every request says it.
    pub(crate) fn log(&self, text: &str) {
        let mut last = self.last_message.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(known, at)| known != text || at.elapsed() >= REPEAT_INTERVAL) {
            (self.options.log)(text);
            *last = Some((text.to_owned(), Instant::now()));
        }
    }

    /// Notifies the user. A failure is worth a message and nothing more.
    pub(crate) async fn notify(&self, notifier: &Notifier, message: &Message) {
        for (channel, sent) in notifier.notify(message).await {
            if let Err(error) = sent {
                self.log(&format!("the notification by {channel} failed: {error}"));
            }
        }
    }

    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Completes once the server is asked to end: streams and long polls end with it.
    pub async fn stopping(&self) {
        let mut stopping = self.stopping.subscribe();
        // The sender lives as long as `self`.
        let _ = stopping.wait_for(|is_stopping| *is_stopping).await;
    }
}

/// What this process has done since it started.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) claims: AtomicU64,
    pub(crate) connections: AtomicU64,
    answers: Mutex<BTreeMap<u16, u64>>,
}

impl Counters {
    pub(crate) fn answered(&self, status: u16) {
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner).entry(status).or_default() += 1;
    }

    pub(crate) fn claimed(&self) {
        self.claims.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn answers(&self) -> BTreeMap<u16, u64> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
