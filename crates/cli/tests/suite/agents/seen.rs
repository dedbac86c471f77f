//! What a person sees of an agent that tells step by step what it does.

use std::fs::{self, File};

use ralph_testkit::Repo;

use crate::fake::{Fake, Run, prices, words};
use crate::harness::User;

#[test]
fn plain_lines_show_each_step_and_the_result_once() {
    let (user, repo) = (User::new(), Repo::init());
    let fake = Fake::new(&user, [Run::new().does("touch done").ends(10_000, "All is\n  well now.")]);
    user.configure(&format!("{}{}", fake.configured_as("fake"), prices()));
    let words: Vec<String> = words(&["fake"], 1, &["--criteria", "test -e done", "--plain"])
        .into_iter()
        .filter(|word| word != "--json")
        .collect();
    let log = user.home().join("log");
    let one_place = File::create(&log).unwrap();
    let mut ralph = user.command(repo.path(), &words);
    let status = ralph.stdout(one_place.try_clone().unwrap()).stderr(one_place).status().unwrap();
    let text = fs::read_to_string(log).unwrap();
    assert!(status.success(), "{text}");
    assert!(text.lines().any(|line| line == "  | All is well now."), "{text}");
    assert!(text.lines().any(|line| line.starts_with("  > ")), "what it did is missing: {text}");
    assert_eq!(text.matches("COMPLETED (verified)").count(), 1, "{text}");

    // Whoever reads only one of the two misses nothing.
    fs::remove_file(repo.path().join("done")).unwrap();
    let apart = user.ralph(repo.path(), &words).ok();
    for (name, text) in [("standard output", &apart.stdout), ("standard error", &apart.stderr)] {
        assert_eq!(text.matches("COMPLETED (verified)").count(), 1, "{name}: {text}");
    }
}
