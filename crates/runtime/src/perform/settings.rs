//! Keeps an agent from changing how it works: says when its settings are used, and tells what became of them.

use std::sync::PoisonError;

use ralph_model::{AgentSpec, Attempt, Sandboxing};

use super::Context;
use crate::error::Error;
use crate::settings_snapshot::{Report, Shared, Tree, recover};

/// Paths that are named in a warning.
const MAX_NAMED: usize = 5;

const LOST_TASK: Error = Error::Vanished("reading the agent's settings");

impl Context {
    /// What says how the agent works is kept from here on. Not for one that keeps the user's settings: it may change them, too.
    pub(super) async fn use_settings(&self, agent: &AgentSpec, attempt: Attempt) -> Result<Option<Shared>, Error> {
        if agent.user_settings || self.config.sandbox == Sandboxing::Off {
            return Ok(None);
        }
        let mut roots = (self.services.kept)(agent);
        roots.sort();
        roots.dedup();
        if roots.is_empty() {
            return Ok(None);
        }
        let folder = self.services.home.kept_settings_of(&roots);
        let aside = self.folder.settings(attempt).join("before");
        let place = aside.display().to_string();
        let entered = tokio::task::spawn_blocking(move || Shared::enter(&folder, &roots, &aside)).await;
        let (shared, found) = entered.map_err(|_| LOST_TASK)??;
        self.warn_of_settings(
            "the agent's settings were changed by another agent, which is running or whose Ralph died, and were restored",
            &found.report,
            &place,
        );
        let told = &mut *self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let gaps: Vec<String> = found.gaps.into_iter().filter(|gap| told.insert(gap.clone())).collect();
        if !gaps.is_empty() {
            self.services.warn(format!(
                "changes to some of the agent's own settings cannot be restored, because there are too many or they cannot be \
                 read ({}): {}",
                gaps.len(),
                named(&gaps)
            ));
        }
        Ok(Some(shared))
    }

    pub(super) async fn put_settings_back(&self, settings: Option<Shared>, tree: Tree, attempt: Attempt) {
        let Some(settings) = settings else { return };
        let aside = self.folder.settings(attempt);
        let place = aside.display().to_string();
        let left = tokio::task::spawn_blocking(move || settings.leave(tree, &aside)).await;
        match left.map_err(|_| LOST_TASK).flatten() {
            Ok(report) => self.warn_of_settings(
                "the agent's own settings changed while it ran, and were restored",
                &report,
                &place,
            ),
            // The copy of them stays, for whoever starts an agent next.
            Err(error) => self.services.warn(format!("the agent's settings were not restored: {}", error.chain())),
        }
    }

    /// Puts settings back that agents of a Ralph that died have changed, whichever they were.
    pub(crate) async fn recover_settings(&self) {
        let (all, aside) = (self.services.home.kept_settings(), self.folder.settings_left_behind());
        let place = aside.display().to_string();
        let found = tokio::task::spawn_blocking(move || recover(&all, &aside)).await;
        match found.map_err(|_| LOST_TASK).flatten() {
            Ok(report) => self.warn_of_settings(
                "an agent's settings were changed by an agent that is running or whose Ralph died, and were restored",
                &report,
                &place,
            ),
            Err(error) => self.services.warn(format!("an agent's settings were not restored: {}", error.chain())),
        }
    }

    fn warn_of_settings(&self, what: &str, report: &Report, place: &str) {
        let (changed, lost) = (&report.changed, &report.lost);
        if !changed.is_empty() {
            let all = if report.unsaved == 0 { "" } else { ", as far as there is room" };
            let (count, named) = (changed.len(), named(changed));
            self.services.warn(format!("{what} ({count}): {named}; the changed versions are in {place}{all}"));
        }
        if !lost.is_empty() {
            let (count, named) = (lost.len(), named(lost));
            self.services.warn(format!(
                "some settings of an agent changed and could not be restored ({count}): {named}; review them before you use \
                 that agent"
            ));
        }
    }
}

fn named(paths: &[String]) -> String {
    let more = if paths.len() > MAX_NAMED { ", …" } else { "" };
    format!("{}{more}", paths[..paths.len().min(MAX_NAMED)].join(", "))
}
