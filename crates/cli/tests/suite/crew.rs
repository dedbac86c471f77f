//! `ralph crew` and the native agent against a scripted model: what a request costs, what survives a crash, what waits for a person.

mod terminal;
mod work;

use std::process::Command;

use ralph_testkit::model::{Fault, Reply, Script, Tool, Trouble, Usage};
use ralph_testkit::{Repo, ScriptedModel};
use serde_json::{Value, json};

use crate::aid::{query, tamper};
use crate::harness::{Ended, User};

const MODEL: &str = "anthropic:claude-sonnet-5-5";

fn usage() -> Usage {
    Usage { input: 1000, output: 100, ..Usage::default() }
}

fn calls(list: &[(&str, Value)]) -> Reply {
    let reply = Reply::say("").usage(usage());
    list.iter().fold(reply, |reply, (name, input)| reply.and(Tool::call(*name, input.clone())))
}

fn says(text: &str) -> Reply {
    Reply::say(text).usage(usage())
}

fn script(replies: impl IntoIterator<Item = Reply>) -> Script {
    replies.into_iter().fold(Script::new(), Script::reply)
}

fn with_model(mut command: Command, server: &ScriptedModel) -> Ended {
    let url = server.url();
    Ended::from(command.env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", "key-1").output().unwrap())
}

fn crew(user: &User, repo: &Repo, server: &ScriptedModel, more: &[&str]) -> Ended {
    let cost: &[&str] = if more.contains(&"--max-cost") { &[] } else { &["--max-cost", "2"] };
    let words = ["crew", "add a file and push it", "--model", MODEL, "--json"];
    with_model(user.command(repo.path(), words.iter().chain(cost).chain(more)), server)
}

/// DEVO writes, commits and pushes; CHAPO answers.
fn work() -> Vec<Reply> {
    vec![
        calls(&[("delegateToDevo", json!({ "objective": "add a.txt and push", "expects": ["file:a.txt", "commit"] }))]),
        calls(&[
            ("fs_writeFile", json!({ "path": "a.txt", "content": "hello\n" })),
            ("git_add", json!({ "paths": ["a.txt"] })),
            ("git_commit", json!({ "message": "add a.txt" })),
        ]),
        calls(&[("git_push", json!({}))]),
        says("pushed"),
        says("a.txt is added and pushed"),
        says("- nobody read the file"),
    ]
}

/// A repository with a remote that counts pushes.
fn with_remote(user: &User) -> Repo {
    let repo = Repo::init();
    let bare = user.home().join("remote.git");
    repo.git(["init", "--quiet", "--bare", bare.to_str().unwrap()]);
    repo.git(["remote", "add", "origin", bare.to_str().unwrap()]);
    repo.write("start.txt", "x");
    repo.commit("start");
    repo.git(["push", "--quiet", "-u", "origin", "HEAD"]);
    repo.git(["config", "user.name", "T"]);
    repo.git(["config", "user.email", "t@example.com"]);
    repo
}

#[test]
fn a_request_is_answered_with_evidence_and_shown_in_every_view() {
    let user = User::new();
    let repo = with_remote(&user);
    let server = ScriptedModel::start(script(work()));
    let result = crew(&user, &repo, &server, &["--approve", "all"]).ok().json();
    assert_eq!(result["status"], "ANSWERED", "{result:#}");
    assert_eq!(result["answer"], "a.txt is added and pushed");
    assert_eq!(result["doubts"], json!(["nobody read the file"]));
    assert_eq!((result["rounds"].as_u64(), result["reason"].is_null()), (Some(2), true));
    let delegation = &result["delegations"][0];
    assert_eq!((&delegation["agent"], &delegation["status"]), (&json!("devo"), &json!("success")), "{result:#}");
    let tools: Vec<&str> =
        delegation["evidence"].as_array().unwrap().iter().map(|e| e["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["fs_writeFile", "git_add", "git_commit", "git_push"]);
    assert!(result["costUSD"].as_f64().unwrap() > 0.0);
    let id = result["runId"].as_str().unwrap();
    // The envelope is what the coordinator was given.
    let asked = &server.requests()[4].results[0];
    assert!(asked.starts_with("[DELEGATION RESULT — DEVO]") && asked.contains("Status: SUCCESS"), "{asked}");
    let listed = user.newest_loop();
    assert_eq!((&listed["kind"], &listed["status"]), (&json!("crew"), &json!("COMPLETED")));
    let shown = user.show(id);
    assert_eq!((&shown["answer"], &shown["request"]), (&result["answer"], &json!("add a file and push it")));
    let text = user.ralph(&user.home(), ["show", id]).ok().stdout;
    assert!(text.contains("DEVO SUCCESS") && text.contains("[OK] git_push"), "{text}");
    let log = user.ralph(&user.home(), ["logs", id]).ok().stdout;
    assert!(log.contains("✓ devo git_commit") && log.contains("← DEVO: success"), "{log}");
    assert!(user.ralph(repo.path(), ["list"]).ok().stdout.contains("crew: add a file"));
    let report = user.ralph(repo.path(), ["report", "--json"]).ok().json();
    let crews = &report["crews"];
    assert_eq!(
        (&report["loops"], &crews["crews"], &crews["answered"]),
        (&json!(0), &json!(1), &json!(1)),
        "{report:#}"
    );
    assert_eq!((&crews["costUSD"], &crews["rounds"]), (&result["costUSD"], &json!(2)));
    assert!(user.ralph(repo.path(), ["report"]).ok().stdout.contains("1 finished crew, 1 answered"));
    let again = with_model(user.command(repo.path(), ["resume", id]), &server);
    assert!(again.code == 2 && again.stderr.contains("nothing to resume"), "{}", again.stderr);
}

#[test]
fn a_crash_after_every_append_repeats_nothing() {
    let mut crashes = 0;
    for number in 1.. {
        let user = User::new();
        let repo = with_remote(&user);
        let server = ScriptedModel::start(script(work()));
        let words = ["crew", "go", "--max-cost", "2", "--model", MODEL, "--json", "--approve", "all"];
        let mut command = user.hooked(repo.path(), words);
        command.env("RALPH_TEST_CRASH", format!("after:{number}"));
        let ended = with_model(command, &server);
        if ended.code == 0 {
            break;
        }
        crashes += 1;
        let id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
        let was_over = user.newest_loop()["status"] == "COMPLETED";
        let resumed = with_model(user.command(repo.path(), ["resume", &id, "--json"]), &server);
        assert!(resumed.code == 0 || was_over, "after:{number}: {}\n{}", resumed.stdout, resumed.stderr);
        let log = repo.git(["log", "--format=%s"]);
        assert_eq!(log.matches("add a.txt").count(), 1, "after:{number}: {log}");
        let starts = query(&user, "SELECT seq FROM events WHERE kind = 'actionStarted'");
        assert_eq!(starts.len(), 1, "after:{number}: the push was begun once");
        assert!(server.requests().len() <= 6, "after:{number}: no request is repeated");
        let ends = query(&user, "SELECT seq FROM events WHERE kind = 'crewFinished'");
        assert_eq!(ends.len(), 1, "after:{number}");
    }
    assert!(crashes >= 12, "{crashes} appends");
}

#[test]
fn an_approval_waits_without_a_terminal_and_resume_continues() {
    let user = User::new();
    let repo = with_remote(&user);
    let server = ScriptedModel::start(script(work()));
    let notes = user.home().join("notes");
    user.configure(&format!("notify.command = {}\n", json!(format!("cat >> {}; echo >> {0}", notes.display()))));
    let pending = crew(&user, &repo, &server, &[]).with_code(18).json();
    assert_eq!((&pending["status"], &pending["reason"]), (&json!("ABORTED"), &json!("BLOCKED")), "{pending:#}");
    assert!(pending["pending"][0].as_str().unwrap().starts_with("git_push"), "{pending:#}");
    let evidence = pending["delegations"][0]["evidence"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(evidence["pendingApproval"], true);
    let id = pending["runId"].as_str().unwrap();
    assert_eq!((&user.newest_loop()["status"], &user.show(id)["status"]), (&json!("WAITING"), &json!("WAITING")));
    for (status, count) in [("waiting", 1), ("interrupted", 0), ("running", 0)] {
        let listed = user.ralph(repo.path(), ["list", "--status", status, "--json"]).ok().json();
        assert_eq!(listed.as_array().unwrap().len(), count, "{status}: {listed:#}");
    }
    let stop = user.ralph(repo.path(), ["stop", id]).with_code(1);
    assert!(stop.stderr.contains("waits for your answer"), "{}", stop.stderr);
    // Without an id it is found, too.
    with_model(user.command(repo.path(), ["resume", "--json"]), &server).with_code(18);
    assert_eq!(server.requests().len(), 3, "waiting costs nothing");
    let notes = std::fs::read_to_string(notes).unwrap();
    let notes: Vec<Value> = notes.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (notes.len(), &notes[0]["kind"], &notes[0]["loopId"]),
        (1, &json!("approval"), &json!(id)),
        "{notes:#?}"
    );
    assert!(notes[0]["text"].as_str().unwrap().starts_with("DEVO: git_push"), "{notes:#?}");
    // As the dashboard or the API does it.
    tamper(&user, "UPDATE approvals SET status = 'approved' WHERE status = 'pending'");
    let result = with_model(user.command(repo.path(), ["resume", id, "--json"]), &server).ok().json();
    assert_eq!(
        (&result["status"], &result["delegations"][0]["status"]),
        (&json!("ANSWERED"), &json!("success")),
        "{result:#}"
    );
}

/// A name, what the model answers, more words, and the exit code with its reason.
type Case = (&'static str, Vec<Reply>, &'static [&'static str], i32, Value);

#[test]
fn limits_and_troubles_have_the_codes_of_a_loop() {
    let grep = || calls(&[("fs_glob", json!({ "pattern": "*" }))]);
    let broke = Fault::Drop;
    let cases: [Case; 5] = [
        ("rounds", vec![grep().times(9)], &["--max-rounds", "3"], 10, json!("MAX_ITERATIONS")),
        ("money", vec![grep().times(99)], &["--max-cost", "0.01", "--max-rounds", "99"], 11, json!("COST_LIMIT")),
        ("a wrong key", vec![Reply::refuse(Trouble::InvalidKey).times(9)], &[], 1, Value::Null),
        ("an answer that breaks off", vec![says("x").with(broke), says("whole")], &[], 0, Value::Null),
        ("broken calls", vec![calls(&[("no_such_tool", json!({}))]), says("sorry"), says("NONE")], &[], 0, Value::Null),
    ];
    for (name, replies, more, code, reason) in cases {
        let (user, repo) = (User::new(), Repo::init());
        let server = ScriptedModel::start(script(replies));
        let result = crew(&user, &repo, &server, more).with_code(code).json();
        assert_eq!(result["reason"], reason, "{name}: {result:#}");
    }
    let (user, repo) = (User::new(), Repo::init());
    let server = ScriptedModel::start(Script::new());
    let wrong = crew(&user, &repo, &server, &["--fast-model", "acme:m"]).with_code(2);
    assert!(wrong.stderr.contains("there is no provider `acme`"), "{}", wrong.stderr);
    let without_key = user.ralph(repo.path(), ["crew", "go", "--max-cost", "1"]).with_code(2);
    for part in ["neither ANTHROPIC_API_KEY nor OPENAI_API_KEY is set", "example: ralph crew \""] {
        assert!(without_key.stderr.contains(part), "{}", without_key.stderr);
    }
    user.configure("crew.compact_at = 10\n");
    let small = crew(&user, &repo, &server, &[]).with_code(2);
    assert!(small.stderr.contains("crew.compact_at") && small.stderr.contains("1000 or more"), "{}", small.stderr);
}

#[test]
fn the_native_agent_fixes_a_bug_in_three_iterations() {
    let (user, repo) = (User::new(), Repo::fixture("fixable-bug/shell"));
    let fix = repo.fix_command();
    let replies = [
        // It looks and stops, then breaks something, then fixes it.
        calls(&[("fs_listFiles", json!({}))]),
        says("I looked"),
        calls(&[("fs_writeFile", json!({ "path": "notes.txt", "content": "an idea\n" }))]),
        says("I have an idea"),
        calls(&[("bash_execute", json!({ "command": fix }))]),
        says("fixed"),
    ];
    let server = ScriptedModel::start(script(replies));
    let criteria = repo.test_command();
    let words = [
        "run",
        "fix the bug",
        "--agent",
        "native",
        "--model",
        MODEL,
        "--max",
        "5",
        "--max-cost",
        "2",
        "--criteria",
        criteria,
        "--json",
        "--quiet",
    ];
    let result = with_model(user.command(repo.path(), words), &server).ok().json();
    assert_eq!(
        (&result["status"], &result["verified"], &result["iterations"]),
        (&json!("COMPLETED"), &json!(true), &json!(3)),
        "{result:#}"
    );
    assert!(result["costUSD"].as_f64().unwrap() > 0.0);
    assert_eq!(server.requests().len(), 6);
    let shown = user.show(result["loopId"].as_str().unwrap());
    assert_eq!(shown["iterations"][2]["run"]["evidence"][0]["tool"], "bash_execute", "{shown:#}");
}
