//! A conversation with a crew, as a person at a terminal has it.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use ralph_testkit::model::Fault;
use ralph_testkit::{Repo, ScriptedModel, shell_quoted};
use serde_json::json;

use super::{MODEL, calls, says, script};
use crate::aid::{finish, wait_until};
use crate::harness::{User, program};

/// A program at a terminal of its own.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<String>>,
    seen: usize,
}

impl Terminal {
    fn start(user: &User, repo: &Repo, server: &ScriptedModel, words: &[&str]) -> Self {
        let line: Vec<String> = words.iter().map(|word| shell_quoted(word)).collect();
        // The shell must not take the signal for itself.
        let line = format!("exec {} {}", shell_quoted(&program().to_string_lossy()), line.join(" "));
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]).current_dir(repo.path());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("TERM", "xterm");
        command.env("HOME", user.home()).env("RALPH_HOME", user.state()).env("TMPDIR", user.temporary());
        command.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "key-1");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (keys, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let screen = Arc::new(Mutex::new(String::new()));
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, keys, screen, seen: 0 }
    }

    /// Waits until a text comes up after everything that was waited for before.
    #[track_caller]
    fn expect(&mut self, text: &str) {
        let (screen, seen) = (Arc::clone(&self.screen), self.seen);
        let found = std::cell::Cell::new(None);
        let happened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until(text, || {
                found.set(screen.lock().unwrap()[seen..].find(text));
                found.get().is_some()
            });
        }));
        assert!(happened.is_ok(), "{text:?} is not on the screen:\n{}", &screen.lock().unwrap()[seen..]);
        self.seen = seen + found.get().unwrap() + text.len();
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }
}

#[test]
fn a_conversation_streams_asks_and_survives_ctrl_c() {
    let (user, repo) = (User::new(), Repo::init());
    let replies = [
        says("hello there, how are you"),
        calls(&[("askUser", json!({ "question": "Which colour?", "options": ["red", "blue"] }))]),
        calls(&[("requestApproval", json!({ "action": "paint the shed", "why": "it is grey" }))]),
        says("it is blue now"),
        says("NONE"),
        says("never").with(Fault::Hang { after_bytes: None }),
        says("hello again"),
    ];
    let server = ScriptedModel::start(script(replies));
    let mut terminal = Terminal::start(&user, &repo, &server, &["crew", "--max-cost", "2", "--model", MODEL]);
    terminal.expect("sandbox:");
    terminal.expect("> ");
    terminal.press("good morning\n");
    terminal.expect("hello there, how are you");
    terminal.expect("> ");
    terminal.press("paint it\n");
    terminal.expect("CHAPO asks: Which colour?");
    terminal.expect("2 blue");
    terminal.press("2\n");
    terminal.expect("CHAPO wants to: paint the shed");
    terminal.expect("for: it is grey");
    terminal.press("y\n");
    terminal.expect("it is blue now");
    terminal.expect("> ");
    let asked = terminal.screen.lock().unwrap().matches("Which colour?").count();
    assert_eq!(asked, 1, "a question is shown once");
    assert!(server.requests()[2].results[0].contains("blue"), "{:?}", server.requests()[2].results);
    terminal.press("wait\n");
    wait_until("the model is asked", || server.requests().len() == 6);
    terminal.press("\u{3}");
    terminal.expect("stopped");
    terminal.expect("> ");
    terminal.press("history\n");
    terminal.expect("2 paint it");
    terminal.expect("> ");
    terminal.press("!1\n");
    terminal.expect("hello again");
    terminal.expect("> ");
    terminal.press("exit\n");
    let Terminal { child, keys, .. } = terminal;
    let ended = finish(child);
    drop(keys);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let listed = user.newest_loop();
    assert_eq!((&listed["kind"], &listed["status"]), (&json!("crew"), &json!("COMPLETED")));
    let last = server.requests();
    let last = last.last().unwrap();
    assert!(last.messages > 4, "the conversation is one: {last:?}");
}

#[test]
fn one_who_asks_nothing_leaves_no_open_run() {
    let (user, repo) = (User::new(), Repo::init());
    let server = ScriptedModel::start(script([]));
    let mut terminal = Terminal::start(&user, &repo, &server, &["crew", "--max-cost", "2", "--model", MODEL]);
    terminal.expect("> ");
    terminal.press("exit\n");
    let ended = finish(terminal.child);
    assert_eq!((ended.code, &user.newest_loop()["reason"]), (0, &json!("CANCELLED")));
}
