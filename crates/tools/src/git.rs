//! The `git_` tools. What a repository's own configuration would start is turned off, because an agent may have written it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use ralph_model::{Ended, Millis};
use ralph_process::Stdin;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Effect::{Outward, Reads, Writes};
use crate::Outcome;
use crate::arguments::Nothing;
use crate::files::count;
use crate::registry::{Answer, Context, Registry};
use crate::shell::{Ran, Shell};

const TIMEOUT: Millis = Millis::secs(300);
/// Always turned off.
const OVERRIDES: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.askPass=",
    "commit.gpgSign=false",
    "push.gpgSign=false",
    "merge.verifySignatures=false",
    "log.showSignature=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
];
const VARIABLES: [(&str, &str); 6] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_EDITOR", "true"),
    ("GIT_ASKPASS", "true"),
    ("LC_ALL", "C"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Nowhere,
    /// As a push or a pull does; no protocol that runs a program of the repository's choice.
    Remotes,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Diff {
    /// Only these paths.
    paths: Option<Vec<String>>,
    /// What is staged, instead of what is not.
    staged: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Add {
    /// Files or folders, relative to the workspace; `.` for all.
    paths: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Commit {
    /// The message: a short first line, then why.
    message: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Remote {
    /// The name of a remote; `origin` unless given.
    remote: Option<String>,
    /// A branch there; the current one unless given.
    branch: Option<String>,
}

#[derive(Debug, Clone)]
struct Git {
    shell: Arc<Shell>,
    workspace: PathBuf,
}

pub(crate) fn register(registry: &mut Registry, shell: &Arc<Shell>, workspace: PathBuf) {
    let git = Git { shell: Arc::clone(shell), workspace };
    registry.add(&git, "git_status", Reads, "Shows the branch and the changed files.", Git::status);
    registry.add(&git, "git_diff", Reads, "Shows changes as a patch.", Git::diff);
    registry.add(&git, "git_add", Writes, "Stages changes for the next commit.", Git::add);
    registry.add(&git, "git_commit", Writes, "Commits what is staged.", Git::commit);
    registry.add(&git, "git_push", Outward, "Pushes the current branch to a remote. Never forces.", Git::push);
    registry.add(
        &git,
        "git_pull",
        Writes,
        "Fetches a branch of a remote and merges it into the current one.",
        Git::pull,
    );
}

impl Git {
    async fn status(self, Nothing {}: Nothing, context: Context) -> Answer {
        let ran = self.git(&["status", "--porcelain", "--branch"], Reach::Nowhere, &context).await?;
        let text = done("git status", ran)?;
        let branch = text.lines().next().unwrap_or_default().trim_start_matches("## ").to_owned();
        let changed = text.lines().count().saturating_sub(1);
        Ok(Outcome::done(format!("git status: {} on {branch}", count(changed, "changed file")), text))
    }

    async fn diff(self, Diff { paths, staged }: Diff, context: Context) -> Answer {
        let mut arguments = vec!["diff", "--no-ext-diff", "--no-textconv", "--no-color"];
        arguments.extend(staged.unwrap_or_default().then_some("--cached"));
        arguments.push("--");
        arguments.extend(paths.iter().flatten().map(String::as_str));
        let text = done("git diff", self.git(&arguments, Reach::Nowhere, &context).await?)?;
        let files = text.lines().filter(|line| line.starts_with("diff --git ")).count();
        let text = if text.is_empty() { "no changes".to_owned() } else { text };
        Ok(Outcome::done(format!("git diff: {}", count(files, "changed file")), text))
    }

    async fn add(self, Add { paths }: Add, context: Context) -> Answer {
        if paths.is_empty() {
            return Err("paths is empty: name files, or `.` for all".to_owned());
        }
        let mut arguments = vec!["add", "--"];
        arguments.extend(paths.iter().map(String::as_str));
        done("git add", self.git(&arguments, Reach::Nowhere, &context).await?)?;
        let staged = self.git(&["diff", "--cached", "--name-only"], Reach::Nowhere, &context).await?;
        let staged = done("git diff", staged)?;
        Ok(Outcome::done(format!("git add: {} staged", count(staged.lines().count(), "file")), staged))
    }

    async fn commit(self, Commit { message }: Commit, context: Context) -> Answer {
        let subject = message.lines().next().unwrap_or_default().trim().to_owned();
        if subject.is_empty() {
            return Err("the message has no first line".to_owned());
        }
        let email = self.git(&["config", "user.email"], Reach::Nowhere, &context).await?;
        let mut arguments = Vec::new();
        if !email.ended.is_success() {
            arguments.extend(["-c", "user.name=Ralph", "-c", "user.email=ralph@localhost"]);
        }
        arguments.extend(["commit", "--quiet", "--no-verify", "--file=-"]);
        let ran = self.call(&arguments, Reach::Nowhere, Stdin::Bytes(message.into_bytes()), &context).await?;
        done("git commit", ran)?;
        let id = done("git rev-parse", self.git(&["rev-parse", "HEAD"], Reach::Nowhere, &context).await?)?;
        let summary = format!("commit {}: {subject}", id.get(..9).unwrap_or(&id));
        Ok(Outcome { external_id: Some(id.trim().to_owned()), ..Outcome::noted(summary) })
    }

    async fn push(self, remote: Remote, context: Context) -> Answer {
        let (remote, branch) = self.remote(remote, &context).await?;
        let target = format!("HEAD:refs/heads/{branch}");
        let mut arguments = vec!["push", "--porcelain", "--no-verify", "--recurse-submodules=no"];
        arguments.extend(["--receive-pack=git-receive-pack", &remote, &target]);
        let text = done("git push", self.git(&arguments, Reach::Remotes, &context).await?)?;
        let id = done("git rev-parse", self.git(&["rev-parse", "HEAD"], Reach::Nowhere, &context).await?)?;
        let summary = format!("pushed {} to {branch} of {remote}", id.get(..9).unwrap_or(&id));
        let next = format!("the work is on branch {branch} of {remote}, ready for review");
        Ok(Outcome::done(summary, text).with_id(id.trim(), next))
    }

    async fn pull(self, remote: Remote, context: Context) -> Answer {
        let (remote, branch) = self.remote(remote, &context).await?;
        let mut arguments = vec!["pull", "--no-rebase", "--no-edit", "--no-verify", "--recurse-submodules=no"];
        arguments.extend(["--upload-pack=git-upload-pack", &remote, &branch]);
        let ran = self.git(&arguments, Reach::Remotes, &context).await?;
        let text = done("git pull", ran)?;
        Ok(Outcome::done(format!("pulled {branch} of {remote}"), text))
    }

    /// A remote and a branch, neither of which is an option or an address.
    async fn remote(&self, Remote { remote, branch }: Remote, context: &Context) -> Result<(String, String), String> {
        let remote = remote.unwrap_or_else(|| "origin".to_owned());
        let known = done("git remote", self.git(&["remote"], Reach::Nowhere, context).await?)?;
        if !known.lines().any(|name| name == remote) {
            return Err(format!("there is no remote {remote}; there are: {}", known.replace('\n', " ").trim()));
        }
        let branch = match branch {
            Some(branch) => branch,
            None => {
                let head = self.git(&["symbolic-ref", "--short", "HEAD"], Reach::Nowhere, context).await?;
                done("git symbolic-ref", head)?.trim().to_owned()
            }
        };
        let is_name = |part: char| part.is_alphanumeric() || "/_.-".contains(part);
        if branch.starts_with(['-', '/']) || branch.is_empty() || !branch.chars().all(is_name) {
            return Err(format!("`{branch}` is no name of a branch"));
        }
        Ok((remote, branch))
    }

    async fn git(&self, arguments: &[&str], reach: Reach, context: &Context) -> Result<Ran, String> {
        self.call(arguments, reach, Stdin::Empty, context).await
    }

    async fn call(&self, arguments: &[&str], reach: Reach, stdin: Stdin, context: &Context) -> Result<Ran, String> {
        let list = ["config", "--local", "--includes", "--list", "--name-only"];
        let configured = self.run(list.map(OsString::from).to_vec(), Reach::Nowhere, Stdin::Empty, context).await?;
        let mut words: Vec<OsString> = vec!["--no-pager".into(), "--literal-pathspecs".into()];
        let fixed = OVERRIDES.into_iter().map(str::to_owned);
        for setting in fixed.chain(neutralised(&configured.text)?) {
            words.extend(["-c".into(), setting.into()]);
        }
        words.extend(arguments.iter().map(OsString::from));
        self.run(words, reach, stdin, context).await
    }

    async fn run(&self, words: Vec<OsString>, reach: Reach, stdin: Stdin, context: &Context) -> Result<Ran, String> {
        let protocols = match reach {
            Reach::Nowhere => "",
            Reach::Remotes => "https:http:ssh:file",
        };
        let variables: Vec<_> = VARIABLES.into_iter().chain([("GIT_ALLOW_PROTOCOL", protocols)]).collect();
        let program = std::iter::once("git".into()).chain(words).collect();
        self.shell.run(program, &self.workspace, &variables, stdin, TIMEOUT, context.stop.clone()).await
    }
}

/// Settings that override what the repository's own configuration would start.
fn neutralised(names: &str) -> Result<Vec<String>, String> {
    let mut settings = Vec::new();
    for name in names.lines() {
        let (section, key) = (name.split('.').next().unwrap_or_default(), name.rsplit('.').next().unwrap_or_default());
        match (section, key) {
            ("core", "worktree") => {
                return Err("the repository sets core.worktree: git would work elsewhere".to_owned());
            }
            ("core", "sshcommand") => settings.push("core.sshCommand=ssh".to_owned()),
            ("core", "gitproxy" | "alternaterefscommand") => settings.push(format!("{name}=false")),
            ("filter", "clean" | "smudge" | "process") | ("credential", _) => settings.push(format!("{name}=")),
            ("filter", "required") => settings.push(format!("{name}=false")),
            // A merge that needs it is a conflict.
            ("merge", "driver") => settings.push(format!("{name}=false")),
            _ => {}
        }
    }
    Ok(settings)
}

/// What git printed, if it succeeded.
fn done(what: &str, ran: Ran) -> Result<String, String> {
    match ran.ended {
        Ended::Exited { code: 0 } => Ok(ran.text),
        ended => Err(format!("{what} ({ended})\n{}", ran.text)),
    }
}
