//! What each kind of project pins: tests, what belongs to them, and what steers its runners.

mod general;
mod go;
mod javascript;
mod packages;
mod python;
mod runners;
mod rust;
mod shadow;

use std::collections::BTreeMap;

use crate::pins::Sources;
use crate::pins::path;
use crate::pins::question::{Layers, Project};

pub(crate) use general::is_apart;
pub(crate) use rust::is_test_file;
pub(crate) use shadow::program_names;

pub(crate) fn add_all(project: &Project<'_>, layers: &mut Layers) {
    general::add(project, layers);
    rust::add(project, layers);
    python::add(project, layers);
    javascript::add(project, layers);
    go::add(project, layers);
    runners::add(project, layers);
    packages::add(project, layers);
}

/// Whether a folder of programs is filled by a package manager: `.venv/bin`, `node_modules/.bin`.
pub(crate) fn is_managed(sources: &dyn Sources, place: &str) -> bool {
    place.ends_with("node_modules/.bin")
        || path::join(path::parent(place), "pyvenv.cfg").is_some_and(|file| sources.has_file(&file))
}

/// Alternatives of a glob: `{a,b}`, or the only one.
fn any_of<T: AsRef<str>>(names: &[T]) -> String {
    match names {
        [only] => only.as_ref().to_owned(),
        many => format!("{{{}}}", many.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(",")),
    }
}

/// Globs for something in each of several folders, one for those that lie beside each other.
fn grouped(folders: &[&str], glob: &str) -> Vec<String> {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for folder in folders {
        // A name as it is written in a glob, without the slash that stands before a path.
        groups.entry(path::parent(folder)).or_default().push(path::exact(path::name(folder))[1..].to_owned());
    }
    let mut globs = Vec::new();
    for (parent, names) in groups {
        // The workspace itself has no name.
        let (top, named): (Vec<String>, Vec<String>) = names.into_iter().partition(String::is_empty);
        if !top.is_empty() {
            globs.push(path::below("", glob));
        }
        if !named.is_empty() {
            globs.push(path::below(parent, &format!("{}/{glob}", any_of(&named))));
        }
    }
    globs
}

#[cfg(test)]
#[path = "stack_tests.rs"]
mod tests;
