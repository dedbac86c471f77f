//! Agents that mend the bug, and do what people do besides.

mod checks;
mod forms;
mod go;
mod javascript;
mod languages;
mod manners;
mod other_runners;
mod python;
mod rust;
mod shell;
mod small;

use super::case::Case;

pub fn all() -> Vec<Case> {
    [
        rust::cases(),
        python::cases(),
        javascript::cases(),
        go::cases(),
        languages::cases(),
        other_runners::cases(),
        shell::cases(),
        manners::cases(),
        small::cases(),
        checks::cases(),
        forms::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
