//! Where Ralph runs: strange names, missing homes, no terminal, foreign variables, other users of the machine.

mod hostile;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ralph_testkit::{Repo, Script, Step, git_environment, shell_quoted};
use serde_json::Value;

use crate::harness::{Ended, User, program, run_words_with};

fn git(folder: &Path, words: &[&str]) {
    let output = Command::new("git").args(words).current_dir(folder).envs(git_environment()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn checked(user: &User, folder: &Path, script: Script, check: &str, more: &[&str]) -> Ended {
    let mut words = vec!["--unmetered", "--criteria", check];
    words.extend(more);
    user.ralph(folder, run_words_with(&user.agent(script), 3, &words))
}

#[test]
fn folders_with_strange_names_work() {
    let names = [
        "with space",
        "it's \"quoted\"",
        "two\nlines",
        "tab\there",
        "-dash",
        "ünï ☃",
        "dollar $HOME `id`",
        "{prompt_file}",
        "back\\slash",
        "star*?[",
    ];
    for name in names {
        let (user, outside) = (User::new(), Repo::plain());
        let folder = outside.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        git(&folder, &["init", "--quiet"]);
        std::fs::write(folder.join("a.txt"), "a\n").unwrap();
        let script = Script::new().run([Step::write("first.txt", "1")]).run([Step::write("done.txt", "2")]);
        let result = checked(&user, &folder, script, "test -e done.txt", &[]).ok().json();
        assert_eq!(result["workspace"].as_str().unwrap(), folder.to_str().unwrap(), "{name:?}");
        let id = result["loopId"].as_str().unwrap();
        user.ralph(&folder, ["rewind", id, "--to", "start"]).ok();
        assert!(!folder.join("done.txt").exists() && folder.join("a.txt").exists(), "{name:?}");
        let listed = user.ralph(&folder, ["list", "--json"]).ok().json();
        assert_eq!(listed.as_array().unwrap().len(), 1, "{name:?}");
    }
}

#[test]
fn a_path_that_is_no_text_is_refused_clearly() {
    let (user, outside) = (User::new(), Repo::plain());
    let folder = outside.path().join(OsStr::from_bytes(b"not-\xff-text"));
    std::fs::create_dir(&folder).unwrap();
    let ended = checked(&user, &folder, Script::new().run([Step::claim()]), "true", &[]).with_code(2);
    assert!(ended.stderr.contains("--workspace") && ended.stderr.contains("UTF-8"), "{}", ended.stderr);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

/// Names that patches, lists and prompts have to carry through.
fn strange_files() -> Vec<OsString> {
    let mut names: Vec<OsString> = [
        "sp ace",
        "qu'ote",
        "dou\"ble",
        "new\nline",
        "tab\tbed",
        "ünï ☃",
        "-n",
        "back\\slash",
        "star*",
        "a\u{202e}b",
        "\u{1b}[31m",
    ]
    .map(OsString::from)
    .to_vec();
    names.push(OsString::from_vec(b"raw-\xff\xfe".to_vec()));
    names
}

#[test]
fn files_with_strange_names_are_listed_diffed_and_rewound() {
    let (user, repo) = (User::new(), Repo::init());
    // The agent copies them from elsewhere: a script in JSON cannot hold every name.
    let source = user.home().join("source");
    std::fs::create_dir(&source).unwrap();
    let names = strange_files();
    for (number, name) in names.iter().enumerate() {
        std::fs::write(source.join(name), format!("content {number}\n")).unwrap();
        std::fs::write(repo.path().join(name), "as it was\n").unwrap();
    }
    repo.commit("strange");
    let copy = Step::run(format!("cp -f -- {}/* .", shell_quoted(source.to_str().unwrap())));
    let result = checked(&user, repo.path(), Script::new().run([copy]), "grep -q content -- -n", &[]).ok().json();
    let id = result["loopId"].as_str().unwrap();
    let shown = user.show(id);
    assert_eq!(shown["iterations"][0]["run"]["changed"].as_array().unwrap().len(), names.len());
    let diff = user.command(repo.path(), ["diff", id]).output().unwrap();
    assert!(diff.status.success());
    user.ralph(repo.path(), ["rewind", id, "--to", "start"]).ok();
    for name in &names {
        assert_eq!(std::fs::read_to_string(repo.path().join(name)).unwrap(), "as it was\n", "{name:?}");
    }
    let patch = repo.outside().join("patch");
    std::fs::write(&patch, &diff.stdout).unwrap();
    repo.git(["apply", patch.to_str().unwrap()]);
    for (number, name) in names.iter().enumerate() {
        assert_eq!(std::fs::read_to_string(repo.path().join(name)).unwrap(), format!("content {number}\n"), "{name:?}");
    }
    let text = user.ralph(repo.path(), ["rewind", id, "--to", "1"]).ok();
    assert!(!text.stdout.contains('\u{1b}') && !text.stderr.contains('\u{1b}'), "{}", text.stdout);
}

/// Runs a line in a mount namespace of its own; nothing when this machine allows none.
fn in_namespace(user: &User, folder: &Path, line: &str) -> Option<Ended> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", line]).current_dir(folder).env_clear().stdin(Stdio::null());
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", user.home()).env("RALPH_HOME", user.state());
    command.env("TMPDIR", user.temporary());
    let ended = Ended::from(command.output().ok()?);
    if ended.code == 99 || ended.stderr.contains("unshare") {
        eprintln!("surroundings: no mount namespace here, skipped: {}", ended.stderr);
        return None;
    }
    Some(ended)
}

#[test]
fn a_workspace_that_cannot_be_written_is_no_riddle() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = user.agent(Script::new().otherwise([Step::run("echo x > new.txt || true")]));
    let words = run_words_with(&agent, 2, &["--unmetered", "--criteria", "test -e new.txt"]);
    let line: Vec<String> = words.iter().map(|word| shell_quoted(word)).collect();
    let folder = shell_quoted(repo.path().to_str().unwrap());
    let program = shell_quoted(&program().to_string_lossy());
    let line = format!(
        "mount --bind {folder} {folder} && mount -o remount,ro,bind {folder} || exit 99\ncd {folder} && exec {program} {}",
        line.join(" ")
    );
    let Some(ended) = in_namespace(&user, repo.outside(), &line) else { return };
    // No agent is paid for work that it cannot write.
    let ended = ended.with_code(2);
    assert!(ended.stderr.contains("cannot be written: Read-only file system"), "{}", ended.stderr);
    assert!(!repo.exists("new.txt") && !repo.exists(".ralph"));
}

/// Runs at a terminal of its own, as a person does.
fn at_terminal(user: &User, folder: &Path, words: &[String]) -> Ended {
    let line: Vec<String> = words.iter().map(|word| shell_quoted(word)).collect();
    let line = format!("{} {}", shell_quoted(&program().to_string_lossy()), line.join(" "));
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(folder).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", user.home()).env("RALPH_HOME", user.state());
    command.env("TMPDIR", user.temporary());
    Ended::of(
        command
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    )
}

#[test]
fn agents_and_checks_that_ask_find_no_terminal_and_do_not_hang() {
    let (user, repo) = (User::new(), Repo::init());
    let script = Script::new().otherwise([Step::ReadTty { question: "Really? ".into() }, Step::append("log", "x")]);
    let check = "if read answer < /dev/tty; then echo \"got $answer\"; else echo 'no terminal'; fi; read line; exit 1";
    let words = ["--unmetered", "--criteria", check, "--same-error", "9"];
    let words = run_words_with(&user.agent(script), 2, &words);
    let started = Instant::now();
    assert_eq!(at_terminal(&user, repo.path(), &words).code, 10);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    let id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    assert!(user.ralph(repo.path(), ["logs", &id, "1"]).ok().stdout.contains("no terminal"));
    assert!(user.ralph(repo.path(), ["logs", &id, "1", "--check", "1"]).ok().stdout.contains("no terminal"));
}

#[test]
fn an_agent_that_reads_its_input_gets_the_prompt_and_then_the_end() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = "read first; read second; echo \"first=$first second=$second\"; echo '<promise>COMPLETE</promise>'";
    user.ralph(repo.path(), run_words_with(agent, 1, &["--unmetered"])).ok();
    let id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    let log = user.ralph(repo.path(), ["logs", &id]).ok().stdout;
    assert!(log.contains("first=Make the check pass second=\n"), "{log}");
}

