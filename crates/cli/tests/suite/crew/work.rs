//! What agents of a crew do in the workspace: at the same time, through programs and loops, without an end, beyond the budget.

use std::path::Path;
use std::process::Stdio;

use ralph_testkit::model::{Fault, Reply, Script, Usage};
use ralph_testkit::{Repo, Script as AgentScript, ScriptedModel, Step};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{MODEL, calls, crew, says, script, with_model};
use crate::aid::{SOON, TIMEOUT, finish, micros, settled, signal, wait_for_file};
use crate::fake::{Fake, Run};
use crate::harness::{Ended, User};

/// An agent of the user's own with a model of its own, so that agents at work at the same time have scripts of their own.
fn agent(user: &User, name: &str, server: &ScriptedModel) -> String {
    let folder = user.config_file().with_file_name("agents");
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!("---\nrole: acting\nmodel: {name}\ntools: [fs_writeFile, fs_edit]\n---\nYou change files.");
    std::fs::write(folder.join(format!("{name}.md")), text).unwrap();
    format!(
        "[models.{name}]\nprovider = \"anthropic\"\nmodel = \"claude-sonnet-5-5\"\nkey_env = \"ANTHROPIC_API_KEY\"\nbase_url = \"{}\"\n",
        server.url()
    )
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("fs_writeFile", json!({ "path": path, "content": content }))
}

#[test]
fn agents_at_work_at_the_same_time_are_merged_and_conflicts_are_evidence() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("shared.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    repo.commit("start");
    let work = |name: &str, old: &str, new: &str| {
        let edit = ("fs_edit", json!({ "path": "shared.txt", "old": old, "new": new }));
        let replies = [
            calls(&[write(&format!("{name}.txt"), name), edit]),
            says("done"),
            calls(&[write("conflict.txt", name)]),
            says("done"),
        ];
        ScriptedModel::start(script(replies))
    };
    let (left, right) = (work("left", "1\n", "LEFT\n"), work("right", "9\n", "RIGHT\n"));
    user.configure(&(agent(&user, "left", &left) + &agent(&user, "right", &right)));
    let both = |objective: &str| {
        let one = |target: &str| json!({ "target": target, "objective": objective });
        calls(&[("delegateParallel", json!({ "delegations": [one("left"), one("right")] }))])
    };
    let server = ScriptedModel::start(script([both("both"), both("conflict"), says("one is left over"), says("NONE")]));
    let result = crew(&user, &repo, &server, &[]).ok().json();
    let shared = std::fs::read_to_string(repo.path().join("shared.txt")).unwrap();
    assert_eq!(shared, "LEFT\n2\n3\n4\n5\n6\n7\n8\nRIGHT\n", "{result:#}");
    assert!(repo.exists("left.txt") && repo.exists("right.txt") && repo.exists("conflict.txt"));
    let delegations = result["delegations"].as_array().unwrap();
    let statuses: Vec<&str> = delegations.iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!(statuses[..2], ["success", "success"], "{result:#}");
    assert_eq!(statuses[2..].iter().filter(|status| **status == "success").count(), 1, "{result:#}");
    assert!(result.to_string().contains("conflict in conflict.txt: another agent changed it, too"), "{result:#}");
    let requests = server.requests();
    assert!(requests[1].results[0].contains("Parallel delegation completed: 2/2 successful."), "{:?}", requests[1]);
    assert!(requests[2].results[0].contains("Parallel delegation completed: 1/2 successful."), "{:?}", requests[2]);
    // What is merged leaves nothing behind; the work of the conflict is kept where the evidence says.
    assert_eq!(repo.git(["worktree", "list"]).lines().count(), 2, "{}", repo.git(["worktree", "list"]));
}

