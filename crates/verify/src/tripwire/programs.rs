//! Which test of `CTest` a source file is part of, as `CMakeLists.txt` says.

use std::collections::BTreeMap;

use crate::pattern::Pattern;
use crate::pins::path;

/// Loops that are unrolled, and how long their text may become.
const MAX_LOOPS: usize = 100;
const MAX_TEXT: usize = 1 << 20;

/// The names of tests by the source files of their programs.
#[must_use]
pub fn programs(manifests: &[(String, String)]) -> BTreeMap<String, Vec<String>> {
    static COMMAND: Pattern = Pattern::new(r"(?m)^\s*(add_executable|add_test)\s*\(([^)]*)\)");
    let (mut sources, mut tests) = (Vec::new(), Vec::new());
    for (manifest, text) in manifests {
        for found in COMMAND.captures_iter(&expanded(text)) {
            let words: Vec<&str> = found[2].split_whitespace().map(|word| word.trim_matches('"')).collect();
            let words: Vec<&str> = words.into_iter().filter(|word| !matches!(*word, "NAME" | "COMMAND")).collect();
            let [name, rest @ ..] = words.as_slice() else { continue };
            if &found[1] == "add_test" {
                let program = rest.first().copied().unwrap_or_default();
                let program = program.trim_start_matches("$<TARGET_FILE:").trim_end_matches('>');
                tests.push((path::name(program).to_owned(), (*name).to_owned()));
            } else {
                let files = rest.iter().filter_map(|file| path::join(path::parent(manifest), file));
                sources.extend(files.map(|file| (file, (*name).to_owned())));
            }
        }
    }
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, program) in sources {
        let of_program = tests.iter().filter(|(other, _)| *other == program).map(|(_, name)| name.clone());
        named.entry(file).or_default().extend(of_program);
    }
    named
}

/// A text of `CMake` with its loops over lists unrolled, and with what is set to words in place of variables.
fn expanded(text: &str) -> String {
    static SET: Pattern = Pattern::new(r"(?m)^\s*set\s*\(\s*(\w+)([^)]*)\)");
    let sets: BTreeMap<String, String> =
        SET.captures_iter(text).map(|found| (found[1].to_owned(), found[2].trim().to_owned())).collect();
    let filled = |text: &str| {
        sets.iter().fold(text.to_owned(), |text, (name, words)| text.replace(&format!("${{{name}}}"), words))
    };
    let mut text = text.to_owned();
    // The innermost loop first.
    for _ in 0..MAX_LOOPS {
        let Some(end) = text.find("endforeach") else { break };
        let parts = text[..end].rfind("foreach").and_then(|start| {
            let (head, body) = text[start..end].split_once('(')?.1.split_once(')')?;
            let (name, words) = head.trim().split_once(char::is_whitespace)?;
            let words = filled(words);
            let value = |word: &str| sets.get(word).filter(|_| words.starts_with("IN")).cloned();
            let words: Vec<String> = words
                .split_whitespace()
                .filter(|word| !matches!(*word, "IN" | "ITEMS" | "LISTS"))
                .flat_map(|word| {
                    value(word)
                        .unwrap_or_else(|| word.to_owned())
                        .split_whitespace()
                        .map(str::to_owned)
                        .collect::<Vec<_>>()
                })
                .collect();
            let name = format!("${{{name}}}");
            let bodies: String = words.iter().map(|word| body.replace(&name, word.trim_matches('"'))).collect();
            Some((start, bodies))
        });
        let Some((start, bodies)) = parts.filter(|(_, bodies)| bodies.len() < MAX_TEXT) else { break };
        let rest = text[end..].split_once(')').map_or("", |(_, rest)| rest);
        text = format!("{}{bodies}{rest}", &text[..start]);
    }
    filled(&text)
}
