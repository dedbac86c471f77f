//! Keeps the program from taking parts of a prompt for commands of its own. Changes nothing else in it.
//!
//! It takes a text that begins with `/` for a command, and every `@` for the name of a file or folder, whose whole content it adds
//! to the prompt: a test's output with `user@src` in it would send all of `src`.

use std::collections::HashMap;
use std::path::Path;

/// Different names that are looked up in the workspace. A prompt with more is not made of references.
const MAX_NAMES: usize = 2000;
/// Characters that end a name.
const ENDS: [char; 15] = [' ', '\t', '\n', '\r', ',', ';', '!', '?', '(', ')', '[', ']', '{', '}', '@'];

/// The prompt as the program has to get it, so that the model gets what stands in it.
pub(super) fn plain(prompt: &str, workspace: &Path) -> String {
    let mut plain = String::with_capacity(prompt.len() + 1);
    if prompt.starts_with('/') {
        // Only the very first character makes a command of it.
        plain.push('\n');
    }
    let mut names = HashMap::new();
    let mut before = None;
    for (at, character) in prompt.char_indices() {
        if character == '@' && before != Some('\\') && is_reference(&prompt[at + 1..], workspace, &mut names) {
            plain.push('\\');
        }
        plain.push(character);
        before = Some(character);
    }
    plain
}

/// Whether something in the workspace has the name that a text begins with. Only its first part is looked at: a name that is
/// escaped without need does no harm.
fn is_reference<'a>(text: &'a str, workspace: &Path, names: &mut HashMap<&'a str, bool>) -> bool {
    if text.starts_with('/') {
        let whole = text.split(ENDS).next().unwrap_or(text);
        return Path::new(whole).starts_with(workspace);
    }
    let first = text.split(|c| ENDS.contains(&c) || matches!(c, '/' | '"' | '\\')).next().unwrap_or(text);
    if text[first.len()..].starts_with(['"', '\\']) {
        // A name with quotes or escapes in it: not worth taking apart.
        return true;
    }
    if first.is_empty() {
        return false;
    }
    if names.len() == MAX_NAMES && !names.contains_key(first) {
        return true;
    }
    *names.entry(first).or_insert_with(|| {
        // A dot at the end is the end of a sentence, but `.` and `..` are folders.
        let named = first.trim_end_matches('.');
        let exists = |name: &str| workspace.join(name).symlink_metadata().is_ok();
        exists(first) || (!named.is_empty() && exists(named))
    })
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
