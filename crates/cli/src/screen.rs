//! Where words go: results to one writer, everything else to another. All text is made inert on the way.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, BufRead as _, Write};

use ralph_config::Spelling;
use ralph_config::trust::{Answer, Asking};
use ralph_model::ConfigError;
use ralph_text::sanitize;
use ratatui_core::text::{Line, Span};
use serde::Serialize;

use crate::page::Page;
use crate::style::{BAD, Look, PLAIN, TITLE, WARN};
pub(crate) use ralph_view::{counted, dollars};

use crate::args::whole;
use crate::input::is_interactive;

/// The two outputs of a command.
pub(crate) struct Screen<'a> {
    /// For results: standard output.
    pub(crate) out: &'a mut (dyn Write + Send),
    /// For everything else: standard error.
    pub(crate) err: &'a mut (dyn Write + Send),
    /// What each can show; asked anew for each text, because a terminal can change its size meanwhile.
    pub(crate) looks: fn() -> (Look, Look),
}

impl<'a> Screen<'a> {
    /// Two outputs that programs read.
    pub(crate) fn new(out: &'a mut (dyn Write + Send), err: &'a mut (dyn Write + Send)) -> Self {
        Self { out, err, looks: || (Look::PLAIN, Look::PLAIN) }
    }

    /// Prints a result that is laid out for the width of its output.
    pub(crate) fn page(&mut self, page: Page) -> io::Result<()> {
        page.lines((self.looks)().0).iter().try_for_each(|line| writeln!(self.out, "{line}"))
    }

    pub(crate) fn result(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", sanitize(text.trim_end_matches('\n')))
    }

    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let value = serde_json::to_value(value)?;
        writeln!(self.out, "{}", escaped(&format!("{value:#}")))
    }

    /// Prints a result: the value for programs, or the text for people.
    pub(crate) fn answer(&mut self, as_json: bool, value: &impl Serialize, text: &str) -> io::Result<()> {
        if as_json { self.json(value) } else { self.result(text) }
    }

    /// The same with a page for people.
    pub(crate) fn show<T: Serialize>(
        &mut self,
        as_json: bool,
        value: &T,
        page: impl FnOnce(&T) -> Page,
    ) -> io::Result<()> {
        if as_json { self.json(value) } else { self.page(page(value)) }
    }

    /// Prints something besides the result.
    pub(crate) fn say(&mut self, text: &str) -> io::Result<()> {
        lines(text, (self.looks)().1).iter().try_for_each(|line| writeln!(self.err, "{line}"))
    }
}

/// A text that is said, laid out for its output; lines of a file stay whole.
fn lines(text: &str, look: Look) -> Vec<String> {
    let mut page = Page::default();
    for line in text.trim_end_matches('\n').split('\n') {
        match quoted(line) {
            Some(line) => page.whole(line),
            None => page.line(said(line)),
        }
    }
    page.lines(look)
}

/// A line of a file with its number, or the mark under it: broken up, the mark would be somewhere else.
fn quoted(line: &str) -> Option<Line<'static>> {
    let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let rest = rest.strip_prefix('|').filter(|rest| rest.is_empty() || rest.starts_with(' '))?;
    let is_mark = rest.contains('^') && rest.chars().all(|c| c == ' ' || c == '^');
    Some(Line::styled(line.to_owned(), if is_mark { BAD } else { PLAIN }))
}

/// A line that is said, with the colour of the word that it begins with.
fn said(line: &str) -> Line<'static> {
    for (word, style) in [("error:", BAD), ("warning:", WARN)] {
        if let Some(rest) = line.strip_prefix(word) {
            return Line::from(vec![Span::styled(word, style.patch(TITLE)), Span::raw(rest.to_owned())]);
        }
    }
    Line::raw(line.to_owned())
}

/// JSON escapes what is below the blank; whatever else could act on a terminal is escaped here, which means the same to
/// whoever parses it.
pub(crate) fn escaped(json: &str) -> Cow<'_, str> {
    if matches!(sanitize(json), Cow::Borrowed(_)) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        let acts = c > '~' && matches!(sanitize(c.encode_utf8(&mut [0; 4])), Cow::Owned(_));
        if acts {
            text.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            text.push(c);
        }
    }
    Cow::Owned(text)
}

