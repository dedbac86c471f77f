//! State in PostgreSQL instead of a file: the same loops, the same durability, and no password on any screen.

use ralph_testkit::postgres::Cluster;
use ralph_testkit::{Repo, Script, Step};

use crate::aid::{Agent, finish, kill, wait_until};
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
