//! The handlers, one module for each kind of resource.

pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod files;
pub(crate) mod follow;
pub(crate) mod info;
pub(crate) mod loops;
pub(crate) mod schedules;
pub(crate) mod stats;
pub(crate) mod store;
pub(crate) mod tasks;
pub(crate) mod work;