const EXAMPLE: &str = r#"ralph run "Fix the failing tests" --max 10 --max-cost 5 --criteria "npm test" --agent claude"#;

/// The same for whoever has a program of their own.
const COMMAND_EXAMPLE: &str = r#"ralph run "Fix the failing tests" --max 10 --max-cost 5 --criteria "npm test" --agent-command ./my-agent --unmetered"#;

/// A line of another command that works: the context of an error that has to show it instead of one of `ralph run`.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Example(pub(crate) &'static str);

/// A line that works, for the command that was typed: of the examples of its help the first that has this option, else the first.
pub(crate) fn example(words: impl IntoIterator<Item = OsString>, option: &str) -> String {
    let args = whole();
    let mut meant = &args;
    let words: Vec<OsString> = words.into_iter().collect();
    let has_command = words.iter().any(|word| word.as_encoded_bytes().starts_with(b"--agent-command"));
    for word in words {
        match meant.find_subcommand(&word).filter(|command| command.get_name() != "help") {
            Some(command) => meant = command,
            None if word.as_encoded_bytes().starts_with(b"-") => {}
            None => break,
        }
    }
    if meant.get_name() == "run" || meant.get_name() == args.get_name() && !option.is_empty() {
        return if has_command { COMMAND_EXAMPLE } else { EXAMPLE }.to_owned();
    }
    let help = meant.get_after_help().map(ToString::to_string).unwrap_or_default().replace("\\\n", " ");
    let lines = || help.lines().map(str::trim).filter(|line| line.starts_with("ralph "));
    let line = lines().find(|line| line.split_whitespace().any(|word| word == option)).or_else(|| lines().next());
    line.unwrap_or("ralph --help").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A broken rule, in the words of the command line, with a line that works.
pub(crate) fn rule(error: &ConfigError) -> String {
    rule_with(error, None)
}

fn rule_with(error: &ConfigError, shown: Option<&Example>) -> String {
    let text = Spelling::Flag.rule(error);
    let option = Spelling::Flag.name(error.key);
    // What is no key is an option of another command.
    if option.is_none() && !error.key.contains('@') {
        return text;
    }
    let option = option.unwrap_or_else(|| "--max".to_owned());
    let example = shown.map_or_else(|| example(std::env::args_os().skip(1), &option), |shown| shown.0.to_owned());
    format!("{text}\n  example: {example}")
}

/// The error with its causes, each said once: many messages name their cause themselves.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let settings = error.downcast_ref::<ralph_config::Error>().and_then(|error| match error {
        ralph_config::Error::Rule(rule) => Some(rule),
        _ => None,
    });
    let broken = error.downcast_ref::<ConfigError>().or(settings);
    if let Some(broken) = broken.or_else(|| error.downcast_ref::<ralph_host::Error>()?.rule()) {
        return rule_with(broken, error.downcast_ref::<Example>());
    }
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text.contains(&cause) {
        true => text,
        false if text.is_empty() => cause,
        false => format!("{text}: {cause}"),
    })
}

/// Asks at the terminal: the text goes to standard error, the answer comes from standard input. The end of input is a
/// no.
pub(crate) fn ask_at_terminal(text: &str) -> io::Result<Answer> {
    let look = Look::of(&io::stderr());
    let mut err = io::stderr().lock();
    write!(err, "{} ", lines(&format!("{text} [y/N]"), look).join("\n"))?;
    err.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(understood(&line))
}

/// Whom approvals are asked of: the person at the terminal, where there is one.
pub(crate) fn asking() -> Asking<'static> {
    match is_interactive() {
        // A function takes no memory, so that nothing is leaked.
        true => Asking::Person(Box::leak(Box::new(ask_at_terminal))),
        false => Asking::Nobody,
    }
}

fn understood(line: &str) -> Answer {
    if matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes") { Answer::Yes } else { Answer::No }
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
