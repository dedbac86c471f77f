//! What happens in a run as lines of JSON on standard output, for programs.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use ralph_view::{Update, What};

use crate::screen::escaped;

/// How many updates may wait for a reader before an agent's chatter is dropped.
const MAX_WAITING: usize = 1024;

/// Writes updates from a thread of its own: a slow reader never slows the loop.
pub(crate) struct Events {
    sender: Sender<Option<String>>,
    waiting: Arc<AtomicUsize>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Events {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = channel::<Option<String>>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let taken = Arc::clone(&waiting);
        let work = move || {
            let mut out = std::io::stdout();
            while let Ok(Some(line)) = receiver.recv() {
                taken.fetch_sub(1, Ordering::Relaxed);
                // A reader that went away is no reason to stop the loop.
                let _ = writeln!(out, "{}", escaped(&line)).and_then(|()| out.flush());
            }
        };
        let thread = std::thread::Builder::new().name("events".to_owned()).spawn(work).ok();
        Self { sender, waiting, thread: Mutex::new(thread) }
    }

    /// Takes an update. Never blocks.
    pub(crate) fn show(&self, update: &Update) {
        let is_chatter = matches!(&update.what, What::Progress { progress } if progress.is_chatter());
        if is_chatter && self.waiting.load(Ordering::Relaxed) >= MAX_WAITING {
            return;
        }
        if let Ok(line) = serde_json::to_string(update) {
            self.line(line);
        }
    }

    /// Writes what is left. What comes later is not written.
    pub(crate) fn close(&self) {
        let _ = self.sender.send(None);
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }

    pub(crate) fn line(&self, line: String) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _ = self.sender.send(Some(line));
    }
}