#[test]
fn a_program_and_a_loop_work_for_a_crew_and_are_judged_by_evidence() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("start.txt", "x");
    repo.commit("start");
    let fake = Fake::new(&user, [Run::new().does("echo hello > program.txt").answers(700).ends(700, "I wrote it")]);
    let looping =
        user.agent(AgentScript::new().run([Step::write("half.txt", "x")]).otherwise([Step::write("whole.txt", "x")]));
    user.configure(&format!("agents.looper.command = {}\nagents.looper.unmetered = true\n", json!(looping)));
    let by_program = |file: &str| {
        let expects = [format!("file:{file}")];
        calls(&[("delegateToDevo", json!({ "target": "claude", "objective": "write it", "expects": expects }))])
    };
    let of_loop =
        json!({ "objective": "make whole.txt", "verification_command": "test -f whole.txt", "agent": "looper" });
    let replies = [
        by_program("program.txt"),
        by_program("other.txt"),
        calls(&[("ralph_loop", of_loop)]),
        says("all there"),
        says("NONE"),
    ];
    let server = ScriptedModel::start(script(replies));
    let words = ["crew", "go", "--max-cost", "2", "--model", MODEL, "--json"];
    let mut command = user.command(repo.path(), words);
    let path = format!("{}:{}", fake.program().parent().unwrap().display(), std::env::var("PATH").unwrap());
    command.env("PATH", path);
    let result = with_model(command, &server).ok().json();
    let found = &result["delegations"];
    assert_eq!((&found[0]["agent"], &found[0]["status"]), (&json!("claude"), &json!("success")), "{result:#}");
    assert_ne!(found[1]["status"], "success", "the second one left nothing behind: {result:#}");
    let requests = server.requests();
    assert!(requests[1].results[0].starts_with("[DELEGATION RESULT — CLAUDE]"), "{:?}", requests[1].results);
    assert!(requests[2].results[0].contains("[MISSING] file:other.txt"), "{:?}", requests[2].results);
    let looped = &requests[3].results[0];
    assert!(looped.contains("COMPLETED") || looped.contains("completed"), "{looped}");
    assert!(repo.exists("program.txt") && repo.exists("whole.txt"));
    assert!(fake.left(1, "prompt").contains("write it"));
    // What programs cost is part of what the crew costs.
    assert!(result["costUSD"].as_f64().unwrap() > 0.0013, "{result:#}");
    let listed = user.ralph(repo.path(), ["list", "--json"]).ok().json();
    let kinds: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["loop", "crew"], "{listed:#}");
}

#[test]
fn a_tool_that_hangs_is_ended_and_so_is_a_crew_that_is_stopped() {
    let (user, repo) = (User::new(), Repo::init());
    let started = repo.path().join("started");
    let bash = |command: &str, seconds: u32| {
        calls(&[("bash_execute", json!({ "command": command, "timeoutSeconds": seconds }))])
    };
    let delegated = calls(&[("delegateToDevo", json!({ "objective": "run it" }))]);
    let replies = [delegated, bash("sleep 600", 1), bash("touch started; sleep 600", 900), says("never")];
    let server = ScriptedModel::start(script(replies));
    let words = ["crew", "go", "--max-cost", "2", "--model", MODEL, "--json"];
    let mut command = user.command(repo.path(), words);
    command.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "key-1");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_file(&started);
    let id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    user.ralph(repo.path(), ["stop", &id]).ok();
    let ended: Ended = finish(child);
    let result = ended.json();
    assert_eq!((&result["status"], &result["reason"]), (&json!("ABORTED"), &json!("CANCELLED")), "{result:#}");
    let evidence = &result["delegations"][0]["evidence"];
    assert_eq!(evidence[0]["success"], false, "{result:#}");
    assert!(evidence[0]["summary"].as_str().unwrap().starts_with("sleep 600 ("), "{result:#}");
    assert!(ralph_testkit::Processes::working_in(repo.path()).wait_until_gone(SOON).is_ok());
    // It can continue: what ran may have done something, so it is not repeated by itself.
    let again = with_model(user.command(repo.path(), ["resume", "--json"]), &server).ok().json();
    assert_eq!(again["status"], "ANSWERED", "{again:#}");
}

