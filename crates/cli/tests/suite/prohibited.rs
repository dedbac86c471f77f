//! Prohibited paths: whatever way a change takes, the loop ends, the files are as they were, and nothing is lost.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_testkit::{Repo, Script, Step, git_environment, scratch};
use serde_json::Value;

use crate::harness::{Ended, User, run_words_with};

/// A repository with something behind every default glob; `.env` is ignored by git and nobody else's business.
fn shop() -> Repo {
    let repo = Repo::init();
    repo.write(".gitignore", ".env\n.env.*\n");
    repo.write("check.sh", "test -e done.txt\n");
    repo.write("src/auth/login.rs", "fn login() {}\n");
    repo.write("src/payments/pay.rs", "fn pay() {}\n");
    repo.write("migrations/1.sql", "create table a;\n");
    repo.commit("shop");
    repo.write(".env", "KEY=1\n");
    chmod(&repo, ".env", 0o600);
    repo
}

fn chmod(repo: &Repo, path: &str, mode: u32) {
    std::fs::set_permissions(repo.path().join(path), Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

/// Every file, link and folder outside of `.git` and `.ralph`, with mode and content.
fn content(root: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    fn collect(root: &Path, folder: &Path, found: &mut Vec<(PathBuf, u32, Vec<u8>)>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let relative = path.strip_prefix(root).unwrap().to_owned();
            if [".git", ".ralph"].iter().any(|skipped| relative == Path::new(skipped)) {
                continue;
            }
            let kind = entry.file_type().unwrap();
            let bytes = if kind.is_symlink() {
                std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if kind.is_dir() {
                collect(root, &path, found);
                Vec::new()
            } else {
                std::fs::read(&path).unwrap()
            };
            found.push((relative, mode(&path), bytes));
        }
    }
    let mut found = Vec::new();
    collect(root, root, &mut found);
    found.sort();
    found
}

struct Caught {
    user: User,
    result: Value,
    patch: PathBuf,
}

fn run(user: &User, repo: &Repo, script: Script, more: &[&str]) -> Ended {
    let mut words = vec!["--unmetered", "--criteria", "sh check.sh"];
    words.extend(more);
    user.ralph(repo.path(), run_words_with(&user.agent(script), 4, &words))
}

/// Runs an agent that offends beside honest work, and checks everything that holds for every offence.
#[track_caller]
fn caught(repo: &Repo, offence: Vec<Step>, paths: &[&str], more: &[&str]) -> Caught {
    let user = User::new();
    let before = content(repo.path());
    let mut steps = vec![Step::write("honest/work.txt", "kept\n"), Step::append("README.md", "kept, too\n")];
    steps.extend(offence);
    let result = run(&user, repo, Script::new().run(steps), more).with_code(16).json();
    assert_eq!((result["status"].as_str(), result["reason"].as_str()), (Some("ABORTED"), Some("PROHIBITED_PATH")));
    assert_eq!(result["iterations"], 1);
    for path in paths {
        assert!(result["details"].as_str().unwrap().contains(path), "{path} in {result:#}");
    }
    // Restored to the byte, and nothing else was.
    let after = content(repo.path());
    let honest = |path: &Path| path.starts_with("honest") || path == Path::new("README.md");
    let others =
        |all: Vec<(PathBuf, u32, Vec<u8>)>| all.into_iter().filter(|(path, ..)| !honest(path)).collect::<Vec<_>>();
    assert_eq!(others(after), others(before));
    assert_eq!((repo.read("honest/work.txt"), repo.read("README.md").contains("kept, too")), ("kept\n".into(), true));
    let patch = PathBuf::from(result["patch"].as_str().unwrap());
    assert!(patch.starts_with(user.state()), "{}", patch.display());
    Caught { user, result, patch }
}

impl Caught {
    /// The patch of the offence, applied to the restored workspace.
    #[track_caller]
    fn reapplied(&self, repo: &Repo) {
        repo.git(["apply", "--whitespace=nowarn", self.patch.to_str().unwrap()]);
    }

    fn id(&self) -> &str {
        self.result["loopId"].as_str().unwrap()
    }
}

#[test]
fn a_file_that_git_ignores() {
    let repo = shop();
    let caught = caught(&repo, vec![Step::write(".env", "KEY=stolen\n")], &[".env"], &[]);
    caught.reapplied(&repo);
    assert_eq!(repo.read(".env"), "KEY=stolen\n");
}

#[test]
fn an_ignored_file_in_a_folder_below_and_binary_content() {
    let repo = shop();
    repo.write("deep/er/.env.local", b"\0\x01\xff binary");
    chmod(&repo, "deep/er/.env.local", 0o640);
    let line = "printf 'other\\000\\377' > deep/er/.env.local";
    let caught = caught(&repo, vec![Step::run(line)], &["deep/er/.env.local"], &[]);
    caught.reapplied(&repo);
    assert_eq!(std::fs::read(repo.path().join("deep/er/.env.local")).unwrap(), b"other\0\xff");
}

#[test]
fn a_file_reached_through_a_link() {
    let repo = shop();
    std::os::unix::fs::symlink("src/auth", repo.path().join("innocent")).unwrap();
    repo.commit("link");
    let caught = caught(
        &repo,
        vec![Step::write("innocent/login.rs", "fn login() { backdoor() }\n")],
        &["src/auth/login.rs"],
        &[],
    );
    caught.reapplied(&repo);
    assert_eq!(repo.read("src/auth/login.rs"), "fn login() { backdoor() }\n");
}

#[test]
fn a_link_that_the_agent_makes_itself_is_no_way_around() {
    let repo = shop();
    let steps = vec![
        Step::symlink("src/payments", "way"),
        Step::write("way/pay.rs", "fn pay() { twice() }\n"),
        Step::delete("way"),
    ];
    caught(&repo, steps, &["src/payments/pay.rs"], &[]);
}

#[test]
fn a_hard_link_is_no_way_around() {
    let repo = shop();
    let steps = vec![Step::run("ln .env second && echo KEY=2 > second && rm second")];
    caught(&repo, steps, &[".env"], &[]);
}

#[test]
fn an_env_file_that_lives_outside() {
    let repo = shop();
    repo.remove(".env");
    let outside = repo.outside().join("shared.env");
    std::fs::write(&outside, "KEY=shared\n").unwrap();
    std::fs::set_permissions(&outside, Permissions::from_mode(0o604)).unwrap();
    std::os::unix::fs::symlink("../shared.env", repo.path().join(".env")).unwrap();
    let caught = caught(&repo, vec![Step::write(".env", "KEY=stolen\n")], &[".env"], &[]);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "KEY=shared\n");
    assert_eq!(mode(&outside), 0o604);
    // The patch is about the content behind the link; a link cannot be patched with it, so it is tried elsewhere.
    let elsewhere = scratch();
    std::fs::write(elsewhere.path().join(".env"), "KEY=shared\n").unwrap();
    let mut git = Command::new("git");
    git.current_dir(&elsewhere).envs(git_environment()).args(["apply", caught.patch.to_str().unwrap()]);
    let output = git.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_to_string(elsewhere.path().join(".env")).unwrap(), "KEY=stolen\n");
}

