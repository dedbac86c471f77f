use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// Every pattern of this crate, as it is written.
fn written() -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![source];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let literal = Regex::new(r##"\bpattern\(\s*r(?:"([^"]*)"|#"((?s:.*?))"#)"##).unwrap();
    let mut written = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with("pattern_tests.rs")) {
        let text = fs::read_to_string(file).unwrap();
        written.extend(
            literal
                .captures_iter(&text)
                .map(|found| found.iter().skip(1).flatten().last().unwrap().as_str().to_owned()),
        );
    }
    written
}

/// The shipped `regex` has fewer features than the one of a test build, so that what needs them is looked for in the text.
#[test]
fn every_pattern_compiles_with_the_features_that_are_shipped() {
    let written = written();
    assert!(written.len() >= 2, "{written:#?}");
    let needs_tables = Regex::new(r"\(\?[a-z]*i(?:[a-z]*[):])|\\p|\\P|\[\[:").unwrap();
    for text in written.iter().map(String::as_str) {
        pattern(text);
        assert!(!needs_tables.is_match(text), "{text}");
    }
}
