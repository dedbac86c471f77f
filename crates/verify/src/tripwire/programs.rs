//! Which test of `CTest` a source file is part of, as `CMakeLists.txt` says.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::pins::path;

/// The names of tests by the source files of their programs.
#[must_use]
pub fn programs(manifests: &[(String, String)]) -> BTreeMap<String, Vec<String>> {
    static COMMAND: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^\s*(add_executable|add_test)\s*\(([^)]*)\)"));
    let (mut sources, mut tests) = (Vec::new(), Vec::new());
    for (manifest, text) in manifests {
        for found in COMMAND.captures_iter(text) {
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
