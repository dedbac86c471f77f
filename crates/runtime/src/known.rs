//! Loops as their journals have them.

use ralph_engine::Loop;
use ralph_model::{LoopConfig, LoopId};
use ralph_store::{Head, Recorded, StoreHandle};

use crate::error::Error;
use crate::journaled::{head_of, replay};

/// A loop as its journal had it when it was read.
pub struct KnownLoop {
    pub(crate) run: Loop,
    pub(crate) recorded: Vec<Recorded>,
}

impl KnownLoop {
    pub async fn read(store: &StoreHandle, loop_id: LoopId) -> Result<Self, Error> {
        let recorded = store.journal(loop_id).await?;
        Ok(Self { run: replay(loop_id, recorded.clone())?, recorded })
    }

    pub fn config(&self) -> &LoopConfig {
        &self.run.facts().config
    }

    /// Whether nothing was written to the journal since.
    pub(crate) async fn is_newest(&self, store: &StoreHandle, loop_id: LoopId) -> Result<bool, Error> {
        Ok(store.run(loop_id).await?.head == head_of(loop_id, &self.recorded))
    }
}

pub async fn read_loop(store: &StoreHandle, loop_id: LoopId) -> Result<(Loop, Head), Error> {
    let recorded = store.journal(loop_id).await?;
    let head = head_of(loop_id, &recorded);
    Ok((replay(loop_id, recorded)?, head))
}
