use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

#[test]
fn nothing_of_the_environment_leads_into_the_workspace() {
    let environment = variables(&[
        ("PATH", "/work/project/bin:node_modules/.bin::/usr/bin"),
        ("BASH_ENV", "/work/project/.env.sh"),
        ("NODE_OPTIONS", "--require=/work/project/hook.js"),
        ("OTHER", "/work/project2/x"),
        ("HOME", "/users/ada"),
    ]);
    let kept = without_workspace(environment, Path::new("/work/project"));
    assert_eq!(kept, variables(&[("PATH", "/usr/bin"), ("OTHER", "/work/project2/x"), ("HOME", "/users/ada")]));
}

#[test]
fn another_lock_file_is_another_set_up() {
    let folder = tempfile::tempdir().unwrap();
    let before = lock_files(folder.path());
    std::fs::write(folder.path().join("package-lock.json"), "{}").unwrap();
    let after = lock_files(folder.path());
    assert_ne!(before, after);
    std::fs::write(folder.path().join("main.js"), "").unwrap();
    assert_eq!(lock_files(folder.path()), after);
}

#[test]
fn a_folder_that_checks_closed_is_removed_all_the_same() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("cold");
    fs::create_dir_all(folder.join("pycache/deep")).unwrap();
    fs::write(folder.join("pycache/deep/a.pyc"), "").unwrap();
    for name in ["pycache/deep", "pycache"] {
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o500)).unwrap();
    }
    remove_tree(&folder).unwrap();
    assert!(!folder.exists());
    remove_tree(&folder).unwrap();
}

#[test]
fn a_folder_that_is_nested_deeper_than_a_path_can_say_is_removed() {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    let base = tempfile::tempdir().unwrap();
    let top = base.path().join("cold");
    fs::create_dir(&top).unwrap();
    let mut folder = openat(CWD, &top, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..5_000 {
        mkdirat(&folder, "d", Mode::RWXU).unwrap();
        folder = openat(&folder, "d", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    remove_tree(&top).unwrap();
    assert!(!top.exists());
}

#[test]
fn python_keeps_compiled_modules_in_the_folder_of_the_checks_and_the_order_of_sets() {
    let set = [("PYTHONDONTWRITEBYTECODE", "1"), ("PYTHONPYCACHEPREFIX", "/mine"), ("HOME", "/users/ada")];
    let kept = [("HOME", "/users/ada"), ("PYTHONPYCACHEPREFIX", "/kept")];
    for (given, seed) in [(None, "195939055"), (Some(("PYTHONHASHSEED", "7")), "7")] {
        let mut environment = variables(&given.into_iter().chain(set).collect::<Vec<_>>());
        steady_python(&mut environment, Path::new("/kept"), "0badcaef");
        environment.sort();
        let mut expected = variables(&kept.into_iter().chain([("PYTHONHASHSEED", seed)]).collect::<Vec<_>>());
        expected.sort();
        assert_eq!(environment, expected);
    }
}