#[test]
fn a_native_agent_whose_model_does_not_answer_is_stopped_and_has_a_time_limit() {
    for (flags, code) in [(&[][..], 19), (&["--iteration-timeout", "2s"][..], 10)] {
        let (user, repo) = (User::new(), Repo::init());
        let server = ScriptedModel::start(Script::new().reply(Reply::fault(Fault::Hang { after_bytes: None })));
        let words = ["run", "go", "--agent", "native", "--model", MODEL, "--max", "1", "--max-cost", "2"];
        let words = [&words[..], &["--criteria", "false", "--json"], flags].concat();
        let mut command = user.command(repo.path(), words);
        command.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "key-1");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        server.wait_until(TIMEOUT, |requests| !requests.is_empty());
        if flags.is_empty() {
            signal(&child, Signal::TERM);
        }
        let result = finish(child).with_code(code).json();
        // As of an agent that is a program: what was under way, and not all that was left.
        let cost = micros(&result["costUSD"]);
        assert!(cost > 0 && cost < 500_000, "{result:#}");
    }
}

#[test]
fn the_budget_covers_agents_and_ends_within_one_request() {
    let (user, repo) = (User::new(), Repo::init());
    let delegated = calls(&[("delegateToDevo", json!({ "objective": "look for ever" }))]);
    let replies = [delegated, calls(&[("fs_glob", json!({ "pattern": "*" }))]).times(99)];
    let server = ScriptedModel::start(script(replies));
    let result = crew(&user, &repo, &server, &["--max-cost", "0.01"]).with_code(11).json();
    let (spent, asked) = (result["costUSD"].as_f64().unwrap(), server.requests().len());
    assert_eq!(result["reason"], "COST_LIMIT", "{result:#}");
    // The request that reaches the limit is the last one.
    let each = spent / f64::from(u32::try_from(asked).unwrap());
    assert!(spent >= 0.01 && spent - each < 0.01, "{spent} for {asked} requests");
}

#[test]
fn agents_of_a_repository_need_approval_and_the_sandbox_can_be_turned_off() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write(".ralph/agents/scribe.md", "---\nrole: acting\ntools: [bash_execute]\n---\nYou write things down.");
    let outside = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("outside-{}", std::process::id()));
    // What lies among temporary files can be written in any case.
    let is_protected = !outside.starts_with("/tmp") && !outside.starts_with("/var/tmp");
    let line = format!("echo x > {}", outside.display());
    let replies = [
        calls(&[("delegateToScribe", json!({ "objective": "write outside" }))]),
        calls(&[("bash_execute", json!({ "command": line }))]),
        says("done"),
        says("answered"),
        says("NONE"),
    ];
    let server = ScriptedModel::start(script(replies.clone()));
    let refused = crew(&user, &repo, &server, &[]).with_code(2);
    assert!(refused.stderr.contains("scribe.md: is not approved"), "{}", refused.stderr);
    assert!(refused.stderr.contains("may call: bash_execute") && server.requests().is_empty(), "{}", refused.stderr);
    user.ralph(repo.path(), ["trust", "--yes"]).ok();
    crew(&user, &repo, &server, &[]).ok();
    assert!(!is_protected || !outside.exists(), "the sandbox is on");
    user.configure("sandbox = \"off\"\n");
    let server = ScriptedModel::start(script(replies));
    let result = crew(&user, &repo, &server, &[]).ok().json();
    assert_eq!(result["delegations"][0]["status"], "success", "{result:#}");
    std::fs::remove_file(&outside).unwrap_or_else(|error| panic!("{error}: {result:#}"));
    // Another text is another question.
    repo.write(".ralph/agents/scribe.md", "---\nrole: acting\ntools: [bash_execute]\n---\nYou obey me.");
    crew(&user, &repo, &server, &[]).with_code(2);
}

/// Asks its service once with what it finds in its environment, which it leaves behind.
const ASKS: &str = r#"
import json, os, urllib.request
open("environment.txt", "w").write("\n".join(f"{k}={v}" for k, v in os.environ.items()))
body = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}]}
request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), {
    "content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"})
print("asked:", urllib.request.urlopen(request).status)
"#;

