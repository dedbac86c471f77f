//! The projects in `fixtures/`: small, real, and broken in one place.

use std::fs;
use std::path::{Path, PathBuf};

/// A project with a failing test and the patch that mends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixture {
    /// Its folder below `fixtures/`.
    pub name: &'static str,
    /// The line for `sh -c` that runs its tests.
    pub test: &'static str,
}

const PATCH: &str = "fix.patch";

impl Fixture {
    pub const ALL: &[Self] = &[
        Self { name: "fixable-bug/shell", test: "sh tests/run.sh" },
        Self { name: "fixable-bug/python", test: "python3 -m unittest -v" },
        Self { name: "fixable-bug/rust", test: "cargo test --offline" },
        Self { name: "fixable-bug/javascript", test: "node --test" },
    ];

    /// The fixture of that name.
    #[track_caller]
    pub fn named(name: &str) -> Self {
        match Self::ALL.iter().find(|fixture| fixture.name == name) {
            Some(fixture) => *fixture,
            None => panic!(
                "there is no fixture {name}; there are {}",
                Self::ALL.iter().map(|f| f.name).collect::<Vec<_>>().join(", ")
            ),
        }
    }

    pub fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(self.name)
    }

    /// The patch that makes its tests pass, for `git apply` in the project's folder.
    pub fn patch(&self) -> PathBuf {
        let path = self.folder().join(PATCH);
        path.canonicalize().unwrap_or(path)
    }

    /// Copies the project, without its patch, into a folder.
    #[track_caller]
    pub fn copy_to(&self, target: &Path) {
        copy(&self.folder(), target);
    }
}

#[track_caller]
fn copy(from: &Path, to: &Path) {
    let fail =
        |error: std::io::Error| -> ! { panic!("could not copy {} to {}: {error}", from.display(), to.display()) };
    fs::create_dir_all(to).unwrap_or_else(|error| fail(error));
    for entry in fs::read_dir(from).unwrap_or_else(|error| fail(error)) {
        let entry = entry.unwrap_or_else(|error| fail(error));
        let name = entry.file_name();
        // Left behind by a run of the tests in place; the patch would give the answer away.
        if ["target", "node_modules", "__pycache__", PATCH].iter().any(|skipped| name == *skipped) {
            continue;
        }
        if entry.file_type().unwrap_or_else(|error| fail(error)).is_dir() {
            copy(&entry.path(), &to.join(name));
        } else {
            fs::copy(entry.path(), to.join(name)).unwrap_or_else(|error| fail(error));
        }
    }
}
