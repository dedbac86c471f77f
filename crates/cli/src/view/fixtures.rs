//! What the tests of the view share: notices of an ordinary loop, and a terminal to look at.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ralph_model::{
    AbortCause, AbortReason, AgentSpec, CheckOutcome, Ended, Iteration, LoopConfig, LoopId, Millis, Money, Outcome,
    OutputRef, TestTally, TreeHash, Verdict,
};
use ralph_runtime::{LoopResult, Notice};

pub(super) fn opened(objective: &str) -> Notice {
    let agent = AgentSpec::command("helper", "./helper");
    let config = LoopConfig {
        completion_promise: "DONE".into(),
        verification_commands: vec!["npm test".into()],
        ..LoopConfig::new(objective.into(), 10, Money::dollars(5), agent, "/work".into())
    };
    let loop_id: LoopId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
    Notice::LoopOpened {
        loop_id,
        done: Iteration(0),
        spent: Money::ZERO,
        config: Box::new(config),
        folder: PathBuf::from("/state"),
    }
}

pub(super) fn baseline(passed: u32, failed: u32) -> Notice {
    let check = CheckOutcome {
        command: "npm test".into(),
        passed: failed == 0,
        ended: Ended::Exited { code: i32::from(failed > 0) },
        tests: Some(TestTally { passed, failed, ..TestTally::default() }),
        shrunk: None,
        flaky: false,
        retries: 0,
        duration: Millis(10),
        excerpt: String::new(),
        signature: None,
        output: OutputRef::default(),
    };
    let verdict = Verdict::new(TreeHash::default(), vec![check]);
    Notice::BaselineFinished { verdict: Some(verdict), needs_claim: failed == 0 }
}

pub(super) fn decided(iteration: u32, tally: (u32, u32), spent: i64) -> Notice {
    Notice::IterationDecided {
        iteration: Iteration(iteration),
        tally: Some(tally),
        passed: tally.1 == 0,
        doubt: None,
        claimed: iteration == 2,
        spent: Money::from_micros(spent),
    }
}

/// A notice of one candidate of a race.
pub(super) fn of(number: usize, agent: &str, notice: Notice) -> Notice {
    Notice::OfCandidate { number, agent: agent.to_owned(), notice: Box::new(notice) }
}

/// The end of a loop: verified without a reason, aborted with one.
pub(super) fn finished(reason: Option<AbortReason>) -> Notice {
    let verified = reason.is_none();
    Notice::Finished(Box::new(LoopResult {
        status: if verified { "COMPLETED" } else { "ABORTED" },
        reason,
        loop_id: "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap(),
        iterations: 1,
        cost_usd: 0.0,
        duration_seconds: 1.0,
        verified,
        verdict: None,
        false_claims: 0,
        tampered: 0,
        flakes: 0,
        sandbox: String::new(),
        replaced: None,
        details: "details".into(),
        output: None,
        last_output: None,
        error: None,
        best: None,
        kept: None,
        commit: None,
        commit_problem: None,
        patch: None,
        workspace: "/work".into(),
        folder: "/state".into(),
        chain_head: String::new(),
        from_keyboard: false,
        branch: None,
        is_unchanged: false,
        exit_code: 0,
        outcome: match reason {
            Some(reason) => Outcome::Aborted { cause: AbortCause::Recorded { reason, text: String::new() } },
            None => Outcome::Completed { verified: true },
        },
    }))
}

/// A small terminal: enough of one to see what a person would see.
#[derive(Debug, Clone)]
pub(super) struct Terminal(Arc<Mutex<Inside>>);

#[derive(Debug)]
struct Inside {
    columns: usize,
    lines: Vec<String>,
    row: usize,
    column: usize,
}

impl Terminal {
    pub(super) fn new(columns: usize) -> Self {
        Self(Arc::new(Mutex::new(Inside { columns, lines: vec![String::new()], row: 0, column: 0 })))
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().lines.iter().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Shows what a person types, where the cursor is, as terminals do. A key such as Ctrl-C is two characters.
    pub(super) fn echo(&self, text: &str) {
        let mut inside = self.0.lock().unwrap();
        text.chars().for_each(|c| inside.put(c));
    }

    /// Becomes narrower, and wraps what is there as terminals do: the cursor stays at the character that it was at.
    pub(super) fn resize(&self, columns: usize) {
        let mut inside = self.0.lock().unwrap();
        let wrap = |line: &String| -> Vec<String> {
            let characters: Vec<char> = line.trim_end().chars().collect();
            if characters.is_empty() {
                return vec![String::new()];
            }
            characters.chunks(columns).map(|chunk| chunk.iter().collect()).collect()
        };
        let above: usize = inside.lines[..inside.row].iter().map(|line| wrap(line).len()).sum();
        inside.lines = inside.lines.iter().flat_map(wrap).collect();
        inside.row = above + inside.column / columns;
        inside.column %= columns;
        inside.columns = columns;
    }
}

impl Inside {
    fn put(&mut self, c: char) {
        if self.column >= self.columns {
            self.feed();
            self.column = 0;
        }
        let line = &mut self.lines[self.row];
        let mut characters: Vec<char> = line.chars().collect();
        characters.resize(characters.len().max(self.column + 1), ' ');
        characters[self.column] = c;
        *line = characters.into_iter().collect();
        self.column += 1;
    }

    fn feed(&mut self) {
        self.row += 1;
        if self.row == self.lines.len() {
            self.lines.push(String::new());
        }
    }

    fn command(&mut self, letter: char, number: usize) {
        match letter {
            'A' => self.row = self.row.saturating_sub(number.max(1)),
            'G' => self.column = number.saturating_sub(1),
            'J' => {
                self.lines.truncate(self.row + 1);
                let kept: String = self.lines[self.row].chars().take(self.column).collect();
                self.lines[self.row] = kept;
            }
            'm' => {}
            other => panic!("the terminal does not know {other}"),
        }
    }
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inside = self.0.lock().unwrap();
        let text = std::str::from_utf8(bytes).expect("whole characters");
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            match c {
                '\u{1b}' => {
                    assert_eq!(characters.next(), Some('['));
                    let mut number = String::new();
                    let letter = loop {
                        match characters.next().expect("a whole sequence") {
                            digit @ '0'..='9' => number.push(digit),
                            letter => break letter,
                        }
                    };
                    inside.command(letter, number.parse().unwrap_or(0));
                }
                '\r' => inside.column = 0,
                '\n' => inside.feed(),
                c => inside.put(c),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
