//! Chooses each value from the places that may set it, the weightiest first, and writes down which one it was. Pure.

use std::path::{Path, PathBuf};

use ralph_model::{Access, AgentNetwork, ConfigError, DEFAULT_PROHIBITED, Expectation, MeterMode, Money};

use super::resolve::{Origin, Source};
use super::{Error, Key, Layer, Location, Repository};

/// What everybody says, the weightiest first: the caller, the repository's file as far as it counts, the user's own file.
#[derive(Debug, Clone, Copy)]
pub struct Layers<'a> {
    /// What the caller says: the flags, or a request.
    pub caller: &'a Layer,
    /// What counts of the repository's file.
    pub repository: Option<&'a Repository>,
    pub user: &'a Layer,
}

impl<'a> Layers<'a> {
    pub(super) fn each(&self) -> impl Iterator<Item = (&'a Layer, Origin)> + use<'a> {
        let repository = self.repository.and_then(Repository::approved).map(|layer| (layer, Origin::Repository));
        [(self.caller, self.caller.callers_origin())].into_iter().chain(repository).chain([(self.user, Origin::User)])
    }

    pub(super) fn pick<T>(&self, of: impl Fn(&Layer) -> Option<T>) -> Option<(T, Origin)> {
        self.each().find_map(|(layer, origin)| of(layer).map(|value| (value, origin)))
    }

    /// The skill to look up before [`super::resolve`].
    pub fn skill(&self) -> Option<String> {
        self.pick(|layer| layer.skill.clone()).map(|(name, _)| name)
    }

    /// A broken rule of the skill, with the place of its name where a file has it.
    pub fn skill_in_its_place(&self, rule: ConfigError) -> Error {
        let named = self.each().find(|(layer, _)| layer.skill.is_some());
        match named.and_then(|(layer, _)| layer.place(Key::Skill)) {
            Some(at) => Error::RuleInAFile { at: at.clone(), rule },
            None => Error::Rule(rule),
        }
    }

    /// The commands that verify the work, and who names them.
    pub fn verification(&self) -> Option<(Vec<String>, Origin)> {
        self.pick(|layer| layer.verification_command.clone().map(|commands| commands.0))
    }

    /// The limits that somebody set: iterations and cost.
    pub fn limits(&self) -> (Option<u32>, Option<Money>) {
        let cost = self.pick(|layer| layer.max_cost_usd.map(|dollars| dollars.0));
        (self.pick(|layer| layer.max_iterations).map(|(limit, _)| limit), cost.map(|(limit, _)| limit))
    }

    /// Whether the skill for a stall has to be looked up before [`super::resolve`].
    pub fn wants_deep_debug(&self) -> bool {
        self.pick(|layer| layer.escalate_to_deep_debug).is_some_and(|(wanted, _)| wanted)
    }
}

/// Chooses values and writes down where they came from.
pub(super) struct Chooser<'a> {
    pub(super) layers: Layers<'a>,
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

    /// A broken rule with the place of its key, where a file has it.
    pub(super) fn in_its_place(&self, rule: ConfigError) -> Error {
        let source = self.sources.iter().rev().find(|source| source.key.name() == rule.key);
        match source.and_then(|source| self.place(source)) {
            Some(at) => Error::RuleInAFile { at: at.clone(), rule },
            None => Error::Rule(rule),
        }
    }

