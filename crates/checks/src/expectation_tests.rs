use super::*;

fn change(path: &str, kind: ChangeKind) -> Change {
    Change { path: path.into(), kind }
}

#[test]
fn each_expectation_is_compared_with_what_was_seen() {
    let pending = ToolEvidence { pending_approval: Some(true), ..ToolEvidence::ok("send_email", "waits") };
    let evidence = [ToolEvidence::ok("fs_edit", "a"), ToolEvidence::error("git_push", "refused"), pending];
    let changed = [
        change("src/cart/mod.rs", ChangeKind::Modified),
        change("docs/new.md", ChangeKind::Added),
        change("gone.txt", ChangeKind::Deleted),
        change("run.sh", ChangeKind::Mode),
    ];
    let met = Observed {
        evidence: &evidence,
        changed: &changed,
        new_commits: 1,
        clean: Some(true),
        root: Path::new("/"),
        objective: "",
    };
    let unmet = Observed { new_commits: 0, clean: Some(false), ..met };
    let nowhere = Observed { clean: None, ..met };
    for (expectation, observed, wanted) in [
        ("tool:fs_edit", met, Ok(())),
        ("tool:git_commit", met, Err("git_commit was not called")),
        ("tool:git_push", met, Err("git_push was called and did not succeed")),
        ("tool:send_email", met, Err("send_email waits for approval")),
        ("commit", met, Ok(())),
        ("commit", unmet, Err("no commit created")),
        ("clean-tree", met, Ok(())),
        ("clean-tree", unmet, Err("uncommitted changes are left")),
        ("clean-tree", nowhere, Err("this is no git repository, so there is no clean tree")),
        ("file:src/**", met, Ok(())),
        ("file:src", met, Ok(())),
        ("file:*.rs", met, Ok(())),
        ("file:/src/cart/mod.rs", met, Ok(())),
        ("file:./docs/*.md", met, Ok(())),
        ("file:run.sh", met, Ok(())),
        ("file:cart/*.rs", met, Err("no file that matches cart/*.rs was added or changed")),
        ("file:gone.txt", met, Err("a file that matches gone.txt was deleted, none was added or changed")),
        ("file:!x", met, Err("no file that matches !x was added or changed")),
        ("command:make", met, Err("the command was not run")),
    ] {
        let expectation: Expectation = expectation.parse().unwrap();
        assert_eq!(evaluate(&expectation, &observed), wanted.map_err(str::to_owned), "{expectation}");
    }
}

#[test]
fn a_broken_glob_is_said_to_be_broken() {
    let observed =
        Observed { evidence: &[], changed: &[], new_commits: 0, clean: None, root: Path::new("/"), objective: "" };
    let why = evaluate(&Expectation::File("a{b".into()), &observed).unwrap_err();
    assert!(why.contains("`a{b` is not a glob"), "{why}");
}

#[test]
fn an_absolute_path_does_not_break_the_matcher() {
    assert!(matches(&matcher("*.rs").unwrap(), "/src/a.rs"));
    assert!(!matches(&matcher("*.rs").unwrap(), "/"));
}

#[test]
fn a_task_list_is_met_when_every_item_is_ticked() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let look = |objective: &str, name: &str| {
        let observed = Observed { evidence: &[], changed: &[], new_commits: 0, clean: None, root, objective };
        evaluate(&format!("checklist:{name}").parse().unwrap(), &observed)
    };
    let write = |text: &str| fs::write(root.join("TASKS.md"), text).unwrap();
    assert!(look("", "TASKS.md").unwrap_err().contains("not in the workspace"));
    write("- [x] one\n- [ ] two\n- [ ] three\n");
    assert_eq!(look("", "TASKS.md").unwrap_err(), "1 of 3 done; open: two; three");
    write("- [x] one\n- [x] two\n");
    assert_eq!(look("", "TASKS.md"), Ok(()));
    assert_eq!(look("- [ ] one\n- [ ] two\n- [ ] three", "TASKS.md").unwrap_err(), "2 of 3 done; open: three");
    fs::create_dir(root.join("folder")).unwrap();
    assert!(look("", "folder").is_err());
    for outside in ["checklist:", "checklist:/etc/passwd", "checklist:../TASKS.md"] {
        assert!(outside.parse::<Expectation>().is_err(), "{outside}");
    }
}
