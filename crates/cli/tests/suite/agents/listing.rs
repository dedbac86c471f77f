//! `ralph agents`: what is here, what is missing, and what is taken when nobody says.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ralph_testkit::Repo;
use serde_json::Value;

use crate::fake::{Fake, Run, prices, words};
use crate::harness::{Ended, User};

/// A user with programs in `PATH` that only know their version.
struct Scene {
    user: User,
    programs: PathBuf,
}

impl Scene {
    fn new(programs: &[(&str, &str)]) -> Self {
        let user = User::new();
        let folder = user.home().join("programs");
        fs::create_dir(&folder).unwrap();
        for (name, script) in programs {
            program(&folder.join(name), script);
        }
        Self { user, programs: folder }
    }

    fn agents(&self, more: &[&str], variables: &[(&str, &str)]) -> Ended {
        let mut command = self.user.command(&self.user.home(), [&["agents"], more].concat());
        // Nothing of this machine: an agent that is installed here would be found.
        command.env("PATH", &self.programs).envs(variables.iter().copied());
        Ended::from(command.output().unwrap()).ok()
    }

    fn json(&self, variables: &[(&str, &str)]) -> Value {
        self.agents(&["--json"], variables).json()
    }
}

fn program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[track_caller]
fn of<'a>(listed: &'a Value, name: &str) -> &'a Value {
    let agents = listed["agents"].as_array().unwrap();
    agents.iter().find(|agent| agent["name"] == name).unwrap_or_else(|| panic!("{name} is not in {listed}"))
}