    /// Where in its file a value is.
    pub(super) fn place(&self, source: &Source) -> Option<&'a Location> {
        match source.origin {
            Origin::Repository => self.layers.repository?.approved()?.place(source.key),
            Origin::User => self.layers.user.place(source.key),
            Origin::Flag | Origin::Request | Origin::Skill | Origin::Default => None,
        }
    }

    pub(super) fn optional<T>(&mut self, key: Key, of: impl Fn(&Layer) -> Option<T>) -> Option<T> {
        let (value, origin) = self.layers.pick(of)?;
        Some(self.note(key, origin, value))
    }

    pub(super) fn required<T>(&mut self, key: Key, of: impl Fn(&Layer) -> Option<T>, default: T) -> T {
        match self.optional(key, of) {
            Some(value) => value,
            None => self.note(key, Origin::Default, default),
        }
    }

    /// What is expected, and that the items of the objective's own file are done.
    pub(super) fn expects(&mut self) -> Vec<Expectation> {
        let mut expects = self.required(Key::Expects, |layer| layer.expects.clone(), Vec::new());
        let file = self.layers.caller.checklist_file.clone().map(Expectation::Checklist);
        expects.extend(file.filter(|file| !expects.contains(file)));
        expects
    }

    /// The user's list replaces the defaults, repository and caller add; the caller's `!glob` comes last and wins.
    pub(super) fn prohibited(&mut self) -> Result<Vec<String>, ConfigError> {
        let Layers { caller, repository, user } = self.layers;
        let (base, origin) = match &user.prohibited_paths {
            Some(globs) => (globs.clone(), Origin::User),
            None => (DEFAULT_PROHIBITED.map(str::to_owned).to_vec(), Origin::Default),
        };
        let added = repository.map_or(&[][..], Repository::prohibited);
        let files = [(base, origin), (added.to_vec(), Origin::Repository)];
        self.paths(Key::ProhibitedPaths, files, caller.prohibited_paths.as_ref())
    }

    pub(super) fn protected(&mut self) -> Result<Vec<String>, ConfigError> {
        let Layers { caller, repository, user } = self.layers;
        let base = user.protected_paths.clone().unwrap_or_default();
        let added = repository.map_or(&[][..], Repository::protected);
        let files = [(base, Origin::User), (added.to_vec(), Origin::Repository)];
        self.paths(Key::ProtectedPaths, files, caller.protected_paths.as_ref())
    }

    /// The weightiest file's list, and what the caller adds to it.
    pub(super) fn allowed_test_changes(&mut self) -> Result<Vec<String>, ConfigError> {
        let Layers { caller, repository, user } = self.layers;
        let approved = repository.and_then(Repository::approved).and_then(|layer| layer.allow_test_change.clone());
        let repository = approved.map(|globs| (globs, Origin::Repository));
        let user = || user.allow_test_change.clone().map(|globs| (globs, Origin::User));
        let file = repository.or_else(user).unwrap_or((Vec::new(), Origin::Default));
        self.paths(Key::AllowTestChange, [file], caller.allow_test_change.as_ref())
    }

    /// The user's standing list, and what the caller adds to it.
    fn standing<T>(&mut self, key: Key, of: impl Fn(&'a Layer) -> Option<&'a Vec<T>>) -> [&'a [T]; 2] {
        let Layers { caller, user, .. } = self.layers;
        [(user, Origin::User), (caller, caller.callers_origin())].map(|(layer, origin)| {
            let list = of(layer).map_or(&[][..], Vec::as_slice);
            if !list.is_empty() {
                self.sources.push(Source { key, origin });
            }
            list
        })
    }

    /// Paths that agent and checks may write: the user's relative to the home folder, the caller's to the current one.
    pub(super) fn writable(&mut self, home: &Path, current: &Path) -> Result<Vec<String>, ConfigError> {
        let [own, added] = self.standing(Key::SandboxWritable, |layer| layer.sandbox_writable.as_ref());
        Ok([writable_paths(own, home, home)?, writable_paths(added, current, home)?].concat())
    }

    /// What agents may read and reach, and where their cost is counted.
    pub(super) fn access(&mut self, home: &Path, current: &Path) -> Result<Access, ConfigError> {
        Ok(Access {
            meter: self.required(Key::Meter, |layer| layer.meter, MeterMode::Auto),
            record_requests: self.required(Key::RecordRequests, |layer| layer.record_requests, false),
            hide: self.read_paths(Key::Hide, |layer| layer.hide.as_ref(), home, current)?,
            allow_read: self.read_paths(Key::AllowRead, |layer| layer.allow_read.as_ref(), home, current)?,
            agent_network: self.required(Key::AgentNetwork, |layer| layer.agent_network, AgentNetwork::Full),
            allow_hosts: self.standing(Key::AllowHost, |layer| layer.allow_host.as_ref()).concat(),
        })
    }

    /// Paths that may or may not be read, from the same folders as those that may be written.
    fn read_paths(
        &mut self,
        key: Key,
        of: impl Fn(&'a Layer) -> Option<&'a Vec<String>>,
        home: &Path,
        current: &Path,
    ) -> Result<Vec<String>, ConfigError> {
        let lists = self.standing(key, of).into_iter().zip([home, current]);
        let paths = lists.flat_map(|(list, base)| list.iter().map(move |path| (path, base)));
        let absolute = |(path, base): (&String, &Path)| {
            let full = if path == "~" { home.to_owned() } else { below(path, base, home) };
            let usable = full.to_str().filter(|_| !path.trim().is_empty() && full != Path::new("/"));
            let wrong = || ConfigError::new(key.name(), format!("{path:?} cannot be used"), "a path such as ~/private");
            usable.map(str::to_owned).ok_or_else(wrong)
        };
        paths.map(absolute).collect()
    }

    fn paths(
        &mut self,
        key: Key,
        files: impl IntoIterator<Item = (Vec<String>, Origin)>,
        caller: Option<&Vec<String>>,
    ) -> Result<Vec<String>, ConfigError> {
        let mut globs: Vec<String> = Vec::new();
        let callers = (caller.cloned().unwrap_or_default(), self.layers.caller.callers_origin());
        for (list, origin) in files.into_iter().chain([callers]) {
            if !list.is_empty() {
                self.sources.push(Source { key, origin });
            }
            for glob in list {
                if glob.trim().is_empty() || glob.chars().any(char::is_control) {
                    let problem = format!("{glob:?} is not a glob");
                    return Err(ConfigError::new(
                        key.name(),
                        problem,
                        "one line of a .gitignore, such as migrations/**",
                    ));
                }
                // The last line that matches decides, so a repeated glob counts at its last place.
                globs.retain(|earlier| *earlier != glob);
                globs.push(glob);
            }
        }
        Ok(globs)
    }

    pub(super) fn env(&mut self) -> Result<Vec<String>, ConfigError> {
        let mut names: Vec<String> = Vec::new();
        for name in self.standing(Key::Env, |layer| layer.env.as_ref()).into_iter().flatten() {
            if name.is_empty() || name.contains(['=', '\0']) {
                let problem = format!("{name:?} is not the name of an environment variable");
                return Err(ConfigError::new("env", problem, "a name such as HTTP_PROXY; its value is inherited"));
            }
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Ok(names)
    }
}

/// A path of the configuration as an absolute one.
fn below(path: &str, base: &Path, home: &Path) -> PathBuf {
    path.strip_prefix("~/").map_or_else(|| base.join(path), |rest| home.join(rest))
}

/// What of `sandbox_writable` may be written, as absolute paths: relative ones lie below `base`.
///
/// # Errors
/// When one of them would disable the sandbox.
pub fn writable_paths(list: &[String], base: &Path, home: &Path) -> Result<Vec<String>, ConfigError> {
    let absolute = |path: &String| {
        let full = below(path, base, home);
        if path.trim().is_empty() || full == Path::new("/") || full == home {
            let problem = format!("{path:?} would disable the sandbox");
            let allowed = "a file or folder that the agent needs to write, such as ~/.my-agent; to go without a sandbox say \
                           @sandbox off";
            return Err(ConfigError::new("sandbox_writable", problem, allowed));
        }
        let text = full.to_str().map(str::to_owned);
        text.ok_or_else(|| ConfigError::new("sandbox_writable", format!("{path:?} is not UTF-8"), "UTF-8 text"))
    };
    list.iter().map(absolute).collect()
}
