//! Chooses each value from the places that may set it, the weightiest first, and writes down which one it was. Pure.

use std::path::Path;

use ralph_model::{ConfigError, DEFAULT_PROHIBITED};

use super::resolve::{Origin, Source};
use super::{Key, Layer, Repository};
use crate::args::RunArgs;

/// The two files, the weightier first.
pub(super) struct Layers<'a> {
    repository: Option<&'a Layer>,
    user: &'a Layer,
}

impl<'a> Layers<'a> {
    pub(super) fn new(user: &'a Layer, repository: Option<&'a Repository>) -> Self {
        Self { repository: repository.and_then(Repository::approved), user }
    }

    pub(super) fn each(&self) -> impl Iterator<Item = (&'a Layer, Origin)> + use<'a> {
        self.repository.map(|layer| (layer, Origin::Repository)).into_iter().chain([(self.user, Origin::User)])
    }

    pub(super) fn pick<T>(&self, of: impl Fn(&Layer) -> Option<T>) -> Option<(T, Origin)> {
        self.each().find_map(|(layer, origin)| of(layer).map(|value| (value, origin)))
    }
}

/// Chooses values and writes down where they came from.
pub(super) struct Chooser<'a> {
    pub(super) layers: Layers<'a>,
    /// Where each value came from.
    pub(super) sources: Vec<Source>,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(layers: Layers<'a>) -> Self {
        Self { layers, sources: Vec::new() }
    }

    pub(super) fn note<T>(&mut self, key: Key, origin: Origin, value: T) -> T {
        self.sources.push(Source { key, origin });
        value
    }

    pub(super) fn optional<T>(&mut self, key: Key, flag: Option<T>, of: impl Fn(&Layer) -> Option<T>) -> Option<T> {
        let (value, origin) = flag.map(|value| (value, Origin::Flag)).or_else(|| self.layers.pick(of))?;
        Some(self.note(key, origin, value))
    }

    pub(super) fn required<T>(&mut self, key: Key, flag: Option<T>, of: impl Fn(&Layer) -> Option<T>, default: T) -> T {
        match self.optional(key, flag, of) {
            Some(value) => value,
            None => self.note(key, Origin::Default, default),
        }
    }

    /// The user's list replaces the defaults, repository and flags add; the user's `!glob` comes last and wins.
    pub(super) fn prohibited(
        &mut self,
        flags: &RunArgs,
        repository: Option<&Repository>,
    ) -> Result<Vec<String>, ConfigError> {
        let (base, origin) = match &self.layers.user.prohibited_paths {
            Some(globs) => (globs.clone(), Origin::User),
            None => (DEFAULT_PROHIBITED.map(str::to_owned).to_vec(), Origin::Default),
        };
        let added = repository.map_or(&[][..], Repository::prohibited);
        self.paths(
            Key::ProhibitedPaths,
            "--prohibit",
            [(base, origin), (added.to_vec(), Origin::Repository)],
            &flags.prohibit,
        )
    }

    pub(super) fn protected(
        &mut self,
        flags: &RunArgs,
        repository: Option<&Repository>,
    ) -> Result<Vec<String>, ConfigError> {
        let base = self.layers.user.protected_paths.clone().unwrap_or_default();
        let added = repository.map_or(&[][..], Repository::protected);
        self.paths(
            Key::ProtectedPaths,
            "--protect",
            [(base, Origin::User), (added.to_vec(), Origin::Repository)],
            &flags.protect,
        )
    }

    /// The weightiest file's list, and what the flags add to it.
    pub(super) fn allowed_test_changes(&mut self, flags: &RunArgs) -> Result<Vec<String>, ConfigError> {
        let (base, origin) =
            self.layers.pick(|layer| layer.allow_test_change.clone()).unwrap_or((Vec::new(), Origin::Default));
        let files = [(base, origin), (Vec::new(), Origin::Default)];
        self.paths(Key::AllowTestChange, "--allow-test-change", files, &flags.allow_test_change)
    }

    /// The user's standing list, relative to the home folder, and what the flags add, relative to the current one.
    pub(super) fn writable(
        &mut self,
        flags: &RunArgs,
        home: &Path,
        current: &Path,
    ) -> Result<Vec<String>, ConfigError> {
        let standing = self.layers.user.sandbox_writable.clone().unwrap_or_default();
        let mut paths = Vec::new();
        for (list, base, origin) in [(&standing, home, Origin::User), (&flags.allow_write, current, Origin::Flag)] {
            if !list.is_empty() {
                self.sources.push(Source { key: Key::SandboxWritable, origin });
            }
            for path in list {
                let full = match path.strip_prefix("~/") {
                    Some(rest) => home.join(rest),
                    None => base.join(path),
                };
                if path.trim().is_empty() || full == Path::new("/") || full == home {
                    let problem = format!("{path:?} would leave nothing of the sandbox");
                    let allowed = "a file or folder that the agent needs to write, such as ~/.my-agent; to go without a \
                                   sandbox say --sandbox off";
                    return Err(ConfigError::new("--allow-write", problem, allowed));
                }
                let Some(text) = full.to_str() else {
                    return Err(ConfigError::new("--allow-write", format!("{path:?} is not UTF-8"), "UTF-8 text"));
                };
                paths.push(text.to_owned());
            }
        }
        Ok(paths)
    }

    fn paths(
        &mut self,
        key: Key,
        flag: &'static str,
        files: [(Vec<String>, Origin); 2],
        flags: &[String],
    ) -> Result<Vec<String>, ConfigError> {
        let mut globs: Vec<String> = Vec::new();
        for (list, origin) in files.into_iter().chain([(flags.to_vec(), Origin::Flag)]) {
            if !list.is_empty() {
                self.sources.push(Source { key, origin });
            }
            for glob in list {
                if glob.trim().is_empty() || glob.chars().any(char::is_control) {
                    let problem = format!("{glob:?} is not a glob");
                    return Err(ConfigError::new(flag, problem, "one line of a .gitignore, such as migrations/**"));
                }
                // The last line that matches decides, so a repeated glob counts at its last place.
                globs.retain(|earlier| *earlier != glob);
                globs.push(glob);
            }
        }
        Ok(globs)
    }

    /// The user's standing list, and what the flags add to it.
    pub(super) fn env(&mut self, flags: &RunArgs) -> Result<Vec<String>, ConfigError> {
        let mut names: Vec<String> = Vec::new();
        let standing = self.layers.user.env.clone().unwrap_or_default();
        for (list, origin) in [(standing, Origin::User), (flags.env.clone(), Origin::Flag)] {
            if !list.is_empty() {
                self.sources.push(Source { key: Key::Env, origin });
            }
            for name in list {
                if name.is_empty() || name.contains(['=', '\0']) {
                    let problem = format!("{name:?} is not the name of an environment variable");
                    return Err(ConfigError::new(
                        "--env",
                        problem,
                        "a name such as HTTP_PROXY; its value is inherited",
                    ));
                }
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        Ok(names)
    }
}
