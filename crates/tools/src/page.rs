//! A page of HTML as Markdown, in one pass over its tags. It builds no tree: a page that nests a million tags, which would
//! exhaust the stack of whatever walks its tree, costs as much as any other of its length.

use url::Url;

/// Elements whose content is not for reading.
const SKIPPED: [&str; 13] = [
    "script", "style", "nav", "footer", "noscript", "template", "svg", "iframe", "object", "canvas", "select",
    "button", "aside",
];
/// Elements that begin and end a paragraph.
const BLOCKS: [&str; 24] = [
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "ul",
    "ol",
    "dl",
    "table",
    "blockquote",
    "form",
    "figure",
    "pre",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "details",
    "summary",
    "hr",
    "title",
];

/// The readable part of a page.
pub(crate) fn markdown(html: &str, base: &Url) -> String {
    let mut page = Page { out: String::new(), skipped: None, links: Vec::new(), is_code: false };
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        page.text(&rest[..at]);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let is_tag = rest[1..].starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next));
        if !is_tag {
            page.text("<");
            rest = &rest[1..];
            continue;
        }
        let Some(end) = tag_end(rest) else { break };
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        page.tag(tag, base);
        // Their content is no HTML and may hold what looks like tags.
        if let Some(raw) = page.skipped.as_ref().filter(|(name, _)| name == "script" || name == "style") {
            let close = format!("</{}", raw.0);
            rest = find_ignoring_case(rest, &close).map_or("", |at| &rest[at..]);
        }
    }
    page.text(rest);
    tidy(&page.out)
}

struct Page {
    out: String,
    /// The element that is passed by, and how many of the same name are open in it.
    skipped: Option<(String, u32)>,
    links: Vec<Option<String>>,
    is_code: bool,
}

impl Page {
    fn text(&mut self, text: &str) {
        if self.skipped.is_some() || text.is_empty() {
            return;
        }
        let text = decoded(text);
        if self.is_code {
            self.out.push_str(&text);
            return;
        }
        for (number, word) in text.split(char::is_whitespace).enumerate() {
            if number > 0 && !self.out.ends_with(char::is_whitespace) {
                self.out.push(' ');
            }
            self.out.push_str(word);
        }
    }

    fn tag(&mut self, tag: &str, base: &Url) {
        let is_end = tag.starts_with('/');
        let name = tag.trim_start_matches('/').split(|end: char| end.is_whitespace() || end == '/').next();
        let name = name.unwrap_or_default().to_ascii_lowercase();
        if let Some((skipped, depth)) = &mut self.skipped {
            if *skipped == name {
                *depth = if is_end { *depth - 1 } else { *depth + 1 };
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            return;
        }
        if SKIPPED.contains(&name.as_str()) {
            if !is_end && !tag.ends_with('/') {
                self.skipped = Some((name, 1));
            }
            return;
        }
        if BLOCKS.contains(&name.as_str()) {
            self.out.truncate(self.out.trim_end().len());
            self.out.push_str(if name == "pre" && is_end { "\n" } else { "\n\n" });
        }
        match (name.as_str(), is_end) {
            ("br" | "tr", _) | ("dt" | "dd", false) => self.out.push('\n'),
            ("li", false) => self.out.push_str("\n- "),
            ("td" | "th", true) => self.out.push_str(" | "),
            ("h1" | "title", false) => self.out.push_str("# "),
            ("h2", false) => self.out.push_str("## "),
            ("h3" | "h4" | "h5" | "h6", false) => self.out.push_str("### "),
            ("strong" | "b", _) => self.out.push_str("**"),
            ("code", _) if !self.is_code => self.out.push('`'),
            ("pre", is_end) => {
                self.is_code = !is_end;
                self.out.push_str(if is_end { "```\n\n" } else { "```\n" });
            }
            ("img", false) => {
                self.out.push_str(&attribute(tag, "alt").map(|alt| format!("[{alt}]")).unwrap_or_default())
            }
            ("a", false) => {
                let target = attribute(tag, "href").and_then(|href| base.join(&href).ok());
                let target = target.filter(|url| matches!(url.scheme(), "http" | "https" | "mailto"));
                if target.is_some() {
                    self.out.push('[');
                }
                self.links.push(target.map(Into::into));
            }
            ("a", true) => {
                if let Some(Some(target)) = self.links.pop() {
                    self.out.push_str(&format!("]({target})"));
                }
            }
            _ => {}
        }
    }
}

/// Where a tag ends; a `>` inside quotes does not end it.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            // Only the value of an attribute is quoted.
            (None, b'"' | b'\'') if tag[..at].trim_end().ends_with('=') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    // A quote that nothing closes.
    tag.find('>')
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut from = 0;
    while let Some(at) = find_ignoring_case(&tag[from..], name).map(|at| from + at) {
        from = at + name.len();
        let is_word = tag[..at].ends_with(|before: char| before.is_whitespace() || "\"'/".contains(before));
        let Some(value) = tag[from..].trim_start().strip_prefix('=').filter(|_| is_word) else { continue };
        let value = value.trim_start();
        let value = match value.chars().next()? {
            quote @ ('"' | '\'') => value[1..].split(quote).next()?,
            _ => value.split(|end: char| end.is_whitespace() || end == '>').next()?,
        };
        return Some(decoded(value).trim().to_owned());
    }
    None
}

fn find_ignoring_case(text: &str, word: &str) -> Option<usize> {
    text.as_bytes().windows(word.len()).position(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}

/// A text with its entities resolved; those that are not known stay as they are.
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((entity(&rest[1..end])?, end))) {
            Some((meant, end)) => {
                out.push(meant);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let number = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        return number.ok().and_then(char::from_u32);
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "copy" => '©',
        "hellip" => '…',
        "mdash" => '—',
        "ndash" => '–',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "middot" => '·',
        "bull" => '•',
        "times" => '×',
        "rarr" => '→',
        "larr" => '←',
        "auml" => 'ä',
        "ouml" => 'ö',
        "uuml" => 'ü',
        "Auml" => 'Ä',
        "Ouml" => 'Ö',
        "Uuml" => 'Ü',
        "szlig" => 'ß',
        "eacute" => 'é',
        "egrave" => 'è',
        "agrave" => 'à',
        "euro" => '€',
        _ => return None,
    })
}

/// Without blanks at the ends of lines and without more than one empty line.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut empty, mut is_code) = (2, false);
    for line in text.lines() {
        let line = if is_code { line.trim_end() } else { line.trim() };
        is_code ^= line == "```";
        if line.is_empty() && !is_code {
            empty += 1;
            if empty > 1 {
                continue;
            }
        } else {
            empty = 0;
        }
        out.push_str(line);
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
