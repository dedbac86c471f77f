//! What the workspace keeps of a loop that goes down as well as up.

use ralph_testkit::{Script, Step};

use super::{all_done, assert_end, checked, done, three_failing};
use crate::harness::User;

#[test]
fn an_iteration_that_made_things_worse_is_undone() {
    let (user, repo) = (User::new(), three_failing());
    repo.write("precious.txt", "of the user\n");
    let seen = user.home().join("seen");
    let script = Script::new()
        .run([done(&["one", "two"])])
        .run([done(&["one"]), Step::write("rubbish/new", "x"), Step::delete("precious.txt")])
        .run([Step::run(format!("cp done.txt {0}; ls >> {0}", seen.display())), all_done()]);
    let ended = checked(&user, &repo, script, 5, &["--ratchet"]).ok();
    let result = ended.json();
    assert_end(&result, "COMPLETED", None, 3);
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.starts_with("one\ntwo\n"), "{seen}");
    assert!(!seen.contains("rubbish") && seen.contains("precious.txt"), "{seen}");
    assert_eq!(repo.read("precious.txt"), "of the user\n");
    let shown = user.show(result["loopId"].as_str().unwrap());
    assert_eq!(shown["iterations"][1]["undone"], true);
    assert_eq!(shown["iterations"][2]["undone"], false);
    assert!(ended.stderr.contains("iteration 2 made things worse and was undone"), "{}", ended.stderr);
}

#[test]
fn a_last_iteration_that_made_things_worse_is_undone_too() {
    let (user, repo) = (User::new(), three_failing());
    let script = Script::new().run([done(&["one", "two"])]).run([done(&["one"]), Step::write("rubbish", "x")]);
    let ended = checked(&user, &repo, script, 2, &["--ratchet"]).with_code(10);
    let result = ended.json();
    assert_end(&result, "ABORTED", Some("MAX_ITERATIONS"), 2);
    assert_eq!((repo.read("done.txt").as_str(), repo.exists("rubbish")), ("one\ntwo\n", false));
    assert_eq!(result["kept"]["iteration"], 1, "{result:#}");
    assert!(ended.stderr.contains("iteration 2 made things worse and was undone"), "{}", ended.stderr);
    user.ralph(repo.path(), ["rewind", "--to", "2"]).ok();
    assert!(repo.exists("rubbish"));
}

#[test]
fn without_a_ratchet_nothing_is_undone() {
    let (user, repo) = (User::new(), three_failing());
    let script = Script::new().run([done(&["one", "two"])]).run([done(&["one"])]).run([Step::write("x", "")]);
    checked(&user, &repo, script, 3, &[]).with_code(10);
    assert_eq!(repo.read("done.txt"), "one\n");
}

#[test]
fn the_best_state_is_handed_back_when_asked_for() {
    let (user, repo) = (User::new(), three_failing());
    let script = Script::new()
        .run([done(&["one"])])
        .run([done(&["one", "two"]), Step::write("kept", "")])
        .run([done(&[]), Step::write("lost", "")]);
    let result = checked(&user, &repo, script, 3, &["--keep", "best"]).with_code(10).json();
    assert_end(&result, "ABORTED", Some("MAX_ITERATIONS"), 3);
    assert_eq!((result["kept"]["iteration"].as_u64(), result["kept"]["failing"].as_u64()), (Some(2), Some(1)));
    assert_eq!(repo.read("done.txt"), "one\ntwo\n");
    assert!(repo.exists("kept") && !repo.exists("lost"));
    // Nothing is gone: the last state is a rewind away.
    let id = result["loopId"].as_str().unwrap();
    user.ralph(repo.path(), ["rewind", id, "--to", "3"]).ok();
    assert!(repo.exists("lost"));
    assert_eq!(repo.read("done.txt"), "");
}

#[test]
fn the_best_state_can_be_the_start() {
    let (user, repo) = (User::new(), three_failing());
    repo.write("done.txt", "one\ntwo\n");
    let script = Script::new().run([done(&["one"])]).run([done(&[])]);
    let result = checked(&user, &repo, script, 2, &["--keep", "best"]).with_code(10).json();
    assert_eq!(result["kept"]["iteration"], 0, "{result:#}");
    assert_eq!(repo.read("done.txt"), "one\ntwo\n");
}
