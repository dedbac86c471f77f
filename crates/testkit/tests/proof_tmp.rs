#![allow(warnings, clippy::all)]
#[path = "../../cli/tests/suite/corpus/mod.rs"]
mod corpus;
mod aid { pub fn is_long() -> bool { std::env::var_os("RALPH_TEST_LONG").is_some_and(|v| v == "1") } }
mod harness {
    use std::ffi::OsStr; use std::path::{Path, PathBuf}; use std::process::*; use ralph_testkit::*; use tempfile::TempDir;
    pub struct User { folder: TempDir }
    pub struct Ended { pub code: i32, pub stdout: String, pub stderr: String }
    impl User {
        pub fn new() -> Self { let folder = scratch(); std::fs::create_dir_all(folder.path().join("home")).unwrap(); Self { folder } }
        pub fn home(&self) -> PathBuf { self.folder.path().join("home") }
        pub fn command<S: AsRef<OsStr>>(&self, directory: &Path, words: impl IntoIterator<Item = S>) -> Command { panic!() }
    }
    impl Ended { pub fn of(child: Child) -> Self { let output = child.wait_with_output().unwrap();
        Self { code: output.status.code().unwrap_or(-1), stdout: String::from_utf8_lossy(&output.stdout).into_owned(), stderr: String::from_utf8_lossy(&output.stderr).into_owned() } } }
    pub fn run_words_with(agent: &str, max: u32, more: &[&str]) -> Vec<String> { vec![] }
}
