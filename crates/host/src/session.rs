//! Loops that live in a session of the user's own.

use std::path::Path;
use std::sync::Arc;

use ralph_config::{Resolved, RunSettings};
use ralph_model::LoopId;
use ralph_process::Supervisor;
use ralph_runtime::{
    KnownLoop, Services, SessionRecord, SessionStep, SiteOptions, Stopper, Stops, TakenSite, TurnReport, Watcher,
    begin_session, cancel_session, continue_session,
};
use ralph_store::StoreHandle;

use crate::host::ServiceParts;
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
        (store, supervisor): (StoreHandle, Arc<Supervisor>),
        watcher: Watcher,
        stops: Stops,
    ) -> Result<SessionStep, Error> {
        let (services, known) = self.session_services(&record, store, Some(supervisor), watcher, &stops).await?;
        Ok(continue_session(services, known, record, report, stops).await?)
    }

    pub async fn cancel_session(
        &self,
        record: SessionRecord,
        store: StoreHandle,
        watcher: Watcher,
        stopper: &Stopper,
        stops: Stops,
    ) -> Result<SessionStep, Error> {
        let (services, known) = self.session_services(&record, store, None, watcher, &stops).await?;
        Ok(cancel_session(services, known, record, stopper, stops).await?)
    }

    async fn session_services(
        &self,
        record: &SessionRecord,
        store: StoreHandle,
        supervisor: Option<Arc<Supervisor>>,
        watcher: Watcher,
        stops: &Stops,
    ) -> Result<(Services, (KnownLoop, TakenSite)), Error> {
        let git = self.git()?;
        let user_git = record.user_git.clone().unwrap_or_else(|| self.user_git(&git));
        let options = SiteOptions { home: self.home(), git, excludes: user_git.excludes.clone(), now: self.clock() };
        let site = TakenSite::of_session(options, record, self.machine(), &store, stops).await?;
        let known = KnownLoop::read(&store, record.loop_id).await?;
        let config = known.config();
        let settings = RunSettings::new(&self.user_settings()?, Path::new(&config.workspace))?;
        let prepared = ServiceParts { supervisor, user_git: Some(user_git) };
        let services = self.services_of(store, &config.env, config.agents(), &settings, watcher, prepared)?;
        Ok((services, (known, site)))
    }
}
