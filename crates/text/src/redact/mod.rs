//! Takes secrets out of what programs print, before anything is shown or written. Does not judge who may see what.
//!
//! One automaton finds the literals: the known values, and the beginnings of the patterns. A rule of [`pattern`] then
//! reads on from such a beginning and decides within a bounded number of bytes. What is still undecided waits for
//! more; everything else passes at once, so that a line is never held back for the sake of a secret that it does not
//! contain. A decision depends on the bytes of the stream alone and never on how they were cut into pieces.

mod forms;
mod pattern;
mod swallow;

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, Match, MatchKind};

use forms::{SHORTEST, forms};
use pattern::{Judged, More, PATTERNS, Rule};
use swallow::{Class, Swallow};

use crate::escapes::strip_escapes;
use crate::sanitize::sanitize;

/// Of known values longer than this, only the beginning is recognised and replaced: it bounds the memory of a stream.
const MAX_VALUE: usize = 64 << 10;
/// With more bytes of literals than this, the fastest automaton would take too much memory.
const MAX_FOR_TABLE: usize = 16 << 10;
/// The fastest automaton is worth its construction, which takes as long as a search of a few hundred kilobytes, after this many bytes.
const WORTH_TABLE: usize = 256 << 10;

/// Knows which values and which kinds of text are secret. Cheap to clone.
#[derive(Clone)]
pub struct Redactor {
    rules: Arc<Rules>,
}

struct Rules {
    automaton: AhoCorasick,
    /// The same as a table, once much was searched. None where it would take too much memory.
    table: OnceLock<Option<AhoCorasick>>,
    /// Bytes that were searched before there was a table.
    searched: AtomicUsize,
    /// In the order of their meanings.
    patterns: Vec<Vec<u8>>,
    meanings: Vec<Meaning>,
    /// All literals, sorted.
    literals: Vec<Vec<u8>>,
    begins: [bool; 256],
    longest: usize,
}

/// What it means when a literal was found.
enum Meaning {
    /// It is a secret itself, and so is what follows of a class.
    Value { placeholder: String, rest: Option<Class> },
    /// A pattern begins here, if its rule says so. If not, a known value that begins in the same way may still be there.
    Pattern { placeholder: String, rule: Rule, otherwise: Option<(usize, String)> },
}

/// A form of a known value, and what is shown instead.
struct Known {
    form: Vec<u8>,
    rest: Option<Class>,
    placeholder: String,
}

impl Redactor {
    /// Knows the patterns and these values, each with the name that is shown instead; also inside JSON, in an address and in
    /// base64. Blanks around a value do not count, values of less than eight bytes are ignored.
    pub fn new<N, V>(values: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<String>,
        V: Into<Vec<u8>>,
    {
        let mut known: Vec<Known> = Vec::new();
        for (name, value) in values {
            let (name, value): (String, Vec<u8>) = (name.into(), value.into());
            let value = value.trim_ascii();
            let value = &value[..value.len().min(MAX_VALUE)];
            let forms = if value.len() < SHORTEST { Vec::new() } else { forms(value) };
            for form in forms {
                if known.iter().all(|other| other.form != form.bytes) {
                    let placeholder = format!("[redacted:{name}]");
                    known.push(Known { form: form.bytes, rest: form.rest, placeholder });
                }
            }
        }
        Self { rules: Arc::new(Rules::new(known)) }
    }

    /// Redacts bytes that come in pieces.
    pub fn stream(&self) -> RedactStream {
        RedactStream { rules: Arc::clone(&self.rules), waiting: Vec::new(), before: [0; 2], swallow: Swallow::Nothing }
    }

    /// Redacts a whole text.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.rules.find(Input::new(text)).is_none() {
            return Cow::Borrowed(text);
        }
        let mut out = Vec::with_capacity(text.len());
        let mut stream = self.stream();
        stream.push(text.as_bytes(), &mut out);
        stream.finish(&mut out);
        Cow::Owned(String::from_utf8_lossy(&out).into_owned())
    }

    /// A whole text as it may be kept and shown: without escapes first, then without secrets, then harmless. In another order a
    /// secret with an escape inside would be put together again.
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match strip_escapes(text) {
            Cow::Owned(stripped) => Cow::Owned(sanitize(&self.text(&stripped)).into_owned()),
            Cow::Borrowed(text) => match self.text(text) {
                Cow::Borrowed(text) => sanitize(text),
                Cow::Owned(redacted) => Cow::Owned(sanitize(&redacted).into_owned()),
            },
        }
    }
}

