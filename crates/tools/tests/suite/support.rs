//! Tools over a throwaway workspace.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use ralph_model::Timestamp;
use ralph_process::{ReaperProgram, Supervisor};
use ralph_text::Redactor;
use ralph_tools::{Call, Outcome, Services, Shell, Tools};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::watch;

/// 2026-11-16 at noon.
pub(crate) const NOON: i64 = 1_794_830_400_000;

pub(crate) fn reaper() -> ReaperProgram {
    ReaperProgram { program: env!("CARGO_BIN_EXE_ralph-tools-reaper").into(), arguments: Vec::new() }
}

pub(crate) struct Lab {
    pub(crate) folder: TempDir,
    pub(crate) tools: Tools,
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Services)) -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["work", "home"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let redactor = Arc::new(Redactor::new([("TOKEN", "correct-horse-battery")]));
        let shell = Shell {
            supervisor: Arc::new(Supervisor::new(reaper(), Arc::clone(&redactor))),
            environment: vec![
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                ("HOME".into(), folder.path().join("home").into()),
            ],
            sandbox: None,
            logs: folder.path().join("logs"),
            idle: None,
            hold: Vec::new(),
        };
        let mut services = Services {
            workspace: folder.path().join("work").canonicalize().unwrap(),
            prohibited: Arc::new(|_| None),
            redactor,
            shell: Some(shell),
            memory: None,
            board: None,
            notifier: None,
            web: None,
            now: || Timestamp(NOON),
        };
        change(&mut services);
        Self { tools: Tools::new(services).unwrap(), folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Outcome {
        let (_sender, stop) = watch::channel(None);
        self.tools.call(Call { name, arguments: &arguments, key: "key-1" }, &stop).await
    }

    /// A call that has to succeed.
    pub(crate) async fn done(&self, name: &str, arguments: Value) -> Outcome {
        let outcome = self.call(name, arguments).await;
        assert!(outcome.success, "{name}: {outcome:?}");
        outcome
    }

    /// A call that has to fail.
    pub(crate) async fn failed(&self, name: &str, arguments: Value) -> Outcome {
        let outcome = self.call(name, arguments).await;
        assert!(!outcome.success, "{name}: {outcome:?}");
        outcome
    }
}
