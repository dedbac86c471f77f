//! What agent programs keep of their runs in the folders that Ralph made for them: it can hold keys, and nothing of it stays.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ralph_testkit::{Processes, Repo, Script, Step, shell_quoted};
use serde_json::{Value, json};

use crate::aid::{Agent, SOON, kill, wait_for_file};
use crate::fake::{Fake, Run, prices, words};
use crate::harness::{User, run_words_with};

const WORK: &str = include_str!("../../../../agents/streams/gemini/work.jsonl");
const KEY: &str = "a-key-that-only-the-program-saw-5f2c";

/// A program of kind `gemini` that is none: it keeps a record of its chat as the real one does, with a key in it, and tells what a
/// recorded run told. What it does besides is a line of shell.
fn gemini(user: &User, does: &str) -> PathBuf {
    let lines = |side: bool| -> Vec<String> {
        let all = WORK.lines().filter_map(|line| match line.strip_prefix("!side ") {
            Some(beside) => side.then(|| beside.to_owned()),
            None => (!side && !line.starts_with('!')).then(|| line.to_owned()),
        });
        all.map(|line| shell_quoted(&line)).collect()
    };
    let hello: Value = serde_json::from_str(WORK.lines().find(|line| line.contains("session_id")).unwrap()).unwrap();
    let session = &hello["session_id"].as_str().unwrap()[..8];
    let script = format!(
        "#!/bin/sh\ncat > /dev/null\nchats=$GEMINI_CLI_HOME/.gemini/tmp/project/chats\nmkdir -p $chats\n\
         printf '%s\\n' {} {KEY} > $chats/session-1-{session}.jsonl\nchmod 500 $chats\n\
         echo $GEMINI_CLI_HOME > {}\n{does}\nprintf '%s\\n' {}\n",
        lines(true).join(" "),
        shell_quoted(&user.home().join("was-here").to_string_lossy()),
        lines(false).join(" "),
    );
    let program = user.home().join("gemini");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let named = json!(program.to_string_lossy());
    user.configure(&format!("agents.fake.kind = \"gemini\"\nagents.fake.program = {named}\n"));
    program
}

/// Everything in the folders of all runs.
fn kept(user: &User) -> Vec<PathBuf> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            found.push(entry.path());
            if entry.file_type().unwrap().is_dir() {
                collect(&entry.path(), found);
            }
        }
    }
    let mut found = Vec::new();
    for folder in fs::read_dir(user.state().join("loops")).unwrap().flatten() {
        let runs = fs::read_dir(folder.path().join("attempts")).unwrap().flatten();
        for run in runs.filter(|run| run.file_type().unwrap().is_dir()) {
            collect(&run.path(), &mut found);
        }
    }
    found
}

#[track_caller]
fn assert_was_there(user: &User) {
    let home = fs::read_to_string(user.home().join("was-here")).unwrap();
    assert!(Path::new(home.trim()).starts_with(user.state()), "{home}");
}

#[test]
fn nothing_of_the_home_of_gemini_is_left() {
    let (user, repo) = (User::new(), Repo::init());
    gemini(&user, "touch done");
    let result =
        user.ralph(repo.path(), words(&["fake"], 1, &["--criteria", "test -e done", "--unmetered"])).ok().json();
    assert_eq!(result["status"], "COMPLETED");
    // Only the record tells with what code a command ended: it was read before it went.
    let shown = user.show(result["loopId"].as_str().unwrap()).to_string();
    assert!(shown.contains("exit code 3"), "{shown}");
    assert_was_there(&user);
    assert_eq!(kept(&user), [""; 0].map(PathBuf::from));
}

#[test]
fn nothing_is_left_after_a_crash_when_the_workspace_is_next_worked_in() {
    let (user, repo) = (User::new(), Repo::init());
    let program = gemini(&user, "touch \"$HOME/hangs\"; sleep 600");
    let child = user.spawn(repo.path(), words(&["fake"], 1, &["--criteria", "test -e done", "--unmetered"]));
    wait_for_file(&user.home().join("hangs"));
    kill(child);
    let processes = Processes::with_marker(program.to_string_lossy().as_bytes());
    assert!(processes.wait_until_gone(SOON).is_ok());
    assert_was_there(&user);
    assert!(kept(&user).iter().any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(KEY))));
    let agent = Agent::new(&user, Script::new().run([Step::write("done", "")]));
    let more = ["--criteria", "test -e done", "--unmetered"];
    user.ralph(repo.path(), run_words_with(&agent.line, 1, &more)).ok();
    let left: Vec<PathBuf> = kept(&user).into_iter().filter(|path| !path.ends_with("result.json")).collect();
    assert_eq!(left, [""; 0].map(PathBuf::from));
}

#[test]
fn settings_that_were_made_for_claude_go_with_the_run() {
    let (user, repo) = (User::new(), Repo::init());
    let look = "for word; do case $word in */claude-settings.json) cp \"$word\" \"$run/settings\";; esac; done";
    let fake = Fake::new(&user, [Run::new().does(look).does("touch done").ends(10_000, "Done.")]);
    user.configure(&format!("{}{}", fake.configured_as("fake"), prices()));
    user.ralph(repo.path(), words(&["fake"], 1, &["--criteria", "test -e done"])).ok();
    assert!(fake.place(1, "settings").is_file());
    assert_eq!(kept(&user), [""; 0].map(PathBuf::from));
}
