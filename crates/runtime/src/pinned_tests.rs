use std::fs;

use ralph_model::{AgentSpec, Money};
use ralph_workspace::{Options, StopFlag};

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

#[test]
fn what_checks_only_read_follows_the_changes_of_the_work() {
    let place = tempfile::tempdir().unwrap();
    let (root, state) = (place.path().join("work"), place.path().join("state"));
    let write = |path: &str| {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), path).unwrap();
    };
    ["tests/a.py", "tests/data.bin", "src/b.py"].into_iter().for_each(write);
    // Nothing here needs git.
    let git = PathBuf::from("/nowhere/git");
    let options = Options { root: root.clone(), state, git, global_excludes: None, stop: StopFlag::default() };
    let mut workspace = Workspace::open(options).unwrap();
    let start = workspace.scan_tree().unwrap();
    let agent = AgentSpec::command("", "");
    let config = LoopConfig {
        verification_commands: vec!["true".to_owned()],
        protected_paths: vec!["tests/".to_owned()],
        ..LoopConfig::new(String::new(), 1, Money::ZERO, agent, root.to_str().unwrap().to_owned())
    };
    let mut pinned = Pinned::take(&mut workspace, &start, &config, &[], &[], &place.path().join("pins")).unwrap();
    let mut expect = |workspace: &mut Workspace, expected: &[&str]| {
        let tree = workspace.scan_tree().unwrap();
        let found = pinned.left_alone(workspace, &tree).unwrap();
        assert!(found.iter().eq(expected), "{found:?}");
    };
    expect(&mut workspace, &["tests/a.py"]);
    ["tests/c.py", "tests/more.bin", "src/d.py"].into_iter().for_each(write);
    expect(&mut workspace, &["tests/a.py", "tests/c.py"]);
    // A file in the place of a folder, and the other way round.
    fs::remove_file(root.join("tests/a.py")).unwrap();
    write("tests/a.py/e.py");
    expect(&mut workspace, &["tests/a.py/e.py", "tests/c.py"]);
    fs::remove_dir_all(root.join("tests")).unwrap();
    write("tests");
    expect(&mut workspace, &[]);
}
