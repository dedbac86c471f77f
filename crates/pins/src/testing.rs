//! Little projects for tests.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ralph_model::PinKind;
use tempfile::TempDir;

use crate::{Answer, PinSet, Question, pins};

/// A throwaway folder with files in it.
pub(crate) struct Little {
    pub(crate) dir: TempDir,
    pub(crate) files: Vec<String>,
    pub(crate) path: OsString,
    pub(crate) protect: Vec<String>,
}

impl Little {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let dir = match Path::new("/dev/shm").is_dir() {
            true => tempfile::tempdir_in("/dev/shm").unwrap(),
            false => tempfile::tempdir().unwrap(),
        };
        let mut little = Self { dir, files: Vec::new(), path: OsString::from("/usr/bin:/bin"), protect: Vec::new() };
        for (path, text) in files {
            little.write(path, text);
            little.files.push((*path).to_owned());
        }
        little
    }

    /// With files that the snapshot does not have, because they are ignored.
    pub(crate) fn ignored(self, files: &[&str]) -> Self {
        for path in files {
            self.write(path, "");
        }
        self
    }

    pub(crate) fn path(mut self, path: &str) -> Self {
        self.path = OsString::from(path);
        self
    }

    pub(crate) fn protect(mut self, globs: &[&str]) -> Self {
        self.protect = globs.iter().map(|glob| (*glob).to_owned()).collect();
        self
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }

    pub(crate) fn program(&self, path: &str, text: &str) {
        self.write(path, text);
        fs::set_permissions(self.root().join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn ask(&self, commands: &[&str]) -> Answer {
        let commands: Vec<String> = commands.iter().map(|command| (*command).to_owned()).collect();
        pins(&self.question(&commands))
    }

    pub(crate) fn question<'a>(&'a self, commands: &'a [String]) -> Question<'a> {
        Question { root: self.root(), commands, protect: &self.protect, path: &self.path, files: &self.files }
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
}

pub(crate) fn globs_of(answer: &Answer, kind: PinKind) -> Vec<&str> {
    answer.pins.iter().filter(|pin| pin.kind == kind).map(|pin| pin.glob.as_str()).collect()
}