#[test]
fn a_link_replaced_by_a_file_and_a_file_replaced_by_a_link() {
    let repo = shop();
    std::fs::write(repo.outside().join("shared.env"), "KEY=shared\n").unwrap();
    std::os::unix::fs::symlink("../shared.env", repo.path().join(".env.shared")).unwrap();
    let steps = vec![
        Step::delete(".env.shared"),
        Step::write(".env.shared", "KEY=mine\n"),
        Step::delete(".env"),
        Step::symlink("../shared.env", ".env"),
    ];
    caught(&repo, steps, &[".env", ".env.shared"], &[]);
}

#[test]
fn a_change_that_the_agent_commits() {
    let repo = shop();
    let line = "echo 'fn login() { open() }' > src/auth/login.rs && git add -A && \
                git -c user.name=a -c user.email=a@b commit -qm 'nothing to see'";
    let caught = caught(&repo, vec![Step::run(line)], &["src/auth/login.rs"], &[]);
    caught.reapplied(&repo);
    assert_eq!(repo.read("src/auth/login.rs"), "fn login() { open() }\n");
    // The agent's commit is its work: it stays, for a person to judge.
    assert_eq!(repo.git(["log", "-1", "--format=%s"]), "nothing to see");
}

#[test]
fn a_change_that_the_agent_commits_and_takes_back_in_its_files() {
    let (user, repo) = (User::new(), shop());
    let start = repo.git(["rev-parse", "HEAD"]);
    let line = "echo x > src/auth/a.rs && git add -A && git -c user.name=a -c user.email=a@b commit -qm x && \
                git revert -n HEAD && echo done > done.txt";
    let script = Script::new().run([Step::run(line)]).run([Step::write("more.txt", "x\n")]);
    let result = run(&user, &repo, script, &[]).with_code(16).json();
    assert_eq!((result["status"].as_str(), result["reason"].as_str()), (Some("ABORTED"), Some("PROHIBITED_PATH")));
    // The commit is the user's to judge: it stays, and what to do about it is said.
    let commit = repo.git(["rev-parse", "HEAD"]);
    assert_eq!(repo.git(["show", "HEAD:src/auth/a.rs"]), "x");
    let details = result["details"].as_str().unwrap();
    for part in ["src/auth/a.rs", &commit[..12], &format!("git reset {}", &start[..12])] {
        assert!(details.contains(part), "{part} in {details}");
    }
    repo.git(["apply", "--check", result["patch"].as_str().unwrap()]);
    // It stands until somebody took it out of the history; the work is kept.
    let id = result["loopId"].as_str().unwrap();
    let refused = user.ralph(repo.path(), ["resume", id, "--json"]).with_code(2).stderr;
    assert!(refused.contains(&commit) && refused.contains(&format!("git reset {}", &start[..12])), "{refused}");
    repo.git(["reset", "-q", &start]);
    let resumed = user.ralph(repo.path(), ["resume", id, "--json"]).ok().json();
    assert_eq!((resumed["status"].as_str(), repo.exists("done.txt")), (Some("COMPLETED"), true));
    assert!(user.ralph(repo.path(), ["verify-run", id]).ok().stdout.contains("HOLDS"));
}

