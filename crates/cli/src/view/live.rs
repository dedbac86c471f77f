//! Joins updates, view and screen. The loop's own task only leaves its updates here; a thread paints, so that a slow
//! terminal never slows the loop.
//!
//! ```text
//!   loop ──update──► queue (bounded) ──► painting thread: Scene ──at most ten times a second──► Painter
//! ```
//!
//! When the queue is full, an agent's chatter is dropped and nothing else is.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ralph_model::Timestamp;
use ralph_view::{Update, What};

use ratatui_core::text::Line;

use crate::style::{Look, PLAIN};

use super::line::{Said, Weight};
use super::lines::Lines;
use super::painter::{Painter, Size};
use super::scene::Scene;

/// The time between two paintings.
const FRAME: Duration = Duration::from_millis(100);
/// How often an unchanged view is painted, for its clock.
const CLOCK: Duration = Duration::from_secs(1);
/// How many lines of chatter may wait.
const MAX_WAITING: usize = 256;

/// How a running loop is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Painted in place; standard error is a terminal.
    Painted,
    Plain,
    Silent,
}

/// What the painting thread is told. The end is a message of its own: whoever tells may outlive the screen.
enum Message {
    Update(Box<Update>),
    Logged(String),
    End,
}

/// Shows a running loop on standard error until it is closed.
pub(crate) struct Live {
    sender: Sender<Message>,
    waiting: Arc<AtomicUsize>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Live {
    pub(crate) fn new(mode: Mode) -> Self {
        let err = io::stderr();
        let look = Look::of(&err);
        Self::on(err, mode, look, crate::input::now, terminal_size)
    }

    fn on(
        out: impl Write + Send + 'static,
        mode: Mode,
        look: Look,
        now: fn() -> Timestamp,
        size: fn() -> Size,
    ) -> Self {
        let (sender, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let counted = Counted { receiver, waiting: Arc::clone(&waiting) };
        let work = move || match mode {
            Mode::Painted => paint(&counted, Painter::new(out, look.colours), now, size),
            Mode::Plain => print(&counted, out, look, now, size),
            Mode::Silent => {}
        };
        // A machine that has no thread left for a view may still finish the loop.
        let thread = std::thread::Builder::new().name("view".to_owned()).spawn(work).ok();
        Self { sender, waiting, thread: Mutex::new(thread) }
    }

    /// Takes what the loop sends. Never blocks.
    pub(crate) fn show(&self, update: Update) {
        let is_chatter = matches!(&update.what, What::Progress { progress } if progress.is_chatter());
        if is_chatter && self.waiting.load(Ordering::Relaxed) >= MAX_WAITING {
            return;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // A screen that is gone is no reason to stop the loop.
        if self.sender.send(Message::Update(Box::new(update))).is_err() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Shows a line of the log where it does not tear the view: above it. Gives the line back where nothing is shown.
    pub(crate) fn log(&self, line: String) -> Result<(), String> {
        self.sender.send(Message::Logged(line)).map_err(|unsent| match unsent.0 {
            Message::Logged(line) => line,
            Message::Update(_) | Message::End => String::new(),
        })
    }

    /// Shows everything that was told so far and gives the screen back. What comes later is not shown.
    pub(crate) fn close(&self) {
        let _ = self.sender.send(Message::End);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the painting thread was printed by itself; the loop's result does not depend on it.
            let _ = thread.join();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.close();
    }
}

/// The receiving end, and how much waits in it.
struct Counted {
    receiver: Receiver<Message>,
    waiting: Arc<AtomicUsize>,
}

impl Counted {
    /// What comes next; `Disconnected` at the end.
    fn next(&self, patience: Option<Duration>) -> Result<Received, RecvTimeoutError> {
        let message = match patience {
            Some(patience) => self.receiver.recv_timeout(patience),
            None => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match message? {
            Message::Update(update) => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                Ok(Received::Update(update))
            }
            Message::Logged(line) => Ok(Received::Logged(line)),
            Message::End => Err(RecvTimeoutError::Disconnected),
        }
    }
}

/// What the painting thread has to show.
enum Received {
    Update(Box<Update>),
    Logged(String),
}

fn paint(updates: &Counted, mut painter: Painter<impl Write>, now: fn() -> Timestamp, size: fn() -> Size) {
    let (mut scene, mut lines, mut lasting) = (Scene::default(), Lines::default(), Vec::new());
    let mut next_frame = Instant::now();
    let mut patience = CLOCK;
    loop {
        let received = updates.next(Some(patience));
        match &received {
            Ok(received) => {
                match received {
                    Received::Update(update) => {
                        let now = now();
                        scene.take(update, now);
                        let told = lines.take(update, now).into_iter().filter(|said| said.weight == Weight::Lasting);
                        lasting.extend(told.map(|said| Line::styled(said.text, said.style)));
                    }
                    Received::Logged(line) if scene.is_open() => lasting.push(Line::raw(line.clone())),
                    // Before there is a view there is nothing to tear.
                    Received::Logged(line) => {
                        if painter.print(line).is_err() {
                            return;
                        }
                    }
                }
                if let Some(wait) = next_frame.checked_duration_since(Instant::now()).filter(|wait| !wait.is_zero()) {
                    patience = wait;
                    continue;
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        // A terminal that is gone cannot be painted on; the loop goes on without it.
        if scene.is_open() && painter.paint(std::mem::take(&mut lasting), &scene, size(), now()).is_err() {
            return;
        }
        (next_frame, patience) = (Instant::now() + FRAME, CLOCK);
        if received.is_err_and(|error| error == RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

fn print(updates: &Counted, mut out: impl Write, look: Look, now: fn() -> Timestamp, size: fn() -> Size) {
    let mut lines = Lines::of_log();
    while let Ok(received) = updates.next(None) {
        let said = match received {
            Received::Update(update) => lines.take(&update, now()),
            Received::Logged(text) => vec![Said { weight: Weight::Passing, style: PLAIN, text }],
        };
        let look = Look { columns: look.columns.map(|_| size().columns), ..look };
        for text in said.into_iter().flat_map(|said| look.lines(Line::styled(said.text, said.style), 4)) {
            // Whole lines: several loops may write to one log.
            if out.write_all(format!("{text}\n").as_bytes()).and_then(|()| out.flush()).is_err() {
                return;
            }
        }
    }
}

/// Asked anew for each painting: that is all that a changed size needs.
fn terminal_size() -> Size {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    size.map_or(Size { columns: 80, rows: 24 }, |size| Size {
        columns: usize::from(size.ws_col),
        rows: usize::from(size.ws_row),
    })
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
