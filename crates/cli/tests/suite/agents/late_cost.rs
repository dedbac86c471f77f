//! Agents that no spent budget can stop: they start only if the user permits that.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use ralph_testkit::{Repo, Script, Step, shell_quoted};
use serde_json::{Value, json};

use crate::aid::{Agent, micros};
use crate::fake::strict_words as words;
use crate::harness::{Ended, User};

/// Writes a server that adds a line to `worked` and says after the prompt that it cost ten cents.
fn server(user: &User) -> String {
    let answer = |id: u32, result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let update =
        json!({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 0.1, "currency": "USD"}});
    let told = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}});
    let said = |line: Value| format!("printf '%s\\n' {};", shell_quoted(&line.to_string()));
    let script = format!(
        "#!/bin/sh\nwhile read -r line; do case $line in\n*'\"initialize\"'*) {} ;;\n*'\"session/new\"'*) {} ;;\n\
         *'\"session/prompt\"'*) echo x >> worked; {} {} ;;\nesac; done\n",
        said(answer(1, json!({"protocolVersion": 1}))),
        said(answer(2, json!({"sessionId": "s"}))),
        said(told),
        said(answer(3, json!({"stopReason": "end_turn"}))),
    );
    let program = user.home().join("server");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    format!("agents.server.kind = \"acp\"\nagents.server.command = {}\n", json!(program.to_string_lossy()))
}

const BETWEEN: &str = "server reports its cost only after a run: --max-cost is checked between runs";
const CHECK: [&str; 2] = ["--criteria", "test $(wc -l < worked) -ge 2"];

#[test]
fn it_starts_only_if_the_user_permits_it_and_the_loop_remembers() {
    let (user, repo) = (User::new(), Repo::init());
    let server = server(&user);
    user.configure(&server);
    let refused = user.ralph(repo.path(), words(&["server"], 1, &CHECK)).with_code(2);
    assert!(refused.stderr.contains("--cost-after-run"), "{}", refused.stderr);
    assert_eq!(user.ralph(repo.path(), ["list", "--all", "--json"]).ok().json(), json!([]));

    let ended = user.ralph(repo.path(), words(&["server"], 1, &[&CHECK[..], &["--cost-after-run"]].concat()));
    let ended = ended.with_code(10);
    assert!(ended.stderr.contains(BETWEEN), "{}", ended.stderr);
    let result = ended.json();
    assert_eq!(micros(&result["costUSD"]), 100_000, "{result}");
    let shown = user.show(result["loopId"].as_str().unwrap());
    assert_eq!(shown["config"]["costAfterRun"], true, "{shown}");

    let ended = user.ralph(repo.path(), ["resume", "--max", "2", "--json"]).ok();
    assert!(ended.stderr.contains(BETWEEN), "{}", ended.stderr);
    assert_eq!(ended.json()["iterations"], 2);
}

#[test]
fn the_users_own_file_can_permit_it_and_a_repository_cannot() {
    let (user, repo) = (User::new(), Repo::init());
    let server = server(&user);
    user.configure(&server);
    repo.write("ralph.toml", "cost_after_run = true\n");
    let refused = user.ralph(repo.path(), words(&["server"], 1, &CHECK)).with_code(2);
    assert!(refused.stderr.contains("cost_after_run") && refused.stderr.contains("your own"), "{}", refused.stderr);
    fs::remove_file(repo.path().join("ralph.toml")).unwrap();
    user.configure(&format!("cost_after_run = true\n{server}"));
    user.ralph(repo.path(), words(&["server"], 2, &CHECK)).ok();
}

#[test]
fn a_loop_continues_with_such_a_server_only_if_the_user_permits_it() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = Agent::new(&user, Script::new().run([Step::append("worked", "x\n"), Step::cost(10_000)]));
    user.configure(&format!(
        "agents.first.command = {}\nagents.first.reports_cost = true\n{}",
        json!(agent.line),
        server(&user)
    ));
    user.ralph(repo.path(), words(&["first"], 1, &CHECK)).with_code(10);
    let resume = |more: &[&str]| {
        user.ralph(repo.path(), [&["resume", "--json", "--max", "2", "--agent", "server"], more].concat())
    };
    let refused = resume(&[]).with_code(2);
    assert!(refused.stderr.contains("--cost-after-run"), "{}", refused.stderr);
    let ended = resume(&["--cost-after-run"]).ok();
    assert!(ended.stderr.contains(BETWEEN), "{}", ended.stderr);
    let id = ended.json()["loopId"].as_str().unwrap().to_owned();
    assert_eq!(user.show(&id)["config"]["costAfterRun"], true);
    user.ralph(repo.path(), ["verify-run", &id]).ok();
}

#[test]
fn what_costs_nothing_needs_no_permission() {
    let (user, repo) = (User::new(), Repo::init());
    user.configure(&server(&user));
    let ended = user.ralph(repo.path(), words(&["server"], 2, &[&CHECK[..], &["--unmetered"]].concat())).ok();
    assert!(!ended.stderr.contains("checked between runs"), "{}", ended.stderr);
}

