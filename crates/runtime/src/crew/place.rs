//! Where a crew works: its tools, a look at the workspace before and after a delegation, and worktrees for agents that write at
//! the same time.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ralph_agents::{AgentServices, ProcessBase, Prohibited, StopSignal};
use ralph_checks::{Checker, Observed, Request};
use ralph_crew::{Base, CallTool, CrewEvent, FrameId, ToolEffect, ToolOutcome, ToolRun, ToolSpec, Unmet};
use ralph_gateway::ForwardProxy;
use ralph_model::{Access, AgentSpec, Expectation, Millis, RunId, Sandboxing, ToolEvidence, TreeHash};
use ralph_process::{Network, Sandbox};
use ralph_tools::{Call, McpServer, Tools};
use ralph_workspace::repository::CommitId;
use ralph_workspace::{Lock, Options, Repository, StopFlag, Workspace};

use super::{CrewParts, ExtendTools};
use crate::error::Error;
use crate::home::{Home, LoopFolder};
use crate::open::blocking;
use crate::perform::Wire;
use crate::services::Services;

/// How long a command among the expectations may run.
const CHECK_TIMEOUT: Millis = Millis::secs(600);
const LOG_LIMIT: u64 = 1 << 20;
/// Conflicts that are named one by one.
const MAX_CONFLICTS: usize = 20;

/// Tools, and what lets them reach hosts.
type OpenTools = (Arc<Tools>, Option<ForwardProxy>);

pub(super) struct Place {
    pub(super) services: Services,
    pub(super) id: RunId,
    pub(super) root: PathBuf,
    workspace: Arc<Mutex<Workspace>>,
    repository: Option<Repository>,
    folders: Vec<PathBuf>,
    hold: Mutex<Vec<Arc<OwnedFd>>>,
    extend: ExtendTools,
    sandboxing: Sandboxing,
    access: Access,
    specs: Arc<Vec<ToolSpec>>,
    /// One set of tools for each folder, and the way out of a restricted network. Servers of tools are connected with the first call in it.
    tools: tokio::sync::Mutex<HashMap<PathBuf, OpenTools>>,
    servers: Vec<McpServer>,
    /// What was wrong with servers that could not be used.
    problems: Mutex<Vec<String>>,
    pub(super) folder: LoopFolder,
}

impl Place {
    #[expect(clippy::too_many_arguments, reason = "the parts of a workspace that was just taken")]
    pub(super) async fn new(
        services: Services,
        parts: &CrewParts,
        access: Access,
        id: RunId,
        root: PathBuf,
        workspace: Workspace,
        repository: Option<Repository>,
        folders: Vec<PathBuf>,
        lock: &Lock,
    ) -> Result<Self, Error> {
        let folder = services.home.loop_folder(id);
        Home::make_private(folder.root())?;
        let mut place = Self {
            services,
            id,
            root,
            workspace: Arc::new(Mutex::new(workspace)),
            repository,
            folders,
            hold: Mutex::new(lock.descriptors()),
            extend: Arc::clone(&parts.extend_tools),
            sandboxing: parts.sandbox,
            access,
            specs: Arc::default(),
            tools: tokio::sync::Mutex::default(),
            servers: parts.mcp_servers.clone(),
            problems: Mutex::default(),
            folder,
        };
        let tools = place.tools(&place.root).await.map_err(Error::file(&place.root))?;
        place.specs = Arc::new(tools.specs().iter().map(ToolSpec::from).collect());
        Ok(place)
    }

    pub(super) fn problems(&self) -> Vec<String> {
        std::mem::take(&mut *guard(&self.problems))
    }

    pub(super) fn specs(&self) -> Arc<Vec<ToolSpec>> {
        Arc::clone(&self.specs)
    }

    /// What each tool can change.
    pub(super) fn effects(&self) -> BTreeMap<String, ToolEffect> {
        self.specs.iter().map(|spec| (spec.tool.name.clone(), spec.effect)).collect()
    }

    /// Lets go of the workspace, or takes it again.
    pub(super) async fn holds(&self, lock: Option<&Lock>) {
        *guard(&self.hold) = lock.map(Lock::descriptors).unwrap_or_default();
        self.tools.lock().await.clear();
    }

    /// Calls tools, each in the folder of its agent.
    pub(super) fn calls(self: &Arc<Self>, stop: StopSignal) -> CallTool {
        let place = Arc::clone(self);
        Arc::new(move |run: ToolRun| {
            let (place, stop) = (Arc::clone(&place), stop.clone());
            Box::pin(async move {
                let folder = run.folder.as_ref().map_or_else(|| place.root.clone(), PathBuf::from);
                let tools = match place.tools(&folder).await {
                    Ok(tools) => tools,
                    Err(error) => return ToolOutcome::failed(format!("{}: {error}", folder.display())),
                };
                let call = Call { name: &run.name, arguments: &run.arguments, key: &run.key };
                tools.call(call, &stop).await
            })
        })
    }

