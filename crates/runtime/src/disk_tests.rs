use std::ffi::OsString;
use std::os::unix::fs::symlink;

use ralph_model::TamperKind;
use ralph_verify::pins::{Question, changed_programs, programs};
use tempfile::TempDir;

use super::*;

/// A throwaway folder with files in it, and the PATH of its checks.
struct Little {
    dir: TempDir,
    path: OsString,
}

impl Little {
    fn new(files: &[(&str, &str)]) -> Self {
        let little = Self { dir: tempfile::tempdir().unwrap(), path: OsString::from("/usr/bin:/bin") };
        files.iter().for_each(|(path, text)| little.write(path, text));
        little
    }

    fn path(mut self, path: &str) -> Self {
        self.path = OsString::from(path);
        self
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }

    fn program(&self, path: &str, text: &str) {
        self.write(path, text);
        fs::set_permissions(self.root().join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn root(&self) -> &Path {
        self.dir.path()
    }

    fn disk(&self, path: &OsStr) -> Disk {
        Disk::new(self.root(), path)
    }
}

fn found(little: &Little, command: &str) -> Vec<Program> {
    let (sources, commands) = (little.disk(&little.path), [command.to_owned()]);
    programs(&Question { sources: &sources, commands: &commands, protect: &[], files: &[], listings: &[] })
}

/// Two folders of programs outside a workspace.
fn outside() -> Little {
    let outside = Little::new(&[]);
    for program in ["one/tool", "one/sh", "two/tool", "two/other"] {
        outside.program(program, "#!/bin/sh\n");
    }
    outside.write("two/data", "");
    outside
}

fn workspace(outside: &Little) -> Little {
    let place = outside.root().display();
    Little::new(&[("run.sh", "other --x\n")]).path(&format!("{place}/one:{place}/two"))
}

#[test]
fn programs_outside_the_workspace_are_remembered() {
    let outside = outside();
    let little = workspace(&outside);
    let names: Vec<String> = found(&little, "tool data ./run.sh && bash run.sh").into_iter().map(|p| p.name).collect();
    assert_eq!(names, ["sh", "tool", "other"]);
    let json = serde_json::to_string(&found(&little, "tool")).unwrap();
    let back: Vec<Program> = serde_json::from_str(&json).unwrap();
    assert_eq!(back, found(&little, "tool"));
}

#[test]
fn programs_of_the_workspace_are_not() {
    let little = Little::new(&[]).path("bin:/nowhere");
    little.program("bin/tool", "");
    assert_eq!(found(&little, "tool"), []);
}

#[test]
fn what_stays_as_it_is_is_not_reported() {
    let outside = outside();
    let little = workspace(&outside);
    let before = found(&little, "tool");
    assert_eq!(changed_programs(&before, &little.disk(&little.path)), []);
}

#[test]
fn a_replaced_deleted_or_shadowed_program_is_reported() {
    let outside = outside();
    let little = workspace(&outside);
    let before = found(&little, "tool && other");
    let detail = |path: &OsStr| {
        let changed = changed_programs(&before, &little.disk(path));
        assert!(changed.iter().all(|tamper| tamper.kind == TamperKind::Program && !tamper.was_undone()));
        changed.into_iter().map(|tamper| format!("{}: {}", tamper.path, tamper.detail)).collect::<Vec<_>>().join("; ")
    };
    // Something in the workspace stands before it.
    little.program("bin/tool", "");
    let path = OsString::from(format!("bin:{}", little.path.to_str().unwrap()));
    assert!(
        detail(&path).starts_with("tool: ") && detail(&path).contains("/bin/tool instead of "),
        "{}",
        detail(&path)
    );
    assert_eq!(detail(&little.path), "");
    outside.program("one/other", "");
    assert!(detail(&little.path).contains("one/other instead of "), "{}", detail(&little.path));
    fs::remove_file(outside.root().join("one/other")).unwrap();
    // Written in place with the same size: nobody can set back when that was.
    let written = fs::metadata(outside.root().join("one/tool")).unwrap();
    outside.write("one/tool", "#!/bin/xx\n");
    fs::File::open(outside.root().join("one/tool")).unwrap().set_modified(written.modified().unwrap()).unwrap();
    assert!(detail(&little.path).contains("one/tool was written to"), "{}", detail(&little.path));
    fs::remove_file(outside.root().join("two/other")).unwrap();
    assert!(detail(&little.path).contains("other: ") && detail(&little.path).contains("is gone"));
}

#[test]
fn a_link_is_followed() {
    let outside = outside();
    let little = workspace(&outside);
    symlink(outside.root().join("two/other"), outside.root().join("one/link")).unwrap();
    let before = found(&little, "link");
    assert!(before.iter().any(|program| program.name == "link" && program.file.ends_with("two/other")));
    fs::remove_file(outside.root().join("one/link")).unwrap();
    symlink(outside.root().join("two/tool"), outside.root().join("one/link")).unwrap();
    assert_eq!(changed_programs(&before, &little.disk(&little.path)).len(), 1);
}
