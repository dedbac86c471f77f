//! An agent that asks before it writes is refused what is prohibited, before it is written.

use ralph_testkit::Repo;
use serde_json::Value;

use crate::fake::{Fake, Run, prices, words};
use crate::harness::User;

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
    assert!(ended.stderr.contains("were put back (2)"), "{}", ended.stderr);
    assert_eq!((fake.left(1, "environment"), fake.left(2, "environment")), ("none mine".into(), "none mine".into()));
    assert!(std::fs::read_to_string(settings.join("settings.json")).unwrap().contains("mine"));
    assert!(!settings.join("hooks/x.sh").exists());
    assert!(settings.join("session").exists(), "what is not its settings is its own");
}
