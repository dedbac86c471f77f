//! Finds the scripted agent for tests of other crates, and writes the command lines that start it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

const AGENT: &str = "scripted-agent";

/// The `scripted-agent` program, in the same build folder as the running test.
///
/// Cargo builds the programs of a package only for that package's own tests, so the program may be missing, or older than
/// its source, when another crate's tests run: it is then built here. `scripts/test` builds all programs first.
///
/// # Panics
/// When the running program is not in a build folder of cargo, or when the build fails.
#[track_caller]
pub fn scripted_agent() -> PathBuf {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(find_or_build).clone()
}

/// The line for `sh -c` that starts the agent of a saved script, with its prompt on standard input.
#[track_caller]
pub fn agent_command(script: &Path) -> String {
    format!("{} {}", shell_quoted(&scripted_agent().to_string_lossy()), shell_quoted(&script.to_string_lossy()))
}

/// The same with the prompt in the file that Ralph puts in place of `{prompt_file}`.
#[track_caller]
pub fn agent_command_with_prompt_file(script: &Path) -> String {
    format!("{} --prompt-file {{prompt_file}}", agent_command(script))
}

/// A text as one word of a shell line.
pub fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[track_caller]
fn find_or_build() -> PathBuf {
    let test = env::current_exe().unwrap_or_else(|error| panic!("could not find the running test: {error}"));
    let Some(folder) = build_folder(&test) else {
        panic!("{} is not in a build folder of cargo, so {AGENT} cannot be found beside it", test.display())
    };
    let program = folder.join(AGENT);
    if !is_current(&program) {
        build(&folder);
        assert!(program.is_file(), "cargo built {AGENT}, but not as {}", program.display());
    }
    program
}

/// `target/debug` of `target/debug/deps/it-0123456789abcdef`, and of `target/debug/examples/x`.
fn build_folder(test: &Path) -> Option<PathBuf> {
    let folder = test.parent()?;
    let inner = folder.file_name().is_some_and(|name| name == "deps" || name == "examples");
    if inner { folder.parent().map(Path::to_owned) } else { Some(folder.to_owned()) }
}

/// Whether the program exists and no source file of this crate is newer.
fn is_current(program: &Path) -> bool {
    let Ok(built) = fs::metadata(program).and_then(|metadata| metadata.modified()) else { return false };
    // Cargo marks a build with the time at which it began, so a program is never older than the source that it is made of.
    newest_source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).is_none_or(|newest| newest <= built)
}

fn newest_source(folder: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    entries
        .filter_map(|path| {
            if path.is_dir() {
                return newest_source(&path);
            }
            // Tests and what they compare with are no part of the program: building it would leave it as old as it is.
            let is_test =
                path.to_string_lossy().ends_with("_tests.rs") || path.extension().is_none_or(|end| end != "rs");
            if is_test { None } else { fs::metadata(&path).and_then(|metadata| metadata.modified()).ok() }
        })
        .max()
}

#[track_caller]
fn build(folder: &Path) {
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        Some(other) => other,
        None => panic!("{} is not named after a build profile", folder.display()),
    };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", env!("CARGO_PKG_NAME"), "--bin", AGENT, "--profile", profile]);
    command.arg("--manifest-path").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    if let Some(target) = folder.parent() {
        command.arg("--target-dir").arg(target);
    }
    match command.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => panic!("could not build {AGENT}: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => panic!("could not start cargo to build {AGENT}: {error}"),
    }
}

#[cfg(test)]
#[path = "binary_tests.rs"]
mod tests;
