//! Prohibited paths in commits made since the loop's start. Looks only: history is the user's to rewrite.
//!
//! A commit offends with a path that it changes against one of its parents, and that is neither as the start's commit has
//! it nor as the workspace had it at the start. So a change offends that a later commit took back, and a commit that was
//! only rewritten does not. The throwaway git directory knows nothing that could hide a commit: no graft, no replacement, no
//! shallow border, no commit graph.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ralph_model::{ChangeKind, Violation};

use super::clean::quoted;
use super::{CommitId, Head, Repository};
use crate::Error;
use crate::git::{Answer, Call, Shadow};
use crate::gitdir::read_text;
use crate::guard::{Baseline, Guard, keep_patch};
use crate::quote::{quote, unquote};

/// More commits than this are not an agent's work.
const MAX_COMMITS: usize = 50_000;
/// Paths of commits that are looked at closely.
const MAX_SUSPECTS: usize = 10_000;

/// Looks through what is committed while a loop runs.
#[derive(Debug, Clone)]
pub struct CommitWatch {
    start: Head,
    clean: BTreeSet<String>,
}

impl CommitWatch {
    /// From where the repository stood at the loop's start.
    pub const fn since(start: Head) -> Self {
        Self { start, clean: BTreeSet::new() }
    }

    /// Prohibited paths in the commits that `HEAD`, or the branch of the start, has now and had not then; each path with the
    /// newest of them that has it. Git runs only where one of the two has moved.
    pub fn look(
        &mut self,
        repository: &Repository,
        guard: &Guard,
        baseline: &Baseline,
    ) -> Result<Vec<Violation>, Error> {
        let tips: Vec<String> = repository.tips(&self.start).into_iter().map(|tip| tip.to_string()).collect();
        let start = self.start.commit.as_ref().map(CommitId::as_str);
        if tips.iter().all(|tip| Some(tip.as_str()) == start || self.clean.contains(tip)) {
            return Ok(Vec::new());
        }
        let shadow = Shadow::make(&repository.scratch, &repository.places)?;
        let history = History { repository, shadow, start };
        let found = history.offences(&tips, guard, baseline)?;
        if found.is_empty() {
            self.clean = tips.into_iter().collect();
        }
        Ok(found)
    }

    /// Adds what commits have of prohibited paths to a patch, against the start. They stay where they are.
    pub fn keep(&self, repository: &Repository, violations: &[Violation], patch: &Path) -> Result<(), Error> {
        let mut paths: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for violation in violations {
            if let Some(commit) = &violation.commit {
                paths.entry(commit).or_default().push(&violation.path);
            }
        }
        if paths.is_empty() {
            return Ok(());
        }
        let shadow = Shadow::make(&repository.scratch, &repository.places)?;
        let history = History { repository, shadow, start: self.start.commit.as_ref().map(CommitId::as_str) };
        for (commit, paths) in paths {
            keep_patch(&history.patch(commit, &paths)?, patch)?;
        }
        Ok(())
    }
}

impl Repository {
    /// Where `HEAD` and a branch point now. What cannot be read cannot be pushed either.
    fn tips(&self, start: &Head) -> Vec<CommitId> {
        let head = self.head().ok().and_then(|head| head.commit);
        let branch = start.branch.as_ref().and_then(|branch| self.branch(branch));
        let mut tips: Vec<CommitId> = head.into_iter().chain(branch).collect();
        tips.dedup();
        tips
    }

    fn branch(&self, name: &str) -> Option<CommitId> {
        let name = format!("refs/heads/{name}");
        if self.places.common.join("reftable").exists() {
            let call = self.users_git().args(["rev-parse", "-q", "--verify", &format!("{name}^{{commit}}")]);
            return CommitId::parse(&call.text("read the branch").ok()?);
        }
        match read_text(&self.places.common.join(&name)) {
            Some(text) => CommitId::parse(&text),
            None => super::head::packed(&self.places.common, &name),
        }
    }
}

/// The commits of a repository, seen through a throwaway git directory.
struct History<'a> {
    repository: &'a Repository,
    shadow: Shadow,
    start: Option<&'a str>,
}

/// One path in a commit that is not as it was in another.
struct Difference {
    commit: String,
    path: Vec<u8>,
    kind: ChangeKind,
    entry: Option<(String, String)>,
}

impl Difference {
    fn entry(&self) -> Option<(&str, &str)> {
        self.entry.as_ref().map(|(mode, id)| (mode.as_str(), id.as_str()))
    }
}

