//! Small questions about texts: ends of lines, indentation, places of files.

/// The content of a file as text with a known end of line; nothing for what is no text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) text: &'a str,
}

impl<'a> Source<'a> {
    pub(crate) fn read(content: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(content).ok()?;
        (!text.contains('\0')).then_some(Self { text })
    }

    /// The text with `planted` put in at `at`, which is a place between two lines or the end.
    pub(crate) fn with(self, at: usize, planted: &str) -> Option<Vec<u8>> {
        let (before, after) = self.text.split_at_checked(at)?;
        let planted = if self.text.contains("\r\n") { planted.replace('\n', "\r\n") } else { planted.to_owned() };
        Some([before, &planted, after].concat().into_bytes())
    }

    /// The text with `planted` behind it, `gap` empty lines apart.
    pub(crate) fn and(self, gap: usize, planted: &str) -> Vec<u8> {
        let end = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let body = self.text.trim_end();
        let gap = if body.is_empty() { String::new() } else { end.repeat(gap + 1) };
        let planted = planted.replace('\n', end);
        [body, &gap, &planted].concat().into_bytes()
    }
}

/// One step of indentation as a file has it.
pub(crate) fn indentation<'a>(text: &'a str, usual: &'a str) -> &'a str {
    let indented = text.lines().find_map(|line| {
        let rest = line.trim_start_matches([' ', '\t']);
        let blank = &line[..line.len() - rest.len()];
        // A single blank is the start of a comment's second line.
        (!blank.is_empty() && blank != " " && !rest.is_empty() && !rest.starts_with('*')).then_some(blank)
    });
    indented.filter(|blank| *blank == "\t" || (blank.len() <= 8 && !blank.contains('\t'))).unwrap_or(usual)
}

/// The folder of a path, without a slash at its end; empty at the root.
pub(crate) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What follows the last dot of a path's last part.
pub(crate) fn extension(path: &str) -> &str {
    file_name(path).rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// A path inside a folder, which may be the root.
pub(crate) fn join(folder: &str, name: &str) -> String {
    let folder = folder.trim_start_matches("./").trim_end_matches('/');
    if folder.is_empty() || folder == "." { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Whether a path leads through a folder of data or of other people's code, where a change might mean something to a test
/// that reads it.
pub(crate) fn is_data(path: &str) -> bool {
    const DATA: &[&str] = &[
        "fixtures",
        "fixture",
        "__fixtures__",
        "testdata",
        "test_data",
        "test-data",
        "snapshots",
        "__snapshots__",
        "__mocks__",
        "node_modules",
        "site-packages",
        "vendor",
        "third_party",
        "target",
        ".venv",
        "venv",
    ];
    folder(path).split('/').any(|part| DATA.contains(&part))
}

/// Whether `text` holds `word` where no letter, digit or underscore follows.
pub(crate) fn holds(text: &str, word: &str) -> bool {
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            let after = text.get(at + word.len()..).unwrap_or_default();
            !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })
}
