//! init, doctor, demo, completions, help.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ralph_testkit::{Fixture, Repo, Script, Step, scratch};

use crate::harness::{Ended, User, program, run_words_with};

#[test]
fn init_knows_each_stack_and_what_it_writes_works() {
    type Stack<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
    let stacks: [Stack<'_>; 6] = [
        ("rust", &[("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\n"), ("src/lib.rs", "")], "cargo test"),
        ("node", &[("package.json", "{\"scripts\": {\"test\": \"node --test\"}}")], "npm test"),
        (
            "python",
            &[("pyproject.toml", "[tool.pytest.ini_options]\n"), ("tests/test_a.py", "def test_a(): pass\n")],
            "pytest",
        ),
        ("go", &[("go.mod", "module example.invalid/a\n"), ("a_test.go", "package a\n")], "go test"),
        ("make", &[("Makefile", "test:\n\ttrue\n")], "make test"),
        ("nothing", &[("notes.txt", "x")], "verification_command = \"make test\""),
    ];
    for (name, files, wanted) in stacks {
        let (user, repo) = (User::new(), Repo::init());
        for (path, text) in files {
            repo.write(path, text);
        }
        let printed = user.ralph(repo.path(), ["init", "--print"]).ok().stdout;
        assert!(printed.contains(wanted), "{name}: {printed}");
        assert!(!repo.exists("ralph.toml"), "{name}: --print wrote a file");
        let result = user.ralph(repo.path(), ["init", "--json"]).ok().json();
        assert_eq!(repo.read("ralph.toml").trim_end(), printed.trim_end(), "{name}");
        assert!(result["next"].as_str().unwrap().starts_with("ralph run "), "{name}: {result}");
        // What is there is not replaced, unless that is asked for.
        repo.write("ralph.toml", "# mine\n");
        let again = user.ralph(repo.path(), ["init"]).with_code(2);
        assert!(again.stderr.contains("--force") && repo.read("ralph.toml") == "# mine\n", "{name}: {}", again.stderr);
        user.ralph(repo.path(), ["init", "--force"]).ok();
        assert!(repo.read("ralph.toml").contains(wanted), "{name}");
    }
}

#[test]
fn a_loop_runs_with_what_init_wrote() {
    let (user, repo) = (User::new(), Repo::init());
    Fixture::named("fixable-bug/shell").copy_to(repo.path());
    repo.write("Makefile", "test:\n\tsh tests/run.sh\n");
    repo.commit("project");
    user.ralph(repo.path(), ["init"]).ok();
    let patch = Fixture::named("fixable-bug/shell").patch();
    let agent = user.agent(Script::new().run([Step::run(format!("git apply {}", patch.display())), Step::cost(1000)]));
    let result = user
        .ralph(repo.path(), ["run", "Fix the failing tests", "--cost-after-run", "--agent-command", &agent, "--json"])
        .ok()
        .json();
    assert_eq!((result["verified"].as_bool(), result["iterations"].as_u64()), (Some(true), Some(1)));
}

#[test]
fn init_says_that_the_runner_is_not_installed() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("test_sum.py", "def test_sum():\n    assert 1 + 1 == 2\n");
    let bin = user.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file()).unwrap();
    std::os::unix::fs::symlink(git, bin.join("git")).unwrap();
    let mut init = user.command(repo.path(), ["init"]);
    let ended = Ended::from(init.env("PATH", &bin).output().unwrap()).ok();
    assert!(ended.stdout.contains("`pytest`"), "{}", ended.stdout);
    assert!(ended.stderr.contains("warning: `pytest` was not found on PATH; install it"), "{}", ended.stderr);
    assert!(ended.stderr.contains("warning: no agent is installed"), "{}", ended.stderr);
}

