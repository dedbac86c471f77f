#![allow(clippy::unwrap_used, reason = "tests panic with what went wrong")]

use std::collections::BTreeSet;

use uuid::Uuid;

use super::*;

#[test]
fn a_login_is_not_shown() {
    for (address, expected) in [
        ("https://user:secret@host.example/a/b.git", "https://host.example/a/b.git"),
        ("https://host.example/a@b.git", "https://host.example/a@b.git"),
        ("ssh://git@host.example", "ssh://host.example"),
        ("git@host.example:a/b.git", "git@host.example:a/b.git"),
        ("/srv/a.git", "/srv/a.git"),
    ] {
        assert_eq!(shown(address), expected);
    }
}

#[test]
fn the_branch_is_named_after_the_task() {
    let task = TaskId::from_uuid(Uuid::from_u128(1));
    assert_eq!(branch(task), "ralph/00000000-0000-0000-0000-000000000001");
}

#[test]
fn added_secrets_are_named_by_file_and_line_and_others_are_not() {
    let redactor = Redactor::new([("MY_TOKEN", "correct-horse-battery")]);
    let patch = |added: &str| {
        format!(
            "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -3,0 +4,2 @@ def f():\n-old correct-horse-battery\n+fine\n+{added}\n"
        )
    };
    for secret in [
        "token = 'correct-horse-battery'",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "-----BEGIN RSA PRIVATE KEY-----",
        "++ ghp_0123456789abcdefghijABCDEFGHIJ012345",
    ] {
        let refused = refuse_secrets(&patch(secret), &redactor).unwrap_err().to_string();
        assert!(refused.contains(": x.py:5;") && refused.contains("--allow-secrets"), "{secret}: {refused}");
        assert!(!refused.contains("correct-horse"), "{refused}");
    }
    refuse_secrets(&patch("let total = sum(values)"), &redactor).unwrap();
}

