//! Finds the programs that cases need. Installs nothing: `scripts/test-tools` does.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// A program that some cases need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Cargo,
    Python,
    Pytest,
    Nox,
    Django,
    Node,
    Npm,
    Jest,
    Vitest,
    Mocha,
    Tape,
    Ava,
    Deno,
    Bun,
    Go,
    Ruby,
    Rspec,
    Phpunit,
    Ctest,
    Bats,
    Maven,
    Gradle,
    Make,
    Cc,
    Bash,
    Setsid,
}

impl Tool {
    /// Whether it is there.
    pub fn is_there(self) -> bool {
        match self {
            Self::Cargo => on_path("cargo"),
            Self::Python => on_path("python3"),
            Self::Pytest => folder().join("python/bin/pytest").is_file(),
            Self::Nox => folder().join("python/bin/nox").is_file(),
            Self::Django => folder().join("python/bin/django-admin").is_file(),
            Self::Node => on_path("node"),
            Self::Npm => on_path("npm"),
            Self::Jest => has_package("jest"),
            Self::Vitest => has_package("vitest"),
            Self::Mocha => has_package("mocha"),
            Self::Tape => has_package("tape"),
            Self::Ava => has_package("ava"),
            Self::Deno => has_package("deno"),
            Self::Bun => has_package("bun"),
            Self::Go => on_path("go"),
            Self::Ruby => on_path("ruby"),
            Self::Rspec => on_path("rspec"),
            Self::Phpunit => on_path("phpunit"),
            Self::Ctest => on_path("ctest"),
            Self::Bats => on_path("bats"),
            Self::Maven => {
                let has = |path: &str| Path::new("/usr/share/maven-repo").join(path).is_dir();
                let plugins = ["maven-surefire-plugin", "maven-compiler-plugin", "maven-resources-plugin"];
                on_path("mvn")
                    && on_path("javac")
                    && has("junit/junit")
                    && plugins.iter().all(|plugin| has(&format!("org/apache/maven/plugins/{plugin}")))
            }
            Self::Gradle => {
                on_path("gradle") && on_path("javac") && Path::new("/usr/share/maven-repo/junit/junit").is_dir()
            }
            Self::Make => on_path("make"),
            Self::Cc => on_path("cc"),
            Self::Bash => on_path("bash"),
            Self::Setsid => on_path("setsid"),
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}").to_lowercase())
    }
}

/// What `scripts/test-tools` makes.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-tools")
}

/// Packages of npm, for a link `node_modules` in a project.
pub fn node_modules() -> PathBuf {
    let folder = folder().join("npm/node_modules");
    folder.canonicalize().unwrap_or(folder)
}

/// What Go compiled before, shared by all cases that do not meddle with it.
pub fn go_cache() -> PathBuf {
    let folder = folder().join("go-cache");
    std::fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

/// PATH as the users of the corpus have it: the tools first, because their python has pytest.
pub fn path() -> OsString {
    let own =
        ["python/bin", "npm/node_modules/.bin"].into_iter().filter_map(|name| folder().join(name).canonicalize().ok());
    let rest = env::var_os("PATH").unwrap();
    env::join_paths(own.chain(env::split_paths(&rest))).unwrap()
}

fn has_package(name: &str) -> bool {
    on_path("node") && node_modules().join(name).join("package.json").is_file()
}

fn on_path(name: &str) -> bool {
    env::split_paths(&path()).any(|folder| folder.join(name).is_file())
}
