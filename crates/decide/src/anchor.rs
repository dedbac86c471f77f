//! Finds what a request names exactly: paths, files, identifiers, options, quotations.

/// Whether the text names something exactly.
pub(crate) fn names_something(text: &str) -> bool {
    is_quoted(text) || text.split_whitespace().any(|word| is_name(word.trim_matches(OUTSIDE)))
}

/// What stands around a name in a sentence.
const OUTSIDE: [char; 11] = [',', ';', ':', '!', '?', '"', '\'', '¿', '¡', '[', ']'];

/// Quoted words, as a message or a piece of code.
fn is_quoted(text: &str) -> bool {
    ['`', '"'].into_iter().any(|quote| text.split(quote).skip(1).step_by(2).any(|inner| inner.len() > 2))
        && text.matches(['`', '"']).count() >= 2
}

fn is_name(word: &str) -> bool {
    let is_option = word.starts_with("--") && word.len() > 3;
    let is_call = word.ends_with("()");
    let is_path = word.contains("::") || is_file_path(word);
    is_option || is_call || is_path || is_file(word) || is_identifier(word)
}

fn is_file_path(word: &str) -> bool {
    let parts: Vec<&str> = word.split('/').collect();
    let letters = |part: &&str| part.chars().any(char::is_alphanumeric);
    // `and/or` has two short parts; a path has a name of its own.
    parts.len() > 1 && (parts.iter().filter(|part| letters(part)).count() > 1 || word.ends_with('/')) && word.len() > 6
        || (word.len() > 3 && word.ends_with('/') && letters(&word))
}

/// `parser.py`, `.gitignore`; not the end of a sentence and not a number.
fn is_file(word: &str) -> bool {
    let word = word.trim_end_matches('.');
    if let Some(hidden) = word.strip_prefix('.') {
        return hidden.len() > 2 && hidden.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
    }
    let Some((stem, extension)) = word.rsplit_once('.') else { return false };
    let extension = extension.split(':').next().unwrap_or_default();
    (1..=5).contains(&extension.len())
        && stem.len() + extension.len() > 2
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.chars().any(|c| c.is_ascii_alphabetic())
        && stem.chars().all(|c| c.is_alphanumeric() || "._-/".contains(c))
        && stem.chars().any(char::is_alphabetic)
}

/// `parseDate`, `HttpClient`, `parse_line`, `TypeError`; not `JavaScript's` neighbours such as `iOS` and `GitHub`, which are
/// names of things as well.
fn is_identifier(word: &str) -> bool {
    let plain = word.chars().all(|c| c.is_alphanumeric() || c == '_');
    let snake = word.trim_matches('_').contains('_');
    let characters: Vec<char> = word.chars().collect();
    let camel = characters.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    plain && word.len() > 3 && (snake || camel)
}

#[cfg(test)]
#[path = "anchor_tests.rs"]
mod tests;
