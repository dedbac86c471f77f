//! OpenCode runs plugins of a repository as part of itself, whatever it is told: wherever there are any, it does not run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ralph_testkit::{Repo, shell_quoted};

use crate::fake::words;
use crate::harness::{Ended, User};

const PRICED: &str = include_str!("../../../../agents/streams/opencode/priced.jsonl");

/// A program of kind `opencode` that does one line of shell and counts its runs.
fn configure(user: &User, line: &str) -> std::path::PathBuf {
    let folder = user.home().join("fake");
    fs::create_dir_all(&folder).unwrap();
    let (program, runs) = (folder.join("opencode"), folder.join("runs"));
    let events: Vec<&str> = PRICED.lines().filter(|line| line.starts_with('{')).collect();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" != models ] || exit 1\ncat > /dev/null\necho x >> {}\n{line}\nprintf '%s\\n' {}\n",
        shell_quoted(&runs.to_string_lossy()),
        shell_quoted(&events.join("\n"))
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    user.configure(&format!(
        "agents.fake.kind = \"opencode\"\nagents.fake.program = {:?}\n",
        program.to_str().unwrap()
    ));
    runs
}

fn count(runs: &Path) -> usize {
    fs::read_to_string(runs).unwrap_or_default().lines().count()
}

#[track_caller]
fn refused(ended: &Ended, place: &str) {
    for part in ["would run the code in", place, "settings = \"user\""] {
        assert!(ended.stderr.contains(part), "no {part} in {}", ended.stderr);
    }
}

#[test]
fn plugins_above_the_workspace_are_refused_before_anything_starts() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write(".opencode/plugin/evil.ts", "");
    repo.write("pkg/a/keep", "");
    let runs = configure(&user, "true");
    let ended = user.ralph(&repo.path().join("pkg/a"), words(&["fake"], 1, &["--criteria", "false"])).with_code(2);
    refused(&ended, ".opencode/plugin");
    assert_eq!(count(&runs), 0);
}

#[test]
fn a_plugin_that_an_agent_plants_stops_its_next_run_and_a_resumed_one() {
    let (user, repo) = (User::new(), Repo::init());
    let runs = configure(&user, "mkdir -p .opencode/plugins; echo evil > .opencode/plugins/evil.js");
    let ended = user.ralph(repo.path(), words(&["fake"], 3, &["--criteria", "false"])).with_code(1);
    refused(&ended, ".opencode/plugins");
    assert_eq!(count(&runs), 1);
    let ended = user.ralph(repo.path(), ["resume", "--json"]).with_code(1);
    refused(&ended, ".opencode/plugins");
    assert_eq!(count(&runs), 1);
    repo.remove(".opencode/plugins/evil.js");
    // It plants it again, which is the end of the second run.
    user.ralph(repo.path(), ["resume", "--json"]).with_code(1);
    assert_eq!(count(&runs), 2);
}

#[test]
fn in_a_worktree_the_last_commit_counts_and_not_what_lies_here() {
    let (user, repo) = (User::new(), Repo::init());
    let runs = configure(&user, "touch done");
    let run =
        |more: &[&str]| user.ralph(repo.path(), words(&["fake"], 1, &[&["--criteria", "test -e done"], more].concat()));
    repo.write(".opencode/plugin/evil.ts", "");
    run(&["--worktree"]).ok();
    assert_eq!(count(&runs), 1, "what is not committed is not there");
    repo.commit("a plugin");
    repo.remove(".opencode/plugin/evil.ts");
    refused(&run(&["--worktree"]).with_code(1), ".opencode/plugin");
    let race = run(&["--race", "2"]).with_code(1);
    refused(&race, ".opencode/plugin");
    assert_eq!(count(&runs), 1);
}
