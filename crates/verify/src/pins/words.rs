//! Splits shell text into the commands that it starts. Expands and executes nothing: a word with a variable in it stays as
//! it is written.

use crate::pins::path;
use crate::pins::runner::is_python;

/// One command of a shell text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    /// The folder that it runs in, relative to the workspace, as far as `cd` with plain words says.
    pub(crate) folder: String,
    /// The words, without quotes. The first is the program.
    pub(crate) words: Vec<String>,
    /// Whether it stands in a script rather than in a command, a recipe or an entry of a manifest.
    pub(crate) in_script: bool,
    /// What is assigned before the program: `CI=1`.
    pub(crate) variables: Vec<String>,
}

/// Words of the shell's own grammar that stand before a command.
const KEYWORDS: [&str; 12] =
    ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec", "command"];

/// The commands of a text, in order, those inside `$(…)` and backquotes too.
pub(crate) fn commands(text: &str, folder: &str) -> Vec<Simple> {
    let mut splitter = Splitter {
        commands: Vec::new(),
        words: Vec::new(),
        word: None,
        folders: Vec::new(),
        folder: folder.to_owned(),
    };
    splitter.text(text);
    splitter.commands
}

struct Splitter {
    commands: Vec<Simple>,
    words: Vec<String>,
    word: Option<String>,
    /// The folders to come back to at the end of each subshell.
    folders: Vec<String>,
    folder: String,
}

impl Splitter {
    fn text(&mut self, text: &str) {
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            match c {
                '\\' => match characters.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.push(escaped),
                },
                '\'' => {
                    self.word.get_or_insert_default();
                    for quoted in characters.by_ref().take_while(|c| *c != '\'') {
                        self.push(quoted);
                    }
                }
                '"' => {
                    self.word.get_or_insert_default();
                    while let Some(quoted) = characters.next() {
                        match quoted {
                            '"' => break,
                            '\\' => match characters.next() {
                                Some('\n') | None => {}
                                Some(escaped @ ('"' | '\\' | '$' | '`')) => self.push(escaped),
                                Some(other) => {
                                    self.push('\\');
                                    self.push(other);
                                }
                            },
                            other => self.push(other),
                        }
                    }
                }
                '#' if self.word.is_none() => {
                    for comment in characters.by_ref() {
                        if comment == '\n' {
                            break;
                        }
                    }
                    self.end_command();
                }
                '$' if characters.peek() == Some(&'{') => {
                    self.push('$');
                    for name in characters.by_ref() {
                        self.push(name);
                        if name == '}' {
                            break;
                        }
                    }
                }
                '(' => {
                    self.end_command();
                    self.folders.push(self.folder.clone());
                }
                ')' => {
                    self.end_command();
                    if let Some(folder) = self.folders.pop() {
                        self.folder = folder;
                    }
                }
                ';' | '|' | '\n' | '`' => self.end_command(),
                '&' => match characters.peek() {
                    // `2>&1`, `&>log`
                    _ if self.word.as_ref().is_some_and(|word| word.ends_with(['>', '<'])) => self.push('&'),
                    Some('>') => self.end_word(),
                    _ => self.end_command(),
                },
                '>' | '<' if self.word.as_ref().is_none_or(|word| !word.ends_with(['>', '<'])) => {
                    // A descriptor stays with its arrow, everything else is a word before it.
                    if self.word.as_ref().is_some_and(|word| !word.bytes().all(|byte| byte.is_ascii_digit())) {
                        self.end_word();
                    }
                    self.push(c);
                }
                c if c.is_whitespace() => self.end_word(),
                c => {
                    if self.word.as_ref().is_some_and(|word| word.ends_with(['>', '<'])) && c != '&' {
                        self.end_word();
                    }
                    self.push(c);
                }
            }
        }
        self.end_command();
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        let skip = words.iter().take_while(|word| KEYWORDS.contains(&word.as_str()) || is_assignment(word)).count();
        let variables = words.iter().take(skip).filter(|word| is_assignment(word)).cloned().collect();
        let words: Vec<String> = words.into_iter().skip(skip).collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] => {}
            ["cd" | "pushd", to, ..] => {
                if let Some(folder) = path::join(&self.folder, to) {
                    self.folder = folder;
                }
            }
            _ => self.commands.push(Simple { folder: self.folder.clone(), words, in_script: false, variables }),
        }
    }
}

