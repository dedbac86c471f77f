//! Finds out what kind of project a folder holds and which commands could verify it. Executes nothing.

mod javascript;
mod python;

use std::fs;
use std::io::Read as _;
use std::path::Path;

/// What a folder looks like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detection {
    /// Kinds of project, those with tests to run first.
    pub stacks: Vec<Stack>,
    /// Commands that could verify the work, the best first.
    pub suggestions: Vec<Suggestion>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stack {
    Cargo,
    Npm,
    Pnpm,
    Yarn,
    Bun,
    Python,
    Go,
    Gradle,
    Maven,
    Make,
}

ralph_model::named!(Stack {
    Cargo => "cargo", Npm => "npm", Pnpm => "pnpm", Yarn => "yarn", Bun => "bun", Python => "python", Go => "go",
    Gradle => "gradle", Maven => "maven", Make => "make"
});

/// A command that could verify the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// A line for `sh -c`.
    pub command: String,
    pub why: String,
    pub stack: Stack,
}

/// How good a suggestion is; the first is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Quality {
    /// It runs the project's tests and their number can be counted.
    Tests,
    /// It runs whatever the project's makefile calls its tests.
    Wrapped,
    /// It runs something, but no tests: types, lints.
    Static,
}

/// Looks at a folder. What cannot be read is taken as not being there.
pub fn detect(root: &Path) -> Detection {
    let folder = Folder(root);
    let mut findings = Findings::default();
    cargo(folder, &mut findings);
    javascript::look(folder, &mut findings);
    python::look(folder, &mut findings);
    go(folder, &mut findings);
    gradle(folder, &mut findings);
    maven(folder, &mut findings);
    make(folder, &mut findings);
    findings.detection()
}

#[derive(Debug, Default)]
struct Findings {
    stacks: Vec<Stack>,
    suggestions: Vec<(Quality, Suggestion)>,
}

impl Findings {
    fn stack(&mut self, stack: Stack) {
        self.stacks.push(stack);
    }

    fn suggest(&mut self, quality: Quality, stack: Stack, command: impl Into<String>, why: impl Into<String>) {
        // A reason quotes files that anybody may have written.
        let why = ralph_text::sanitize(&why.into()).replace('\n', " ");
        self.suggestions.push((quality, Suggestion { command: command.into(), why, stack }));
    }

    fn detection(mut self) -> Detection {
        // Stable: among equals the order of the kinds of project stays.
        self.suggestions.sort_by_key(|(quality, _)| *quality);
        let suggestions: Vec<Suggestion> = self.suggestions.into_iter().map(|(_, suggestion)| suggestion).collect();
        let mut stacks: Vec<Stack> = vec![];
        for stack in suggestions.iter().map(|suggestion| suggestion.stack).chain(self.stacks) {
            if !stacks.contains(&stack) {
                stacks.push(stack);
            }
        }
        Detection { stacks, suggestions }
    }
}

/// The few things that are asked of a folder.
#[derive(Debug, Clone, Copy)]
struct Folder<'a>(&'a Path);

impl Folder<'_> {
    /// Manifests are small; a huge one is not read whole.
    const MAX_SIZE: u64 = 1024 * 1024;

    fn has(self, name: &str) -> bool {
        self.0.join(name).is_file()
    }

    fn first_of(self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.has(name))
    }

    fn read(self, name: &str) -> Option<String> {
        let mut bytes = vec![];
        fs::File::open(self.0.join(name)).ok()?.take(Self::MAX_SIZE).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Names of files directly in a folder, sorted.
    fn names(self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

fn cargo(folder: Folder<'_>, findings: &mut Findings) {
    if !folder.has("Cargo.toml") {
        return;
    }
    findings.stack(Stack::Cargo);
    if let Some(configuration) = folder.first_of(&[".config/nextest.toml", "nextest.toml"]) {
        findings.suggest(
            Quality::Tests,
            Stack::Cargo,
            "cargo nextest run",
            format!("{configuration} configures nextest"),
        );
    }
    let workspace = folder.read("Cargo.toml").is_some_and(|manifest| has_section(&manifest, "workspace"));
    let (command, why) = match workspace {
        true => ("cargo test --workspace", "Cargo.toml has a workspace"),
        false => ("cargo test", "there is a Cargo.toml"),
    };
    findings.suggest(Quality::Tests, Stack::Cargo, command, why);
}

fn go(folder: Folder<'_>, findings: &mut Findings) {
    if folder.has("go.mod") {
        findings.stack(Stack::Go);
        // With -v the output names every test, and not only packages.
        findings.suggest(Quality::Tests, Stack::Go, "go test -v ./...", "there is a go.mod");
    }
}

fn gradle(folder: Folder<'_>, findings: &mut Findings) {
    let build = ["build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle"];
    let Some(build) = folder.first_of(&build) else { return };
    findings.stack(Stack::Gradle);
    let (command, why) = match folder.has("gradlew") {
        true => ("./gradlew test", format!("there is a {build} and a wrapper")),
        false => ("gradle test", format!("there is a {build}")),
    };
    findings.suggest(Quality::Tests, Stack::Gradle, command, why);
}

fn maven(folder: Folder<'_>, findings: &mut Findings) {
    if !folder.has("pom.xml") {
        return;
    }
    findings.stack(Stack::Maven);
    let (command, why) = match folder.has("mvnw") {
        true => ("./mvnw test", "there is a pom.xml and a wrapper"),
        false => ("mvn test", "there is a pom.xml"),
    };
    findings.suggest(Quality::Tests, Stack::Maven, command, why);
}

fn make(folder: Folder<'_>, findings: &mut Findings) {
    // In the order in which make itself looks.
    let Some(name) = folder.first_of(&["GNUmakefile", "makefile", "Makefile"]) else { return };
    findings.stack(Stack::Make);
    let text = folder.read(name).unwrap_or_default();
    for target in ["test", "check"] {
        if has_target(&text, target) {
            findings.suggest(
                Quality::Wrapped,
                Stack::Make,
                format!("make {target}"),
                format!("{name} has a target `{target}`"),
            );
        }
    }
}

/// Whether a makefile has a rule for a target: `test:`, `test check: all`, but not `test := 1`.
fn has_target(makefile: &str, target: &str) -> bool {
    makefile.lines().filter(|line| !line.starts_with(['\t', '#', ' '])).any(|line| {
        line.split_once(':').is_some_and(|(targets, rest)| {
            !rest.starts_with('=') && !rest.starts_with(":=") && targets.split_whitespace().any(|name| name == target)
        })
    })
}

/// Whether a TOML or INI text has a section, or one below it.
fn has_section(text: &str, section: &str) -> bool {
    text.lines().filter_map(|line| line.trim().strip_prefix('[')).any(|line| {
        let name = line.trim_start_matches('[').split(']').next().unwrap_or_default().trim();
        name == section || name.strip_prefix(section).is_some_and(|below| below.starts_with('.'))
    })
}

#[cfg(test)]
#[path = "detect_tests.rs"]
mod tests;
