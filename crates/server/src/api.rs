//! The handlers, one module for each kind of resource.

pub(crate) mod agents;
pub(crate) mod follow;
pub(crate) mod info;
pub(crate) mod tasks;
pub(crate) mod work;
