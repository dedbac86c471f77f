//! What pins ask about the workspace and the programs on PATH. The caller looks; nothing here reads a file.

use std::fmt;
use std::path::Path;

use super::Program;

/// A workspace and the machine around it, as pins see them.
pub trait Sources: fmt::Debug {
    /// A file of the workspace as text; `None` when there is none, it is no file, or it is too large to be what it is taken
    /// for.
    fn read(&self, path: &str) -> Option<String>;

    /// Whether there is something by that name, ignored or not; a dangling link counts.
    fn has(&self, path: &str) -> bool;

    fn has_file(&self, path: &str) -> bool;

    fn has_folder(&self, path: &str) -> bool;

    fn is_link(&self, path: &str) -> bool;

    /// Names in a folder, sorted; empty when it cannot be read.
    fn names(&self, path: &str) -> Vec<String>;

    /// Folders of PATH that lie in the workspace, relative to it; empty for the workspace itself.
    fn search_folders(&self) -> Vec<String>;

    /// The program that a word leads to now, by PATH or as an absolute path.
    fn resolve(&self, name: &str) -> Option<Program>;

    /// Whether a file lies in the workspace, with all links followed.
    fn is_inside(&self, file: &Path) -> bool;

    /// The program outside the workspace that a word leads to: files inside are pinned by other means.
    fn outside(&self, name: &str) -> Option<Program> {
        self.resolve(name).filter(|program| !self.is_inside(&program.file))
    }
}
