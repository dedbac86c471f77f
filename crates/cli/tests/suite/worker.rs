//! `ralph worker`: tasks of a server, from the queue to a branch.

mod fleet;

use ralph_testkit::{Repo, Script, Step};

use fleet::{Fleet, Machine, check_of, output_of};

#[test]
fn a_task_without_a_repository_is_done_in_a_clone_of_the_workspace() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let before = repo.head();
    let script = Script::new().run([Step::write("half.txt", "x")]).otherwise([
        Step::run("test -n \"$RALPH_TASK_ID\" && test -n \"$RALPH_TOKEN\" && test -n \"$RALPH_SERVER\""),
        Step::run("echo x > \"$RALPH_STATE_DIR/note\""),
        Step::write("done.txt", "x"),
    ]);
    let prompts = machine.folder("prompts");
    let agent = machine.user.agent(script.save_prompts(&prompts));
    let id =
        fleet.add(&["Make done.txt", "--promise", "done.txt exists", "--criteria", "test -f done.txt", "--max", "5"]);
    let ended = machine.drain(&fleet, &agent, &["--workspace", repo.path().to_str().unwrap(), "--json"]);
    let task = fleet.task(&id);
    assert_eq!(task["status"], "completed", "{task:#}\n{}", ended.stderr);
    assert_eq!((&task["verified"], &task["ralphIterations"]), (&true.into(), &2.into()), "{task:#}");
    let branch = format!("ralph/{id}");
    assert_eq!(output_of(&task)["branch"], branch.as_str());
    assert_eq!(repo.git(["log", "--format=%s", &branch, "--", "done.txt"]).lines().count(), 1);
    assert_eq!(repo.git(["rev-list", "--count", &format!("{before}..{branch}")]), "2", "one commit for each iteration");
    assert!(!repo.exists("done.txt") && repo.head() == before, "the folder itself is not touched");
    let prompt = std::fs::read_to_string(prompts.join("prompt-1.txt")).unwrap();
    for part in
        ["Make done.txt", &format!("thoughts/shared/ralph/{id}/progress.md"), "ralph-complete", "done.txt exists"]
    {
        assert!(prompt.contains(part), "{part} is not in {prompt}");
    }
    let lines: Vec<serde_json::Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert!(events.starts_with(&["started", "claimed"]) && events.last() == Some(&"ended"), "{events:?}");
    let run = task["runId"].as_str().unwrap();
    let shown = fleet.user.show(run);
    assert_eq!((&shown["status"], check_of(&shown)), (&"COMPLETED".into(), "test -f done.txt".to_owned()), "{shown:#}");
}