fn claim(user: &User) -> Vec<String> {
    run_words_with(&user.agent(Script::new().run([Step::claim()])), 1, &["--unmetered"])
}

#[test]
fn homes_that_are_missing_or_relative() {
    let (user, repo) = (User::new(), Repo::init());
    let run = |change: &dyn Fn(&mut Command) -> &mut Command| {
        let mut command = user.command(repo.path(), claim(&user));
        change(&mut command);
        Ended::from(command.output().unwrap())
    };
    // Nothing at all: said, with what to set.
    let nowhere = run(&|command| command.env_remove("HOME").env_remove("RALPH_HOME"));
    assert_ne!(nowhere.code, 0);
    assert!(nowhere.stderr.contains("HOME") && nowhere.stderr.contains("RALPH_HOME"), "{}", nowhere.stderr);
    // A place for the state alone is enough.
    run(&|command| command.env_remove("HOME")).ok();
    assert!(user.state().join("ralph.db").exists());
    // A relative path means another folder in every workspace, so it means nothing.
    let usual = user.home().join(".local/state/ralph/ralph.db");
    assert!(!usual.exists());
    run(&|command| command.env("RALPH_HOME", "relative/state")).ok();
    assert!(usual.exists() && !repo.exists("relative"));
    let moved = user.home().join("xdg");
    run(&|command| command.env_remove("RALPH_HOME").env("XDG_STATE_HOME", &moved)).ok();
    assert!(moved.join("ralph/ralph.db").exists());
}