/// Patterns only, no known values.
impl Default for Redactor {
    fn default() -> Self {
        Self::new(Vec::<(String, Vec<u8>)>::new())
    }
}

/// Shows no value: a redactor may end in a log line.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("literals", &self.rules.literals.len()).finish_non_exhaustive()
    }
}

impl Rules {
    fn new(known: Vec<Known>) -> Self {
        let mut literals = Vec::new();
        let mut meanings = Vec::new();
        for pattern in PATTERNS {
            for literal in pattern.begins {
                let shadowed = known.iter().filter(|known| literal.as_bytes().starts_with(&known.form));
                let otherwise = shadowed.max_by_key(|known| known.form.len());
                let otherwise = otherwise.map(|known| (known.form.len(), known.placeholder.clone()));
                literals.push(literal.as_bytes().to_vec());
                let placeholder = format!("[redacted:{}]", pattern.kind);
                meanings.push(Meaning::Pattern { placeholder, rule: pattern.rule, otherwise });
            }
        }
        for Known { form, rest, placeholder } in known {
            literals.push(form);
            meanings.push(Meaning::Value { placeholder, rest });
        }
        let automaton = automaton(&literals, AhoCorasickKind::ContiguousNFA);
        let patterns = literals.clone();
        let mut begins = [false; 256];
        for literal in &literals {
            begins[usize::from(literal[0])] = true;
        }
        let longest = literals.iter().map(Vec::len).max().unwrap_or(0);
        literals.sort();
        literals.dedup();
        let (table, searched) = (OnceLock::new(), AtomicUsize::new(0));
        Self { automaton, table, searched, patterns, meanings, literals, begins, longest }
    }

    fn find(&self, input: Input<'_>) -> Option<Match> {
        let bytes = input.get_span().len();
        let table = match self.table.get() {
            None if self.searched.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) >= WORTH_TABLE => {
                let fits = self.patterns.iter().map(Vec::len).sum::<usize>() <= MAX_FOR_TABLE;
                self.table.get_or_init(|| fits.then(|| automaton(&self.patterns, AhoCorasickKind::DFA)))
            }
            table => table.unwrap_or(&None),
        };
        table.as_ref().unwrap_or(&self.automaton).find(input)
    }

    /// Where the first literal begins, at or after `from`, that the data ends in the middle of.
    fn first_open(&self, data: &[u8], from: usize) -> usize {
        let from = from.max((data.len() + 1).saturating_sub(self.longest));
        (from..data.len())
            .find(|&at| self.begins[usize::from(data[at])] && self.is_open(&data[at..]))
            .unwrap_or(data.len())
    }

    /// Whether some literal begins with all of `end` and goes on.
    fn is_open(&self, end: &[u8]) -> bool {
        let next = self.literals.partition_point(|literal| literal.as_slice() <= end);
        self.literals.get(next).is_some_and(|literal| literal.starts_with(end))
    }
}

fn automaton(literals: &[Vec<u8>], kind: AhoCorasickKind) -> AhoCorasick {
    #[expect(clippy::expect_used, reason = "it fails beyond two thousand million bytes of literals only")]
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(kind))
        .build(literals)
        .expect("secrets fit into an automaton")
}

/// Redacts bytes that come in pieces, however they are cut.
pub struct RedactStream {
    rules: Arc<Rules>,
    waiting: Vec<u8>,
    /// The two bytes before those.
    before: [u8; 2],
    /// The rest of a secret that was already replaced.
    swallow: Swallow,
}