fn names(listed: &Value) -> Vec<&str> {
    listed["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()).collect()
}

/// Answers only to what is asked, and not at once.
const CLAUDE: &str = "[ \"$*\" = --version ] || exit 9\n/bin/sleep 0.3\necho '2.1.325 (Claude Code)'";
const CODEX: &str = "[ \"$*\" = --version ] && echo 'codex-cli 0.166.0'";

#[test]
fn what_is_installed_and_who_is_logged_in_is_told() {
    let scene = Scene::new(&[("claude", CLAUDE), ("codex", CODEX)]);
    let key = [("ANTHROPIC_API_KEY", "a-key-of-nobody")];
    let listed = scene.json(&key);
    assert_eq!(names(&listed), ["claude", "codex", "opencode", "gemini", "native"]);
    let seen = |name: &str| {
        let agent = of(&listed, name);
        (agent["state"].as_str().unwrap(), agent["version"].as_str(), agent["default"].as_bool().unwrap())
    };
    assert_eq!(seen("claude"), ("usable", Some("2.1.325"), true));
    assert_eq!(seen("codex"), ("notLoggedIn", Some("0.166.0"), false));
    assert_eq!(seen("opencode"), ("missing", None, false));
    assert_eq!(seen("gemini"), ("missing", None, false));
    assert_eq!(listed["default"], "claude");
    assert_eq!(of(&listed, "claude")["advice"], Value::Null);
    assert_eq!(of(&listed, "claude")["program"], *scene.programs.join("claude").to_string_lossy());
    let advice = |name: &str| of(&listed, name)["advice"].as_str().unwrap();
    assert!(advice("codex").contains("codex login"), "{}", advice("codex"));
    assert!(advice("gemini").contains("npm install -g @google/gemini-cli"), "{}", advice("gemini"));
    let call = of(&listed, "claude")["call"].as_str().unwrap();
    assert!(call.contains("--output-format stream-json"), "{call}");
    assert!(!listed.to_string().contains("a-key-of-nobody"), "a key is nobody's to see");

    let text = scene.agents(&[], &key).stdout;
    for part in ["* claude", "2.1.325", "no login", "missing", "codex login", "npm install -g opencode-ai"] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn the_order_is_the_users_and_whoever_is_logged_in_comes_first() {
    let scene = Scene::new(&[("claude", CLAUDE), ("codex", CODEX)]);
    scene.user.configure("agent_order = [\"gemini\", \"codex\", \"claude\"]\n");
    let default = |variables: &[(&str, &str)]| scene.json(variables)["default"].clone();
    assert_eq!(default(&[]), "codex", "of two that nobody is logged in to, the first");
    assert_eq!(default(&[("ANTHROPIC_API_KEY", "x")]), "claude");
    assert_eq!(default(&[("ANTHROPIC_API_KEY", "")]), "codex", "an empty key is none");
    // The trace of a login is as good as a key.
    fs::create_dir_all(scene.user.home().join(".codex")).unwrap();
    fs::write(scene.user.home().join(".codex/auth.json"), "{}").unwrap();
    let listed = scene.json(&[("ANTHROPIC_API_KEY", "x")]);
    assert_eq!(listed["default"], "codex");
    assert_eq!(names(&listed), ["gemini", "codex", "claude", "opencode", "native"]);
    assert_eq!(of(&listed, "codex")["state"], "usable");
}

#[test]
fn agents_of_the_users_own_are_listed_too() {
    let scene = Scene::new(&[("mine", "exit 3"), ("claude", "exit 3")]);
    let elsewhere = scene.user.home().join("other-claude");
    program(&elsewhere, "echo 3.0.0");
    scene.user.configure(&format!(
        "agents.mine.command = \"mine --fast\"\nagents.gone.command = \"nowhere\"\nagents.other.kind = \"claude\"\n\
         agents.other.program = \"{}\"\nagents.other.model = \"haiku\"\n",
        elsewhere.display()
    ));
    let listed = scene.json(&[]);
    let state = |name: &str| of(&listed, name)["state"].as_str().unwrap();
    assert_eq!((state("mine"), state("gone"), state("other")), ("usable", "missing", "notLoggedIn"));
    assert_eq!((&of(&listed, "other")["version"], &of(&listed, "other")["model"]), (&"3.0.0".into(), &"haiku".into()));
    let advice = of(&listed, "gone")["advice"].as_str().unwrap();
    assert!(advice.contains("`nowhere` is not in PATH") && advice.contains("`command` in [agents.gone]"), "{advice}");
    assert!(of(&listed, "codex")["note"].as_str().unwrap().contains("codex:gpt-6-sol"), "{listed}");
    let text = scene.agents(&[], &[]).stdout;
    assert!(
        text.contains("    to use it  `nowhere`") && text.contains("    model      its own default model"),
        "{text}"
    );
    // One that does not say its version is there all the same.
    assert_eq!((state("claude"), &of(&listed, "claude")["version"]), ("notLoggedIn", &Value::Null));
}

#[test]
fn without_any_program_nothing_is_the_default() {
    let scene = Scene::new(&[]);
    let listed = scene.json(&[]);
    assert_eq!(listed["default"], Value::Null);
    assert!(listed["agents"].as_array().unwrap().iter().all(|agent| agent["state"] == "missing"), "{listed}");
    let shown = scene.agents(&[], &[]).stdout;
    assert!(shown.contains("--agent-command") && shown.lines().all(|line| line.trim_end() == line), "{shown:?}");
}

#[test]
fn prices_are_listed_with_the_users_own() {
    let scene = Scene::new(&[]);
    scene.user.configure("prices.\"my-model\".input = 1.5\nprices.\"my-model\".output = 7\n");
    let listed = scene.agents(&["--prices", "--json"], &[]).json();
    let own = &listed["models"]["my-model"];
    assert_eq!((&own["input"], &own["output"], &own["cacheRead"]), (&1.5.into(), &7.0.into(), &1.5.into()), "{own}");
    assert!(listed["asOf"].as_str().unwrap().starts_with("20"), "{listed}");
    assert!(listed["models"].as_object().unwrap().keys().any(|name| name.starts_with("claude-")), "{listed}");
    let text = scene.agents(&["--prices"], &[]).stdout;
    assert!(
        text.lines().any(|line| line.starts_with("my-model ") && line.contains("$1.50") && line.contains("$7.00")),
        "{text}"
    );
}

#[test]
fn a_run_that_names_no_agent_takes_the_one_that_the_list_marks() {
    let (user, repo) = (User::new(), Repo::init());
    let fake = Fake::new(&user, [Run::new().does("touch done").ends(10_000, "Done.")]);
    user.configure(&format!("agent_order = [\"claude\"]\n{}", prices()));
    let mut path = fake.program().parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let mut command = user.command(repo.path(), words(&[], 1, &["--criteria", "test -e done"]));
    let ended = Ended::from(command.env("PATH", &path).output().unwrap()).ok();
    let shown = user.show(ended.json()["loopId"].as_str().unwrap());
    assert_eq!((&shown["iterations"][0]["agent"], fake.runs()), (&"claude".into(), 1), "{shown}");
}

#[test]
fn a_login_that_nobody_finds_is_a_warning_before_the_first_run_and_before_going_on() {
    let (user, repo) = (User::new(), Repo::init());
    let fake =
        Fake::new(&user, [Run::new().ends(10_000, "Not yet."), Run::new().does("touch done").ends(10_000, "Done.")]);
    user.configure(&format!("{}{}", fake.configured_as("mine"), prices()));
    let line = words(&["mine", "mine:haiku"], 1, &["--criteria", "test -e done"]);
    let ended = user.ralph(repo.path(), &line).with_code(10);
    let warning = "warning: mine: no login was found; run `claude` and type /login, or set ANTHROPIC_API_KEY";
    assert_eq!((ended.stderr.matches(warning).count(), fake.runs()), (1, 1), "{}", ended.stderr);
    let id = ended.json()["loopId"].as_str().unwrap().to_owned();
    let resume = ["resume", &id, "--max", "2"];
    let resumed = user.ralph(repo.path(), resume).ok();
    assert!(resumed.stderr.contains(warning), "{}", resumed.stderr);
    // With a key nobody is bothered.
    let again = Repo::init();
    let mut command = user.command(again.path(), &line);
    let ended = Ended::from(command.env("ANTHROPIC_API_KEY", "a-key-of-nobody").output().unwrap()).ok();
    assert!(!ended.stderr.contains("no login"), "{}", ended.stderr);
}

#[test]
fn a_key_in_the_settings_of_a_program_is_a_login() {
    let scene = Scene::new(&[("opencode", "echo 1.18.33"), ("claude", CLAUDE)]);
    let states = |variables: &[(&str, &str)]| {
        let listed = scene.json(variables);
        ["opencode", "claude"].map(|name| of(&listed, name)["state"].as_str().unwrap().to_owned())
    };
    assert_eq!(states(&[]), ["notLoggedIn", "notLoggedIn"]);
    let key = r#"{"provider":{"mine":{"options":{"baseURL":"http://127.0.0.1:1/v1","apiKey":"k"}}}}"#;
    let elsewhere = scene.user.home().join("elsewhere.json");
    fs::write(&elsewhere, key).unwrap();
    assert_eq!(states(&[("OPENCODE_CONFIG", elsewhere.to_str().unwrap())]), ["usable", "notLoggedIn"]);
    assert_eq!(states(&[("OPENCODE_CONFIG_CONTENT", key)]), ["usable", "notLoggedIn"]);
    for (file, text) in [(".config/opencode/opencode.json", key), (".claude/settings.json", r#"{"apiKeyHelper":"x"}"#)]
    {
        let file = scene.user.home().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    assert_eq!(states(&[]), ["usable", "usable"]);
}

#[test]
fn programs_are_asked_at_once_and_one_that_does_not_answer_holds_nobody_up() {
    let slow = "exec /bin/sleep 600";
    let scene = Scene::new(&[("claude", CLAUDE), ("codex", slow), ("opencode", slow), ("gemini", slow)]);
    let start = std::time::Instant::now();
    let listed = scene.json(&[]);
    assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
    let versions = ["claude", "codex", "gemini"].map(|name| of(&listed, name)["version"].clone());
    assert_eq!(versions, [Value::from("2.1.325"), Value::Null, Value::Null]);
}