/// `NAME=value` before a command.
pub(crate) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

impl Simple {
    /// The command that is started in the end: without `env`, `npx`, `uv run` and others that only start another.
    pub(crate) fn inner(&self) -> Self {
        let mut words = self.words.as_slice();
        let mut folder = self.folder.clone();
        while let Some(start) = inner_start(words) {
            for (at, word) in words[..start].iter().enumerate() {
                let to = match word.as_str() {
                    "--prefix" | "--cwd" | "-C" | "--dir" | "--directory" => words.get(at + 1).map(String::as_str),
                    other => ["--prefix=", "--cwd=", "--dir=", "--directory="]
                        .iter()
                        .find_map(|option| other.strip_prefix(option)),
                };
                if let Some(to) = to.and_then(|to| path::join(&folder, to)) {
                    folder = to;
                }
            }
            words = &words[start..];
        }
        Self { folder, words: words.to_vec(), ..self.clone() }
    }

    /// The program's name without its folder.
    pub(crate) fn program(&self) -> &str {
        self.words.first().map_or("", |word| path::name(word))
    }

    pub(crate) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.words.iter().skip(1).map(String::as_str)
    }
}

/// Where the inner command begins, when these words only start another.
fn inner_start(words: &[String]) -> Option<usize> {
    let program = path::name(words.first()?);
    let second = words.get(1).map_or("", String::as_str);
    let after = match (program, second) {
        ("env" | "nice" | "nohup" | "sudo" | "doas" | "setsid" | "stdbuf" | "ionice" | "chrt" | "unbuffer", _)
        | ("xvfb-run" | "dbus-run-session" | "catchsegv" | "chronic" | "cross-env" | "dotenv" | "caffeinate", _)
        | ("npx" | "bunx" | "pnpx" | "pnx" | "nyc" | "c8" | "uvx" | "timeout", _) => 1,
        ("bundle", "exec") | ("pipx", "run") => 2,
        ("npm" | "pnpm" | "yarn", "exec" | "x" | "dlx") | ("bun", "x") => 2,
        ("uv" | "poetry" | "pdm" | "pipenv" | "hatch" | "rye" | "pixi", "run") => 2,
        // `coverage run -m pytest`, `python3 -W error -m pytest`.
        (program, second) if is_python(program) || (program, second) == ("coverage", "run") => {
            return words.iter().position(|word| word == "-m").filter(|at| *at + 1 < words.len()).map(|at| at + 1);
        }
        _ => return None,
    };
    let mut at = after;
    while let Some(word) = words.get(at) {
        let is_value = at > after && takes_value(program, &words[at - 1]);
        if word == "--" {
            at += 1;
            break;
        }
        if !(word.starts_with('-') || is_assignment(word) || is_value) {
            break;
        }
        at += 1;
    }
    // The first plain word of `timeout` is how long.
    let at = if program == "timeout" { at + 1 } else { at };
    (at < words.len()).then_some(at)
}

/// Options whose value is the next word.
fn takes_value(program: &str, option: &str) -> bool {
    match program {
        "env" => matches!(option, "-u" | "-C" | "--unset" | "--chdir"),
        "nice" => option == "-n",
        "timeout" => matches!(option, "-k" | "-s" | "--signal" | "--kill-after"),
        "sudo" | "doas" => matches!(option, "-u" | "-g"),
        "stdbuf" => matches!(option, "-i" | "-o" | "-e"),
        "npx" | "npm" | "pnpm" | "yarn" => {
            matches!(option, "-p" | "--package" | "-w" | "--workspace" | "--prefix" | "-C" | "--dir" | "--cwd")
        }
        "uv" => matches!(option, "--with" | "-p" | "--python" | "--extra" | "--group" | "--project" | "--directory"),
        _ => false,
    }
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