impl History<'_> {
    fn git(&self) -> Call {
        self.repository
            .git
            .own(self.shadow.dir())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&self.repository.objects()))
            .args(["--literal-pathspecs", "-c", "core.commitGraph=false"])
    }

    fn offences(&self, tips: &[String], guard: &Guard, baseline: &Baseline) -> Result<Vec<Violation>, Error> {
        let (commits, start) = self.commits(tips)?;
        let lines = |commits: &[String]| commits.iter().map(|commit| format!("{commit}\n")).collect::<String>();
        let mut touched: BTreeSet<(String, Vec<u8>)> = BTreeSet::new();
        let mut is_all = true;
        self.compare(lines(&commits), |difference| {
            let Difference { commit, path, .. } = &difference;
            if guard.prohibits_bytes(path).is_some() && !baseline.had(path, difference.entry()) {
                is_all = touched.len() < MAX_SUSPECTS;
                if is_all {
                    touched.insert((commit.clone(), path.clone()));
                }
            }
        })?;
        let suspects: BTreeSet<&str> = touched.iter().map(|(commit, _)| commit.as_str()).collect();
        let start = match start {
            _ if suspects.is_empty() => return Ok(Vec::new()),
            Some(start) => start.to_owned(),
            None => self.empty_commit()?,
        };
        // Against the start as if that were the only parent.
        let suspects = commits.iter().filter(|commit| suspects.contains(commit.as_str()));
        let suspects: Vec<String> = suspects.map(|commit| format!("{commit} {start}")).collect();
        let mut found: BTreeMap<Vec<u8>, Violation> = BTreeMap::new();
        // The newest comes first.
        self.compare(lines(&suspects), |Difference { commit, path, kind, .. }| {
            if touched.contains(&(commit.clone(), path.clone()))
                && let Some(glob) = guard.prohibits_bytes(&path)
            {
                let violation = Violation { path: quote(&path), glob, kind, commit: Some(commit) };
                found.entry(path).or_insert(violation);
            }
        })?;
        if found.is_empty() && !is_all {
            return Err(Error::TooManyCommits { most: MAX_COMMITS });
        }
        Ok(found.into_values().collect())
    }

    /// The commits since the start, the newest first, and the start where it is still known. Without it, all of them.
    fn commits(&self, tips: &[String]) -> Result<(Vec<String>, Option<&str>), Error> {
        let action = "list the commits since the start of the loop";
        let most = format!("--max-count={}", MAX_COMMITS + 1);
        let list = || self.git().args(["rev-list", "--topo-order", &most]).args(tips);
        let mut start = self.start;
        let listed = match start {
            Some(start) => list().arg(format!("^{start}")).answer(action)?,
            None => list().answer(action)?,
        };
        let listed = match listed.code {
            Some(0) | None => listed,
            Some(_) => {
                start = None;
                list().answer(action)?
            }
        };
        let output = finished(listed, action)?.output;
        let commits: Vec<String> = String::from_utf8_lossy(&output).lines().map(str::to_owned).collect();
        if commits.len() > MAX_COMMITS {
            return Err(Error::TooManyCommits { most: MAX_COMMITS });
        }
        Ok((commits, start))
    }

    /// What differs between commits and their parents, in the workspace.
    fn compare(&self, lines: String, mut take: impl FnMut(Difference)) -> Result<(), Error> {
        let action = "search the commits since the start of the loop";
        if lines.is_empty() {
            return Ok(());
        }
        let prefix = self.repository.places.prefix_of(&self.repository.root);
        let (mut commit, mut entry) = (String::new(), None);
        let options = ["diff-tree", "--stdin", "--root", "-r", "-m", "-z", "--raw", "--no-abbrev", "--no-renames"];
        let answer = self.git().args(options).input(lines.into_bytes()).pieces(action, |piece| {
            if let Some(parsed) = piece.strip_prefix(b":").and_then(raw) {
                entry = Some(parsed);
            } else if let Some((kind, now)) = entry.take() {
                if let Some(path) = piece.strip_prefix(&prefix[..]) {
                    take(Difference { commit: commit.clone(), path: path.to_vec(), kind, entry: now });
                }
            } else {
                commit = String::from_utf8_lossy(piece).trim().to_owned();
            }
        })?;
        finished(answer, action).map(drop)
    }

    /// A commit with nothing in it, in the throwaway directory, for what has no start.
    fn empty_commit(&self) -> Result<String, Error> {
        let hash = self.git().args(["hash-object", "-t", "tree", "--stdin", "-w"]).input(Vec::new());
        let tree = hash.text("create an empty tree")?;
        let mut call = self.git().args(["commit-tree", "-m", "empty", &tree]);
        for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
            call = call.env(name, "Ralph");
        }
        call.text("create an empty commit")
    }

    fn patch(&self, commit: &str, paths: &[&str]) -> Result<Vec<u8>, Error> {
        let prefix = self.repository.places.prefix_of(&self.repository.root);
        let known = |start: &str| {
            let answer = self.git().args(["cat-file", "-e", start]).answer("look for the start");
            answer.is_ok_and(|answer| answer.code == Some(0))
        };
        let start = match self.start.filter(|start| known(start)) {
            Some(start) => start.to_owned(),
            None => self.empty_commit()?,
        };
        let mut relative = b"--relative=".to_vec();
        relative.extend(&prefix);
        let mut call = self.git().args(["diff-tree", "-r", "-p", "--binary", "--full-index", "--no-ext-diff"]).args([
            "--no-textconv",
            "--no-renames",
            "--no-color",
            "--src-prefix=a/",
            "--dst-prefix=b/",
        ]);
        if !prefix.is_empty() {
            call = call.arg(OsStr::from_bytes(&relative));
        }
        call = call.args([&start, commit, "--"]);
        for path in paths {
            call = call.arg(OsStr::from_bytes(&[&prefix[..], &unquote(path)].concat()));
        }
        call.output("show what was committed")
    }
}

/// A raw line of a difference: `100644 100755 <id> <id> M`.
fn raw(line: &[u8]) -> Option<(ChangeKind, Option<(String, String)>)> {
    let line = std::str::from_utf8(line).ok()?;
    let [before, now, old, new, _] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let is_there = |mode: &str| mode != "000000";
    let kind = match (is_there(before), is_there(now)) {
        (false, _) => ChangeKind::Added,
        (true, false) => ChangeKind::Deleted,
        (true, true) if old == new => ChangeKind::Mode,
        (true, true) => ChangeKind::Modified,
    };
    Some((kind, is_there(now).then(|| (now.to_owned(), new.to_owned()))))
}

/// What git answered, unless it failed; it is ended when it takes too long.
fn finished(answer: Answer, action: &'static str) -> Result<Answer, Error> {
    match answer.code {
        Some(0) => Ok(answer),
        Some(_) => Err(Error::Git { action, message: answer.message }),
        None => Err(Error::TooManyCommits { most: MAX_COMMITS }),
    }
}