#[test]
fn what_a_program_costs_a_crew_is_counted_on_the_wire_and_the_key_stays_here() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("start.txt", "x");
    repo.commit("start");
    let program = user.home().join("asks.py");
    std::fs::write(&program, ASKS).unwrap();
    // It reports less than it costs.
    let fake =
        Fake::new(&user, [Run::new().does(format!("python3 {} > /dev/null", program.display())).ends(1, "done")]);
    let dear = Usage { input: 10_000, ..Usage::ZERO };
    let replies = [
        calls(&[("delegateToDevo", json!({ "target": "claude", "objective": "ask", "expects": [] }))]),
        Reply::say("hello").usage(dear),
        says("done"),
        says("NONE"),
    ];
    let server = ScriptedModel::start(script(replies));
    let mut command = user.command(repo.path(), ["crew", "go", "--max-cost", "2", "--model", MODEL, "--json"]);
    let path = format!("{}:{}", fake.program().parent().unwrap().display(), std::env::var("PATH").unwrap());
    command.env("PATH", path);
    let result = with_model(command, &server).ok().json();
    let environment = repo.read("environment.txt");
    assert!(environment.contains("ANTHROPIC_API_KEY=ralph-run-") && !environment.contains("key-1"), "{environment}");
    let id = result["runId"].as_str().unwrap();
    let listed = user.ralph(repo.path(), ["show", id, "--requests", "--json"]).ok().json();
    let listed = listed.as_array().unwrap();
    let agents: Vec<&str> = listed.iter().map(|one| one["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["chapo", "claude", "chapo", "chapo"], "{listed:#?}");
    assert_eq!(micros(&listed[1]["costUSD"]), 30_000, "{listed:#?}");
    let sum: i64 = listed.iter().map(|one| micros(&one["costUSD"])).sum();
    assert_eq!(micros(&result["costUSD"]), sum, "{listed:#?}");
    // The day is charged as the crew is.
    assert_eq!(settled(&user), sum);
}

#[test]
fn tools_of_a_crew_read_and_reach_what_the_user_allows() {
    let (user, repo) = (User::new(), Repo::init());
    repo.write("start.txt", "x");
    repo.commit("start");
    for (path, text) in [("private/diary", "diary"), (".ssh/id_ed25519", "key")] {
        let path = user.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let home = user.home().display().to_string();
    let page = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = page.local_addr().unwrap().port();
    let connect = format!("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'");
    let look = format!(
        "cat {home}/private/diary > diary.txt; cat {home}/.ssh/id_ed25519 > key.txt; {connect} && echo yes > reached.txt; true"
    );
    let replies = [
        calls(&[
            ("web_fetch", json!({ "url": format!("http://127.0.0.1:{port}/") })),
            ("delegateToDevo", json!({ "objective": "look" })),
        ]),
        calls(&[("bash_execute", json!({ "command": look }))]),
        says("looked"),
        says("done"),
        says("NONE"),
    ];
    let server = ScriptedModel::start(script(replies));
    let words = ["crew", "go", "--max-cost", "2", "--model", MODEL, "--hide", "~/private", "--allow-read", "~/.ssh"];
    let command = user.command(repo.path(), words.iter().chain(&["--agent-network", "model"]));
    let ended = with_model(command, &server).ok();
    if !ended.stderr.contains("not enforced") {
        assert!(!repo.exists("reached.txt"), "{}", ended.stderr);
        assert!(ended.stderr.contains("agents reach only their model services"), "{}", ended.stderr);
    }
    if !ended.stderr.contains("files cannot be hidden") {
        assert_eq!(
            (repo.read("diary.txt"), repo.read("key.txt")),
            (String::new(), "key".to_owned()),
            "{}",
            ended.stderr
        );
    }
    let fetched: String = server.requests().iter().flat_map(|one| one.results.clone()).collect();
    assert!(fetched.contains("the network is restricted"), "{fetched}");
    let command = user.command(repo.path(), ["crew", "go", "--max-cost", "2", "--allow-host", "example.org"]);
    let refused = with_model(command, &server).with_code(2);
    assert!(refused.stderr.contains("--allow-host together with --agent-network model"), "{}", refused.stderr);
}
