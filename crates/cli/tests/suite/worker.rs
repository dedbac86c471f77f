//! `ralph worker`: tasks of a server, from the queue to a branch.

mod away;
mod crew;
mod ends;
mod fleet;
mod takeover;

use std::time::Instant;

use ralph_testkit::postgres::Cluster;
use ralph_testkit::{Processes, Repo, Script, Step};
use rustix::process::Signal;
use serde_json::Value;

use crate::aid::{SOON, signal, wait_for_file};
use crate::harness::Ended;
use fleet::{Fleet, Machine, git, hang_pushes, output_of, remote};

/// An agent that writes the file that the checks look for.
fn diligent(machine: &Machine) -> String {
    machine.user.agent(Script::new().run([Step::write("done.txt", "x")]))
}

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
    let id = fleet.add(&["Make done.txt", "--promise", "it exists", "--criteria", "test -f done.txt", "--max", "5"]);
    let ended = machine.drain(&fleet, &agent, &["--workspace", repo.path().to_str().unwrap(), "--json"]);
    let task = fleet.task(&id);
    assert_eq!(task["status"], "completed", "{task:#}\n{}", ended.stderr);
    assert_eq!((&task["verified"], &task["ralphIterations"]), (&true.into(), &2.into()), "{task:#}");
    let branch = format!("ralph/{id}");
    assert_eq!(output_of(&task)["branch"], branch.as_str());
    assert_eq!(repo.git(["rev-list", "--count", &format!("{before}..{branch}")]), "2", "one commit for each iteration");
    assert_eq!(repo.git(["show", &format!("{branch}:done.txt")]), "x");
    assert!(!repo.exists("done.txt") && repo.head() == before, "the folder itself is not touched");
    let prompt = std::fs::read_to_string(prompts.join("prompt-1.txt")).unwrap();
    for part in ["Make done.txt", &format!("thoughts/shared/ralph/{id}/progress.md"), "ralph-complete", "it exists"] {
        assert!(prompt.contains(part), "{part} is not in {prompt}");
    }
    let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert!(events.contains(&"claimed") && events.last() == Some(&"ended"), "{events:?}");
    // The journal, the logs and the patches are on the server.
    let run = task["runId"].as_str().unwrap();
    assert_eq!(fleet.user.show(run)["status"], "COMPLETED");
    assert!(fleet.of_loop(run, "diff/2").contains("+++ b/done.txt"));
    let patch = fleet.user.state().join("loops").join(run).join("patches/iteration-2.diff");
    assert!(std::fs::read_to_string(&patch).unwrap().contains("done.txt"), "{}", patch.display());
    // Nothing stays on the machine that nobody else has.
    for folder in ["worktrees", "builds", "loops", "tasks"] {
        let left = || std::fs::read_dir(machine.user.state().join(folder)).into_iter().flatten().flatten();
        assert_eq!(left().count(), 0, "{folder}: {:?}", left().collect::<Vec<_>>());
    }
}

