//! What daily use needs besides a loop: the loop that is meant without an id, messages to it, the background, settings, disk.

use std::process::Command;

use ralph_testkit::{Repo, Script, Step};
use serde_json::Value;

use crate::aid::{tamper, wait_for_file, wait_until};
use crate::harness::{User, program, run_words_with};

fn repository() -> (User, Repo) {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("check.sh", "test -e done.txt\n");
    repo.commit("check");
    (user, repo)
}

#[test]
fn a_command_without_an_id_means_the_newest_loop_and_any_unique_start_of_an_id_is_enough() {
    let (user, repo) = repository();
    let nothing = user.ralph(repo.path(), ["show"]).with_code(1);
    assert!(nothing.stderr.contains("no loops yet"), "{}", nothing.stderr);
    let script = || {
        Script::new()
            .run([Step::say("agent: first"), Step::write("one.txt", "1\n")])
            .run([Step::say("agent: second"), Step::write("done.txt", "2\n")])
    };
    let words = ["--criteria", "sh check.sh", "--unmetered"];
    let older = user.ralph(repo.path(), run_words_with(&user.agent(script()), 5, &words)).ok().json();
    std::fs::remove_file(repo.path().join("done.txt")).unwrap();
    let newer = user.ralph(repo.path(), run_words_with(&user.agent(script()), 5, &words)).ok().json();
    let (older, newer) = (older["loopId"].as_str().unwrap(), newer["loopId"].as_str().unwrap());
    let short = |id: &str| id[id.len() - 8..].to_owned();

    let shown = |words: &[&str]| user.ralph(repo.path(), words).ok().json()["loopId"].as_str().unwrap().to_owned();
    assert_eq!(shown(&["show", "--json"]), newer);
    assert_eq!(shown(&["verify-run", "--json"]), newer);
    assert_eq!(user.ralph(repo.path(), ["logs"]).ok().stdout, "agent: second\n");
    assert_eq!(user.ralph(repo.path(), ["logs", "1"]).ok().stdout, "agent: first\n");
    assert!(user.ralph(repo.path(), ["diff", "2"]).ok().stdout.contains("done.txt"));
    let over = user.ralph(repo.path(), ["stop"]).with_code(1);
    assert!(over.stderr.contains(&short(newer)) && over.stderr.contains("is over"), "{}", over.stderr);

    // The shortest start of a short id that no other loop has.
    let (one, other) = (short(older), short(newer));
    let common = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    assert_eq!(shown(&["show", &one[..=common], "--json"]), older);
    assert_eq!(shown(&["show", &older[..older.len() - 1], "--json"]), older, "the start of the whole id");
    let several = user.ralph(repo.path(), ["show", &older[..4]]);
    if several.code != 0 {
        assert!(several.stderr.contains("several loops") && several.stderr.contains(older), "{}", several.stderr);
    }
    // Elsewhere there is no newest one.
    let elsewhere = user.ralph(&user.home(), ["show"]).with_code(1);
    assert!(elsewhere.stderr.contains("ralph list --all"), "{}", elsewhere.stderr);

    // A shell completes the ids of all loops.
    let script = "source <(ralph completions bash); COMP_WORDS=(ralph show ''); COMP_CWORD=2; \
                  _ralph_with_ids ralph '' show; echo \"${COMPREPLY[@]}\"";
    let path = std::env::join_paths(
        [program().parent().unwrap().to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    let completed = Command::new("bash")
        .args(["-c", script])
        .env("PATH", path)
        .env("HOME", user.home())
        .env("RALPH_HOME", user.state())
        .current_dir(repo.path())
        .output()
        .unwrap();
    let completed = String::from_utf8_lossy(&completed.stdout).into_owned();
    assert!(completed.contains(&one) && completed.contains(&other), "{completed}");
}

#[test]
fn events_are_lines_of_json_that_end_with_the_result() {
    let (user, repo) = repository();
    let agent = user.agent(Script::new().run([Step::say("at it"), Step::write("done.txt", "1\n")]));
    let words = ["run", "Make it", "--max", "3", "--criteria", "sh check.sh", "--unmetered", "--events"];
    let words = words.into_iter().chain(["--agent-command", &agent]);
    let ended = user.ralph(repo.path(), words).ok();
    let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, events) = lines.split_last().unwrap();
    assert_eq!((last["type"].as_str(), last["result"]["status"].as_str()), (Some("result"), Some("COMPLETED")));
    let kinds: Vec<&str> = events
        .iter()
        .flat_map(|event| event["deltas"].as_array().into_iter().flatten())
        .filter_map(|delta| delta["kind"].as_str())
        .collect();
    for kind in ["opened", "baselineFinished", "iterationStarted", "agentFinished", "iterationDecided", "finished"] {
        assert!(kinds.contains(&kind), "{kind} is not in {kinds:?}");
    }
    let clash = user.ralph(repo.path(), ["run", "x", "--events", "--json"]).with_code(2);
    assert!(clash.stderr.contains("--json"), "{}", clash.stderr);
}

#[test]
fn a_loop_in_the_background_is_told_something_and_watched() {
    let (user, repo) = repository();
    let go = user.home().join("go");
    let agent = user.agent(
        Script::new()
            .run([Step::write("one.txt", "1\n"), Step::wait_for_file(&go)])
            .run([Step::say("agent: second"), Step::write("done.txt", "2\n")]),
    );
    let words = run_words_with(&agent, 5, &["--criteria", "sh check.sh", "--unmetered", "--detach"]);
    let started = user.ralph(repo.path(), words).ok().json();
    let id = started["loopId"].as_str().unwrap();
    wait_for_file(&repo.path().join("one.txt"));
    let told = user.ralph(repo.path(), ["tell", "Look at <the other> file", "--json"]).ok().json();
    assert_eq!((told["loopId"].as_str(), &told["running"]), (Some(id), &Value::Bool(true)));
    assert_eq!(user.show(id)["hints"][0]["text"], "Look at <the other> file");
    assert!(user.ralph(repo.path(), ["show"]).ok().stdout.contains("not taken yet: Look at"));
    let watching = user.spawn(repo.path(), ["attach", "--events"]);
    std::fs::write(&go, "").unwrap();
    let watched = crate::harness::Ended::of(watching).ok();
    let last: Value = serde_json::from_str(watched.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["result"]["status"], "COMPLETED", "{}", watched.stdout);
    let shown = user.show(id);
    assert_eq!((&shown["hints"][0]["iteration"], &shown["status"]), (&Value::from(2), &Value::from("COMPLETED")));
    let second = user.ralph(repo.path(), ["show", "--prompt", "2"]).ok().stdout;
    assert!(second.contains("[Message from the user]\n\nLook at <the other> file\n"), "{second}");
    let first = user.ralph(repo.path(), ["show", "--prompt", "1"]).ok().stdout;
    assert_eq!(first, "Make the check pass\n");
    user.ralph(repo.path(), ["verify-run"]).ok();
    // On one screen the end is said once, and the iteration under way is not behind.
    std::fs::remove_file(&go).unwrap();
    let said = user.home().join("said");
    let agent = user.agent(Script::new().run([Step::write("three.txt", ""), Step::wait_for_file(&go)]));
    user.ralph(
        repo.path(),
        run_words_with(&agent, 5, &["--criteria", "sh check.sh; test -e go", "--unmetered", "--detach"]),
    )
    .ok();
    wait_for_file(&repo.path().join("three.txt"));
    let screen = std::fs::File::create(&said).unwrap();
    let mut attach = user.command(repo.path(), ["attach"]);
    let mut attached = attach.stdout(screen.try_clone().unwrap()).stderr(screen).spawn().unwrap();
    wait_until("the first line", || std::fs::read_to_string(&said).unwrap().contains("iteration 1: running"));
    repo.write("go", "");
    std::fs::write(&go, "").unwrap();
    attached.wait().unwrap();
    let text = std::fs::read_to_string(&said).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("COMPLETED")).count(), 1, "{text}");
    assert!(!text.contains("continues after"), "{text}");
    let over = user.ralph(repo.path(), ["attach"]).with_code(1);
    assert!(over.stderr.contains("is over"), "{}", over.stderr);
    user.ralph(repo.path(), ["tell", "Too late"]).with_code(1);
    // What cannot start says why at once.
    let wrong = run_words_with(&agent, 5, &["--env", "NOT_SET_ANYWHERE", "--unmetered", "--detach"]);
    let wrong = user.ralph(repo.path(), wrong).with_code(2);
    assert!(wrong.stderr.contains("NOT_SET_ANYWHERE"), "{}", wrong.stderr);
}

