//! Packages that checks load: all of an environment in the workspace, however deep. Runners and the libraries of tests have stricter
//! pins of their own, which come later and count more.

use ralph_model::PinKind::Packages;

use crate::pins::path;
use crate::pins::question::{Layers, Project, add as pin};

/// What tools write among the packages of npm themselves.
const WRITTEN_BY_TOOLS: [&str; 2] = [".*", ".*/**"];
/// How deep an environment may lie.
const DEPTH: usize = 3;
/// Folders that are looked into for environments.
const MAX_FOLDERS: usize = 500;

pub(super) fn add(project: &Project<'_>, layers: &mut Layers) {
    if is_vendored(project) {
        pin(&mut layers.packages, Packages, "vendored packages", "/vendor/**");
    }
    for place in environments(project) {
        let packages = &mut layers.packages;
        if path::name(&place) == "node_modules" {
            pin(packages, Packages, "installed packages", path::below(&place, "**"));
            for glob in WRITTEN_BY_TOOLS {
                pin(packages, Packages, "written by tools", format!("!{}", path::below(&place, glob)));
            }
            // The packages themselves, where pnpm installs them.
            pin(packages, Packages, "installed packages", path::below(&place, ".pnpm/**"));
        } else {
            let installed = path::below(&place, "lib/python*/site-packages");
            pin(packages, Packages, "installed packages", format!("{installed}/**"));
            // An installation rewrites its own records, and the project itself may be installed, too.
            for written in ["*.dist-info/**", "*.egg-info/**", "pip/**", "**/__pycache__/**"] {
                pin(packages, Packages, "written by tools", format!("!{installed}/{written}"));
            }
            pin(packages, Packages, "registers plugins", format!("{installed}/*.dist-info/entry_points.txt"));
        }
    }
}

/// Whether Go, Composer, Bundler or Cargo put packages into `vendor`: what lies there is used instead of what a lock file vouches for.
fn is_vendored(project: &Project<'_>) -> bool {
    let sources = project.sources;
    let is_crate = |name: &String| sources.has_file(&format!("vendor/{name}/.cargo-checksum.json"));
    ["vendor/modules.txt", "vendor/autoload.php"].iter().any(|file| sources.has_file(file))
        || sources.has_folder("vendor/bundle")
        || (project.has_name(&["composer.json"]) && sources.has_folder("vendor"))
        || sources.names("vendor").iter().take(MAX_FOLDERS).any(is_crate)
}

/// Folders of packages that are no part of the snapshot and lie in the workspace: what is behind a link is shared by others.
fn environments(project: &Project<'_>) -> Vec<String> {
    let sources = project.sources;
    let (mut found, mut open) = (Vec::new(), vec![(String::new(), 0)]);
    let mut left = MAX_FOLDERS;
    while let Some((folder, depth)) = open.pop() {
        for name in sources.names(&folder) {
            let Some(place) = path::join(&folder, &name) else { continue };
            let is_environment = name == "node_modules" || sources.has_file(&format!("{place}/pyvenv.cfg"));
            let is_folder = || sources.has_folder(&place) && !sources.is_link(&place);
            if is_environment && is_folder() {
                let is_tracked = project
                    .files
                    .iter()
                    .any(|file| file.strip_prefix(place.as_str()).is_some_and(|rest| rest.starts_with('/')));
                found.extend((!is_tracked).then_some(place));
            } else if depth < DEPTH && !super::is_apart(&name) && left > 0 && !name.contains('.') && is_folder() {
                left -= 1;
                open.push((place, depth + 1));
            }
        }
    }
    found.sort();
    found
}