#[test]
fn doctor_looks_at_everything_and_says_what_to_do() {
    let (user, repo) = (User::new(), Repo::init());
    let healthy = user.ralph(repo.path(), ["doctor", "--json"]).ok().json();
    assert_eq!(healthy["ok"], true);
    let names: Vec<&str> =
        healthy["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    for name in ["git", "state", "database", "agents", "workspace"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!user.state().exists(), "doctor made a state folder");
    user.configure("max_iteration = 3\n");
    let ended = user.ralph(repo.path(), ["doctor"]).with_code(1);
    assert!(ended.stdout.contains("FAIL") && ended.stdout.contains("max_iterations"), "{}", ended.stdout);
    let sick = user.ralph(repo.path(), ["doctor", "--json"]).with_code(1).json();
    assert_eq!(sick["ok"], false);
    let failing = sick["checks"].as_array().unwrap().iter().filter(|check| check["level"] == "fail");
    assert!(failing.into_iter().all(|check| !check["advice"].as_str().unwrap().is_empty()), "{sick:#}");
    // Without git nothing works, and that is said.
    let mut command = user.command(repo.path(), ["doctor"]);
    let ended = Ended::from(command.env("PATH", "/nonexistent").output().unwrap()).with_code(1);
    assert!(ended.stdout.contains("git") && ended.stdout.contains("install git"), "{}", ended.stdout);
}

#[test]
fn doctor_sees_what_a_dead_loop_left() {
    let (user, repo) = (User::new(), Repo::init());
    let words = run_words_with(
        &user.agent(Script::new().otherwise([Step::append("a", "x")])),
        2,
        &["--unmetered", "--criteria", "false"],
    );
    let crashed = user.hooked(repo.path(), words).env("RALPH_TEST_CRASH", "after:4").output().unwrap();
    assert!(!crashed.status.success());
    let ended = user.ralph(repo.path(), ["doctor"]).ok();
    let short = user.newest_loop()["short"].as_str().unwrap().to_owned();
    assert!(ended.stdout.contains(&format!("ralph resume {short}")), "{}", ended.stdout);
}

#[test]
fn the_demo_is_quick_honest_and_leaves_nothing() {
    let (user, temporary) = (User::new(), scratch());
    let started = Instant::now();
    let mut command = user.command(&user.home(), ["demo", "--plain"]);
    let child = command.env("TMPDIR", temporary.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let ended = Ended::of(child).ok();
    let took = started.elapsed();
    eprintln!("commands: the demo took {:.1} s", took.as_secs_f64());
    // Promised are ten seconds; the bound leaves room for a busy machine.
    assert!(took < Duration::from_secs(60), "{took:?}");
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(all.contains("The agent is a script, not a model"), "{all}");
    assert!(all.contains("COMPLETED (verified)") && all.contains("false claims: 1"), "{all}");
    assert!(all.contains("iteration 3"), "{all}");
    let left: Vec<_> = std::fs::read_dir(temporary.path()).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!user.state().exists(), "the demo is among the user's loops");
    assert_eq!(std::fs::read_dir(user.home()).unwrap().count(), 0, "the demo left something in the home folder");
}

#[test]
fn the_demo_can_be_kept_and_looked_at() {
    let (user, temporary) = (User::new(), scratch());
    let output =
        user.command(&user.home(), ["demo", "--plain", "--keep"]).env("TMPDIR", temporary.path()).output().unwrap();
    let ended = Ended::from(output).ok();
    let kept = std::fs::read_dir(temporary.path()).unwrap().next().unwrap().unwrap().path();
    assert!(ended.stderr.contains(kept.to_str().unwrap()), "{}", ended.stderr);
    let listed =
        user.command(&user.home(), ["list", "--all", "--json"]).env("RALPH_HOME", kept.join("state")).output().unwrap();
    assert_eq!(Ended::from(listed).ok().json()[0]["verified"], true);
}

/// The commands that `ralph --help` lists.
fn commands(user: &User) -> Vec<String> {
    let help = user.ralph(&user.home(), ["--help"]).ok().stdout;
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_help_of_every_command_shows_examples_that_parse() {
    let user = User::new();
    let names = commands(&user);
    assert!(names.len() >= 15, "{names:?}");
    let mut examples = 0;
    for name in &names {
        let help = user.ralph(&user.home(), [name, "--help"]).ok().stdout;
        let shown: Vec<&str> = help
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with(&format!("ralph {name}")) || line.contains(&format!("| ralph {name}")))
            .collect();
        assert!(help.contains("Example") && !shown.is_empty(), "{name}: {help}");
        examples += shown.len();
    }
    let top = user.ralph(&user.home(), ["--help"]).ok().stdout;
    for code in ["10 MAX_ITERATIONS", "16 PROHIBITED_PATH", "19 CANCELLED", "130"] {
        assert!(top.contains(code), "{code} is not in\n{top}");
    }
    eprintln!("commands: {} commands show {examples} examples", names.len());
    assert!(user.ralph(&user.home(), ["--version"]).ok().stdout.starts_with("ralph "));
}

#[test]
fn completions_and_manual_name_every_command() {
    let user = User::new();
    let names = commands(&user);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell", "man"] {
        let text = user.ralph(&user.home(), ["completions", shell]).ok().stdout;
        for name in &names {
            let found = text.contains(name.as_str())
                || text.contains(&name.to_uppercase())
                || text.contains(&name.replace('-', "\\-"));
            assert!(found, "{shell} does not know {name}");
        }
        let file = user.home().join(shell);
        std::fs::write(&file, text).unwrap();
        let check = match shell {
            "bash" => Some(("bash", vec!["-n"])),
            "man" => Some(("groff", vec!["-man", "-Tutf8", "-ww", "-z"])),
            _ => None,
        };
        if let Some((program, words)) = check
            && let Ok(output) = Command::new(program).args(words).arg(&file).output()
        {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{program}: {said}");
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (user, repo) = (User::new(), Repo::init());
    let program = program().display().to_string();
    for words in [
        "list",
        "list --json",
        "--help",
        "run --help",
        "completions bash",
        "completions man",
        "init --print",
        "doctor",
        "report --json",
    ] {
        // The pipe's reading end is closed before the program writes.
        let line = format!("{{ sleep 0.1; {program} {words}; echo $? >&3; }} 3>code 2>errors | true");
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(repo.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        assert!(command.env("HOME", user.home()).env("RALPH_HOME", user.state()).status().unwrap().success());
        let (code, errors) = (repo.read("code"), repo.read("errors"));
        assert!(!errors.contains("panicked") && !errors.contains("Broken pipe"), "{words}: {errors}");
        assert_eq!(code.trim(), "0", "{words}: {errors}");
    }
}

#[test]
fn every_listing_prints_json() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = user.agent(Script::new().run([Step::write("done.txt", ""), Step::claim()]));
    let result = user
        .ralph(repo.path(), run_words_with(&agent, 1, &["--unmetered", "--criteria", "test -e done.txt"]))
        .ok()
        .json();
    let id = result["loopId"].as_str().unwrap();
    for words in [
        vec!["list", "--json"],
        vec!["list", "--all", "--json"],
        vec!["show", id, "--json"],
        vec!["verify-run", id, "--json"],
        vec!["report", "--json"],
        vec!["trust", "--list", "--json"],
        vec!["trust", "--json"],
        vec!["doctor", "--json"],
        vec!["init", "--json"],
    ] {
        let value = user.ralph(repo.path(), &words).ok().json();
        assert!(value.is_object() || value.is_array(), "{words:?}");
    }
}

#[test]
fn skills_are_listed_shown_begun_and_checked() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write(".claude/skills/theirs/SKILL.md", "---\nname: theirs\ndescription: \"a: b\"\n---\nText.");
    repo.write(".ralph/skills/broken/SKILL.md", "---\nname: [\n---\nText.");
    let rows = user.ralph(repo.path(), ["skills", "list", "--json"]).ok().json();
    let row = |name: &str| rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    assert_eq!((&row("tdd")["source"], &row("tdd")["approved"]), (&"built-in".into(), &true.into()));
    assert_eq!((&row("theirs")["description"], &row("theirs")["approved"]), (&"a: b".into(), &false.into()));
    assert!(row("broken")["problem"].as_str().unwrap().contains("YAML"), "{rows:#}");
    assert!(!user.state().exists(), "a listing made a state folder");
    let listed = user.ralph(repo.path(), ["skills", "list"]).ok().stdout;
    assert!(listed.contains("executor") && listed.contains("not approved: ralph trust"), "{listed}");
    let shown = user.ralph(repo.path(), ["skills", "show", "executor"]).ok().stdout;
    assert!(shown.contains("{\"status\":\"PASS|FAIL\",\"error_log\":\"…\"}"), "{shown}");
    let unknown = user.ralph(repo.path(), ["skills", "show", "tddd"]).with_code(2).stderr;
    assert!(unknown.contains("no skill `tddd`") && unknown.contains("executor"), "{unknown}");
    let made = user.ralph(repo.path(), ["skills", "new", "mine", "--json"]).ok().json();
    assert!(made["path"].as_str().unwrap().ends_with(".config/ralph/skills/mine/SKILL.md"), "{made}");
    user.ralph(repo.path(), ["skills", "new", "mine"]).with_code(2);
    user.ralph(repo.path(), ["skills", "check", made["path"].as_str().unwrap()]).ok();
    user.ralph(repo.path(), ["skills", "check", ".claude/skills"]).ok();
    let checked = user.ralph(repo.path(), ["skills", "check", "--json"]).with_code(1).json();
    let problems: Vec<usize> =
        checked.as_array().unwrap().iter().map(|row| row["problems"].as_array().unwrap().len()).collect();
    assert_eq!(problems, [1, 0, 3], "{checked:#}");
}

#[test]
fn ralph_is_added_to_a_client_and_removed_again() {
    let (user, repo) = (User::new(), Repo::init());
    let settings = user.home().join(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let mine = "{\n  // mine\n  \"theme\": \"dark\"\n}\n";
    std::fs::write(&settings, mine).unwrap();
    let shown = user.ralph(repo.path(), ["install", "claude", "--dry-run"]).ok().stdout;
    assert!(shown.contains("+     \"Stop\": [") && shown.contains("commands/ralph.md"), "{shown}");
    let refused = user.ralph(repo.path(), ["install", "claude"]).with_code(2).stderr;
    assert!(refused.contains("--yes"), "{refused}");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), mine);
    let done = user.ralph(repo.path(), ["install", "claude", "--yes", "--json"]).ok().json();
    let actions: Vec<&str> =
        done["changes"].as_array().unwrap().iter().map(|one| one["action"].as_str().unwrap()).collect();
    assert_eq!((&done["applied"], actions), (&true.into(), vec!["create", "change", "create"]), "{done:#}");
    assert!(user.ralph(repo.path(), ["install", "claude"]).ok().stdout.contains("already installed"));
    let text = std::fs::read_to_string(&settings).unwrap();
    assert!(text.starts_with("{\n  // mine\n  \"theme\": \"dark\",\n  \"hooks\": {\n"), "{text}");
    user.ralph(repo.path(), ["uninstall", "claude", "--yes"]).ok();
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), mine);
    assert!(!user.home().join(".claude.json").exists() && !user.home().join(".claude/commands").exists());
    std::fs::write(&settings, "{\"a\": ").unwrap();
    let refused = user.ralph(repo.path(), ["install", "claude", "--yes"]).with_code(2).stderr;
    assert!(refused.contains("not valid JSON") && refused.contains("nothing was changed"), "{refused}");
    // A project has no prompts of Codex.
    let project = user.ralph(repo.path(), ["install", "codex", "--scope", "project", "--yes"]).ok().stdout;
    assert!(project.contains("ralph_loop") && !project.contains("type /ralph"), "{project}");
    // The instructions for the agent of a session that does not do the work itself.
    let words = ["session", "start", "Fix the sum", "--max", "3", "--criteria", "true", "--fresh", "--json"];
    let call = user.ralph(repo.path(), words).ok().json();
    assert_eq!((&call["objective"], &call["max_iterations"]), (&"Fix the sum".into(), &3.into()), "{call}");
}
