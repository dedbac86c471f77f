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
    let [pin] = named_by(&environment("BASH_ENV", "/work/project/.env.sh"), root).try_into().unwrap();
    assert_eq!((pin.glob.as_str(), pin.kind, pin.why.as_str()), ("/.env.sh", PinKind::Steering, "named by BASH_ENV"));
    assert_eq!(named_by(&environment("PATH", "/work/project/bin"), root), []);
    assert_eq!(named_by(&environment("GOPATH", "/work/other"), root), []);
}

#[test]
fn no_number_of_harmless_changes_hides_one_that_voids() {
    let mut tampered: Vec<Tamper> =
        (0..500).map(|n| Tamper::new(format!("a/{n}/.mocharc.json"), TamperKind::Appeared)).collect();
    tampered.push(Tamper::new("node_modules/mocha/bin/mocha.js", TamperKind::Installed));
    shorten(&mut tampered);
    assert_eq!(tampered.len(), MAX_TAMPERED + 1);
    assert!(tampered.iter().any(|tamper| !tamper.was_undone()));
}
