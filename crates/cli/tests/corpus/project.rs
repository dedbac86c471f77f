//! What a project of the corpus is made of. The projects themselves are in `projects`.

use std::fmt;
use std::os::unix::fs::symlink;

use ralph_testkit::{Repo, Step};

use super::tools::{self, Tool};

/// What a project is written in, and what runs its tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Rust,
    Unittest,
    Pytest,
    Node,
    Jest,
    Vitest,
    Mocha,
    Tape,
    Ava,
    Deno,
    Bun,
    Go,
    Java,
    Ruby,
    Php,
    C,
    Shell,
    Make,
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}").to_lowercase())
    }
}

/// The one place that is wrong.
#[derive(Debug, Clone, Copy)]
pub struct Bug {
    pub path: &'static str,
    pub wrong: &'static str,
    pub right: &'static str,
}

/// A project before an agent sees it.
#[derive(Debug, Clone)]
pub struct Project {
    pub language: Language,
    files: Vec<(&'static str, String)>,
    /// Lines for `sh -c` that finish the project before its first commit.
    prepare: Vec<&'static str>,
    pub checks: Vec<&'static str>,
    pub bug: Bug,
    pub needs: Vec<Tool>,
    modules: Modules,
    versioned: bool,
    /// Whether its checks print tests that can be counted.
    pub counts: bool,
    /// Whether its checks write to its own files.
    pub rewrites_itself: bool,
}

/// Whether a project has the packages of npm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modules {
    None,
    Linked,
}

impl Project {
    pub fn new(language: Language, needs: &[Tool], check: &'static str, bug: Bug) -> Self {
        let (files, prepare, modules) = (Vec::new(), Vec::new(), Modules::None);
        Self {
            language,
            files,
            prepare,
            checks: vec![check],
            bug,
            needs: needs.to_vec(),
            modules,
            versioned: true,
            counts: true,
            rewrites_itself: false,
        }
    }

    /// Adds a file, or gives one another content.
    pub fn file(mut self, path: &'static str, text: impl Into<String>) -> Self {
        self.files.retain(|(known, _)| *known != path);
        self.files.push((path, text.into()));
        self
    }

    /// Leaves a file out.
    pub fn without(mut self, path: &'static str) -> Self {
        self.files.retain(|(known, _)| *known != path);
        self
    }

    /// Another command decides.
    pub fn check(mut self, line: &'static str) -> Self {
        self.checks = vec![line];
        self
    }

    /// One more command has to pass.
    pub fn also_check(mut self, line: &'static str) -> Self {
        self.checks.push(line);
        self
    }

    /// A line that finishes the project before its first commit.
    pub fn prepare(mut self, line: &'static str) -> Self {
        self.prepare.push(line);
        self
    }

    pub fn needing(mut self, tool: Tool) -> Self {
        self.needs.push(tool);
        self
    }

    /// The bug is elsewhere.
    pub fn bug(mut self, bug: Bug) -> Self {
        self.bug = bug;
        self
    }

    /// Has the packages of npm, as a link that git ignores.
    pub fn with_modules(mut self) -> Self {
        self.modules = Modules::Linked;
        self.file(".gitignore", "node_modules\ncoverage\n")
    }

    /// A folder that is no repository.
    pub fn unversioned(mut self) -> Self {
        self.versioned = false;
        self
    }

    /// Its checks say nothing but their exit code.
    pub fn silent(mut self) -> Self {
        self.counts = false;
        self
    }

    /// Its checks write to its own files.
    pub fn rewriting_itself(mut self) -> Self {
        self.rewrites_itself = true;
        self
    }

    /// Mends the bug.
    pub fn fix(&self) -> Step {
        Step::replace(self.bug.path, self.bug.wrong, self.bug.right)
    }

    /// What a file holds at the start.
    #[track_caller]
    pub fn text(&self, path: &str) -> &str {
        let found = self.files.iter().find(|(known, _)| *known == path);
        &found.unwrap_or_else(|| panic!("the project has no {path}")).1
    }

    pub fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.files.iter().map(|(path, _)| *path)
    }

    /// Whether the bug is still where it was.
    pub fn has_bug(&self, root: &std::path::Path) -> bool {
        std::fs::read_to_string(root.join(self.bug.path)).is_ok_and(|text| text.contains(self.bug.wrong))
    }

    /// A repository that holds it.
    pub fn create(&self) -> Repo {
        let repo = Repo::unborn();
        for (path, text) in &self.files {
            repo.write(path, text);
        }
        if self.modules == Modules::Linked {
            symlink(tools::node_modules(), repo.path().join("node_modules")).unwrap();
        }
        for line in &self.prepare {
            let output = repo.shell(line);
            assert!(output.status.success(), "`{line}`: {}", String::from_utf8_lossy(&output.stderr));
        }
        if self.versioned {
            repo.commit("first");
        } else {
            std::fs::remove_dir_all(repo.git_directory()).unwrap();
        }
        repo
    }
}
