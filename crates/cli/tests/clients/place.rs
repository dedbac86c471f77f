//! A repository with a real failing test, a user, and a scripted model.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use ralph_testkit::model::{Reply, Script, ScriptedModel, Tool};
use ralph_testkit::{Processes, Repo};
use serde_json::Value;

use crate::client::Client;
use crate::harness::{Ended, User};

pub const RIGHT: &str = "exports.sum = (a, b) => a + b;";
pub const WRONG: &str = "exports.sum = (a, b) => a * b;";

const TEST: &str = "const test = require('node:test');
const assert = require('node:assert');
const { sum } = require('./sum.js');
test('adds', () => assert.equal(sum(1, 2), 3));
test('adds nothing', () => assert.equal(sum(1, 0), 1));
";

/// Where a program is tried.
pub struct Place {
    pub client: Client,
    pub user: User,
    pub repo: Repo,
    pub model: ScriptedModel,
    variables: Vec<(&'static str, String)>,
    folder: &'static str,
}

impl Place {
    pub fn new(client: Client, script: Script) -> Self {
        Self::at(client, script, |model| model.url())
    }

    /// As `new`, with another address than the model's.
    pub fn at(client: Client, script: Script, url: impl Fn(&ScriptedModel) -> String) -> Self {
        Self::in_folder(client, script, url, "")
    }

    /// As `new`, with the work in a folder of the repository.
    pub fn below(client: Client, script: Script, folder: &'static str) -> Self {
        Self::in_folder(client, script, |model| model.url(), folder)
    }

    fn in_folder(client: Client, script: Script, url: impl Fn(&ScriptedModel) -> String, folder: &'static str) -> Self {
        let repo = Repo::init();
        let workspace = repo.path().join(folder);
        repo.write(workspace.join("sum.js"), "exports.sum = (a, b) => a - b;\n");
        repo.write(workspace.join("sum.test.js"), TEST);
        repo.commit("a sum that is none");
        let user = User::new();
        let model = ScriptedModel::start(script.directory(workspace));
        let variables = client.set_up(&user, &url(&model));
        Self { client, user, repo, model, variables, folder }
    }

    /// What the program needs to talk to the model.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        self.variables.clone()
    }

    /// Where the work is done.
    pub fn workspace(&self) -> PathBuf {
        self.repo.path().join(self.folder)
    }

    pub fn spawn(&self, more: &[&str]) -> Child {
        self.spawn_as(self.client.words(), more)
    }

    /// As `spawn`, with other words that choose the agent.
    pub fn spawn_as(&self, agent: &[&str], more: &[&str]) -> Child {
        let words = ["run", "Mend sum", "--criteria", "node --test", "--pause", "0", "--json"];
        let cost = if more.contains(&"--max-cost") { &[][..] } else { &["--max-cost", "5"] };
        let words: Vec<&str> = words.iter().chain(agent).chain(cost).chain(more).copied().collect();
        self.spawn_words(&words)
    }

    /// Starts any command of Ralph.
    pub fn spawn_words(&self, words: &[&str]) -> Child {
        self.spawn_in(&self.workspace(), words)
    }

    /// As `spawn_words`, in another folder.
    pub fn spawn_in(&self, folder: &Path, words: &[&str]) -> Child {
        let programs =
            std::env::var_os("RALPH_TEST_CLIENTS").expect("scripts/test --clients says where the programs are");
        let mut command = self.user.command(folder, words);
        let path = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths(std::iter::once(programs.into()).chain(std::env::split_paths(&path))).unwrap();
        command.env("PATH", path);
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub fn run(&self, more: &[&str]) -> Ended {
        Ended::of(self.spawn(more))
    }

    /// The newest loop, whole.
    pub fn show(&self) -> Value {
        let listed = self.user.newest_loop();
        self.user.show(listed["loopId"].as_str().unwrap())
    }

    /// The requests of the newest loop that passed the gateway.
    pub fn passed(&self) -> Vec<Value> {
        let id = self.user.newest_loop()["loopId"].as_str().unwrap().to_owned();
        let ended = self.user.command(self.repo.path(), ["show", &id, "--requests", "--json"]).output().unwrap();
        Ended::from(ended).ok().json().as_array().unwrap().clone()
    }

    /// Nothing that was started for the loop lives any more.
    #[track_caller]
    pub fn nothing_survives(&self) {
        let left = Processes::working_in(self.repo.path()).wait_until_gone(std::time::Duration::from_secs(30));
        assert!(left.is_ok(), "{left:?}");
    }
}

/// A call that writes the file under test.
pub fn mend(content: &str) -> Tool {
    Tool::shell(format!("echo '{content}' > sum.js"))
}

/// A run that writes a file with the program's own tool, changes the code by a command, and says something.
pub fn turn(client: Client, number: usize, content: &str, words: &str) -> [Reply; 3] {
    [
        Reply::tool(Tool::write(format!("notes-{number}.md"), "I think it is the operator.\n")).usage(client.usage()),
        Reply::tool(mend(content)).usage(client.usage()),
        Reply::say(words).usage(client.usage()),
    ]
}

/// All replies of some runs, one after the other.
pub fn script(replies: impl IntoIterator<Item = Reply>) -> Script {
    replies.into_iter().fold(Script::new(), Script::reply)
}
