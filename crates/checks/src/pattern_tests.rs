use std::fs;
use std::path::{Path, PathBuf};

use ralph_verify::pattern;
use regex::Regex;

/// Every pattern of this crate and of `verify`, as it is written.
fn written() -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![here.join("src"), here.join("../verify/src")];
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
    assert!(written.len() >= 7, "{written:#?}");
    let needs_tables = Regex::new(r"\(\?[a-z]*i(?:[a-z]*[):])|\\p|\\P|\[\[:").unwrap();
    for text in written.iter().map(String::as_str).chain(crate::signature::PATTERNS.map(|(_, text, _)| text)) {
        let _ = pattern(text);
        assert!(!needs_tables.is_match(text), "{text}");
    }
}