#[test]
fn a_state_inside_the_workspace_is_refused() {
    let (user, repo) = (User::new(), Repo::init());
    std::os::unix::fs::symlink(repo.path(), repo.outside().join("way-in")).unwrap();
    let before = ralph_testkit::Fingerprint::of(repo.path());
    for state in [repo.path().to_owned(), repo.path().join("state/deep"), repo.outside().join("way-in/state")] {
        let ended = Ended::from(user.command(repo.path(), claim(&user)).env("RALPH_HOME", &state).output().unwrap());
        let ended = ended.with_code(2);
        assert!(
            ended.stderr.contains("RALPH_HOME:") && ended.stderr.contains("inside the workspace"),
            "{}",
            ended.stderr
        );
    }
    before.assert_same(&ralph_testkit::Fingerprint::of(repo.path()));
    // The usual place, when somebody works in the home folder itself.
    let ended = Ended::from(user.command(&user.home(), claim(&user)).env_remove("RALPH_HOME").output().unwrap());
    assert!(ended.with_code(2).stderr.contains("set RALPH_HOME"));
}

#[test]
fn agent_and_checks_get_an_allowlist_and_what_the_user_names() {
    let (user, repo) = (User::new(), Repo::init());
    let (agent_env, check_env) = (user.home().join("agent.json"), user.home().join("check.txt"));
    let script = Script::new().run([Step::RecordEnv(agent_env.clone()), Step::write("done.txt", "")]);
    let check = format!("env > {}; test -e done.txt", check_env.display());
    let words = ["--unmetered", "--criteria", &check, "--env", "WANTED", "--env", "WANTED_TOKEN"];
    let words = run_words_with(&user.agent(script), 2, &words);
    let foreign = [
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "ANTHROPIC_API_KEY",
        "SSH_AUTH_SOCK",
        "NODE_OPTIONS",
        "PYTHONPATH",
        "BASH_ENV",
        "ENV",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_CONFIG_PARAMETERS",
        "RUSTFLAGS",
        "ANYTHING_ELSE",
        "XDG_SESSION_TOKEN",
    ];
    let mut command = user.command(repo.path(), words);
    command.envs(foreign.map(|name| (name, "foreign"))).env("WANTED", "w").env("WANTED_TOKEN", "token-of-the-user");
    command.env("LC_ALL", "C.UTF-8").env("XDG_CACHE_HOME", user.home().join("cache"));
    Ended::from(command.output().unwrap()).ok();
    let agent: BTreeMap<String, String> = serde_json::from_slice(&std::fs::read(agent_env).unwrap()).unwrap();
    let text = std::fs::read_to_string(check_env).unwrap();
    let check: BTreeMap<String, String> =
        text.lines().filter_map(|line| line.split_once('=')).map(|(name, value)| (name.into(), value.into())).collect();
    for (who, env) in [("agent", &agent), ("check", &check)] {
        for name in foreign {
            assert!(!env.contains_key(name), "the {who} got {name}");
        }
        for (name, value) in [("WANTED", "w"), ("LC_ALL", "C.UTF-8"), ("TERM", "dumb")] {
            assert_eq!(env.get(name).map(String::as_str), Some(value), "{who}: {name}");
        }
        assert_eq!(env.get("HOME").map(PathBuf::from), Some(user.home()), "{who}");
        assert!(
            env.contains_key("PATH") && env.contains_key("RALPH_LOOP_ID") && env.contains_key("XDG_CACHE_HOME"),
            "{who}"
        );
    }
    assert_eq!(agent.get("WANTED_TOKEN").map(String::as_str), Some("token-of-the-user"));
    assert!(!check.contains_key("WANTED_TOKEN"), "what a check runs is the agent's to write");
    assert!(agent.contains_key("RALPH_RESULT_FILE") && agent["RALPH_ITERATION"] == "1");
}