#[test]
fn commits_that_leave_prohibited_paths_alone_are_welcome() {
    let (user, repo) = (User::new(), shop());
    let commit = "git add -A && git -c user.name=a -c user.email=a@b commit -qm";
    let script = Script::new()
        .run([Step::write("half.txt", "1\n"), Step::run(format!("{commit} half"))])
        .run([Step::write("done.txt", "2\n"), Step::run(format!("{commit} done --amend"))]);
    let result = run(&user, &repo, script, &[]).ok().json();
    assert_eq!((result["status"].as_str(), result["iterations"].as_u64()), (Some("COMPLETED"), Some(2)));
}

#[test]
fn a_change_that_git_is_told_not_to_see() {
    let repo = shop();
    let line = "git update-index --assume-unchanged src/auth/login.rs && echo '// x' >> src/auth/login.rs && \
                git update-index --skip-worktree migrations/1.sql && echo '-- x' >> migrations/1.sql";
    caught(&repo, vec![Step::run(line)], &["src/auth/login.rs", "migrations/1.sql"], &[]);
}

#[test]
fn a_change_that_keeps_size_and_time() {
    let repo = shop();
    let line = "touch -r .env ../stamp && printf 'KEY=9\\n' > .env && touch -r ../stamp .env";
    caught(&repo, vec![Step::run(line)], &[".env"], &[]);
}

