//! Who wants to know of changes. A task looks for those of other processes while somebody does, and no longer.

use std::sync::{Mutex, PoisonError};

use tokio::sync::broadcast;

use crate::changes::{Change, Changes};

/// Changes that are kept for a subscriber that is slow; one that falls further behind has to look for itself.
const KEPT: usize = 256;

#[derive(Debug)]
pub(crate) struct Watch {
    sender: broadcast::Sender<Change>,
    /// Whether the task runs. Subscribing and ending are decided under this lock, so that no subscriber is left without it.
    is_followed: Mutex<bool>,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self { sender: broadcast::Sender::new(KEPT), is_followed: Mutex::new(false) }
    }

    /// Adds a subscriber. Calls `follow` where no task looks for changes of others yet; it has to start one that ends once
    /// [`Watch::is_wanted`] says no.
    pub(super) fn subscribe(&self, follow: impl FnOnce()) -> Changes {
        let mut is_followed = self.is_followed.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = Changes::new(self.sender.subscribe());
        if !std::mem::replace(&mut *is_followed, true) {
            follow();
        }
        changes
    }

    pub(super) fn send(&self, change: Change) {
        // Most of the time there is no subscriber.
        let _ = self.sender.send(change);
    }

    pub(super) fn is_wanted(&self) -> bool {
        let mut is_followed = self.is_followed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_wanted = self.sender.receiver_count() > 0;
        *is_followed = is_wanted;
        is_wanted
    }
}
