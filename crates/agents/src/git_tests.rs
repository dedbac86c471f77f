use std::process::Command;

use super::*;

fn git(folder: &Path, words: &[&str]) {
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
    let ended = Command::new("git").args(identity).args(words).current_dir(folder).output().unwrap();
    assert!(ended.status.success(), "{words:?}: {ended:?}");
}

#[test]
fn commits_are_written_in_the_repository_even_from_a_worktree_or_a_folder_below() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let (main, tree) = (top.join("main"), top.join("tree"));
    fs::create_dir_all(main.join("pkg/a")).unwrap();
    assert_eq!(written_by_commits(&main), Vec::<PathBuf>::new());
    git(&main, &["init", "-q"]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
    assert_eq!(written_by_commits(&main.join("pkg/a")), [main.join(".git")]);
    git(&main, &["worktree", "add", "-q", tree.to_str().unwrap()]);
    assert_eq!(written_by_commits(&tree), [main.join(".git/worktrees/tree"), main.join(".git")]);
}

#[test]
fn a_file_that_leads_elsewhere_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (other, work) = (folder.path().join("other"), folder.path().join("work"));
    fs::create_dir_all(&other).unwrap();
    fs::create_dir_all(&work).unwrap();
    git(&other, &["init", "-q"]);
    fs::write(work.join(".git"), format!("gitdir: {}\n", other.join(".git").display())).unwrap();
    assert_eq!(written_by_commits(&work), Vec::<PathBuf>::new(), "nobody there knows of it");
    fs::write(work.join(".git"), format!("gitdir: {}\n", folder.path().display())).unwrap();
    assert_eq!((at(&work), written_by_commits(&work)), (Git::Broken, Vec::new()));
}