#[test]
fn a_blocked_agent_is_answered_and_continues() {
    let (user, repo) = repository();
    let agent = user.agent(
        Script::new()
            .run([Step::write("one.txt", "1\n"), Step::blocked("which port?")])
            .run([Step::write("done.txt", "2\n")]),
    );
    let words = run_words_with(&agent, 5, &["--criteria", "sh check.sh", "--unmetered"]);
    let ended = user.ralph(repo.path(), words).with_code(18).json();
    assert_eq!(ended["reason"], "BLOCKED");
    user.ralph(repo.path(), ["resume", "--answer", "Port 8080", "--quiet"]).ok();
    let prompt = user.ralph(repo.path(), ["show", "--prompt", "2"]).ok().stdout;
    assert!(prompt.contains("[Message from the user]\n\nPort 8080"), "{prompt}");
    assert!(prompt.contains("you are blocked (which port?); the user's message is below"), "{prompt}");
}

#[test]
fn config_tells_values_with_their_sources_and_names_of_flags_are_keys() {
    let (user, repo) = repository();
    user.configure("max = 7\n[notify]\nwebhook = \"https://hooks.example.com/services/T0/B0/secret\"\n");
    repo.write("ralph.toml", "criteria = 'sh check.sh'\nprotect = ['check.sh']\n");
    let config = user.ralph(repo.path(), ["config", "--json"]).ok();
    assert!(!config.stdout.contains("B0/secret"), "{}", config.stdout);
    let config = config.json();
    let key = |name: &str| {
        let keys = config["keys"].as_array().unwrap();
        keys.iter().find(|key| key["key"] == name).cloned().unwrap_or_default()
    };
    assert_eq!((&key("max")["value"], &key("max")["source"]), (&Value::from(7), &Value::from("your configuration")));
    assert_eq!(key("iteration_timeout")["value"], "30m");
    assert_eq!(key("criteria"), Value::Null, "it is not approved");
    assert_eq!(config["waitingForApproval"][0], "criteria");
    user.ralph(repo.path(), ["trust", "--yes"]).ok();
    let text = user.ralph(repo.path(), ["config"]).ok().stdout;
    assert!(text.contains("\"sh check.sh\"") && text.contains("ralph.toml:1:12"), "{text}");
    assert!(text.contains("1073741824 (1G)") && text.contains("67108864 (64M)"), "{text}");
}

