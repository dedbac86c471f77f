//! Puts the pins of a workspace together. The order of pins is their meaning: see [`pins`].

use ralph_model::{Pin, PinKind, Runner, TestLanguage, TestListing};

use crate::pins::Sources;
use crate::pins::expand::{Expanded, expand};
use crate::pins::runner;
use crate::pins::words::{Simple, commands};
use crate::pins::{computed, listed, named, programs, settings, stack};

/// What pins are asked about.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The workspace and the machine around it.
    pub sources: &'a dyn Sources,
    pub commands: &'a [String],
    /// The user's own globs.
    pub protect: &'a [String],
    /// All files of the snapshot of the loop's start, relative, separated by `/`, sorted.
    pub files: &'a [String],
    pub listings: &'a [TestListing],
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Which files, in order: of several that match the last one counts.
    pub pins: Vec<Pin>,
    /// Runners that the commands lead to, as far as they are known.
    pub runners: Vec<Runner>,
    /// Every text that is executed because of the commands, the commands first.
    pub texts: Vec<Expanded>,
    /// Files that the texts use and compute the names of, as they are written there: they cannot be pinned.
    pub computed: Vec<String>,
    /// What a person should know about what is not pinned.
    pub notes: Vec<String>,
}

/// What is known about a workspace while its pins are put together.
pub(crate) struct Project<'a> {
    pub(crate) sources: &'a dyn Sources,
    pub(crate) files: &'a [String],
    pub(crate) runners: Vec<Runner>,
    /// Every command of every text, with and without what only starts another.
    pub(crate) starts: Vec<Simple>,
}

impl Project<'_> {
    /// Whether the commands start a program by one of these names, directly or as a tool of another: `cargo clippy`.
    pub(crate) fn uses(&self, names: &[&str]) -> bool {
        self.starts.iter().any(|simple| {
            names.contains(&simple.program())
                || simple
                    .arguments()
                    .any(|word| names.contains(&word) || names.contains(&crate::pins::path::name(word)))
        })
    }

    /// Whether the commands lead to a runner of tests in this language.
    pub(crate) fn runs(&self, language: TestLanguage) -> bool {
        self.runners.iter().any(|runner| runner.language() == language)
    }

    /// Whether the snapshot has this file.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.files.binary_search_by(|file| file.as_str().cmp(path)).is_ok()
    }

    /// Whether a file of the snapshot has one of these names.
    pub(crate) fn has_name(&self, names: &[&str]) -> bool {
        self.files.iter().any(|file| names.contains(&crate::pins::path::name(file)))
    }

    /// Whether a file of the snapshot has one of these extensions.
    pub(crate) fn has_extension(&self, extensions: &[&str]) -> bool {
        self.files.iter().any(|file| extensions.contains(&crate::pins::path::extension(file)))
    }
}

/// The pins of one group while they are collected.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    /// Sources that are found by their names.
    pub(crate) modules: Vec<Pin>,
    /// Test files and what belongs to them.
    pub(crate) tests: Vec<Pin>,
    /// Files of which parts count.
    pub(crate) parts: Vec<Pin>,
    /// Folders of installed packages and build output, in which none of the above counts.
    pub(crate) apart: Vec<Pin>,
    /// Files that the commands name.
    pub(crate) named: Vec<Pin>,
    pub(crate) steering: Vec<Pin>,
    /// Names that would shadow a module or a program.
    pub(crate) absent: Vec<Pin>,
    pub(crate) packages: Vec<Pin>,
    pub(crate) installed: Vec<Pin>,
    pub(crate) notes: Vec<String>,
}

/// Adds a pin unless it is there.
pub(crate) fn add(pins: &mut Vec<Pin>, kind: PinKind, why: &str, glob: impl Into<String>) {
    let glob = glob.into();
    if !pins.iter().any(|pin| pin.glob == glob && pin.kind == kind) {
        pins.push(Pin { glob, kind, why: why.to_owned() });
    }
}

/// What a verdict by these commands depends on.
///
/// The last pin that matches counts, so the order is from the lenient to the strict: tests, files of which parts count,
/// files that the commands name, the user's own globs, what steers, what must not appear. Folders of packages and build
/// output are then taken out of all these, and installed packages and runners are pinned inside them. Only a user's `!glob` comes after
/// everything, because it is there to overrule it.
pub fn pins(question: &Question<'_>) -> Answer {
    let texts = texts(question.sources, question.commands);
    let starts = starts(&texts);
    let runners = runner::of(&starts, question.sources);
    debug_assert!(question.files.is_sorted(), "files are looked up");
    let project = Project { sources: question.sources, files: question.files, runners, starts };
    let mut layers = Layers::default();
    stack::add_all(&project, &mut layers);
    listed::add_all(&project, question.listings, &mut layers);
    named::add_all(&project, &texts, &mut layers);
    settings::add_all(&project, &texts, &mut layers);
    programs::add_search_path(question, &project, &mut layers);

    let overruling = question.protect.iter().position(|glob| glob.starts_with('!')).unwrap_or(question.protect.len());
    let (first, overruling) = question.protect.split_at(overruling);
    let own = |globs: &[String]| -> Vec<Pin> {
        let pin = |glob: &String| Pin { glob: glob.clone(), kind: PinKind::Frozen, why: "protected by you".to_owned() };
        globs.iter().map(pin).collect()
    };
    let computed = computed::of(question.sources, &texts);
    let Layers { modules, tests, parts, apart, named, steering, absent, packages, installed, mut notes } = layers;
    notes.extend(
        computed.iter().map(|text| format!("`{text}` is computed when the check runs, so what it names is not pinned")),
    );
    let mut again = own(first);
    // What the user protects inside a folder that is set apart.
    again.retain(|pin| pin.glob.split('/').any(stack::is_apart));
    let named_again = named.iter().filter(|pin| pin.glob.split('/').any(stack::is_apart)).cloned().collect();
    let layers = [
        modules,
        tests,
        parts,
        named,
        own(first),
        steering,
        absent,
        apart,
        packages,
        named_again,
        again,
        installed,
        own(overruling),
    ];
    Answer { pins: layers.into_iter().flatten().collect(), runners: project.runners, texts, computed, notes }
}

/// Every text behind the commands, each once.
pub(crate) fn texts(sources: &dyn Sources, commands: &[String]) -> Vec<Expanded> {
    let mut texts: Vec<Expanded> = Vec::new();
    for text in commands.iter().flat_map(|command| expand(sources, command)) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// Every command that the texts start, with and without what only starts another.
pub(crate) fn starts(texts: &[Expanded]) -> Vec<Simple> {
    let mut starts: Vec<Simple> = Vec::new();
    let of = |text: &Expanded| {
        let in_script = text.is_script();
        commands(&text.text, &text.folder).into_iter().map(move |simple| Simple { in_script, ..simple })
    };
    for simple in texts.iter().flat_map(of) {
        let inner = simple.inner();
        for simple in [simple, inner] {
            if !starts.contains(&simple) {
                starts.push(simple);
            }
        }
    }
    starts
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
