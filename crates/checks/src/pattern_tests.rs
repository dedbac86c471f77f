use std::fs;
use std::path::{Path, PathBuf};

use ralph_verify::pattern;
use regex::Regex;

/// The sources of this crate and of `verify`.
fn sources() -> impl Iterator<Item = String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![here.join("src"), here.join("../verify/src")];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.retain(|file| !file.to_string_lossy().ends_with("_tests.rs"));
    files.into_iter().map(|file| fs::read_to_string(file).unwrap())
}

/// The shipped `regex` has fewer features than the one of a test build, so that what needs them is looked for in the text: many a
/// pattern is put together of several.
#[test]
fn every_pattern_compiles_with_the_features_that_are_shipped() {
    let literal = Regex::new(r##"\b(?:pattern|Pattern::new)\(\s*r(?:"([^"]*)"|#"((?s:.*?))"#)"##).unwrap();
    let needs_tables = Regex::new(r"\(\?[a-z]*i(?:[a-z]*[):])|\\p|\\P|\[\[:").unwrap();
    let mut written = 0;
    for text in sources() {
        for found in literal.captures_iter(&text) {
            let _ = pattern(found.iter().skip(1).flatten().last().unwrap().as_str());
            written += 1;
        }
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        assert_eq!(code.filter(|line| needs_tables.is_match(line)).collect::<Vec<_>>(), Vec::<&str>::new());
    }
    assert!(written >= 7, "{written}");
    for (_, text, _) in crate::signature::PATTERNS {
        let _ = pattern(text);
    }
}
