//! Agents that mend the bug, and do what people do besides.

mod checks;
mod go;
mod javascript;
mod manners;
mod python;
mod rust;
mod shell;
mod small;

use super::case::Case;

pub fn all() -> Vec<Case> {
    let cases = [rust::cases(), python::cases(), javascript::cases(), go::cases(), shell::cases()];
    let others = [manners::cases(), small::cases(), checks::cases()];
    cases.into_iter().chain(others).flatten().collect()
}