#[test]
fn a_changed_mode() {
    let repo = shop();
    let caught = caught(
        &repo,
        vec![Step::chmod(".env", 0o644), Step::chmod("migrations/1.sql", 0o755)],
        &[".env", "migrations/1.sql"],
        &[],
    );
    assert_eq!(mode(&repo.path().join(".env")), 0o600);
    let patch = std::fs::read_to_string(&caught.patch).unwrap();
    assert!(patch.contains("0600 became 0644"), "{patch}");
    caught.reapplied(&repo);
    assert_eq!(mode(&repo.path().join("migrations/1.sql")) & 0o111, 0o111);
}

#[test]
fn a_deleted_file_and_a_deleted_folder() {
    let repo = shop();
    let caught = caught(
        &repo,
        vec![Step::delete("migrations/1.sql"), Step::delete("src/payments")],
        &["migrations/1.sql", "src/payments/pay.rs"],
        &[],
    );
    caught.reapplied(&repo);
    assert!(!repo.exists("migrations/1.sql") && !repo.exists("src/payments/pay.rs"));
}

#[test]
fn a_new_file() {
    let repo = shop();
    let steps = vec![Step::write("migrations/2.sql", "drop table a;\n"), Step::write("migrations/deep/3.sql", "x\n")];
    let caught = caught(&repo, steps, &["migrations/2.sql", "migrations/deep/3.sql"], &[]);
    assert!(!repo.exists("migrations/deep"));
    caught.reapplied(&repo);
    assert_eq!(
        (repo.read("migrations/2.sql"), repo.read("migrations/deep/3.sql")),
        ("drop table a;\n".into(), "x\n".into())
    );
}

#[test]
fn what_is_named_like_gits_own_folder_and_what_is_no_file() {
    let repo = shop();
    let line = "mkdir -p src/auth/.git && echo x > src/auth/.git/config && mkfifo src/auth/f";
    caught(&repo, vec![Step::run(line)], &["src/auth/.git/config", "src/auth/f"], &[]);
}

#[test]
fn a_moved_folder() {
    let repo = shop();
    let user = User::new();
    let script = Script::new().run([Step::Rename { from: "src/auth".into(), to: "src/moved".into() }]);
    run(&user, &repo, script, &[]).with_code(16);
    assert_eq!(repo.read("src/auth/login.rs"), "fn login() {}\n");
    assert_eq!(repo.read("src/moved/login.rs"), "fn login() {}\n", "only what is prohibited is put back");
}

#[test]
fn outside_of_git_the_same_holds() {
    let repo = Repo::plain();
    repo.write("README.md", "x\n");
    repo.write("check.sh", "test -e done.txt\n");
    repo.write("src/auth/login.rs", "fn login() {}\n");
    caught(
        &repo,
        vec![Step::write("src/auth/login.rs", "changed\n"), Step::write(".env", "new\n")],
        &[".env", "src/auth/login.rs"],
        &[],
    );
}

#[test]
fn a_change_between_two_iterations_is_seen_before_the_next() {
    let (user, repo) = (User::new(), shop());
    // The check itself changes a prohibited file, once the agent was there.
    repo.write("check.sh", "if test -e log; then echo '-- by the check' >> migrations/1.sql; fi\nfalse\n");
    repo.commit("check");
    let script = Script::new().otherwise([Step::append("log", "x\n")]);
    let result = run(&user, &repo, script, &[]).with_code(16).json();
    assert_eq!((result["reason"].as_str(), result["iterations"].as_u64()), (Some("PROHIBITED_PATH"), Some(1)));
    assert_eq!((repo.read("migrations/1.sql"), repo.read("log")), ("create table a;\n".into(), "x\n".into()));
    let patch = std::fs::read_to_string(result["patch"].as_str().unwrap()).unwrap();
    assert!(patch.contains("+-- by the check"), "{patch}");
}

