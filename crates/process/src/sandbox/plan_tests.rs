use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::sandbox::Network;

/// A folder for each name, and a sandbox with them.
fn jail(root: &Path, writable: &[&str], hidden: &[&str]) -> Jail {
    let paths = |names: &[&str]| names.iter().map(|name| root.join(name)).collect();
    Jail {
        arguments: Vec::new(),
        bubblewrap: None,
        landlock: Some(7),
        own_mounts: false,
        network: Network::Allowed,
        writable: paths(writable),
        hidden: paths(hidden),
    }
}

fn root(folders: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    folders.iter().for_each(|name| fs::create_dir_all(path.join(name)).unwrap());
    (folder, path)
}

#[test]
fn links_are_followed_and_what_is_missing_is_left_out() {
    let (_folder, root) = root(&["real", "state"]);
    symlink(root.join("real"), root.join("link")).unwrap();
    symlink(root.join("nowhere"), root.join("dangling")).unwrap();
    let plan = plan(&jail(&root, &["link", "missing", "dangling", "real"], &["state", "no-state"])).unwrap();
    assert_eq!((plan.writable, plan.hidden), (vec![root.join("real")], vec![root.join("state")]));
}

#[test]
fn a_link_below_something_writable_opens_nothing() {
    let (_folder, root) = root(&["work", "precious"]);
    symlink(root.join("precious"), root.join("work/cache")).unwrap();
    assert_eq!(plan(&jail(&root, &["work", "work/cache"], &[])).unwrap().writable, [root.join("work")]);
}

#[test]
fn what_is_writable_below_something_hidden_stays() {
    let (_folder, root) = root(&["state/attempt/report", "work"]);
    let found = plan(&jail(&root, &["work", "state/attempt", "state/attempt/report"], &["state"])).unwrap();
    assert_eq!(found.writable, [root.join("state/attempt"), root.join("work")]);
}

#[test]
fn one_path_cannot_be_both() {
    let (_folder, root) = root(&["state"]);
    symlink(root.join("state"), root.join("link")).unwrap();
    let refused = plan(&jail(&root, &["link"], &["state"]));
    assert_eq!(refused, Err(Unenforceable::Contradiction { path: root.join("state") }));
}

#[test]
fn only_mounts_can_hide_something_inside_of_what_is_writable() {
    let (_folder, root) = root(&["home/state/attempt"]);
    let mut jail = jail(&root, &["home", "home/state/attempt"], &["home/state"]);
    let exposed = Unenforceable::Exposed { hidden: root.join("home/state"), writable: root.join("home") };
    assert!(exposed.to_string().contains("bubblewrap"), "{exposed}");
    assert_eq!(plan(&jail), Err(exposed));
    jail.bubblewrap = Some("/usr/bin/bwrap".into());
    assert_eq!(plan(&jail).unwrap().writable, [root.join("home"), root.join("home/state/attempt")]);
    // Mounts of the stage's own are as good.
    (jail.bubblewrap, jail.own_mounts) = (None, true);
    assert!(plan(&jail).is_ok());
    jail.own_mounts = false;
    // Where nothing protects files, nothing is promised either.
    (jail.bubblewrap, jail.landlock) = (None, None);
    assert!(plan(&jail).is_ok());
}
