//! New source files that are found by their names: which of them hide one that is still there, and which no source imports.

use std::collections::{BTreeMap, BTreeSet};

use crate::pins::path;
use crate::syntax::Source;

/// Endings of JavaScript in the order in which bundlers and runners look for them; each hides those behind it.
const ENDINGS: [&str; 8] = ["mjs", "js", "cjs", "jsx", "mts", "ts", "cts", "tsx"];
/// Endings of what Python loads before a source.
const COMPILED: [&str; 3] = ["so", "pyd", "pyc"];

/// The source that a new file hides: `src/calc.js` is found before `src/calc.ts`, `calc/__init__.py` before `calc.py`.
pub fn hidden_by(file: &str, is_there: &dyn Fn(&str) -> bool) -> Option<String> {
    let (folder, name) = (path::parent(file), path::name(file));
    let beside =
        |folder: &str, name: String| path::join(folder, &name).filter(|other| other != file && is_there(other));
    let (stem, ending) = name.rsplit_once('.')?;
    if stem == "__init__" && !folder.is_empty() {
        return beside(path::parent(folder), format!("{}.py", path::name(folder)));
    }
    if COMPILED.contains(&ending) {
        // `calc.cpython-312-x86_64-linux-gnu.so`
        let stem = name.split('.').next()?;
        return beside(folder, format!("{stem}.py")).or_else(|| beside(folder, format!("{stem}/__init__.py")));
    }
    let rank = ENDINGS.iter().position(|known| *known == ending)?;
    let hidden = ENDINGS[rank + 1..].iter().find_map(|other| beside(folder, format!("{stem}.{other}")));
    // A file is found before a folder.
    let index = || ENDINGS.iter().find_map(|other| beside(folder, format!("{stem}/index.{other}")));
    hidden.or_else(index)
}

/// New modules of Python that no other module needs: no import at the top of one that is needed leads to them.
pub fn unneeded_modules(old: &[(String, String)], new: &[(String, String)]) -> Vec<String> {
    let mut open: BTreeMap<&str, &str> = new.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
    let mut names = BTreeSet::new();
    old.iter().for_each(|(file, text)| imports(file, text, &mut names));
    loop {
        let needed: Vec<&str> = open.keys().copied().filter(|file| names.contains(&module(file))).collect();
        if needed.is_empty() {
            return open.into_keys().map(str::to_owned).collect();
        }
        for file in needed {
            if let Some(text) = open.remove(file) {
                imports(file, text, &mut names);
            }
        }
    }
}

/// The last part of the name that a module is imported by.
fn module(file: &str) -> String {
    let name = path::name(file);
    match name.strip_suffix(".py") {
        Some("__init__") | None => path::name(path::parent(file)).to_owned(),
        Some(stem) => stem.to_owned(),
    }
}

/// Names in the imports that run whenever a module is loaded.
fn imports(file: &str, text: &str, names: &mut BTreeSet<String>) {
    let Some(source) = Source::parse(file, text) else {
        // What cannot be read may import anything.
        names.extend(text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned));
        return;
    };
    let is_import = |at: &usize| matches!(source.nodes[*at].kind, "import_statement" | "import_from_statement");
    let always = |at: &usize| {
        source.ancestors(*at).skip(1).all(|up| matches!(source.nodes[up].kind, "module" | "try_statement" | "block"))
    };
    for import in source.walk(Source::ROOT).filter(is_import).filter(always) {
        names.extend(source.tokens(import));
    }
}

#[cfg(test)]
#[path = "modules_tests.rs"]
mod tests;
