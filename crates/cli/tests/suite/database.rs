//! State in PostgreSQL instead of a file: the same loops, the same durability, and no password on any screen.

use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use ralph_testkit::postgres::Cluster;
use ralph_testkit::{Repo, Script, Step};

use serde_json::Value;

use crate::aid::{Agent, finish, kill, wait_for_file, wait_until};
use crate::harness::{Ended, User, run_words_with};

const PASSWORD: &str = "s3cret-of-the-server";

/// The address with a password, which the cluster of a test does not ask for.
fn with_password(url: &str) -> String {
    url.replace("ralph@", &format!("ralph:{PASSWORD}@"))
}

#[track_caller]
fn quiet(ended: Ended) -> Ended {
    assert!(!ended.stdout.contains(PASSWORD) && !ended.stderr.contains(PASSWORD), "{}{}", ended.stdout, ended.stderr);
    ended
}

#[test]
fn a_loop_on_a_server_survives_crashes_and_a_killed_server() {
    let mut cluster = Cluster::start();
    let (user, repo) = (User::new(), Repo::init());
    let url = with_password(&cluster.create_database("loops"));
    user.configure(&format!("database_url = \"{url}\"\n"));
    let agent = Agent::new(&user, Script::new().run([Step::append("work.txt", "x\n"), Step::cost(10_000)]));
    let words = run_words_with(&agent.line, 5, &["--criteria", "false", "--same-error", "50", "--quiet"]);
    let resume = ["resume", "--json", "--quiet"];

    // Dies after the second agent run was recorded as started, and again at its own first append.
    let mut command = user.hooked(repo.path(), &words);
    let crashed = quiet(Ended::from(command.env("RALPH_TEST_CRASH", "after:4").output().unwrap()));
    assert_eq!(crashed.code, -1, "{}", crashed.stderr);
    let mut command = user.hooked(repo.path(), resume);
    let crashed = Ended::from(command.env("RALPH_TEST_CRASH", "after:1").output().unwrap());
    assert_eq!(crashed.code, -1, "{}", crashed.stderr);
    let listed = user.newest_loop();
    assert_eq!(listed["status"], "INTERRUPTED", "{listed}");

    // Killed at any moment.
    let running = user.spawn(repo.path(), resume);
    wait_until("another agent run", || agent.runs() >= 3);
    kill(running);

    // The server dies and comes back; the loop ends with what it has, and goes on from there.
    cluster.kill();
    let refused = quiet(user.ralph(repo.path(), ["list"]));
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("could not connect to postgresql://ralph@127.0.0.1"), "{}", refused.stderr);
    cluster.restart();
    let ended = quiet(finish(user.spawn(repo.path(), resume))).with_code(10);
    let result = ended.json();
    assert_eq!(result["reason"], "MAX_ITERATIONS", "{result}");
    assert!((4..=5).contains(&agent.runs()), "a killed run may not have begun: {}", agent.runs());

    let id = user.newest_loop()["loopId"].as_str().unwrap().to_owned();
    quiet(user.ralph(repo.path(), ["verify-run", &id])).ok();
    assert_eq!(user.show(&id)["iterations"].as_array().unwrap().len(), 5);
    let doctor = quiet(user.ralph(repo.path(), ["doctor"]));
    assert!(doctor.stdout.contains("postgresql://ralph@127.0.0.1"), "{}", doctor.stdout);
    assert!(!user.state().join("ralph.db").exists(), "no file beside the server");

    // The variable goes before the configuration.
    let other = with_password(&cluster.create_database("other"));
    let mut command = user.command(repo.path(), ["list", "--all", "--json"]);
    let listed = quiet(Ended::from(command.env("RALPH_DATABASE_URL", other).output().unwrap())).ok();
    assert_eq!(listed.json().as_array().unwrap().len(), 0);
}

/// Two machines that share a server, and a workspace that both of them have.
struct Machines {
    user: User,
    repo: Repo,
}

impl Machines {
    fn on(&self, host: &str, words: &[&str]) -> Command {
        let mut command = self.user.hooked(self.repo.path(), words);
        command.env("RALPH_TEST_HOST", host);
        command
    }

    fn start(&self, host: &str, words: &[&str]) -> Child {
        self.on(host, words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    #[track_caller]
    fn says(&self, host: &str, words: &[&str]) -> Ended {
        Ended::from(self.on(host, words).output().unwrap())
    }

    /// As `says`, once every lease that counts now has expired.
    #[track_caller]
    fn says_later(&self, host: &str, words: &[&str]) -> Ended {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        Ended::from(self.on(host, words).env("RALPH_TEST_CLOCK", (now + 60_000).to_string()).output().unwrap())
    }

    #[track_caller]
    fn listed(&self, host: &str) -> Value {
        self.says(host, &["list", "--json"]).ok().json()[0].clone()
    }
}

#[test]
fn a_loop_of_another_machine_is_running_there_until_its_lease_expires() {
    let cluster = Cluster::start();
    let (user, repo) = (User::new(), Repo::init());
    user.configure(&format!("database_url = \"{}\"\n", cluster.create_database("machines")));
    let working = repo.path().join("working");
    let waits = || [Step::write("working", ""), Step::wait_for_file("never")];
    let agent = Agent::new(&user, Script::new().run(waits()).run(waits()).otherwise([Step::write("done", "")]));
    let words = run_words_with(&agent.line, 3, &["--unmetered", "--criteria", "test -e done", "--quiet"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let machines = Machines { user, repo };

    // Stopped from the other machine.
    let running = machines.start("alpha", &words);
    wait_for_file(&working);
    let id = machines.listed("beta")["loopId"].as_str().unwrap().to_owned();
    machines.says("beta", &["stop", &id, "--now"]).ok();
    finish(running).with_code(19);
    std::fs::remove_file(&working).unwrap();

    let running = machines.start("alpha", &words);
    wait_for_file(&working);
    assert_eq!((&machines.listed("alpha")["status"], machines.listed("alpha").get("host")), (&"RUNNING".into(), None));
    let entry = machines.listed("beta");
    assert_eq!((&entry["status"], &entry["host"]), (&"RUNNING".into(), &"alpha".into()), "{entry}");
    let id = entry["loopId"].as_str().unwrap();
    let text = machines.says("beta", &["list"]).ok().stdout;
    assert!(text.contains("RUNNING on alpha"), "{text}");
    let shown = machines.says("beta", &["show", id, "--json"]).ok().json();
    assert_eq!((&shown["status"], &shown["host"]), (&"RUNNING".into(), &"alpha".into()));
    let refused = machines.says("beta", &["resume", id]).with_code(2);
    assert!(refused.stderr.contains("is running on alpha"), "{}", refused.stderr);

    // On its own machine the lock tells that it died, on others its lease.
    kill(running);
    assert_eq!(machines.listed("alpha")["status"], "INTERRUPTED");
    assert_eq!(machines.listed("beta")["status"], "RUNNING");
    let later = machines.says_later("beta", &["list", "--json"]).ok().json();
    assert_eq!((&later[0]["status"], later[0].get("host")), (&"INTERRUPTED".into(), None), "{later}");
    let result = machines.says_later("beta", &["resume", id, "--json", "--quiet"]).ok().json();
    assert_eq!((&result["status"], &result["iterations"]), (&"COMPLETED".into(), &2.into()), "{result}");
}
