//! A loop that only answers a question, such as whether checks pass now: nothing of it is kept, and no listing shows it.

use ralph_config::Resolved;
use ralph_runtime::{Home, Ledger, Stops, Watcher};
use ralph_store::open_sqlite;
use tempfile::TempDir;

use crate::{Error, Host, Opened};

/// Where such a loop runs. Its journal, logs and snapshots are gone with this value.
#[derive(Debug)]
pub struct Trial {
    host: Host,
    folder: TempDir,
}

impl Host {
    /// A place for a loop of which nothing is kept. It lies among the state, where neither agents nor checks can write.
    pub fn trial(&self) -> Result<Trial, Error> {
        let trials = self.dirs.state.join("trials");
        Home::make_private(&trials)?;
        let failed = |source| ralph_runtime::Error::File { path: trials.clone(), source };
        let folder = TempDir::new_in(&trials).map_err(failed)?;
        let mut host = self.clone();
        host.dirs.state = folder.path().to_owned();
        host.ledger = Ledger::LeftAlone;
        Ok(Trial { host, folder })
    }
}

impl Trial {
    /// Takes the workspace, as [`Host::start`] does.
    ///
    /// # Errors
    /// When another loop works there, or the state cannot be written.
    pub async fn start(&self, mut resolved: Resolved, watcher: Watcher, stops: Stops) -> Result<Opened, Error> {
        resolved.settings.notify = Default::default();
        resolved.settings.metrics_path = self.folder.path().join("metrics");
        let store = open_sqlite(&self.host.home().database()).await?;
        self.host.start(resolved, store, watcher, stops).await
    }
}