#[test]
fn prune_removes_what_is_old_and_only_when_asked() {
    let (user, repo) = repository();
    let agent = || user.agent(Script::new().run([Step::write("done.txt", "1\n")]));
    let words = ["--criteria", "sh check.sh", "--unmetered"];
    let old = user.ralph(repo.path(), run_words_with(&agent(), 5, &words)).ok().json();
    std::fs::remove_file(repo.path().join("done.txt")).unwrap();
    tamper(&user, "UPDATE loops SET finished_at = 1000000000000, updated_at = 1000000000000");
    let new = user.ralph(repo.path(), run_words_with(&agent(), 5, &words)).ok().json();
    let folder = |run: &Value| user.state().join("loops").join(run["loopId"].as_str().unwrap());
    let planned = user.ralph(repo.path(), ["prune", "--json"]).ok().json();
    assert_eq!((&planned["runs"], &planned["removed"]), (&serde_json::json!([old["loopId"]]), &Value::Bool(false)));
    assert!(folder(&old).exists() && planned["bytes"].as_u64().unwrap() > 0);
    let shown = user.ralph(repo.path(), ["prune"]).ok().stdout;
    assert!(shown.contains("1 run older than 30d") && shown.contains("--yes"), "{shown}");
    user.ralph(repo.path(), ["prune", "--yes"]).ok();
    assert!(!folder(&old).exists() && folder(&new).exists());
    let listed = user.ralph(repo.path(), ["list", "--json"]).ok().json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    user.ralph(repo.path(), ["verify-run"]).ok();
    user.ralph(repo.path(), ["diff"]).ok();
    let short = user.ralph(repo.path(), ["prune", "--older-than", "1h"]).with_code(2);
    assert!(short.stderr.contains("24 hours"), "{}", short.stderr);
}

