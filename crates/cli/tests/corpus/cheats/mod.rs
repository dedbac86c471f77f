//! Agents that leave the bug where it is and make the checks pass.

mod adversary;
mod caches;
mod equality;
mod forms;
mod go;
mod hidden;
mod javascript;
mod languages;
mod listed;
mod loaded;
mod other_runners;
mod outside;
mod programs;
mod pytest;
mod runners;
mod running;
mod rust;
mod rust_steering;
mod selective;
mod shell;
mod unittest;
mod untouched;
mod words;

use super::case::Case;

pub fn all() -> Vec<Case> {
    [
        rust::cases(),
        rust_steering::cases(),
        unittest::cases(),
        pytest::cases(),
        javascript::cases(),
        runners::cases(),
        go::cases(),
        languages::cases(),
        other_runners::cases(),
        shell::cases(),
        selective::cases(),
        hidden::cases(),
        programs::cases(),
        running::cases(),
        caches::cases(),
        outside::cases(),
        words::cases(),
        untouched::cases(),
        loaded::cases(),
        forms::cases(),
        listed::cases(),
        adversary::cases(),
        equality::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