#[test]
fn what_an_agent_wrote_to_a_prohibited_path_stays_on_its_machine() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let agent = machine.user.agent(Script::new().run([Step::write(".env", "WORD=correct-horse\n")]));
    let id = fleet.add(&["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "3"]);
    let ended = machine.drain(&fleet, &agent, &["--workspace", repo.path().to_str().unwrap()]);
    let task = fleet.task(&id);
    assert_eq!(task["status"], "failed", "{task:#}");
    assert!(ended.stderr.contains("stays on this machine"), "{}", ended.stderr);
    let run = task["runId"].as_str().unwrap();
    let has_it = |user: &crate::harness::User| {
        let folder = user.state().join("loops").join(run);
        let found = std::process::Command::new("grep").args(["-rq", "correct-horse"]).arg(folder).status();
        found.unwrap().success()
    };
    assert!(has_it(&machine.user) && !has_it(&fleet.user));
}

#[test]
fn every_server_of_a_database_shows_what_was_sent_to_one_of_them() {
    let cluster = Cluster::start();
    let url = cluster.create_database("fleet");
    let (one, two) = (Fleet::with(&["--database-url", &url]), Fleet::with(&["--database-url", &url]));
    let (machine, repo) = (Machine::new(), Repo::init());
    let agent = machine.user.agent(Script::new().run([Step::say("I write it"), Step::write("done.txt", "x")]));
    let criteria = "echo the check speaks; test -f done.txt";
    let id = one.add(&["Make it", "--promise", "p", "--criteria", criteria, "--max", "3"]);
    machine.drain(&one, &agent, &["--workspace", repo.path().to_str().unwrap()]);
    let task = two.task(&id);
    assert_eq!(task["status"], "completed", "{task:#}");
    let run = task["runId"].as_str().unwrap();
    for fleet in [&one, &two] {
        assert!(fleet.of_loop(run, "diff/1").contains("+++ b/done.txt"));
        assert!(fleet.of_loop(run, "diff/0").contains("+++ b/done.txt"), "the whole loop");
        assert!(fleet.of_loop(run, "logs/1").contains("I write it"));
        assert!(fleet.of_loop(run, "logs/1?check=1").contains("the check speaks"));
    }
}

#[test]
fn the_work_on_a_repository_is_pushed_to_its_branch() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    repo.git(["tag", "old"]);
    repo.write("new.txt", "x");
    repo.commit("something newer");
    let (path, address) = remote(&repo);
    let agent = diligent(&machine);
    let words = ["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "3", "--repo", &address];
    let ids = [fleet.add(&words), fleet.add(&[&words[..], &["--base-ref", "old"]].concat())];
    let missing = fleet.add(&["x", "--promise", "p", "--repo", &format!("{address}-missing")]);
    let single = fleet.add(&["x", "--type", "single", "--repo", &address]);
    // Of two tasks with one cache at once, both are done.
    machine.drain(&fleet, &agent, &["--concurrency", "2"]);
    for id in &ids {
        let task = fleet.task(id);
        assert_eq!((&task["status"], &task["verified"]), (&"completed".into(), &true.into()), "{task:#}");
    }
    let files = |id: &str| git(&path, &["ls-tree", "--name-only", &format!("ralph/{id}")]);
    assert!(files(&ids[0]).contains("new.txt") && files(&ids[0]).contains("done.txt"));
    assert!(!files(&ids[1]).contains("new.txt") && files(&ids[1]).contains("done.txt"), "it began at an older commit");
    let task = fleet.task(&missing);
    assert_eq!(task["status"], "failed");
    assert!(task["failureReason"].as_str().unwrap().contains("fetch"), "{task:#}");
    let task = fleet.task(&single);
    assert_eq!((&task["status"], &task["verified"]), (&"completed".into(), &false.into()), "{task:#}");
    assert_eq!(task["ralphIterations"], 1);
}

#[test]
fn a_task_without_checks_needs_a_claim() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let claim = "printf '{\"taskId\":\"%s\",\"summary\":\"made the file\",\"promiseEvidence\":\"looked at it\"}' \
                 \"$RALPH_TASK_ID\" > \"$RALPH_STATE_DIR/$RALPH_TASK_ID.claim.json\"";
    let claiming = Script::new().run([Step::append("work.txt", "x\n")]).otherwise([Step::run(claim)]);
    let claiming = machine.user.agent(claiming);
    let workspace = ["--workspace", repo.path().to_str().unwrap()];
    let id = fleet.add(&["Make it", "--promise", "it is there", "--max", "4"]);
    machine.drain(&fleet, &claiming, &workspace);
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["verified"]), (&"completed".into(), &false.into()), "{task:#}");
    assert_eq!((&task["ralphIterations"], &output_of(&task)["promiseEvidence"]), (&2.into(), &"looked at it".into()));
    let saying =
        machine.user.agent(Script::new().run([Step::Print("done\n<promise>it is there</promise>\n".to_owned())]));
    let silent = machine.user.agent(Script::new().run([Step::append("work.txt", "x\n")]));
    let id = fleet.add(&["Make it", "--promise", "it is there", "--max", "4"]);
    machine.drain(&fleet, &saying, &workspace);
    assert_eq!(fleet.task(&id)["status"], "completed");
    let id = fleet.add(&["Make it", "--promise", "it is there", "--max", "2"]);
    machine.drain(&fleet, &silent, &workspace);
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["ralphIterations"]), (&"failed".into(), &2.into()), "{task:#}");
    assert!(task["failureReason"].as_str().unwrap().contains("MAX_ITERATIONS"), "{task:#}");
}

