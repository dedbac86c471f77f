use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::support::Lab;

/// A repository with a remote, on branch `main`.
async fn repository(lab: &Lab) {
    let script = "git init -q --bare -b main ../remote.git && git init -q -b main . && git remote add origin ../remote.git \
        && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m start";
    lab.done("bash_execute", json!({"command": script})).await;
}

#[tokio::test]
async fn work_is_committed_pushed_and_pulled() {
    let lab = Lab::new();
    repository(&lab).await;
    lab.done("fs_writeFile", json!({"path": "a.txt", "content": "one\n"})).await;
    lab.done("fs_writeFile", json!({"path": "*.txt", "content": "a strange name\n"})).await;
    let status = lab.done("git_status", json!({})).await;
    assert_eq!(status.summary, "git status: 2 changed files on main");
    // A path is a path and no pattern.
    assert_eq!(lab.done("git_add", json!({"paths": ["*.txt"]})).await.text, "*.txt\n");
    assert_eq!(lab.done("git_add", json!({"paths": ["."]})).await.summary, "git add: 2 files staged");
    let diff = lab.done("git_diff", json!({"staged": true, "paths": ["a.txt"]})).await;
    assert!(diff.text.contains("+one") && diff.summary == "git diff: 1 changed file", "{diff:?}");
    let commit = lab.done("git_commit", json!({"message": "area: add a file\n\n# Why not."})).await;
    let id = commit.external_id.unwrap();
    assert_eq!(commit.summary, format!("commit {}: area: add a file", &id[..9]));
    assert!(lab.failed("git_commit", json!({"message": "again"})).await.text.contains("nothing to commit"));
    assert_eq!(lab.done("git_diff", json!({})).await.text, "no changes");

    let pushed = lab.done("git_push", json!({})).await;
    assert_eq!(pushed.external_id.as_deref(), Some(id.as_str()));
    assert_eq!(pushed.next_step.as_deref(), Some("the work is on branch main of origin, ready for review"));
    lab.done("git_push", json!({})).await;
    let other = "git clone -q ../remote.git ../other && cd ../other && echo two > b && git add b \
        && git -c user.name=a -c user.email=a@b commit -qm more && git push -q";
    lab.done("bash_execute", json!({"command": other})).await;
    lab.done("git_pull", json!({"remote": "origin", "branch": "main"})).await;
    assert!(lab.path("b").exists());
    for remote in ["nowhere", "--upload-pack=x", "ext::sh -c true", "../remote.git"] {
        assert!(lab.failed("git_push", json!({"remote": remote})).await.text.contains("there is no remote"));
    }
    for branch in ["-f", "a:b", "+main", "a b", ""] {
        assert!(lab.failed("git_push", json!({"branch": branch})).await.text.contains("is no name of a branch"));
    }
}

#[tokio::test]
async fn nothing_that_the_repository_configures_runs() {
    let lab = Lab::new();
    repository(&lab).await;
    let trap = lab.folder.path().join("trap");
    fs::write(&trap, format!("#!/bin/sh\necho \"$0 $*\" >> {0}.sprung\ncat 2>/dev/null\n", trap.display())).unwrap();
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    let set = |key: &str| format!("git config '{key}' {}\n", trap.display());
    let keys = [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.askPass",
        "core.editor",
        "core.alternateRefsCommand",
        "diff.external",
        "diff.t.textconv",
        "diff.t.command",
        "filter.t.clean",
        "filter.t.smudge",
        "filter.t.process",
        "merge.t.driver",
        "credential.helper",
        "gpg.program",
        "remote.origin.receivepack",
        "remote.origin.uploadpack",
    ];
    let script: String = keys.into_iter().map(set).collect();
    let script = format!(
        "{script} git config commit.gpgSign true; git config filter.t.required true; git config core.hooksPath hooks; mkdir hooks; \
         for hook in pre-commit commit-msg post-commit pre-push post-merge post-checkout reference-transaction post-index-change; \
         do cp {0} hooks/$hook; cp {0} .git/hooks/$hook; done; echo '* filter=t diff=t merge=t' > .gitattributes; echo x > a",
        trap.display()
    );
    lab.done("bash_execute", json!({"command": script})).await;
    let _ = fs::remove_file(trap.with_extension("sprung"));
    let steps = [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_add", json!({"paths": ["."]})),
        ("git_diff", json!({"staged": true})),
        ("git_commit", json!({"message": "m"})),
        ("git_push", json!({})),
        ("git_pull", json!({})),
    ];
    for (name, arguments) in steps {
        lab.done(name, arguments).await;
        let sprung = fs::read_to_string(lab.folder.path().join("trap.sprung")).unwrap_or_default();
        assert_eq!(sprung, "", "{name} ran what the repository configures");
    }
    for url in [format!("ext::{}", trap.display()), "ssh://localhost:1/x".to_owned()] {
        lab.done("bash_execute", json!({"command": format!("git config remote.origin.url '{url}'")})).await;
        lab.failed("git_push", json!({})).await;
        lab.failed("git_pull", json!({})).await;
        assert!(!lab.folder.path().join("trap.sprung").exists(), "{url}");
    }
    lab.done("bash_execute", json!({"command": "git config core.worktree /"})).await;
    assert!(lab.failed("git_add", json!({"paths": ["."]})).await.text.contains("core.worktree"));
}