    async fn tools(&self, folder: &Path) -> std::io::Result<Arc<Tools>> {
        let mut all = self.tools.lock().await;
        if let Some((tools, _)) = all.get(folder) {
            return Ok(Arc::clone(tools));
        }
        let supervisor = Arc::clone(&self.services.supervisor);
        let mut base = self.process_base(folder, "tools", None);
        let proxy = self.wire().restrict_network(&mut base, Vec::new()).await;
        let proxy = proxy.map_err(|error| std::io::Error::other(error.chain()))?;
        let services = AgentServices { supervisor, base };
        let mut tools = Tools::new((self.extend)(ralph_tools::Services::new(&services)))?;
        let problems = tools.connect(self.servers.clone()).await;
        guard(&self.problems).extend(problems);
        let tools = Arc::new(tools);
        all.insert(folder.to_owned(), (Arc::clone(&tools), proxy));
        Ok(tools)
    }

    pub(super) fn wire(&self) -> Wire<'_> {
        Wire { services: &self.services, folder: &self.folder, access: &self.access }
    }

    /// Where and how processes of the crew run.
    pub(super) fn process_base(&self, folder: &Path, name: &str, who: Option<&AgentSpec>) -> ProcessBase {
        let scratch = self.folder.root().join(name);
        let mut environment = self.services.environment.clone();
        environment.extend(who.map(|agent| (self.services.agent_variables)(agent)).unwrap_or_default());
        let sandbox = self.sandbox(who, &environment, folder, &scratch, Network::Allowed);
        ProcessBase {
            directory: folder.to_owned(),
            environment,
            log: self.folder.root().join(format!("{name}.log")),
            scratch,
            log_limit: LOG_LIMIT,
            idle: None,
            sandbox,
            hold: guard(&self.hold).clone(),
            redactor: Arc::clone(&self.services.redactor),
            prices: Arc::clone(&self.services.prices),
            prohibited: Prohibited::default(),
            mcp_server: None,
            counted: Arc::default(),
            now: self.services.now,
        }
    }

    fn sandbox(
        &self,
        who: Option<&AgentSpec>,
        environment: &[(OsString, OsString)],
        folder: &Path,
        scratch: &Path,
        network: Network,
    ) -> Option<Sandbox> {
        if self.sandboxing == Sandboxing::Off {
            return None;
        }
        let usual = self.services.writable.iter().filter_map(|path| path.canonicalize().ok());
        let writable = [folder.to_owned(), scratch.to_owned()].into_iter().chain(self.folders.clone()).chain(usual);
        let hidden = vec![self.services.home.root().to_owned()];
        let mut sandbox = Sandbox { writable: writable.collect(), hidden, network, level: self.services.level.clone() };
        if sandbox.check().is_err() {
            sandbox.hidden.clear();
        }
        let settings = who.map(|agent| (self.services.settings)(agent)).unwrap_or_default();
        sandbox.writable.extend(settings);
        let hidden = crate::hidden::hidden(&self.services, who, environment, &self.access, &sandbox.writable);
        sandbox.hidden.extend(hidden);
        Some(sandbox)
    }

    /// Looks at the workspace before a delegation, and makes a worktree for an agent that is not alone.
    pub(super) async fn open(self: &Arc<Self>, frame: FrameId, isolate: bool) -> CrewEvent {
        let place = Arc::clone(self);
        let opened = blocking(move || {
            let mut base = place.look(frame)?;
            if let (true, Some(tree)) = (isolate, &base.tree) {
                base.folder = Some(place.copy(frame, tree)?.to_string_lossy().into_owned());
            }
            Ok(base)
        });
        match opened.await {
            Ok(base) => CrewEvent::DelegationOpened { frame, base, problem: None },
            Err(error) => CrewEvent::DelegationOpened { frame, base: Base::default(), problem: Some(error.chain()) },
        }
    }

    fn stop_flag(&self) -> StopFlag {
        guard(&self.workspace).stop_flag()
    }

    pub(super) fn snapshot(&self, name: &str) -> Result<TreeHash, Error> {
        Ok(guard(&self.workspace).snapshot(self.id, name)?.tree)
    }

    pub(super) fn look(&self, frame: FrameId) -> Result<Base, Error> {
        let tree = self.snapshot(&format!("delegation-{}", frame.0))?;
        let commit = self.repository.as_ref().and_then(|repository| repository.head().ok()?.commit);
        Ok(Base { tree: Some(tree), commit: commit.map(|commit| commit.as_str().to_owned()), folder: None })
    }

    fn branch(&self, frame: FrameId) -> (PathBuf, String) {
        let name = format!("{}-{}", self.id.short(), frame.0);
        let path = self.services.home.worktree(self.id).with_file_name(&name);
        (path, format!("ralph/{name}"))
    }

    /// A worktree with the files of the workspace, uncommitted ones included. Without a repository it is a plain folder.
    fn copy(&self, frame: FrameId, tree: &TreeHash) -> Result<PathBuf, Error> {
        let (path, branch) = self.branch(frame);
        self.discard(frame);
        if let Some(parent) = path.parent() {
            Home::make_private(parent)?;
        }
        let has_commit = |repository: &&Repository| repository.head().is_ok_and(|head| head.commit.is_some());
        match self.repository.as_ref().filter(has_commit) {
            Some(repository) => repository.add_worktree(&path, &branch, &self.stop_flag())?,
            None => Home::make_private(&path)?,
        }
        let workspace = guard(&self.workspace);
        let (files, stop) = (workspace.list(tree)?, workspace.stop_flag());
        for name in &files {
            if stop.is_requested() {
                return Err(ralph_workspace::Error::Stopped.into());
            }
            let Some(content) = workspace.file_at(tree, name)? else { continue };
            let target = path.join(name);
            if fs::read(&target).is_ok_and(|known| known == content) {
                continue;
            }
            write(&target, &content, Some(&self.root.join(name)))?;
        }
        Ok(path)
    }

    /// Removes what an earlier process made for the same delegation, or what is merged.
    fn discard(&self, frame: FrameId) {
        let (path, branch) = self.branch(frame);
        if !path.exists() {
            return;
        }
        let removed = self.repository.as_ref().map(|repository| repository.discard_worktree(&path, &branch));
        if !matches!(removed, Some(Ok(()))) {
            let _ = fs::remove_dir_all(&path);
        }
    }

    /// Merges the work of a worktree, then looks for what was expected.
    pub(super) async fn check(
        self: &Arc<Self>,
        frame: FrameId,
        base: Base,
        expects: &[Expectation],
        seen: Vec<ToolEvidence>,
        stop: StopSignal,
    ) -> CrewEvent {
        let mut evidence = Vec::new();
        if let (Some(folder), Some(tree)) = (base.folder.clone(), base.tree.clone()) {
            let place = Arc::clone(self);
            match blocking(move || place.merge(frame, Path::new(&folder), &tree)).await {
                Ok(merged) => evidence = merged,
                Err(error) => evidence.push(ToolEvidence::error("merge", error.chain())),
            }
        }
        let unmet = self.unmet_or_unknown(frame, base, expects, &seen, stop).await;
        CrewEvent::DelegationChecked { frame, unmet, evidence }
    }

    /// What was expected and not seen. What could not be looked for counts as not seen.
    pub(super) async fn unmet_or_unknown(
        self: &Arc<Self>,
        frame: FrameId,
        base: Base,
        expects: &[Expectation],
        seen: &[ToolEvidence],
        stop: StopSignal,
    ) -> Vec<Unmet> {
        if expects.is_empty() {
            return Vec::new();
        }
        match self.unmet(frame, base, expects, seen, stop).await {
            Ok(unmet) => unmet,
            Err(error) => {
                let why = error.chain();
                expects.iter().map(|what| Unmet { what: what.to_string(), why: why.clone() }).collect()
            }
        }
    }

    async fn unmet(
        self: &Arc<Self>,
        frame: FrameId,
        base: Base,
        expects: &[Expectation],
        seen: &[ToolEvidence],
        stop: StopSignal,
    ) -> Result<Vec<Unmet>, Error> {
        let place = Arc::clone(self);
        let (changed, new_commits, clean) = blocking(move || {
            let changed = match &base.tree {
                Some(from) => {
                    let mut workspace = guard(&place.workspace);
                    let to = workspace.scan_tree()?;
                    if *from == to { Vec::new() } else { workspace.changes(from, &to)? }
                }
                None => Vec::new(),
            };
            let head = base.commit.as_deref().and_then(CommitId::parse);
            let repository = place.repository.as_ref();
            let commits = repository.map(|repository| repository.commits_since(head.as_ref()).unwrap_or(0));
            let clean = repository.map(|repository| repository.is_clean().unwrap_or(false));
            Ok((changed, commits.unwrap_or(0), clean))
        })
        .await?;
        let observed =
            Observed { evidence: seen, changed: &changed, new_commits, clean, root: &self.root, objective: "" };
        let logs = self.folder.root().join("checks");
        let request = Request {
            commands: &[],
            directory: &self.root,
            environment: self.services.environment.clone(),
            timeout: CHECK_TIMEOUT,
            idle: None,
            logs: &logs,
            log_prefix: format!("delegation-{}", frame.0),
            log_root: self.folder.root(),
            log_limit: LOG_LIMIT,
            junit: &[],
            extra_reports: Vec::new(),
            retries: 0,
            sandbox: self.sandbox(None, &self.services.environment, &self.root, &logs, Network::Loopback),
            hold: guard(&self.hold).clone(),
        };
        let checker = Checker::new(Arc::clone(&self.services.supervisor));
        let missing = checker.expectations(expects, &observed, request, stop, &mut |_| {}).await?;
        Ok(missing.into_iter().map(|own| Unmet { what: own.expectation.to_string(), why: own.why }).collect())
    }

    /// Brings what an agent changed in its worktree into the workspace, file by file. What another agent changed in the same
    /// place meanwhile is a conflict: the workspace keeps what it has, and the evidence says so.
    fn merge(&self, frame: FrameId, folder: &Path, base: &TreeHash) -> Result<Vec<ToolEvidence>, Error> {
        let state = self.services.home.workspace(folder);
        Home::make_private(&state)?;
        let options = Options {
            root: folder.to_owned(),
            state,
            git: self.services.git.clone(),
            global_excludes: self.services.user_git.excludes.clone(),
            stop: StopFlag::default(),
        };
        let mut theirs = Workspace::open(options)?;
        let tree = theirs.snapshot(self.id, "merged")?.tree;
        let workspace = guard(&self.workspace);
        let mut names = workspace.list(base)?;
        names.extend(theirs.list(&tree)?);
        names.sort_unstable();
        names.dedup();
        let (mut merged, mut conflicts) = (0_usize, Vec::new());
        for name in names {
            let (old, new) = (workspace.file_at(base, &name)?, theirs.file_at(&tree, &name)?);
            let target = self.root.join(&name);
            let ours = fs::read(&target).ok();
            if new == old || new == ours {
                continue;
            }
            match new {
                _ if ours != old => match (ours, old, new) {
                    (Some(ours), Some(old), Some(new)) => match self.merged_text(&ours, &old, &new) {
                        Some(text) => {
                            write(&target, &text, None)?;
                            merged += 1;
                        }
                        None => conflicts.push(name),
                    },
                    _ => conflicts.push(name),
                },
                Some(new) => {
                    write(&target, &new, Some(&folder.join(&name)))?;
                    merged += 1;
                }
                None => {
                    fs::remove_file(&target).map_err(Error::file(&target))?;
                    merged += 1;
                }
            }
        }
        drop(workspace);
        let mut evidence: Vec<ToolEvidence> = conflicts
            .iter()
            .take(MAX_CONFLICTS)
            .map(|name| ToolEvidence::error("merge", format!("conflict in {name}: another agent changed it, too")))
            .collect();
        if conflicts.is_empty() {
            evidence.push(ToolEvidence::ok("merge", format!("{merged} files merged from a worktree")));
            self.discard(frame);
        } else {
            let kept = format!("{} files merged; the rest is kept in {}", merged, folder.display());
            evidence.push(ToolEvidence::error("merge", kept));
        }
        Ok(evidence)
    }

    /// Both changes of a text, where they do not touch the same lines.
    fn merged_text(&self, ours: &[u8], old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
        let folder = tempfile::tempdir().ok()?;
        let mut command = Command::new(&self.services.git);
        command.arg("merge-file").arg("-p").current_dir(folder.path()).env_clear();
        for (name, content) in [("ours", ours), ("old", old), ("new", new)] {
            fs::write(folder.path().join(name), content).ok()?;
            command.arg(name);
        }
        let output = command.output().ok()?;
        output.status.success().then_some(output.stdout)
    }
}

/// Writes a file with the permissions of another one.
fn write(target: &Path, content: &[u8], like: Option<&Path>) -> Result<(), Error> {
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).map_err(Error::file(parent))?;
    }
    fs::write(target, content).map_err(Error::file(target))?;
    if let Some(like) = like.and_then(|like| fs::metadata(like).ok()) {
        fs::set_permissions(target, like.permissions()).map_err(Error::file(target))?;
    }
    Ok(())
}

fn guard<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