/// A remote with one commit, and a machine that works for it.
struct Scene {
    folder: tempfile::TempDir,
    host: Host,
    git: Git,
    task: TaskId,
    base: String,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).into_os_string();
        let own = [("HOME", path("home")), ("RALPH_HOME", path("state")), ("GIT_CONFIG_NOSYSTEM", "1".into())];
        let names = own.map(|(name, value)| (name.into(), value));
        let program = std::env::var_os("PATH").map(|value| ("PATH".into(), value));
        let host = Host::new(ralph_host::HostInput {
            variables: names.into_iter().chain(program).collect(),
            current: folder.path().to_owned(),
            program: "ralph".into(),
            version: "0".to_owned(),
            machine: ralph_store::Machine { host: "here".to_owned(), boot: "x".to_owned() },
            now: || ralph_model::Timestamp(0),
            crash: None,
        });
        let host = host.unwrap();
        let git = Git::new(&host).unwrap();
        let task = TaskId::from_uuid(Uuid::from_u128(1));
        Self { folder, host, git, task, base: String::new() }.filled(&[])
    }

    fn filled(self, options: &[&str]) -> Self {
        let scene = self;
        scene.remote(&[&["init", "--quiet", "--bare"], options].concat());
        let base = scene.commit("base.txt", None);
        scene.remote(&["update-ref", "refs/heads/main", &base]);
        scene.remote(&["symbolic-ref", "HEAD", "refs/heads/main"]);
        Self { base, ..scene }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("remote.git")
    }

    #[track_caller]
    fn git(git_dir: &Path, words: &[&str], input: &str) -> String {
        let mut command = std::process::Command::new("git");
        command.env("GIT_DIR", git_dir).args(words).stdin(std::process::Stdio::piped());
        for who in ["GIT_AUTHOR", "GIT_COMMITTER"] {
            command.env(format!("{who}_NAME"), "Jane").env(format!("{who}_EMAIL"), "jane@host.example");
        }
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{words:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[track_caller]
    fn remote(&self, words: &[&str]) -> String {
        Self::git(&self.path(), words, "")
    }

    /// A tree with one file, in a git directory.
    fn tree(git_dir: &Path, name: &str) -> TreeHash {
        let file = Self::git(git_dir, &["hash-object", "-w", "--stdin"], name);
        TreeHash(Self::git(git_dir, &["mktree"], &format!("100644 blob {file}\t{name}\n")))
    }

    /// A commit of a person in the remote, on no branch yet.
    fn commit(&self, name: &str, parent: Option<&str>) -> String {
        let tree = Self::tree(&self.path(), name).0;
        let parents = parent.into_iter().flat_map(|parent| ["-p", parent]);
        let words: Vec<&str> = ["commit-tree", &tree, "-m", "Correct it"].into_iter().chain(parents).collect();
        self.remote(&words)
    }

    /// A worker with this lease, as it begins.
    async fn worker(&self, epoch: u64) -> Place {
        self.find(self.source(&[self.task]).await.unwrap(), epoch).await.unwrap()
    }

    async fn find(&self, source: Source, epoch: u64) -> Result<Place, Error> {
        let lease = TaskLease { task: self.task, epoch: ralph_store::Epoch(epoch) };
        Place::find(&self.host, &self.git, source, lease, &self.base, None).await
    }

    /// The cache as a worker sees it that begins with these tasks.
    async fn source(&self, tasks: &[TaskId]) -> Result<Source, Error> {
        let address = format!("file://{}", self.path().display());
        Source::of_address(&self.host, &self.git, &address, tasks).await
    }

    async fn push(&self, place: &mut Place, name: &str) -> Result<bool, Error> {
        let tree = Self::tree(&place.source.git_dir, name);
        place.push(&tree, &commit::message(name, self.task, None, place.lease.epoch.0)).await
    }

    fn branch(&self) -> String {
        format!("refs/heads/{}", branch(self.task))
    }

    fn tip(&self) -> String {
        self.remote(&["rev-parse", &self.branch()])
    }

    /// The only file of the newest commit, and the subjects of all commits of the branch.
    fn state(&self) -> (String, BTreeSet<String>) {
        let subjects = self.remote(&["log", "--format=%s", &self.branch(), "--not", &self.base]);
        let files = self.remote(&["ls-tree", "--name-only", &self.branch()]);
        (files, subjects.lines().map(str::to_owned).collect())
    }

    #[track_caller]
    fn assert_state(&self, file: &str, subjects: &[&str]) {
        assert_eq!(self.state(), (file.to_owned(), subjects.iter().map(|one| (*one).to_owned()).collect()));
    }

    /// Runs at the next push, before it changes the branch.
    fn hook(&self, name: &str, script: &str) {
        let path = self.path().join("hooks").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\nrm \"$0\"\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
}

#[tokio::test]
async fn a_push_wins_over_a_late_one_of_an_earlier_worker() {
    for has_branch in [false, true] {
        let scene = Scene::new();
        if has_branch {
            scene.push(&mut scene.worker(1).await, "first").await.unwrap();
        }
        let (mut late, mut next) = (scene.worker(1).await, scene.worker(2).await);
        scene.push(&mut late, "late").await.unwrap();
        scene.push(&mut next, "next").await.unwrap();
        let all: &[&str] = if has_branch { &["first", "late", "next"] } else { &["late", "next"] };
        scene.assert_state("next", all);
        let refused = scene.push(&mut late, "later").await.unwrap_err();
        assert!(matches!(&refused, Error::Refused(why) if why.contains("took the task over")), "{refused}");
        scene.assert_state("next", all);
        scene.push(&mut next, "last").await.unwrap();
        assert_eq!(scene.state().0, "last");
    }
}

#[tokio::test]
async fn a_push_of_the_same_tree_keeps_late_ones_from_landing() {
    let scene = Scene::new();
    let mut late = scene.worker(1).await;
    scene.push(&mut late, "first").await.unwrap();
    let mut next = scene.worker(2).await;
    let tree = Scene::tree(&next.source.git_dir, "first");
    assert!(next.push_with_retries(&tree, &commit::message("end", scene.task, None, 2)).await.unwrap());
    assert!(!next.push_with_retries(&tree, &commit::message("end", scene.task, None, 2)).await.unwrap());
    scene.push(&mut late, "late").await.unwrap_err();
    scene.assert_state("first", &["first", "end"]);
}

/// As after an answer that got lost, or a branch that somebody removed.
#[tokio::test]
async fn a_push_that_arrived_unnoticed_and_a_removed_branch_are_no_hindrance() {
    let scene = Scene::new();
    let mut worker = scene.worker(1).await;
    scene.push(&mut worker.clone(), "first").await.unwrap();
    scene.push(&mut worker, "second").await.unwrap();
    scene.assert_state("second", &["first", "second"]);
    scene.remote(&["update-ref", "-d", &scene.branch()]);
    scene.push(&mut worker, "third").await.unwrap();
    scene.assert_state("third", &["first", "second", "third"]);
}

#[tokio::test]
async fn a_commit_of_a_person_is_not_overwritten() {
    let scene = Scene::new();
    let mut worker = scene.worker(1).await;
    scene.push(&mut worker, "first").await.unwrap();
    let hers = scene.commit("hers", Some(&scene.tip()));
    scene.remote(&["update-ref", &scene.branch(), &hers]);
    // The one that was there before, and one that begins later with files of its own.
    for mut worker in [worker, scene.worker(2).await] {
        let refused = scene.push(&mut worker, "next").await.unwrap_err();
        let said = format!("commit {} of Jane <jane@host.example> is on it (Correct it)", &hers[..12]);
        assert!(matches!(&refused, Error::Refused(why) if why.contains(&said)), "{refused}");
        assert_eq!(scene.tip(), hers);
    }
    // Files that came from her commit contain it.
    let mut next = scene.worker(3).await;
    next.adopt();
    scene.push(&mut next, "next").await.unwrap();
    scene.assert_state("next", &["first", "Correct it", "next"]);
}

/// The branch changes a second time, between the look at it and the push.
#[tokio::test]
async fn a_late_push_and_a_person_may_come_at_once() {
    for is_person in [false, true] {
        let scene = Scene::new();
        let (mut late, mut later, mut next) = (scene.worker(1).await, scene.worker(1).await, scene.worker(2).await);
        scene.push(&mut late, "late").await.unwrap();
        let second = match is_person {
            true => scene.commit("hers", Some(&scene.tip())),
            false => {
                let first = scene.tip();
                scene.push(&mut later, "later").await.unwrap();
                let second = scene.tip();
                scene.remote(&["update-ref", &scene.branch(), &first]);
                second
            }
        };
        scene.hook("update", &format!("git update-ref {} {second}", scene.branch()));
        let pushed = scene.push(&mut next, "next").await;
        assert_eq!(pushed.is_err(), is_person, "{pushed:?}");
        match is_person {
            true => assert_eq!(scene.tip(), second),
            false => scene.assert_state("next", &["late", "later", "next"]),
        }
    }
}

/// It saw the late push and was killed while it pushed, and that push lands late as well.
#[tokio::test]
async fn a_worker_that_is_killed_between_fetch_and_push_is_overtaken() {
    let scene = Scene::new();
    let (mut late, killed) = (scene.worker(1).await, scene.worker(2).await);
    scene.push(&mut late, "late").await.unwrap();
    let (begun, go) = (scene.folder.path().join("begun"), scene.folder.path().join("go"));
    let wait = format!(": > {}\nwhile [ ! -e {} ]; do sleep 0.02; done", begun.display(), go.display());
    scene.hook("pre-receive", &wait);
    // A git whose worker is killed does not end with it.
    let tree = Scene::tree(&killed.source.git_dir, "killed");
    let message = commit::message("killed", scene.task, None, 2);
    tokio::spawn(async move { killed.clone().push(&tree, &message).await });
    while !begun.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (mut next, before) = (scene.worker(3).await, scene.tip());
    std::fs::write(go, "").unwrap();
    while scene.tip() == before {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    scene.push(&mut next, "next").await.unwrap();
    scene.assert_state("next", &["late", "killed", "next"]);
}

/// A remote that takes a push and does not answer.
#[tokio::test]
async fn a_push_that_is_given_up_leaves_no_process_and_no_lock() {
    let scene = Scene::new();
    let mut worker = scene.worker(1).await;
    let begun = scene.folder.path().join("begun");
    // The hook ends with the test at the latest.
    let wait = format!("echo $$ > {0}.new\nmv {0}.new {0}\nwhile [ -e {0} ]; do sleep 0.02; done", begun.display());
    scene.hook("pre-receive", &wait);
    let reached = async {
        while !begun.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        pushed = scene.push(&mut worker, "given up") => panic!("{pushed:?}"),
        () = reached => {}
    }
    let hook = Path::new("/proc").join(std::fs::read_to_string(&begun).unwrap().trim());
    let ended = async {
        while hook.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
    scene.push(&mut worker, "next").await.unwrap();
    scene.assert_state("next", &["next"]);
}

/// One that refuses is asked no more; one that is silent may answer later.
#[tokio::test]
async fn a_remote_that_does_not_answer_is_away() {
    let scene = Scene::new();
    let place = scene.worker(1).await;
    let folder = scene.folder.path().display().to_string();
    let push = |script: &str, timeout| {
        scene.hook("pre-receive", script);
        let (base, remote) = (&scene.base, &place.source.remote);
        let push = scene.git.in_dir(&place.source.git_dir).args(["push", remote, &format!("{base}:refs/heads/x")]);
        push.within(timeout).run("push")
    };
    let silent = push(&format!("while [ -d {folder} ]; do sleep 0.02; done"), Duration::from_millis(500)).await;
    let silent = of_remote(silent.unwrap_err());
    assert!(silent.is_remote_away(), "{silent}");
    let refused = of_remote(push("exit 1", Duration::from_secs(60)).await.unwrap_err());
    assert!(!refused.is_remote_away(), "{refused}");
}

#[tokio::test]
async fn a_cache_follows_its_remote_where_no_branch_of_a_task_is_needed() {
    let scene = Scene::new();
    scene.remote(&["update-ref", "refs/heads/old", &scene.base]);
    // Made by the first task.
    scene.source(&[]).await.unwrap();
    let new = scene.commit("new", Some(&scene.base));
    let theirs = branch(TaskId::from_uuid(Uuid::from_u128(2)));
    for (name, commit) in [("refs/heads/main", &new), (&*format!("refs/heads/{theirs}"), &new)] {
        scene.remote(&["update-ref", name, commit]);
    }
    scene.remote(&["update-ref", "-d", "refs/heads/old"]);
    let source = scene.source(&[]).await.unwrap();
    assert_eq!(source.base(&scene.git, None).await.unwrap(), new);
    let names = Scene::git(&source.git_dir, &["for-each-ref", "--format=%(refname)", "refs/heads"], "");
    assert_eq!(names, "refs/heads/main");
    // A remote whose current branch has no commit, and one that is away.
    scene.remote(&["symbolic-ref", "HEAD", "refs/heads/none"]);
    let unborn = scene.source(&[]).await.unwrap().base(&scene.git, None).await.unwrap_err();
    assert!(unborn.to_string().contains("has no commit yet"), "{unborn}");
    std::fs::rename(scene.path(), scene.folder.path().join("gone")).unwrap();
    scene.source(&[]).await.unwrap_err();
}

#[tokio::test]
async fn a_cache_has_the_branches_that_the_task_needs_and_no_work_of_others() {
    let scene = Scene::new();
    let other = TaskId::from_uuid(Uuid::from_u128(2));
    let theirs = scene.commit("theirs", Some(&scene.base));
    scene.remote(&["update-ref", &format!("refs/heads/{}", branch(other)), &theirs]);
    scene.push(&mut scene.worker(1).await, "own").await.unwrap();
    let cached = |source: &Source| {
        let names = Scene::git(&source.git_dir, &["for-each-ref", "--format=%(refname:lstrip=2)"], "");
        names.lines().map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let (main, own, others) = ("main".to_owned(), branch(scene.task), branch(other));
    let source = scene.source(&[scene.task]).await.unwrap();
    assert_eq!(cached(&source), BTreeSet::from([main.clone(), own.clone()]));
    // A commit of another task is found where a task begins from it.
    assert_eq!(source.base(&scene.git, Some(&others)).await.unwrap(), theirs);
    std::fs::remove_dir_all(&source.git_dir).unwrap();
    let source = scene.source(&[scene.task, other]).await.unwrap();
    assert_eq!(cached(&source), BTreeSet::from([main, own, others]));
    assert_eq!(source.base(&scene.git, None).await.unwrap(), scene.base);
    source.base(&scene.git, Some("nowhere")).await.unwrap_err();
}

/// What a git that was killed leaves behind is in the way of no later task.
#[tokio::test]
async fn a_broken_cache_is_made_anew() {
    for broken in ["refs/heads/main.lock", "packed-refs.lock", "HEAD"] {
        let scene = Scene::new();
        scene.remote(&["update-ref", "refs/heads/old", &scene.base]);
        let source = scene.source(&[scene.task]).await.unwrap();
        Scene::git(&source.git_dir, &["pack-refs", "--all"], "");
        std::fs::write(source.git_dir.join(broken), "").unwrap();
        // One branch is pruned, and one changed.
        scene.remote(&["update-ref", "-d", "refs/heads/old"]);
        let new = scene.commit("new", Some(&scene.base));
        scene.remote(&["update-ref", "refs/heads/main", &new]);
        assert_eq!(scene.source(&[scene.task]).await.unwrap().base(&scene.git, None).await.unwrap(), new, "{broken}");
    }
    // A remote that refuses is no reason to fetch everything again.
    let scene = Scene::new();
    let source = scene.source(&[scene.task]).await.unwrap();
    std::fs::rename(scene.path(), scene.folder.path().join("gone")).unwrap();
    scene.source(&[scene.task]).await.unwrap_err();
    assert!(source.git_dir.is_dir());
}

#[tokio::test]
async fn a_cache_is_packed_and_keeps_what_no_branch_has_any_more() {
    let scene = Scene::new();
    let mut commit = scene.base.clone();
    for number in 0..=crate::source::MAX_PACKS {
        // Each commit is on a branch of its own that the next fetch removes.
        commit = scene.commit(&format!("file {number}"), Some(&scene.base));
        scene.remote(&["update-ref", "refs/heads/main", &commit]);
        scene.source(&[scene.task]).await.unwrap();
    }
    let source = scene.source(&[scene.task]).await.unwrap();
    let packs = std::fs::read_dir(source.git_dir.join("objects/pack")).unwrap().flatten();
    assert!(packs.filter(|file| file.path().extension().is_some_and(|kind| kind == "pack")).count() <= 2);
    assert_eq!(source.base(&scene.git, None).await.unwrap(), commit);
    assert_eq!(source.base(&scene.git, Some(&scene.base)).await.unwrap(), scene.base);
}

/// Git cannot have the branches `ralph` and `ralph/x`. Known before the work begins, not when it is pushed.
#[tokio::test]
async fn a_branch_in_the_way_is_named_before_the_work_begins() {
    let scene = Scene::new();
    scene.remote(&["update-ref", "refs/heads/ralph", &scene.base]);
    let refused = scene.find(scene.source(&[scene.task]).await.unwrap(), 1).await.unwrap_err();
    assert!(refused.to_string().contains("has a branch `ralph`"), "{refused}");
}

#[tokio::test]
async fn a_repository_may_use_sha256() {
    let scene = Scene::new();
    std::fs::remove_dir_all(scene.path()).unwrap();
    let scene = scene.filled(&["--object-format=sha256"]);
    scene.push(&mut scene.worker(1).await, "first").await.unwrap();
    scene.assert_state("first", &["first"]);
}

/// A worker that is killed while it restores the work of another one is followed by one on the same machine.
#[tokio::test]
async fn files_that_were_not_restored_to_the_end_are_no_state_of_the_loop() {
    let scene = Scene::new();
    let place = scene.worker(1).await;
    for is_finished in [true, false] {
        place.make(&scene.base).await.unwrap();
        Scene::git(&place.snapshots, &["init", "--quiet", "--bare"], "");
        let newest = Scene::tree(&place.snapshots, "newest");
        if is_finished {
            place.finish().await.unwrap();
        }
        assert_eq!(scene.worker(2).await.has(&newest).await, is_finished);
    }
}
