//! Which keys reach whom.

use ralph_testkit::Repo;

use crate::fake::{Fake, Run, prices, words};
use crate::harness::{Ended, User};

const SECRET: &str = "aws-secret-0123456789";

/// What agent and check saw of a cloud, with these variables set for Ralph, and the log of the agent.
fn seen(switches: &[(&str, &str)], settings: &str) -> (String, String, String) {
    let (user, repo) = (User::new(), Repo::init());
    std::fs::create_dir_all(user.home().join(".claude")).unwrap();
    std::fs::write(user.home().join(".claude/settings.json"), settings).unwrap();
    let shown = "echo \"${AWS_REGION-none} ${AWS_SECRET_ACCESS_KEY-none} ${CLOUD_ML_REGION-none}\"";
    let run = Run::new().does(format!("{shown} > \"$run/environment\"; {shown} >&2; touch done")).ends(10_000, "Done.");
    let fake = Fake::new(&user, [run]);
    user.configure(&format!("{}{}", fake.configured_as("fake"), prices()));
    let found = user.home().join("check");
    let check = format!("{shown} > {}; test -e done", found.display());
    let mut command = user.command(repo.path(), words(&["fake"], 1, &["--criteria", &check]));
    command.env("AWS_REGION", "r").env("AWS_SECRET_ACCESS_KEY", SECRET).env("CLOUD_ML_REGION", "v");
    let ended = Ended::from(command.envs(switches.iter().copied()).output().unwrap()).ok();
    let id = ended.json()["loopId"].as_str().unwrap().to_owned();
    let log = user.ralph(repo.path(), ["logs", &id, "--raw"]).ok().stdout;
    (fake.left(1, "environment"), std::fs::read_to_string(found).unwrap().trim_end().to_owned(), log)
}

#[test]
fn a_cloud_that_claude_code_works_through_is_the_agents_alone() {
    let nothing = "none none none";
    let bedrock = format!("r {SECRET} none");
    let cases = [
        (&[][..], "{}", nothing.to_owned()),
        (&[("CLAUDE_CODE_USE_BEDROCK", "0")], "{}", nothing.to_owned()),
        (&[("CLAUDE_CODE_USE_BEDROCK", "1")], "{}", bedrock.clone()),
        (&[("CLAUDE_CODE_USE_VERTEX", "1")], "{}", "none none v".to_owned()),
        (&[], r#"{"env": {"CLAUDE_CODE_USE_BEDROCK": "1"}}"#, bedrock),
    ];
    for (switches, settings, wanted) in cases {
        let (agent, check, log) = seen(switches, settings);
        assert_eq!((agent, check.as_str()), (wanted, nothing), "{switches:?} {settings}");
        assert!(!log.contains(SECRET), "{log}");
    }
}
