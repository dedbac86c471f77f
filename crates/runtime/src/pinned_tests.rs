use super::*;

#[test]
fn variables_that_lead_into_the_workspace_name_what_steers_the_checks() {
    let environment = |name: &str, value: &str| vec![(OsString::from(name), OsString::from(value))];
    let root = Path::new("/work/project");
    let [pin] = named_by(&environment("BASH_ENV", "/work/project/.env.sh"), root).try_into().unwrap();
    assert_eq!((pin.glob.as_str(), pin.kind, pin.why.as_str()), ("/.env.sh", PinKind::Steering, "named by BASH_ENV"));
    assert_eq!(named_by(&environment("PATH", "/work/project/bin"), root), []);
    assert_eq!(named_by(&environment("GOPATH", "/work/other"), root), []);
}
