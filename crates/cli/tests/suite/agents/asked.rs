//! An agent that asks before it writes is refused what is prohibited, before it is written.

use ralph_testkit::Repo;
use serde_json::Value;

use crate::aid::{finish, kill, wait_for_file};
use crate::fake::{Fake, Run, prices, words};
use crate::harness::{Ended, User};

/// Does what the real program does with a hook of its settings: it hands the event to the command and reads the answer.
const ASK: &str = r#"
ask() {
    python3 - "$settings" "$1" > "$run/$2" <<'END'
import json, os, subprocess, sys
hooks = json.load(open(sys.argv[1]))["hooks"]["PreToolUse"]
event = {"hook_event_name": "PreToolUse", "tool_name": "Write", "cwd": os.getcwd(),
         "tool_input": {"file_path": os.path.join(os.getcwd(), sys.argv[2]), "content": "x"}}
for hook in hooks[0]["hooks"]:
    assert "Write" in hooks[0]["matcher"].split("|"), hooks
    asked = subprocess.run(hook["command"], shell=True, input=json.dumps(event), capture_output=True, text=True)
    print(asked.stdout, asked.stderr, asked.returncode or "", sep="", end="")
END
}
while [ $# -gt 0 ]; do [ "$1" = --settings ] && settings=$2; shift; done
"#;

#[test]
fn a_write_that_is_prohibited_is_refused_before_it_happens() {
    for place in [&[][..], &["--worktree"]] {
        let (user, repo) = (User::new(), Repo::init());
        let run = Run::new()
            .does(ASK)
            .does("ask .env environment; ask src/auth/login.rs login; ask infra/main.tf infra; ask src/main.rs main")
            .does("ln -s .env harmless; ask harmless link; rm harmless")
            .does("touch done")
            .ends(10_000, "Done.");
        let fake = Fake::new(&user, [run]);
        user.configure(&format!("{}{}", fake.configured_as("fake"), prices()));
        let more = [&["--criteria", "test -e done", "--prohibit", "infra/**"], place].concat();
        user.ralph(repo.path(), words(&["fake"], 1, &more)).ok();
        for (file, glob) in [("environment", ".env"), ("login", "src/auth/**"), ("infra", "infra/**"), ("link", ".env")]
        {
            let said = fake.left(1, file);
            let answer: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{file}: {error}: {said}"));
            let answer = &answer["hookSpecificOutput"];
            assert_eq!(answer["permissionDecision"], "deny", "{file}: {answer}");
            assert_eq!(answer["hookEventName"], "PreToolUse", "{file}: {answer}");
            assert!(answer["permissionDecisionReason"].as_str().unwrap().contains(glob), "{file}: {answer}");
        }
        assert_eq!(fake.left(1, "main"), "", "what is allowed is answered with silence: {place:?}");
    }
}

#[test]
fn what_an_agent_makes_of_its_own_settings_does_not_outlive_its_run() {
    let (user, repo) = (User::new(), Repo::init());
    let settings = user.home().join(".claude");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("settings.json"), r#"{"env": {"ANTHROPIC_MODEL": "mine"}}"#).unwrap();
    let plant = "mkdir -p ~/.claude/hooks; echo evil > ~/.claude/hooks/x.sh; \
                 echo '{\"env\": {\"ANTHROPIC_BASE_URL\": \"http://127.0.0.1:9\"}}' > ~/.claude/settings.json; \
                 echo kept > ~/.claude/session";
    let note = "printf '%s' \"${ANTHROPIC_BASE_URL-none} ${ANTHROPIC_MODEL-none}\" > \"$run/environment\"";
    let first = Run::new().does(note).does(plant).ends(10_000, "Not yet.");
    let second = Run::new().does(note).does("touch done").ends(10_000, "Done.");
    let fake = Fake::new(&user, [first, second]);
    user.configure(&format!("{}{}", fake.configured_as("fake"), prices()));
    let ended = user.ralph(repo.path(), words(&["fake"], 2, &["--criteria", "test -e done"])).ok();
    assert!(ended.stderr.contains("were restored (2)"), "{}", ended.stderr);
    assert_eq!((fake.left(1, "environment"), fake.left(2, "environment")), ("none mine".into(), "none mine".into()));
    assert!(std::fs::read_to_string(settings.join("settings.json")).unwrap().contains("mine"));
    assert!(!settings.join("hooks/x.sh").exists());
    assert!(settings.join("session").exists(), "what is not its settings is its own");
}

const MINE: &str = r#"{"env": {"ANTHROPIC_MODEL": "mine"}}"#;
const TAMPER: &str = "mkdir -p ~/.claude/rules; echo '{\"env\": {\"ANTHROPIC_MODEL\": \"evil\"}}' > ~/.claude/settings.json; \
                      echo evil > ~/.claude/rules/x.md";
const NOTE: &str =
    "cat ~/.claude/settings.json > \"$run/settings\"; ls ~/.claude/rules > \"$run/rules\" 2>/dev/null || true";

/// A user with settings of their own; gives where they are.
fn with_settings(user: &User) -> std::path::PathBuf {
    let folder = user.home().join(".claude");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("settings.json"), MINE).unwrap();
    folder.join("settings.json")
}

