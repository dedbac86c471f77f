//! What people see of a running loop or race: a live view on a terminal, plain lines elsewhere. Watches; never steers the loop.

mod agent_event;
mod events;
#[cfg(test)]
#[path = "view/fixtures_tests.rs"]
mod fixtures;
mod line;
mod lines;
mod live;
mod painter;
mod scene;
mod state;
mod widgets;

pub(crate) use agent_event::transcript;
pub(crate) use events::Events;
pub(crate) use live::{Live, Mode};
