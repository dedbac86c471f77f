//! Finds an agent's own word that it is done, or that it cannot go on. A word is a reason to look, never a proof.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How many braces from the end of a message are tried as the beginning of its last object.
const MAX_BRACES: usize = 64;

/// What an agent's final message says about its work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    pub done: bool,
    /// It says that it needs a person, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
}

/// Whether `message` holds the promise: the exact tag with white space folded, outside code fences and block quotes, and
/// not as an echo of `prompt`. A promise without a tag of its own also counts when it stands alone on a line. A promise that
/// is a JSON object counts when the message ends with an object, in a code fence or not, that has the same values.
pub fn find_claim(message: &str, prompt: &str, promise: &str) -> bool {
    let promise = fold(promise);
    if promise.is_empty() {
        return false;
    }
    if let Some(wanted) = object(&promise) {
        let last = last_object(&remove_echo(message, prompt, &promise));
        return last.is_some_and(|last| wanted.iter().all(|(key, value)| last.get(key) == Some(value)));
    }
    // Most messages hold no promise, and nothing that follows adds a word to one.
    let mut words = promise.split(|c: char| c.is_whitespace() || matches!(c, '<' | '>'));
    if !words.all(|word| message.contains(word)) {
        return false;
    }
    if promise.contains('<') {
        let tag = fold_tags(&promise);
        return fold_tags(&own_words(message, prompt, &tag)).contains(&tag);
    }
    let tag = format!("<promise>{promise}</promise>");
    let own = own_words(message, prompt, &tag);
    fold_tags(&own).contains(&tag) || own.lines().any(|line| fold(line) == promise)
}

fn object(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok().filter(|object: &Map<String, Value>| !object.is_empty())
}

/// The JSON object that a message ends with.
fn last_object(message: &str) -> Option<Map<String, Value>> {
    let end = message.trim_end().trim_end_matches(['`', '~']).trim_end();
    // The innermost one comes first, and is none of its own unless it is the whole: `{"a":{"b":1}}`.
    let starts = end.rmatch_indices('{').map(|(at, _)| at).take(MAX_BRACES);
    starts.filter_map(|at| object(&end[at..])).last()
}

/// Why the agent cannot go on, when its final message says so in a `<blocked>` tag.
pub fn find_blocked(message: &str, prompt: &str) -> Option<String> {
    if !message.contains("<blocked>") {
        return None;
    }
    let own = own_words(message, prompt, "<blocked>");
    own.split("<blocked>").skip(1).find_map(|after| {
        let why = fold(after.split_once("</blocked>")?.0);
        // The prompt's own example of the tag, paraphrased by the agent, is no reason.
        (!why.is_empty() && why != "why").then_some(why)
    })
}

/// The message without code fences, block quotes and what it repeats of the prompt about the tag.
fn own_words(message: &str, prompt: &str, tag: &str) -> String {
    let without_echo = remove_echo(message, prompt, tag);
    let mut fence: Option<(char, usize)> = None;
    let mut own = String::with_capacity(without_echo.len());
    for line in without_echo.lines() {
        let trimmed = line.trim_start();
        let marker = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'));
        let run = marker.map_or(0, |c| trimmed.chars().take_while(|other| *other == c).count());
        match (fence, marker) {
            // Backticks again behind the run make it a code span: it ends on the same line.
            (None, Some(character)) if run >= 3 && (character == '~' || !trimmed[run..].contains('`')) => {
                fence = Some((character, run));
            }
            (Some((open, length)), Some(character))
                if character == open && run >= length && trimmed[run..].trim().is_empty() =>
            {
                fence = None;
            }
            (None, _) if !trimmed.starts_with('>') => {
                // Code spans quote; what stands in them is talked about, not said.
                own.push_str(&without_code_spans(line));
                own.push('\n');
            }
            _ => {}
        }
    }
    own
}

fn without_code_spans(line: &str) -> String {
    if line.matches('`').count() < 2 {
        return line.to_owned();
    }
    let mut own = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(open) = rest.find('`') {
        let ticks = rest[open..].chars().take_while(|c| *c == '`').count();
        let after = &rest[open + ticks..];
        let Some(close) = after.find(&"`".repeat(ticks)) else { break };
        own.push_str(&rest[..open]);
        own.push(' ');
        rest = &after[close + ticks..];
    }
    own.push_str(rest);
    own
}

/// Takes out the whole prompt where it is repeated, and single lines of it that name the tag among other words. A line of
/// the prompt that is nothing but the tag stays, because an honest claim looks the same.
fn remove_echo(message: &str, prompt: &str, tag: &str) -> String {
    let prompt = prompt.trim();
    // A prompt that names no tag cannot be mistaken for one, and a short one may be part of honest words.
    let without_whole = if prompt.contains('<') { message.replace(prompt, "\n") } else { message.to_owned() };
    let told: HashSet<String> =
        prompt.lines().map(fold).filter(|line| fold_tags(line).contains(tag) && !is_only_a_tag(line)).collect();
    if told.is_empty() {
        return without_whole;
    }
    let is_echo = |line: &str| {
        let folded = fold(line);
        told.iter().any(|known| folded.contains(known.as_str()))
    };
    without_whole.lines().filter(|line| !is_echo(line)).flat_map(|line| [line, "\n"]).collect()
}

fn is_only_a_tag(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('<') && line.ends_with('>') && line.matches('<').count() <= 2
}

fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Folds white space and drops it beside the brackets of tags.
fn fold_tags(text: &str) -> String {
    fold(text).replace("> ", ">").replace(" <", "<")
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