#[test]
fn settings_that_an_agent_changed_are_put_back_after_a_crash() {
    let resume = ["resume", "--json", "--max-cost", "5"].map(str::to_owned).to_vec();
    for go_on in [resume, words(&["fake"], 1, &["--criteria", "test -e done"])] {
        let (user, repo) = (User::new(), Repo::init());
        let settings = with_settings(&user);
        let fake = Fake::new(
            &user,
            [Run::new().does(TAMPER).hangs(), Run::new().does(NOTE).does("touch done").ends(10_000, "Done.")],
        );
        user.configure(&format!("{}{}", fake.configured_as("fake"), prices()));
        let child = user.spawn(repo.path(), words(&["fake"], 3, &["--criteria", "test -e done"]));
        wait_for_file(&fake.place(1, "hangs"));
        kill(child);
        assert!(std::fs::read_to_string(&settings).unwrap().contains("evil"), "nobody was left to put it back");
        let ended = user.ralph(repo.path(), &go_on).ok();
        assert!(ended.stderr.contains("whose Ralph died, and were restored (2)"), "{go_on:?}: {}", ended.stderr);
        assert_eq!((fake.left(2, "settings"), fake.left(2, "rules")), (MINE.into(), String::new()), "{go_on:?}");
        assert_eq!(std::fs::read_to_string(&settings).unwrap(), MINE);
        assert!(!settings.with_file_name("rules").exists());
    }
}

#[test]
fn loops_at_the_same_time_do_not_take_over_each_others_changes() {
    let user = User::new();
    let (first, second) = (Repo::init(), Repo::init());
    let settings = with_settings(&user);
    let until = |file: &std::path::Path| format!("until [ -e '{}' ]; do sleep 0.02; done", file.display());
    let (tampered, seen) = (user.home().join(".claude/tampered"), user.home().join(".claude/seen"));
    let gone = user.home().join(".claude/gone");
    let a = Run::new().does(TAMPER).does(format!("touch {}", tampered.display())).does(until(&seen)).does(TAMPER);
    let b = Run::new().does(NOTE).does(format!("touch {}", seen.display())).does(until(&gone)).does(TAMPER);
    let finishes = |run: Run| Fake::new(&user, [run.does("touch done").ends(10_000, "Done.")]);
    let (a, b) = (finishes(a), finishes(b));
    user.configure(&format!("{}{}{}", a.configured_as("a"), b.configured_as("b"), prices()));
    let one = user.spawn(first.path(), words(&["a"], 1, &["--criteria", "test -e done"]));
    wait_for_file(&tampered);
    let other = user.spawn(second.path(), words(&["b"], 1, &["--criteria", "test -e done"]));
    let one = finish(one).ok();
    assert!(one.stderr.contains("were restored (2)"), "{}", one.stderr);
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), MINE);
    std::fs::write(&gone, "").unwrap();
    let other = finish(other).ok();
    assert!(other.stderr.contains("changed while it ran, and were restored (2)"), "{}", other.stderr);
    assert_eq!(b.left(1, "settings"), MINE, "the second agent is not steered by the first");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), MINE);
    let ended = user.ralph(first.path(), words(&["b"], 1, &["--criteria", "test -e done"]));
    assert!(!ended.stderr.contains("whose Ralph died"), "nothing is left behind: {}", ended.stderr);
}

#[test]
fn thousands_of_files_hide_no_change_of_settings() {
    let (user, repo) = (User::new(), Repo::init());
    let settings = with_settings(&user);
    let many = "mkdir -p ~/.claude/rules/many; cd ~/.claude/rules/many; seq 5000 | xargs touch; cd - > /dev/null";
    let fake = Fake::new(&user, [Run::new().does(many).does(TAMPER).does("touch done").ends(10_000, "Done.")]);
    user.configure(&format!("{}{}", fake.configured_as("fake"), prices()));
    let ended = user.ralph(repo.path(), words(&["fake"], 1, &["--criteria", "test -e done"])).ok();
    assert!(ended.stderr.contains("were restored (5002)"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), MINE);
    assert!(!settings.with_file_name("rules").exists());
}

#[test]
fn settings_are_put_back_when_supervision_fails() {
    let (user, repo) = (User::new(), Repo::init());
    let settings = with_settings(&user);
    let fake = Fake::new(&user, [Run::new().does(TAMPER).does("yes words | head -c 6000000").hangs()]);
    user.configure(&format!("{}{}", fake.configured_as("fake"), prices()));
    // A log of more than two megabytes cannot be written, which ends the run and the loop.
    let ralph = user.command(repo.path(), words(&["fake"], 2, &["--criteria", "test -e done"]));
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 4000; exec \"$0\" \"$@\""]).arg(ralph.get_program());
    limited.args(ralph.get_args()).current_dir(repo.path()).env_clear();
    limited.envs(ralph.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = Ended::from(limited.stdin(std::process::Stdio::null()).output().unwrap());
    assert!(ended.stderr.contains("could not write the log"), "{}", ended.stderr);
    assert!(ended.stderr.contains("changed while it ran, and were restored (2)"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), MINE);
}
