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
        ("HOME", "/users/ada"),
    ]);
    let kept = without_workspace(environment, Path::new("/work/project"));
    assert_eq!(kept, variables(&[("PATH", "/usr/bin"), ("HOME", "/users/ada")]));
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
