//! One module per command. Each gets its words and its host, writes to a [`crate::screen::Screen`] and gives the
//! exit code.

pub(crate) mod activation;
pub(crate) mod agents;
pub(crate) mod completions;
pub(crate) mod crew;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod follow;
pub(crate) mod guard;
pub(crate) mod hook;
pub(crate) mod init;
pub(crate) mod install;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod mcp;
pub(crate) mod report;
mod requests;
pub(crate) mod resume;
pub(crate) mod rewind;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod show;
pub(crate) mod skills;
pub(crate) mod stop;
pub(crate) mod task;
pub(crate) mod token;
pub(crate) mod trust;
pub(crate) mod verify_run;
pub(crate) mod worker;
