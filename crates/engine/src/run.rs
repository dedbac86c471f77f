//! What every kind of run has in common: a machine that a journal drives. Appends and starts nothing.

use ralph_model::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::event::DecodeEvent;

/// An event that a journal can hold.
pub trait JournalEvent: Serialize + DeserializeOwned {
    /// The newest version of the events. A reader refuses newer ones rather than guess.
    const VERSION: u32;

    /// The version that this event is written as: the oldest whose readers understand it.
    fn version(&self) -> u32 {
        Self::VERSION
    }

    /// The name of the kind, as it stands in the journal.
    fn kind(&self) -> String {
        let encoded = serde_json::to_value(self).unwrap_or_default();
        encoded["kind"].as_str().unwrap_or_default().to_owned()
    }

    /// The text that the journal keeps: an object with its kind in it.
    ///
    /// # Errors
    /// Never for events made by this crate; the error is that of the encoder.
    fn encode(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Reads what [`JournalEvent::encode`] wrote, also by an older Ralph.
    ///
    /// # Errors
    /// When the event is of a newer version or is not one.
    fn decode(version: u32, payload: &str) -> Result<Self, DecodeEvent> {
        if version > Self::VERSION {
            return Err(DecodeEvent::Newer { version, known: Self::VERSION });
        }
        serde_json::from_str(payload).map_err(|source| DecodeEvent::Unreadable { source })
    }
}

/// A run as a value: events in, effects out. The same events give the same effects.
pub trait Machine: Clone {
    /// What happened.
    type Event: JournalEvent;
    /// What has to be done.
    type Effect;
    type Outcome;

    /// A run from its first event, with what has to be done first.
    fn start(at: Timestamp, event: Self::Event) -> Result<(Self, Vec<Self::Effect>), ReplayError>;

    /// Takes one event into account and says what has to be done.
    fn step(&mut self, at: Timestamp, event: Self::Event) -> Vec<Self::Effect>;

    /// How the run ended, once it has.
    fn outcome(&self) -> Option<&Self::Outcome>;

    /// The run that these events made. Starts nothing: the effects of the past are gone.
    fn replay(events: impl IntoIterator<Item = (Timestamp, Self::Event)>) -> Result<Self, ReplayError> {
        let mut events = events.into_iter();
        let (at, first) = events.next().ok_or(ReplayError::NoStart)?;
        let (mut run, _) = Self::start(at, first)?;
        for (at, event) in events {
            run.step(at, event);
        }
        Ok(run)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("the journal does not begin with the start of such a run")]
    NoStart,
    #[error("event {seq} of the journal")]
    Decode { seq: u64, source: DecodeEvent },
}
