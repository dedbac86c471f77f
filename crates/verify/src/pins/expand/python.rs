//! The commands of tox and nox.

use super::Expanded;
use crate::pattern::Pattern;
use crate::pins::Sources;
use crate::pins::path;
use crate::pins::words::Simple;

/// What tox or nox starts, in any of its environments or sessions.
pub(super) fn behind(sources: &dyn Sources, simple: &Simple) -> Vec<Expanded> {
    let files: &[&str] = if simple.program() == "nox" { &["noxfile.py"] } else { &["tox.ini", "tox.toml"] };
    let mut texts = Vec::new();
    for file in files.iter().filter_map(|name| path::join(&simple.folder, name)) {
        let Some(text) = sources.read(&file) else { continue };
        let text = if file.ends_with(".ini") { of_ini(&text) } else { of_calls(&text) };
        texts.push(Expanded { text, from: Some(file), folder: simple.folder.clone() });
    }
    texts
}

/// `commands = pytest {posargs}` and the indented lines behind it.
fn of_ini(text: &str) -> String {
    let mut commands = String::new();
    let mut is_open = false;
    for line in text.lines() {
        let line = match line.split_once('=') {
            Some((key, rest)) if !line.starts_with([' ', '\t', '#']) => {
                is_open = matches!(key.trim(), "commands" | "commands_pre" | "commands_post");
                rest
            }
            _ if line.starts_with([' ', '\t']) => line,
            _ => {
                is_open = false;
                continue;
            }
        };
        if is_open {
            commands.push_str(&plain(line.trim().trim_start_matches('-')));
            commands.push('\n');
        }
    }
    commands
}

/// `session.run("pytest", "-q")` of nox, `[["pytest", "-q"]]` of tox: the words of each list.
fn of_calls(text: &str) -> String {
    static LIST: Pattern = Pattern::new(r#"(?:\brun(?:_always)?\(|\[)\s*((?:(?:"[^"\n]*"|'[^'\n]*'),?\s*)+)"#);
    static WORD: Pattern = Pattern::new(r#""([^"\n]*)"|'([^'\n]*)'"#);
    let words = |list: &str| {
        let words = WORD.captures_iter(list).filter_map(|word| word.get(1).or(word.get(2)));
        plain(&words.map(|word| word.as_str()).collect::<Vec<_>>().join(" "))
    };
    LIST.captures_iter(text).map(|list| words(&list[1]) + "\n").collect()
}

/// Without what tox puts in.
fn plain(line: &str) -> String {
    static GIVEN: Pattern = Pattern::new(r"\{\[?[\w: ./-]*\]?[^}]*\}");
    GIVEN.replace_all(&line.replace("{envpython}", "python"), "").into_owned()
}
