use super::*;

#[test]
fn a_source_file_names_the_module_of_its_tests() {
    for (path, module) in [
        ("src/cart/price.rs", "cart::price::"),
        ("src/cart/mod.rs", "cart::"),
        ("src/lib.rs", ""),
        ("crates/shop/src/cart.rs", "cart::"),
    ] {
        assert_eq!(module_of(path), module, "{path}");
    }
}

#[test]
fn variables_that_lead_into_the_workspace_name_what_steers_the_checks() {
    let environment = |name: &str, value: &str| vec![(OsString::from(name), OsString::from(value))];
    let root = Path::new("/work/project");
    assert_eq!(named_by(&environment("BASH_ENV", "/work/project/.env.sh"), root), ["/.env.sh"]);
    assert_eq!(named_by(&environment("PATH", "/work/project/bin"), root), [""; 0]);
    assert_eq!(named_by(&environment("GOPATH", "/work/other"), root), [""; 0]);
}

#[test]
fn what_is_installed_shows_in_its_folders() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(installed(root.path()), "");
    std::fs::create_dir_all(root.path().join("node_modules/left-pad")).unwrap();
    let before = installed(root.path());
    assert_ne!(before, "");
    std::fs::create_dir_all(root.path().join("node_modules/right-pad")).unwrap();
    assert_ne!(installed(root.path()), before);
}