#[test]
fn a_change_by_the_first_check_is_seen_before_any_agent_runs() {
    let (user, repo) = (User::new(), shop());
    repo.write("check.sh", "echo '-- by the check' >> migrations/1.sql\nfalse\n");
    repo.commit("check");
    let result = run(&user, &repo, Script::new().otherwise([Step::append("log", "x\n")]), &[]).with_code(16).json();
    assert_eq!((result["reason"].as_str(), result["iterations"].as_u64()), (Some("PROHIBITED_PATH"), Some(0)));
    assert!(!repo.exists("log"));
    assert_eq!(repo.read("migrations/1.sql"), "create table a;\n");
}

#[test]
fn globs_are_added_and_taken_away_by_flags() {
    let repo = shop();
    repo.write("infra/main.tf", "resource {}\n");
    repo.commit("infra");
    let words = ["--prohibit", "infra/**", "--prohibit", "!migrations/**"];
    let steps = vec![Step::write("infra/main.tf", "changed\n")];
    caught(&repo, steps, &["infra/main.tf"], &words);
    let user = User::new();
    let script = Script::new().run([Step::write("migrations/2.sql", "create table b;\n"), Step::write("done.txt", "")]);
    run(&user, &repo, script, &words).ok();
    assert_eq!(repo.read("migrations/2.sql"), "create table b;\n");
}

#[test]
fn the_users_own_list_replaces_the_defaults() {
    let (user, repo) = (User::new(), shop());
    user.configure("prohibited_paths = [\"secret/**\"]\n");
    let script = Script::new().run([Step::write(".env", "KEY=2\n"), Step::write("done.txt", "")]);
    run(&user, &repo, script, &[]).ok();
    assert_eq!(repo.read(".env"), "KEY=2\n");
    let script = Script::new().run([Step::write("secret/new", "x")]);
    let repo = shop();
    run(&user, &repo, script, &[]).with_code(16);
    assert!(!repo.exists("secret/new"));
}

#[test]
fn a_loop_goes_on_after_a_violation_when_it_is_resumed() {
    let (user, repo) = (User::new(), shop());
    let script = Script::new()
        .run([Step::write(".env", "KEY=stolen\n"), Step::write("half.txt", "kept\n")])
        .run([Step::write("done.txt", "")]);
    let result = run(&user, &repo, script, &[]).with_code(16).json();
    let id = result["loopId"].as_str().unwrap();
    let resumed = user.ralph(repo.path(), ["resume", id, "--json"]).ok().json();
    assert_eq!((resumed["status"].as_str(), resumed["iterations"].as_u64()), (Some("COMPLETED"), Some(2)));
    assert_eq!((repo.read(".env"), repo.read("half.txt")), ("KEY=1\n".into(), "kept\n".into()));
    let told = user.ralph(repo.path(), ["show", id, "--prompt", "2"]).ok().stdout;
    assert!(told.contains("prohibited") && told.contains(".env"), "{told}");
    assert!(user.ralph(repo.path(), ["verify-run", id]).ok().stdout.contains("HOLDS"));
}

#[test]
fn a_second_violation_adds_to_the_patch_and_loses_nothing_of_the_first() {
    let (user, repo) = (User::new(), shop());
    let script =
        Script::new().run([Step::write(".env", "KEY=first\n")]).run([Step::write("migrations/9.sql", "second\n")]);
    let first = run(&user, &repo, script, &[]).with_code(16).json();
    user.ralph(repo.path(), ["resume", first["loopId"].as_str().unwrap(), "--json"]).with_code(16);
    let patch = std::fs::read_to_string(first["patch"].as_str().unwrap()).unwrap();
    assert!(patch.contains("+KEY=first") && patch.contains("+second"), "{patch}");
}

#[test]
fn the_offence_is_named_to_people() {
    let repo = shop();
    let caught = caught(&repo, vec![Step::write(".env", "KEY=2\n")], &[".env"], &[]);
    let shown = caught.user.ralph(repo.path(), ["show", caught.id()]).ok().stdout;
    assert!(shown.contains("PROHIBITED_PATH") && shown.contains(".env"), "{shown}");
    let ledger = repo.read(".ralph/LEDGER.md");
    assert!(ledger.contains("PROHIBITED_PATH"), "{ledger}");
}
