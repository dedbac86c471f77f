//! Loops that live in a session of the user's own.

use std::path::Path;

use ralph_config::{Resolved, RunSettings};
use ralph_model::LoopId;
use ralph_runtime::{
    Services, SessionRecord, SessionStep, Stopper, Stops, TurnReport, Watcher, begin_session, cancel_session,
    continue_session, read_loop,
};
use ralph_store::StoreHandle;

use crate::{Error, Host};

impl Host {
    /// Begins a loop in a session: everything up to the point where its agent has to work. `session` names the session that it
    /// belongs to; without it that is the next one there that reports through a hook.
    ///
    /// # Errors
    /// When another loop works there, or the state cannot be written.
    pub async fn start_session(
        &self,
        resolved: Resolved,
        session: Option<String>,
        store: StoreHandle,
        watcher: Watcher,
        stops: Stops,
    ) -> Result<(LoopId, SessionStep), Error> {
        let services = self.services(store, &resolved.config, &resolved.settings, watcher)?;
        Ok(begin_session(services, resolved.config, session, stops).await?)
    }

    /// Continues a loop in a session whose agent stopped.
    ///
    /// # Errors
    /// When the loop cannot be opened or its journal cannot be written; the next hook continues it.
    pub async fn continue_session(
        &self,
        record: SessionRecord,
        report: TurnReport,
        store: StoreHandle,
        watcher: Watcher,
        stops: Stops,
    ) -> Result<SessionStep, Error> {
        let services = self.session_services(&record, store, watcher).await?;
        Ok(continue_session(services, record, report, stops).await?)
    }

    pub async fn cancel_session(
        &self,
        record: SessionRecord,
        store: StoreHandle,
        watcher: Watcher,
        stopper: &Stopper,
        stops: Stops,
    ) -> Result<SessionStep, Error> {
        let services = self.session_services(&record, store, watcher).await?;
        Ok(cancel_session(services, record, stopper, stops).await?)
    }

    async fn session_services(
        &self,
        record: &SessionRecord,
        store: StoreHandle,
        watcher: Watcher,
    ) -> Result<Services, Error> {
        let (run, _) = read_loop(&store, record.loop_id).await?;
        let config = &run.facts().config;
        let settings = RunSettings::new(&self.user_settings()?, Path::new(&config.workspace))?;
        self.services(store, config, &settings, watcher)
    }
}