impl fmt::Debug for RedactStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedactStream").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl RedactStream {
    /// What is decided of these and the earlier bytes: these themselves where nothing in them is secret, else in `out`, whose
    /// content is replaced.
    pub fn pass<'a>(&mut self, bytes: &'a [u8], out: &'a mut Vec<u8>) -> &'a [u8] {
        if self.waiting.is_empty() && self.swallow == Swallow::Nothing {
            let open = self.rules.first_open(bytes, 0);
            if self.rules.find(Input::new(bytes)).is_none_or(|found| found.start() >= open) {
                self.waiting.extend_from_slice(&bytes[open..]);
                return &bytes[..self.used(bytes, open)];
            }
        }
        out.clear();
        self.push(bytes, out);
        out
    }

    /// Appends to `out` what is decided of these and the earlier bytes.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.waiting.is_empty() {
            let used = self.scan(bytes, More::MayCome, out);
            self.waiting.extend_from_slice(&bytes[used..]);
        } else {
            let mut data = std::mem::take(&mut self.waiting);
            data.extend_from_slice(bytes);
            let used = self.scan(&data, More::MayCome, out);
            data.drain(..used);
            self.waiting = data;
        }
    }

    /// Appends what is left when no more bytes come.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let data = std::mem::take(&mut self.waiting);
        self.scan(&data, More::Never, out);
    }

    /// The same for a text that may have broken off inside of a known value: as much of one as would be a value itself is replaced.
    pub(crate) fn break_off(&mut self, out: &mut Vec<u8>) {
        let open = self.rules.first_open(&self.waiting, 0);
        let is_half = self.waiting.len() - open >= SHORTEST;
        if is_half {
            self.waiting.truncate(open);
        }
        self.finish(out);
        if is_half {
            out.extend_from_slice(b"[redacted]");
        }
    }

    /// Decides as much as possible; gives how many bytes were used up.
    fn scan(&mut self, data: &[u8], more: More, out: &mut Vec<u8>) -> usize {
        let rules = Arc::clone(&self.rules);
        let mut at = 0;
        let mut open = if more == More::Never { data.len() } else { rules.first_open(data, 0) };
        loop {
            at += self.swallow.take(&data[at..], out);
            if open < at {
                open = rules.first_open(data, at);
            }
            let found = rules.find(Input::new(data).range(at..)).filter(|m| m.start() < open);
            let Some(found) = found else {
                out.extend_from_slice(&data[at..open]);
                return self.used(data, open);
            };
            let start = found.start();
            let (judged, placeholder) = match &rules.meanings[found.pattern().as_usize()] {
                Meaning::Value { placeholder, rest } => {
                    let then = rest.map_or(Swallow::Nothing, Swallow::Class);
                    (Judged::Secret { from: 0, to: found.len(), then }, placeholder)
                }
                Meaning::Pattern { placeholder, rule, otherwise } => {
                    let before = before(self.before, data, start);
                    match (rule.judge(&data[start..], found.len(), before, more), otherwise) {
                        (Judged::Not, Some((length, value))) => (Judged::whole(*length), value),
                        (judged, _) => (judged, placeholder),
                    }
                }
            };
            match judged {
                Judged::Undecided => {
                    out.extend_from_slice(&data[at..start]);
                    return self.used(data, start);
                }
                Judged::Not => {
                    out.extend_from_slice(&data[at..=start]);
                    at = start + 1;
                }
                Judged::Secret { from, to, then } => {
                    out.extend_from_slice(&data[at..start + from]);
                    out.extend_from_slice(placeholder.as_bytes());
                    at = start + to;
                    self.swallow = then;
                }
            }
        }
    }

    fn used(&mut self, data: &[u8], count: usize) -> usize {
        self.before = before(self.before, data, count);
        count
    }
}

/// The two bytes before a place, of which some may have come earlier.
fn before(earlier: [u8; 2], data: &[u8], at: usize) -> [u8; 2] {
    match &data[..at] {
        [] => earlier,
        [one] => [earlier[1], *one],
        [.., one, two] => [*one, *two],
    }
}

#[cfg(test)]
#[path = "../redact_tests.rs"]
mod tests;