#[test]
fn a_command_starts_only_if_something_counts_what_it_spends_or_the_user_permits_it() {
    let (user, repo) = (User::new(), Repo::init());
    let steps = [Step::append("worked", "x\n"), Step::append("worked", "x\n"), Step::cost(10_000)];
    let agent = Agent::new(&user, Script::new().otherwise(steps));
    let run = |more: &[&str]| {
        let _ = fs::remove_file(repo.path().join("worked"));
        let words = ["run", "x", "--max", "1", "--max-cost", "1", "--json", "--criteria", CHECK[1]];
        let mut command = user.command(repo.path(), words.iter().chain(more));
        Ended::from(command.env("ANTHROPIC_API_KEY", "sk-1").output().unwrap())
    };
    let refused = run(&["--agent-command", &agent.line]).with_code(2);
    for word in ["one run can exceed --max-cost", "--unmetered", "--env ANTHROPIC_API_KEY", "--cost-after-run"] {
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    assert_eq!((agent.runs(), user.ralph(repo.path(), ["list", "--all", "--json"]).ok().json()), (0, json!([])));
    // What it means is said once more before it starts.
    let permitted = run(&["--agent-command", &agent.line, "--cost-after-run"]).ok();
    assert!(permitted.stderr.contains("is known when it writes {\"costUSD\": 0.12}"), "{}", permitted.stderr);
    for more in [&["--unmetered"][..], &["--env", "ANTHROPIC_API_KEY"]] {
        let ended = run(&[&["--agent-command", &agent.line], more].concat()).ok();
        assert!(!ended.stderr.contains("--max-cost is checked"), "{}", ended.stderr);
    }
    // A script that names the file for its report says by that that it reports.
    let script = "echo x >> worked; echo x >> worked; echo '{\"costUSD\": 0.02}' > \"$RALPH_RESULT_FILE\"\n";
    fs::write(user.home().join("agent.sh"), script).unwrap();
    let line = format!("sh '{}'", user.home().join("agent.sh").display());
    assert_eq!(micros(&run(&["--agent-command", &line]).ok().json()["costUSD"]), 20_000);
    user.configure(&format!("[agents.own]\ncommand = {}\nreports_cost = true\n", json!(agent.line)));
    let ended = run(&["--agent", "own"]).ok();
    assert!(!ended.stderr.contains("--max-cost is checked"), "{}", ended.stderr);
    assert_eq!(micros(&ended.json()["costUSD"]), 10_000);
}

#[test]
fn a_loop_continues_with_another_command() {
    let (user, repo) = (User::new(), Repo::init());
    let work = |cost| Script::new().otherwise([Step::append("worked", "x\n"), Step::cost(cost)]);
    let (first, second) = (Agent::new(&user, work(10_000)), Agent::new(&user, work(20_000)));
    user.configure(&format!("[agents.first]\ncommand = {}\nreports_cost = true\n", json!(first.line)));
    user.ralph(repo.path(), words(&["first"], 1, &CHECK)).with_code(10);
    let resume = |more: &[&str]| user.ralph(repo.path(), [&["resume", "--json", "--max", "2"], more].concat());
    let refused = resume(&["--agent-command", &second.line]).with_code(2);
    assert!(refused.stderr.contains("--cost-after-run"), "{}", refused.stderr);
    let missing = resume(&["--agent-command", "./no-such-agent", "--unmetered"]).with_code(2);
    assert!(missing.stderr.contains("./no-such-agent"), "{}", missing.stderr);
    resume(&["--agent-command", &second.line, "--agent", "first"]).with_code(2);
    let result = resume(&["--agent-command", &second.line, "--cost-after-run"]).ok().json();
    assert_eq!((first.runs(), second.runs(), micros(&result["costUSD"])), (1, 1, 30_000), "{result}");
    let id = result["loopId"].as_str().unwrap();
    let shown = user.show(id);
    assert_eq!(shown["config"]["agent"]["command"], second.line.as_str(), "{shown:#}");
    let agents: Vec<&Value> = shown["iterations"].as_array().unwrap().iter().map(|one| &one["agent"]).collect();
    assert_eq!(agents, ["first", "command"], "{shown:#}");
    user.ralph(repo.path(), ["verify-run", id]).ok();
}

/// A loop that an earlier version began, or that was permitted at its start, goes on as it was.
#[test]
fn a_command_of_a_loop_needs_no_new_permission() {
    let (user, repo) = (User::new(), Repo::init());
    let agent = Agent::new(&user, Script::new().otherwise([Step::append("worked", "x\n"), Step::cost(10_000)]));
    let toml = |reports: bool| format!("[agents.own]\ncommand = {}\nreports_cost = {reports}\n", json!(agent.line));
    user.configure(&toml(true));
    user.ralph(repo.path(), words(&["own"], 1, &CHECK)).with_code(10);
    user.configure(&toml(false));
    user.ralph(repo.path(), ["resume", "--max", "2"]).ok();
}
