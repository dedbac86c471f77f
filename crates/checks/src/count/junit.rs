//! JUnit XML, read tolerantly: runners disagree about nearly everything but the names of the elements.
//!
//! A scanner of its own, because all that is needed are a few element names and two attributes, and because a report
//! of a run that was killed ends in the middle, which a strict reader refuses.

use ralph_model::TestTally;

use super::sums::{Gathered, Outcome};

/// What a report counts; nothing when it is no JUnit report.
pub(crate) fn report(xml: &str) -> Option<TestTally> {
    let mut reader = Reader::default();
    for tag in Tags(xml) {
        reader.tag(tag);
    }
    reader.finish()
}

#[derive(Debug, Default)]
struct Reader {
    all: Gathered,
    is_report: bool,
    open: Option<Case>,
}

#[derive(Debug)]
struct Case {
    name: String,
    outcome: Outcome,
}

impl Reader {
    fn tag(&mut self, tag: Tag<'_>) {
        match (tag.name, tag.end) {
            ("testsuites" | "testsuite", End::No | End::Empty) => self.is_report = true,
            ("testcase", End::No | End::Empty) => {
                // The one before was never closed.
                self.close(Outcome::Failed);
                let (class, test) = (tag.attribute("classname"), tag.attribute("name"));
                let test = test.unwrap_or_default();
                let name = match class {
                    Some(class) if !class.is_empty() && class != test => format!("{class}.{test}"),
                    _ => test,
                };
                self.open = Some(Case { name, outcome: Outcome::Passed });
                if tag.end == End::Empty {
                    self.close(Outcome::Passed);
                }
            }
            ("testcase", End::Yes) => self.close(Outcome::Passed),
            ("failure" | "error", End::No | End::Empty) => match &mut self.open {
                Some(case) => case.outcome = Outcome::Failed,
                // A suite that broke before its first test.
                None => self.all.sums.count(Outcome::Failed, 1),
            },
            ("skipped", End::No | End::Empty) => {
                if let Some(case) = &mut self.open
                    && case.outcome == Outcome::Passed
                {
                    case.outcome = Outcome::Skipped;
                }
            }
            _ => {}
        }
    }

    /// Counts the open test. `at_least` makes a test that was cut off a failing one.
    fn close(&mut self, at_least: Outcome) {
        let Some(case) = self.open.take() else { return };
        let outcome = if at_least == Outcome::Failed { Outcome::Failed } else { case.outcome };
        if outcome != Outcome::Skipped {
            self.all.ran.once(&case.name);
        }
        if outcome == Outcome::Failed {
            self.all.failing.insert(&case.name);
        }
        self.all.sums.count(outcome, 1);
    }

    fn finish(mut self) -> Option<TestTally> {
        self.close(Outcome::Failed);
        self.is_report.then(|| self.all.tally())
    }
}

#[derive(Debug, Clone, Copy)]
struct Tag<'a> {
    name: &'a str,
    attributes: &'a str,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// `<a>`
    No,
    /// `<a/>`
    Empty,
    /// `</a>`
    Yes,
}

impl Tag<'_> {
    fn attribute(&self, wanted: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            let (name, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, following) = after[1..].split_once(quote)?;
            if name.trim() == wanted {
                return Some(unescaped(value));
            }
            rest = following;
        }
    }
}

/// The elements of a text. Comments, character data and declarations are passed over.
struct Tags<'a>(&'a str);

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        loop {
            let rest = &self.0[self.0.find('<')?..];
            let passed_over = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")];
            if let Some((open, close)) = passed_over.into_iter().find(|(open, _)| rest.starts_with(open)) {
                let body = &rest[open.len()..];
                self.0 = &body[body.find(close)? + close.len()..];
                continue;
            }
            let end = tag_end(rest)?;
            let inside = &rest[1..end];
            self.0 = &rest[end + 1..];
            let (inside, end) = match (inside.strip_prefix('/'), inside.strip_suffix('/')) {
                (Some(name), _) => (name, End::Yes),
                (None, Some(body)) => (body, End::Empty),
                (None, None) => (inside, End::No),
            };
            let (name, attributes) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
            // A name space before the name changes nothing here.
            let name = name.rsplit(':').next().unwrap_or(name);
            return Some(Tag { name, attributes, end });
        }
    }
}

/// Where the `>` of a tag is: one inside quotes is not it.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    tag.bytes().position(|byte| match (quote, byte) {
        (None, b'>') => true,
        (None, b'"' | b'\'') => {
            quote = Some(byte);
            false
        }
        (Some(open), _) if open == byte => {
            quote = None;
            false
        }
        _ => false,
    })
}

fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        let entity = &rest[at + 1..];
        let decoded = entity.split_once(';').and_then(|(name, after)| Some((character(name)?, after)));
        match decoded {
            Some((character, after)) => {
                text.push(character);
                rest = after;
            }
            None => {
                text.push('&');
                rest = entity;
            }
        }
    }
    text.push_str(rest);
    // A name is one line, and nothing in it steers a terminal, whatever the report says.
    ralph_text::sanitize(&text).replace(char::is_control, " ")
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
#[path = "junit_tests.rs"]
mod tests;