#[test]
fn a_full_context_ends_the_iteration_and_begins_the_next() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let checkpoint = "printf '{\"taskId\":\"%s\",\"iteration\":%s,\"contextFull\":true,\"timestamp\":\"%s\",\
                      \"checkpointReason\":\"precompact\"}' \"$RALPH_TASK_ID\" \"$RALPH_ITERATION\" \
                      \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\" > \"$RALPH_STATE_DIR/.new\" && \
                      mv \"$RALPH_STATE_DIR/.new\" \"$RALPH_STATE_DIR/$RALPH_TASK_ID.checkpoint.json\"";
    let never = machine.folder("none").join("never");
    let script = Script::new()
        .run([
            Step::write("half.txt", "x"),
            Step::run(checkpoint),
            Step::WaitForFile { path: never, limit_ms: 600_000 },
        ])
        .otherwise([Step::write("done.txt", "x")]);
    let agent = machine.user.agent(script);
    let id = fleet.add(&["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "4"]);
    machine.drain(&fleet, &agent, &["--workspace", repo.path().to_str().unwrap()]);
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["ralphIterations"]), (&"completed".into(), &2.into()), "{task:#}");
    assert_eq!(repo.git(["show", &format!("ralph/{id}:half.txt")]), "x", "what it did before is kept");
}

