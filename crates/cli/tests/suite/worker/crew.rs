//! Tasks of type `crew`: worked on in a clone, judged by the checks of the task, with questions answered over the server.

use std::process::Stdio;

use ralph_testkit::model::{Reply, Script, Tool, Usage};
use ralph_testkit::{Repo, ScriptedModel};
use serde_json::{Value, json};

use super::fleet::{Fleet, Machine, output_of};
use crate::aid::{finish, wait_until};

fn calls(name: &str, input: Value) -> Reply {
    let usage = Usage { input: 1000, output: 100, ..Usage::default() };
    Reply::say("").usage(usage).and(Tool::call(name, input))
}

#[test]
fn a_crew_works_on_a_task_and_asks_over_the_server() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    repo.write("start.txt", "x");
    repo.commit("start");
    let replies = [
        calls("askUser", json!({ "question": "Which name?", "options": ["a.txt", "b.txt"] })),
        calls("delegateToDevo", json!({ "objective": "write it", "expects": ["file:b.txt"] })),
        calls("fs_writeFile", json!({ "path": "b.txt", "content": "hello\n" })),
        Reply::say("written"),
        Reply::say("b.txt is there"),
        Reply::say("NONE"),
        Reply::say("nothing was done"),
    ];
    let server = ScriptedModel::start(replies.into_iter().fold(Script::new(), Script::reply));
    let add =
        |criteria: &str| fleet.add(&["Write a file", "--type", "crew", "--criteria", criteria, "--max-cost", "1"]);
    let (good, bad) = (add("test -f b.txt"), add("test -f c.txt"));
    let folder = repo.path().to_str().unwrap();
    let words = ["worker", "--server", &fleet.server.url, "--workspace", folder, "--drain"];
    let words = words.iter().chain(&["--unmetered", "--agent-command", "true"]);
    let mut command = machine.user.command(&machine.user.home(), words);
    command.env("RALPH_TOKEN", &fleet.token).env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "key-1");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pending = || fleet.ask("GET", "/api/approvals?pending=true", "")["approvals"][0].clone();
    wait_until("the question", || pending().is_object());
    let question = pending();
    assert_eq!((&question["action"], &question["why"]), (&json!("CHAPO: Which name?"), &json!("a.txt | b.txt")));
    let place = format!("/api/approvals/{}/answer", question["id"].as_str().unwrap());
    fleet.ask("POST", &place, &json!({ "answer": "approved", "comment": "b.txt" }).to_string());
    let ended = finish(child);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    let task = fleet.task(&good);
    assert_eq!((&task["status"], &task["verified"]), (&json!("completed"), &json!(true)), "{task:#}\n{}", ended.stderr);
    let output = output_of(&task);
    assert_eq!(output["summary"], "b.txt is there", "{output:#}");
    assert_eq!(repo.git(["show", &format!("ralph/{good}:b.txt")]), "hello");
    assert!(task["costUsd"].as_f64().or(task["costUSD"].as_f64()).unwrap() > 0.0, "{task:#}");
    assert!(server.requests()[1].results[0].contains("b.txt"), "{:?}", server.requests()[1].results);
    let task = fleet.task(&bad);
    assert_eq!((&task["status"], &task["verified"]), (&json!("failed"), &json!(false)), "{task:#}");
    assert!(task["failureReason"].as_str().unwrap().contains("the checks of the task fail"), "{task:#}");
    // The journal is the server's.
    let crews: Vec<Value> =
        fleet.user.ralph(&fleet.user.home(), ["list", "--all", "--json"]).ok().json().as_array().unwrap().clone();
    assert!(
        crews.iter().all(|one| one["kind"] == "crew" && one["status"] == "COMPLETED") && crews.len() == 2,
        "{crews:#?}"
    );
}
