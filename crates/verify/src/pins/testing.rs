//! Little projects for tests, in memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ralph_model::{PinKind, Runner, TestListing};

use super::{Answer, PinSet, Program, Question, Sources, pins};

/// A workspace in memory. Every word leads to a program in `/usr/bin`, except for those that are missing.
#[derive(Debug)]
pub(crate) struct Little {
    texts: RefCell<BTreeMap<String, String>>,
    pub(crate) files: Vec<String>,
    path: String,
    missing: Vec<String>,
    pub(crate) protect: Vec<String>,
    listings: Vec<TestListing>,
}

impl Little {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let mut little = Self {
            texts: RefCell::default(),
            files: Vec::new(),
            path: "/usr/bin:/bin".into(),
            missing: Vec::new(),
            protect: Vec::new(),
            listings: Vec::new(),
        };
        for (path, text) in files {
            little.write(path, text);
            little.files.push((*path).to_owned());
        }
        little.files.sort_unstable();
        little
    }

    /// With files that the snapshot does not have, because they are ignored.
    pub(crate) fn ignored(self, files: &[&str]) -> Self {
        for path in files {
            self.write(path, "");
        }
        self
    }

    /// On a machine that does not have these programs.
    pub(crate) fn without(mut self, programs: &[&str]) -> Self {
        self.missing = programs.iter().map(|program| (*program).to_owned()).collect();
        self
    }

    /// Where a runner says that these are its test files.
    pub(crate) fn listed(mut self, runner: Runner, files: &[&str]) -> Self {
        let tests = files.iter().map(|file| ((*file).to_owned(), Vec::new())).collect();
        let (command, failed) = (runner.name().to_owned(), String::new());
        self.listings.push(TestListing { runner, command, tests, failed });
        self
    }

    pub(crate) fn path(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub(crate) fn protect(mut self, globs: &[&str]) -> Self {
        self.protect = globs.iter().map(|glob| (*glob).to_owned()).collect();
        self
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.texts.borrow_mut().insert(path.to_owned(), text.to_owned());
    }

    pub(crate) fn ask(&self, commands: &[&str]) -> Answer {
        let commands: Vec<String> = commands.iter().map(|command| (*command).to_owned()).collect();
        let answer = pins(&self.question(&commands));
        // The workspace reads a glob folder by folder.
        let is_split =
            |glob: &str| glob.split('{').skip(1).any(|it| it.split('}').next().is_some_and(|it| it.contains('/')));
        let split: Vec<_> = answer.pins.iter().map(|pin| &pin.glob).filter(|glob| is_split(glob)).collect();
        assert_eq!(split, Vec::<&String>::new(), "alternatives of a glob have a slash in them");
        answer
    }

    pub(crate) fn question<'a>(&'a self, commands: &'a [String]) -> Question<'a> {
        Question { sources: self, commands, protect: &self.protect, files: &self.files, listings: &self.listings }
    }

    /// What counts for each path, in the words of a table: `Frozen`, `-`.
    pub(crate) fn kinds(&self, command: &str, paths: &[&str]) -> Vec<String> {
        let answer = self.ask(&[command]);
        let set = PinSet::new(&answer.pins);
        let kind = |path: &str| set.pin(path).map_or_else(|| "-".to_owned(), |pin| format!("{:?}", pin.kind));
        paths.iter().map(|path| format!("{path} {}", kind(path))).collect()
    }

    /// Checks lines of `path kind`.
    pub(crate) fn expect(&self, command: &str, lines: &str) {
        let lines: Vec<&str> = lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let paths: Vec<&str> = lines.iter().map(|line| line.rsplit_once(' ').unwrap().0.trim()).collect();
        let wanted: Vec<String> =
            lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(self.kinds(command, &paths), wanted, "{command}");
    }

    fn below(path: &str) -> String {
        let path = path.trim_matches('/');
        if matches!(path, "" | ".") { String::new() } else { format!("{path}/") }
    }
}

impl Sources for Little {
    fn read(&self, path: &str) -> Option<String> {
        self.texts.borrow().get(path).cloned()
    }

    fn has(&self, path: &str) -> bool {
        self.has_file(path) || self.has_folder(path)
    }

    fn has_file(&self, path: &str) -> bool {
        self.texts.borrow().contains_key(path)
    }

    fn has_folder(&self, path: &str) -> bool {
        self.texts.borrow().keys().any(|file| file.starts_with(&Self::below(path)))
    }

    fn is_link(&self, _: &str) -> bool {
        false
    }

    fn names(&self, path: &str) -> Vec<String> {
        let (texts, below) = (self.texts.borrow(), Self::below(path));
        let mut names: Vec<String> = texts
            .keys()
            .filter_map(|file| file.strip_prefix(&below))
            .filter_map(|rest| rest.split('/').next())
            .map(str::to_owned)
            .collect();
        names.sort();
        names.dedup();
        names
    }

    fn search_folders(&self) -> Vec<String> {
        let relative = self.path.split(':').filter(|folder| !folder.starts_with('/'));
        relative.map(|folder| Self::below(folder).trim_end_matches('/').to_owned()).collect()
    }

    fn resolve(&self, name: &str) -> Option<Program> {
        let is_word = !name.is_empty()
            && !name.starts_with('-')
            && !name.contains('/')
            && !self.missing.iter().any(|missing| missing == name);
        is_word.then(|| Program {
            name: name.to_owned(),
            file: PathBuf::from(format!("/usr/bin/{name}")),
            device: 1,
            inode: 1,
            size: 1,
            modified: 1,
            changed: Some(1),
        })
    }

    fn is_inside(&self, file: &Path) -> bool {
        !file.starts_with("/usr")
    }
}

pub(crate) fn globs_of(answer: &Answer, kind: PinKind) -> Vec<&str> {
    answer.pins.iter().filter(|pin| pin.kind == kind).map(|pin| pin.glob.as_str()).collect()
}