/// It is about work that is over: nothing of it may end the first iteration of the next worker.
#[test]
fn a_checkpoint_of_an_earlier_worker_is_cleared_before_the_start() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let id = fleet.add(&["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "4"]);
    let work =
        fleet.ask("POST", "/api/poll", r#"{"agentId":"earlier","waitSeconds":0,"withoutRepo":true,"leaseSeconds":60}"#);
    assert_eq!(work["task"]["id"], id.as_str(), "{work:#}");
    let checkpoint = format!(
        r#"{{"taskId":"{id}","iteration":1,"contextFull":true,"timestamp":"2199-01-01T00:00:00Z","checkpointReason":"precompact"}}"#
    );
    let with_epoch = checkpoint.replacen('{', "{\"epoch\":1,", 1);
    fleet.ask("POST", &format!("/api/tasks/{id}/checkpoint"), &with_epoch);
    fleet.ask("POST", &format!("/api/tasks/{id}/release"), r#"{"epoch":1}"#);
    let folder = machine.user.state().join("tasks").join(&id);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{id}.checkpoint.json")), checkpoint).unwrap();
    let agent = machine.user.agent(Script::new().run([Step::run("sleep 2"), Step::write("done.txt", "x")]));
    machine.drain(&fleet, &agent, &["--workspace", repo.path().to_str().unwrap()]);
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["ralphIterations"]), (&"completed".into(), &1.into()), "{task:#}");
    assert!(task["ralphLastCheckpoint"].is_null(), "{task:#}");
}

/// A worker whose agent waits until the test says so.
struct Waiting {
    fleet: Fleet,
    machine: Machine,
    repo: Repo,
    id: String,
    agent: String,
}

impl Waiting {
    /// The first run of the agent waits; all others do the work.
    fn new() -> Self {
        let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
        let (began, never) = (machine.folder("signs").join("began"), machine.folder("signs").join("never"));
        let script = Script::new()
            .run([Step::write(began, "x"), Step::WaitForFile { path: never, limit_ms: 600_000 }])
            .otherwise([Step::write("done.txt", "x")]);
        let agent = machine.user.agent(script);
        let id = fleet.add(&["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "4"]);
        Self { fleet, machine, repo, id, agent }
    }

    fn start(&self, more: &[&str]) -> std::process::Child {
        let words: Vec<&str> =
            ["--workspace", self.repo.path().to_str().unwrap()].iter().chain(more).copied().collect();
        let child = self.machine.start(&self.fleet, &self.agent, &words);
        wait_for_file(&self.machine.folder("signs").join("began"));
        child
    }
}

#[test]
fn a_worker_that_is_asked_to_end_releases_its_tasks() {
    let scene = Waiting::new();
    let worker = scene.start(&[]);
    signal(&worker, Signal::TERM);
    Ended::of(worker).ok();
    let task = scene.fleet.task(&scene.id);
    assert_eq!((&task["status"], &task["workerDeaths"]), (&"unassigned".into(), &0.into()), "{task:#}");
    let run = task["runId"].clone();
    // The next worker continues the same loop.
    scene.machine.drain(&scene.fleet, &scene.agent, &["--workspace", scene.repo.path().to_str().unwrap()]);
    let task = scene.fleet.task(&scene.id);
    assert_eq!((&task["status"], &task["runId"]), (&"completed".into(), &run), "{task:#}");
}

/// A remote that takes a push and does not answer.
#[test]
fn a_worker_that_is_asked_to_end_does_not_wait_for_its_remote() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let (path, address) = remote(&repo);
    let signs = machine.folder("signs");
    let (begun, go) = (signs.join("begun"), signs.join("go"));
    hang_pushes(&path, &begun, &go);
    let agent = diligent(&machine);
    let id =
        fleet.add(&["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "4", "--repo", &address]);
    let worker = machine.start(&fleet, &agent, &[]);
    wait_for_file(&begun);
    let asked = Instant::now();
    signal(&worker, Signal::TERM);
    Ended::of(worker).ok();
    eprintln!("ended {:?} after SIGTERM", asked.elapsed());
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    let task = fleet.task(&id);
    assert_eq!(task["status"], "unassigned", "{task:#}");
    // The next worker pushes what this one could not.
    std::fs::write(go, "").unwrap();
    machine.drain(&fleet, &agent, &[]);
    let task = fleet.task(&id);
    assert_eq!((&task["status"], &task["verified"]), (&"completed".into(), &true.into()), "{task:#}");
    assert_eq!(git(&path, &["show", &format!("ralph/{id}:done.txt")]), "x");
}

#[test]
fn a_cancelled_task_is_stopped_and_the_worker_continues() {
    let scene = Waiting::new();
    let worker = scene.start(&["--drain"]);
    let other = scene.fleet.add(&["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "4"]);
    let agent = Processes::working_in(scene.machine.user.state().join("worktrees"));
    assert!(!agent.list().is_empty(), "the agent works in the clone");
    scene.fleet.cancel(&scene.id);
    let cancelled = Instant::now();
    let alive = agent.wait_until_gone(SOON).err().unwrap_or_default();
    assert!(alive.is_empty(), "{alive:?} {:?} after the task was cancelled; 2 s is the aim", cancelled.elapsed());
    Ended::of(worker).ok();
    let task = scene.fleet.task(&scene.id);
    assert_eq!(task["status"], "cancelled", "{task:#}");
    assert_eq!(scene.fleet.task(&other)["status"], "completed");
}

#[test]
fn tasks_wait_for_those_before_them() {
    let (fleet, machine, repo) = (Fleet::new(), Machine::new(), Repo::init());
    let agent = diligent(&machine);
    let words = ["Make it", "--promise", "p", "--criteria", "test -f done.txt", "--max", "3"];
    let first = fleet.add(&words);
    let second = fleet.add(&[&words[..], &["--after", &first]].concat());
    let crew = fleet.add(&["Talk about it", "--type", "crew"]);
    machine.drain(&fleet, &agent, &["--workspace", repo.path().to_str().unwrap(), "--concurrency", "3"]);
    assert_eq!(
        (&fleet.task(&first)["status"], &fleet.task(&second)["status"]),
        (&"completed".into(), &"completed".into())
    );
    assert_eq!(fleet.task(&crew)["status"], "unassigned", "it is left to others");
}

#[test]
fn a_worker_that_cannot_work_does_not_start() {
    let (fleet, machine, plain) = (Fleet::new(), Machine::new(), Repo::plain());
    let start = |agent: &str, more: &[&str]| Ended::of(machine.start(&fleet, agent, more));
    let missing = start("/nowhere/agent", &["--drain"]).with_code(2);
    assert!(missing.stderr.contains("/nowhere/agent"), "{}", missing.stderr);
    let folder = start("true", &["--drain", "--workspace", plain.path().to_str().unwrap()]).with_code(1);
    assert!(folder.stderr.contains("not in a git repository"), "{}", folder.stderr);
    let token = start("true", &["--drain", "--token", "ralph_wrong"]).with_code(1);
    assert!(token.stderr.contains("token"), "{}", token.stderr);
}
