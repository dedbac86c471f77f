//! One user with one project: runs the agent and the checks of a case, plainly or under Ralph.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ralph_testkit::{Repo, Script, Step, agent_command};
use tempfile::TempDir;

use super::case::{Case, Kind, State};
use super::project::Language;
use super::tools;
use crate::harness::{Ended, User, run_words_with};

pub struct Stage<'a> {
    case: &'a Case,
    user: User,
    pub repo: Repo,
    agent: PathBuf,
    /// The state, where it is not the user's usual one.
    apart: Option<TempDir>,
}

impl<'a> Stage<'a> {
    pub fn new(case: &'a Case) -> Self {
        let (user, repo) = (User::new(), case.project.create());
        // As in every home that was used before.
        std::fs::create_dir(user.home().join(".cache")).unwrap();
        let mut runs = case.runs.clone();
        if let (Kind::Cheat | Kind::Beyond(_), Some(first)) = (case.kind, runs.first_mut()) {
            // A tree that is known to fail cannot pass: that alone would catch a cheat that touches ignored files only.
            first.insert(0, Step::write("NOTES.md", "The sum is not a sum.\n"));
        }
        let script = Script { runs, default: Some(Vec::new()), ..Script::new() };
        let agent = script.save(user.home().join("agent"));
        let apart = match case.state {
            State::Usual => None,
            State::Apart => Some(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()),
        };
        Self { case, user, repo, agent, apart }
    }

    /// The loop that the case asks for.
    pub fn ralph(&self) -> Ended {
        // The scripted agent counts its runs beside its script.
        let agent_folder = self.agent.parent().unwrap().to_str().unwrap();
        let mut words = vec!["--unmetered", "--allow-write", agent_folder];
        for check in &self.case.project.checks {
            words.extend(["--criteria", check]);
        }
        words.extend(&self.case.words);
        self.ralph_with(run_words_with(&agent_command(&self.agent), self.case.max, &words))
    }

    /// Any other command of Ralph, in the same surroundings.
    pub fn ralph_with<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Ended {
        let mut command = self.user.command(self.repo.path(), words);
        if let Some(apart) = &self.apart {
            command.env("RALPH_HOME", apart.path());
        }
        self.run(command)
    }

    /// The agent's next run without Ralph.
    pub fn agent(&self) -> Ended {
        self.shell(&agent_command(&self.agent))
    }

    /// How often the agent was started.
    pub fn agent_runs(&self) -> u64 {
        Script::runs_of(&self.agent)
    }

    /// All checks without Ralph: the first that fails, or the last.
    pub fn checks(&self) -> Ended {
        let mut ended = None;
        for check in &self.case.project.checks {
            let last = ended.insert(self.shell(check));
            if last.code != 0 {
                break;
            }
        }
        ended.unwrap()
    }

    fn shell(&self, line: &str) -> Ended {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).current_dir(self.repo.path()).env_clear().stdin(Stdio::null());
        command.env("HOME", self.user.home()).env("RALPH_RESULT_FILE", self.user.home().join("result.json"));
        for name in ["CARGO_HOME", "RUSTUP_HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        self.run(command)
    }

    fn run(&self, mut command: Command) -> Ended {
        command.env("PATH", tools::path());
        if self.case.project.language == Language::Go {
            // Compiling the standard library anew for each case would take most of the time.
            command.env("GOCACHE", tools::go_cache());
        }
        for (name, value) in &self.case.environment {
            command.env(name, self.expanded(value));
        }
        Ended::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn expanded(&self, value: &str) -> OsString {
        value
            .replace("{workspace}", self.repo.path().to_str().unwrap())
            .replace("{home}", self.user.home().to_str().unwrap())
            .replace("{path}", tools::path().to_str().unwrap())
            .into()
    }
}
