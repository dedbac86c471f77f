//! A crew in the terminal: what it does as lines, questions and approvals where they come up, and a conversation.

use std::io::{BufRead as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ralph_crew::{CrewResult, CrewStatus, Decision, Question, StreamEvent};
use ralph_host::CrewEdges;
use ralph_runtime::{AskPerson, OpenedCrew};
use ralph_text::sanitize;

use super::lines;
use crate::input::is_interactive;
use crate::page::Page;
use crate::screen::escaped;
use crate::style::{Look, flat};

pub(super) struct Terminal {
    /// Events go to standard error as JSON.
    as_json: bool,
    /// The answer is on the screen already.
    shown: Arc<AtomicBool>,
    /// A conversation: answers are streamed.
    is_conversation: bool,
}

impl Terminal {
    pub(super) fn new(as_json: bool, is_conversation: bool) -> Self {
        Self { as_json, shown: Arc::default(), is_conversation }
    }

    pub(super) fn has_shown(&self) -> bool {
        self.shown.load(Ordering::Relaxed)
    }

    /// Who watches, and who can be asked.
    pub(super) fn edges(&self) -> CrewEdges {
        let (as_json, shown, streams) = (self.as_json, Arc::clone(&self.shown), self.is_conversation);
        // Whether a line was begun.
        let (is_open, asks) = (Mutex::new(false), is_interactive());
        let tell = move |told: StreamEvent| {
            let mut is_open = is_open.lock().unwrap_or_else(PoisonError::into_inner);
            let mut err = std::io::stderr().lock();
            // A closed screen is no error.
            let _ = match told {
                StreamEvent::Delta { .. } if as_json => Ok(()),
                told if as_json => {
                    let line = serde_json::to_value(&told).unwrap_or_default().to_string();
                    writeln!(err, "{}", escaped(&line))
                }
                StreamEvent::Delta { agent, text } if streams && agent == "chapo" => {
                    shown.store(true, Ordering::Relaxed);
                    *is_open = true;
                    write!(err, "{}", sanitize(&text)).and_then(|()| err.flush())
                }
                told => {
                    if std::mem::take(&mut *is_open) {
                        let _ = writeln!(err);
                    }
                    if !matches!(told, StreamEvent::Answer { .. } | StreamEvent::Delta { .. }) {
                        shown.store(false, Ordering::Relaxed);
                    }
                    // The prompt says what is asked.
                    let is_prompt = matches!(told, StreamEvent::Question { .. } | StreamEvent::Approval { .. });
                    let mut page = Page::default();
                    if !(asks && is_prompt) {
                        lines::add(&mut page, &told);
                    }
                    page.lines(Look::of(&std::io::stderr())).iter().try_for_each(|line| writeln!(err, "{line}"))
                }
            };
        };
        let person: AskPerson = Arc::new(|question| Box::pin(ask(question)));
        CrewEdges { tell: Arc::new(tell), person: asks.then_some(person), loops: true, push: None }
    }

    /// Reads requests until the input ends. Ctrl-C ends the turn, not the conversation.
    pub(super) async fn converse(&self, mut opened: OpenedCrew) -> anyhow::Result<CrewResult> {
        let mut history: Vec<String> = Vec::new();
        loop {
            let Some(line) = read_line("\n> ").await else { break };
            let text = match line.trim() {
                "" => continue,
                "exit" | "quit" => break,
                "history" => {
                    let list = history.iter().enumerate().map(|(at, line)| format!("{} {line}\n", at + 1));
                    eprint_all(&list.collect::<String>());
                    continue;
                }
                text => match text.strip_prefix('!').and_then(|number| number.parse::<usize>().ok()) {
                    Some(number) => match history.get(number.wrapping_sub(1)) {
                        Some(earlier) => earlier.clone(),
                        None => continue,
                    },
                    None => text.to_owned(),
                },
            };
            history.push(text.clone());
            self.shown.store(false, Ordering::Relaxed);
            let result = opened.say(text).await?;
            if let Some(answer) =
                result.answer.as_ref().filter(|_| result.status == CrewStatus::Answered && !self.has_shown())
            {
                eprint_all(&format!("{answer}\n"));
            }
            let doubts = result.doubts.iter().map(|doubt| format!("doubt: {doubt}\n")).collect::<String>();
            eprint_all(&doubts);
            result.details.iter().for_each(|details| eprint_all(&format!("{details}\n")));
            self.shown.store(true, Ordering::Relaxed);
        }
        let result = opened.close().await?;
        // One who asked nothing has no answer to miss.
        let exit_code = if history.is_empty() { ralph_model::exit_code::COMPLETED } else { result.exit_code };
        Ok(CrewResult { exit_code, ..result })
    }
}

fn eprint_all(text: &str) {
    let _ = write!(std::io::stderr().lock(), "{}", sanitize(text));
}

/// Reads one line on a thread of its own, so that the crew continues meanwhile; none at the end of the input.
async fn read_line(prompt: &str) -> Option<String> {
    let mut last = prompt;
    if let Some((above, below)) = prompt.rsplit_once('\n') {
        let mut page = Page::default();
        above.split('\n').for_each(|line| page.line(flat(line)));
        page.lines(Look::of(&std::io::stderr())).iter().for_each(|line| eprint_all(&format!("{line}\n")));
        last = below;
    }
    eprint_all(last);
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line),
        }
    });
    read.await.ok().flatten()
}

/// One question at a time.
static ASKING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

async fn ask(question: Question) -> Option<Decision> {
    let _turn = ASKING.lock().await;
    let Question { agent, text, why, options, is_approval, .. } = question;
    let agent = agent.to_uppercase();
    if is_approval {
        let why = if why.is_empty() { String::new() } else { format!("\n  for: {why}") };
        let line = read_line(&format!("{agent} wants to: {text}{why}\n  approve? [y/N, or a reason] ")).await?;
        let line = line.trim();
        return Some(match line.to_ascii_lowercase().as_str() {
            "y" | "yes" => Decision::Approved { comment: None },
            "" | "n" | "no" => Decision::Refused { comment: None },
            _ => Decision::Refused { comment: Some(line.to_owned()) },
        });
    }
    let list = options.iter().enumerate().map(|(at, option)| format!("\n  {} {option}", at + 1)).collect::<String>();
    let line = read_line(&format!("{agent} asks: {text}{list}\n? ")).await?;
    let line = line.trim();
    let chosen = line.parse::<usize>().ok().and_then(|number| options.get(number.wrapping_sub(1)));
    Some(Decision::Approved { comment: Some(chosen.map_or_else(|| line.to_owned(), Clone::clone)) })
}