#[test]
fn variables_that_steer_git_do_not_lead_ralph_elsewhere() {
    let (user, repo, other) = (User::new(), Repo::init(), Repo::init());
    let before = other.fingerprint();
    let script = Script::new().run([Step::write("done.txt", "")]);
    let words = run_words_with(&user.agent(script), 2, &["--unmetered", "--criteria", "test -e done.txt", "--commit"]);
    let mut command = user.command(repo.path(), words);
    command.env("GIT_DIR", other.git_directory()).env("GIT_WORK_TREE", other.path());
    command
        .env("GIT_INDEX_FILE", other.git_directory().join("index"))
        .env("GIT_OBJECT_DIRECTORY", other.git_directory().join("objects"));
    command
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.fsmonitor")
        .env("GIT_CONFIG_VALUE_0", "touch ran; false");
    let result = Ended::from(command.output().unwrap()).ok().json();
    assert_eq!(repo.head(), result["commit"].as_str().unwrap());
    before.assert_same(&other.fingerprint());
    assert!(!repo.exists("ran"));
}

/// Modes of everything below a folder.
fn modes(folder: &Path, found: &mut Vec<(PathBuf, u32)>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let metadata = entry.path().symlink_metadata().unwrap();
        found.push((entry.path(), metadata.permissions().mode() & 0o777));
        if metadata.is_dir() {
            modes(&entry.path(), found);
        }
    }
}

#[test]
fn state_is_private_whatever_the_umask() {
    for umask in ["000", "022", "077"] {
        let (user, repo) = (User::new(), Repo::init());
        repo.write(".env", "KEY=1\n");
        let script = Script::new().run([Step::write("a", "1")]).run([Step::write(".env", "KEY=2\n")]);
        let line: Vec<String> = run_words_with(&user.agent(script), 3, &["--unmetered", "--criteria", "false"])
            .iter()
            .map(|word| shell_quoted(word))
            .collect();
        // The first command that makes the state folder need not be a loop.
        let (program, other) = (shell_quoted(&program().to_string_lossy()), repo.outside().join("other"));
        std::fs::create_dir(&other).unwrap();
        let init = format!("{program} init {} >/dev/null", shell_quoted(other.to_str().unwrap()));
        let line = format!("umask {umask}; {init} && {program} {}", line.join(" "));
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(repo.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", user.home()).env("RALPH_HOME", user.state()).env("TMPDIR", user.temporary());
        Ended::from(command.output().unwrap()).with_code(16);
        let mut found = vec![(user.state(), user.state().metadata().unwrap().permissions().mode() & 0o777)];
        modes(&user.state(), &mut found);
        let open: Vec<String> = found
            .iter()
            .filter(|(_, mode)| mode & 0o077 != 0)
            .map(|(path, mode)| format!("{mode:o} {}", path.display()))
            .collect();
        assert!(open.is_empty(), "umask {umask}: open to others:\n{}", open.join("\n"));
        assert!(found.len() > 20, "{}", found.len());
    }
}

#[test]
fn times_are_told_in_utc_and_are_true() {
    let (user, repo) = (User::new(), Repo::init());
    let now =
        || String::from_utf8(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%S"]).output().unwrap().stdout).unwrap();
    let before = now();
    Ended::from(user.command(repo.path(), claim(&user)).env("TZ", "Pacific/Kiritimati").output().unwrap()).ok();
    let after = now();
    let entry = user.newest_loop();
    for field in ["startedAt", "finishedAt", "updatedAt"] {
        let time = entry[field].as_str().unwrap();
        assert!(time.ends_with('Z') && time[..19] >= *before.trim() && time[..19] <= *after.trim(), "{field}: {time}");
    }
    let listed = user.ralph(repo.path(), ["list"]).ok().stdout;
    assert!(listed.lines().next().unwrap().contains("AGE"), "{listed}");
}

#[test]
fn two_names_of_a_workspace_are_one_workspace() {
    let (user, repo) = (User::new(), Repo::init());
    let link = repo.outside().join("link");
    std::os::unix::fs::symlink(repo.path(), &link).unwrap();
    let go = repo.outside().join("go");
    let script = Script::new().run([Step::write("started", ""), Step::wait_for_file(&go), Step::write("done.txt", "")]);
    let words = run_words_with(&user.agent(script), 2, &["--unmetered", "--criteria", "test -e done.txt"]);
    let first = user.spawn(&link, words);
    while !repo.exists("started") {
        std::thread::sleep(Duration::from_millis(10));
    }
    let second = user.ralph(&repo.path().join("."), claim(&user)).with_code(2);
    let id = user.newest_loop();
    assert!(second.stderr.contains(id["short"].as_str().unwrap()), "{}", second.stderr);
    std::fs::write(&go, "").unwrap();
    let result: Value = Ended::of(first).ok().json();
    assert_eq!(result["workspace"].as_str().unwrap(), repo.path().to_str().unwrap());
    for name in [repo.path(), &link] {
        let listed = user.ralph(name, ["list", "--json"]).ok().json();
        assert_eq!(listed.as_array().unwrap().len(), 1, "{}", name.display());
    }
}
