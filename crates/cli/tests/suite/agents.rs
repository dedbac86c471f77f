//! Agents of several kinds: what a service refuses, whose turn it is, what is asked before a write, and what is listed.

mod asked;
mod failover;
mod keys;
mod late_cost;
mod leftovers;
mod listing;
mod own_models;
mod pieces;
mod plugins;
mod seen;
mod spending;
mod turns;
mod waiting;
