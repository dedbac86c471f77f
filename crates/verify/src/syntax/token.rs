//! Tokens as they are compared: what is written in another way and means the same is the same token.

use super::{Source, annotations, is_directive};

impl Source<'_> {
    /// A token for comparing: strings by their value, comments with single blanks.
    pub(crate) fn token(&self, at: usize) -> String {
        let text = self.raw(at);
        if self.is_comment(at) && self.language.extensions == ["php"] && !is_directive(text) {
            return annotations(text).collect::<Vec<_>>().join("\n");
        }
        if self.is_comment(at) {
            let before = self.text[..self.nodes[at].start].trim_end_matches([' ', '\t']);
            let is_go = self.language.extensions == ["go"];
            let gap = if is_go && before.ends_with("\n\n") { "\n" } else { "" };
            if is_go && let Some(tag) = text.strip_prefix(OLDER_BUILD_LINE).filter(|tags| is_one_tag(tags)) {
                return format!("{gap}//go:build {tag}");
            }
            return format!("{gap}{}", text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        if self.nodes[at].kind == "regex" && self.language.extensions[0] == "js" {
            return with_sorted_flags(text);
        }
        let quotes_are_alike = match self.language.extensions[0] {
            "py" | "js" => true,
            "rb" => !text.contains(['\\', '#']),
            _ => false,
        };
        match quotes_are_alike && self.language.strings.contains(&self.nodes[at].kind) {
            true => normal_string(text),
            false => text.to_owned(),
        }
    }
}

/// How a line begins by which older versions of Go choose files.
pub(super) const OLDER_BUILD_LINE: &str = "// +build ";

/// Whether the rest of such a line means the same after `//go:build`.
fn is_one_tag(tags: &str) -> bool {
    tags.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '!'))
}

/// A regular expression of JavaScript: the order of its flags means nothing.
fn with_sorted_flags(text: &str) -> String {
    let (pattern, flags) = text.rsplit_once('/').unwrap_or((text, ""));
    let mut flags: Vec<char> = flags.chars().collect();
    flags.sort_unstable();
    format!("{pattern}/{}", String::from_iter(flags))
}

/// A string by its value: whichever quotes are around it, and however those inside are escaped.
fn normal_string(text: &str) -> String {
    let Some(open) = text.find(['"', '\'', '`']) else { return text.to_owned() };
    let (prefix, quoted) = text.split_at(open);
    let quote = &quoted[..1];
    let width = if quoted.len() >= 6 && quoted.starts_with(&quote.repeat(3)) { 3 } else { 1 };
    let Some(inner) = quoted.get(width..quoted.len().saturating_sub(width)) else { return text.to_owned() };
    if quote == "`" || prefix.contains(['r', 'R', '#']) {
        return text.to_owned();
    }
    let mut value = String::with_capacity(inner.len());
    let mut letters = inner.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some('"' | '\'')) => {}
            ('\\', Some(_)) => {
                value.push('\\');
                value.extend(letters.next());
            }
            _ => value.push(letter),
        }
    }
    // Python 3 ignores it.
    let prefix = prefix.trim_start_matches(['u', 'U']);
    format!("{prefix}\"{value}\"")
}