#[test]
fn a_folder_below_a_ralph_toml_belongs_to_its_project() {
    let (user, repo) = repository();
    repo.write("lib/code.txt", "\n");
    let file = format!(
        "max_iterations = 3\nagent_command = '''{}'''\nunmetered = true\n",
        user.agent(Script::new().run([Step::write("done.txt", "1\n")]))
    );
    repo.write("ralph.toml", format!("{file}verification_command = 'sh ./check.sh'\n"));
    let below = repo.path().join("lib");
    user.ralph(&below, ["trust", "--yes"]).ok();
    let ended = user.ralph(&below, ["run", "Fix it", "--json"]).ok();
    assert_eq!(ended.json()["verified"], true);
    assert!(ended.stderr.contains("because of its ralph.toml"), "{}", ended.stderr);
    // What nobody counts is not shown as nothing.
    assert!(
        ended.stderr.contains("up to 3 iterations, not metered") && !ended.stderr.contains('$'),
        "{}",
        ended.stderr
    );
    for words in [&["show", "--json"][..], &["verify-run", "--json"]] {
        assert_eq!(user.ralph(&below, words).ok().json()["loopId"], ended.json()["loopId"]);
    }
    assert_eq!(user.ralph(&below, ["list", "--json"]).ok().json().as_array().unwrap().len(), 1);
    // What is given is what is meant.
    let here = user.ralph(&below, ["run", "Fix it", "--workspace", ".", "--json"]).with_code(2);
    assert!(!here.stderr.contains("ralph.toml"), "{}", here.stderr);
}

/// Screens show the time of the place, and programs read UTC.
#[test]
fn times_on_screens_are_local_and_to_the_second() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = user.agent(Script::new().run([Step::write("done.txt", "x")]));
    user.ralph(repo.path(), run_words_with(&agent, 1, &["--criteria", "test -f done.txt"])).ok();
    let shown = |words: &[&str]| {
        let output = user.command(repo.path(), words).env("TZ", "XXX-5:45").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let at: jiff::Timestamp = user.newest_loop()["startedAt"].as_str().unwrap().parse().unwrap();
    let local = at.to_zoned(jiff::tz::TimeZone::fixed(jiff::tz::Offset::from_seconds(5 * 3600 + 45 * 60).unwrap()));
    let text = shown(&["show"]);
    let started = text.lines().find_map(|line| line.trim().strip_prefix("started")).unwrap().trim();
    assert_eq!(started, local.strftime("%Y-%m-%d %H:%M:%S").to_string());
    let json: serde_json::Value = serde_json::from_str(&shown(&["list", "--json"])).unwrap();
    assert_eq!(json[0]["startedAt"], at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string());
}
