//! Wrong words and wrong configurations: each is refused with what to do about it, and nothing has happened.

use std::path::Path;

use ralph_testkit::{Fingerprint, Repo, Script, Step, agent_command};

use crate::harness::User;

/// A refusal: what is typed after `ralph run`, what the message has to say, and a configuration that goes with it.
struct Wrong {
    name: &'static str,
    words: Vec<String>,
    says: Vec<&'static str>,
    config: &'static str,
}

/// `AGENT` stands for a working agent, `DIR` for the workspace.
fn wrong(name: &'static str, words: &[&str], says: &[&'static str]) -> Wrong {
    Wrong { name, words: words.iter().map(|word| (*word).to_owned()).collect(), says: says.to_vec(), config: "" }
}

/// A line that is right but for one thing.
fn but(name: &'static str, more: &[&str], says: &[&'static str]) -> Wrong {
    let right = ["Fix it", "--max", "3", "--max-cost", "1", "--cost-after-run", "--agent-command", "AGENT"];
    wrong(name, &[&right[..], more].concat(), says)
}

fn limits(name: &'static str, max: &str, cost: &str, says: &[&'static str]) -> Wrong {
    wrong(name, &["Fix it", &format!("--max={max}"), &format!("--max-cost={cost}"), "--agent-command", "AGENT"], says)
}

fn configured(name: &'static str, config: &'static str, says: &[&'static str]) -> Wrong {
    Wrong { config, ..but(name, &[], says) }
}

const EXAMPLE: &str = "example: ralph run \"Fix the failing tests\" --max 10 --max-cost 5";

fn table() -> Vec<Wrong> {
    vec![
        wrong(
            "no --max",
            &["Fix it", "--max-cost", "1", "--agent-command", "AGENT"],
            &["--max is required", "allowed: 1 to 50", EXAMPLE],
        ),
        wrong(
            "no --max-cost",
            &["Fix it", "--max", "3", "--agent-command", "AGENT"],
            &["--max-cost is required", "up to $10.00", EXAMPLE],
        ),
        wrong(
            "neither limit",
            &["Fix it", "--agent-command", "AGENT"],
            &["--max and --max-cost are required", EXAMPLE],
        ),
        limits("--max 0", "0", "1", &["--max:", "1 to 50", EXAMPLE]),
        limits("--max over the cap", "51", "1", &["--max:", "cap of 50 iterations", "caps.iterations", EXAMPLE]),
        limits("--max-cost 0", "3", "0", &["--max-cost:", "more than $0", EXAMPLE]),
        limits(
            "--max-cost over the cap",
            "3",
            "10.01",
            &["--max-cost:", "cap of $10.00", "caps.loop_cost_usd", EXAMPLE],
        ),
        limits("a negative --max", "-1", "1", &["--max", "-1", "example:"]),
        limits("a negative --max-cost", "3", "-1", &["--max-cost", "-1", "example:"]),
        limits("--max in words", "three", "1", &["--max", "three", "example:"]),
        limits("--max beyond all numbers", "99999999999999999999", "1", &["--max", "example:"]),
        limits("--max as a fraction", "1.5", "1", &["--max", "1.5", "example:"]),
        limits("--max-cost in words", "3", "much", &["--max-cost", "much", "example:"]),
        limits("--max-cost too fine", "3", "0.0000001", &["--max-cost", "example:"]),
        limits("--max-cost not a number", "3", "NaN", &["--max-cost", "NaN", "example:"]),
        wrong(
            "no objective",
            &["--max", "3", "--max-cost", "1", "--agent-command", "AGENT"],
            &["OBJECTIVE", "example:"],
        ),
        wrong(
            "an empty objective",
            &["", "--max", "3", "--max-cost", "1", "--agent-command", "AGENT"],
            &["OBJECTIVE is empty", EXAMPLE],
        ),
        wrong(
            "a blank objective",
            &[" \n\t ", "--max", "3", "--max-cost", "1", "--agent-command", "AGENT"],
            &["OBJECTIVE is empty", EXAMPLE],
        ),
        Wrong {
            // Whatever is installed on this machine.
            config: "agent_order = []\n",
            ..wrong("no agent", &["Fix it", "--max", "3", "--max-cost", "1"], &["--agent:", "no agent", EXAMPLE])
        },
        Wrong {
            config: "[agents.odd]\nkind = 'codex'\nmodel = 'mystery-1'\nprogram = '/bin/true'\n",
            ..wrong(
                "a model without a price",
                &["Fix it", "--max", "3", "--max-cost", "1", "--agent", "odd"],
                &["--model:", "no price for `mystery-1`", "[prices.\"mystery-1\"]", "--unmetered"],
            )
        },
        Wrong {
            config: "[agents.odd]\nkind = 'acp'\ncommand = 'nothere --acp'\n",
            ..wrong(
                "a server that is not there",
                &["Fix it", "--max", "3", "--max-cost", "1", "--agent", "odd", "--cost-after-run"],
                &["--agent:", "`command` in [agents.odd]", "`nothere`", "Agent Client Protocol"],
            )
        },
        Wrong {
            config: "[agents.odd]\nkind = 'acp'\ncommand = 'cat --acp'\n",
            ..wrong(
                "a server that reports its cost too late",
                &["Fix it", "--max", "3", "--max-cost", "1", "--agent", "odd", "--criteria", "true", "--race", "2"],
                &["--agent:", "`odd`", "--max-cost", "--cost-after-run", "--unmetered", EXAMPLE],
            )
        },
        wrong(
            "a command whose cost nothing shows",
            &["Fix it", "--max", "3", "--max-cost", "1", "--agent-command", "AGENT", "--criteria", "true"],
            &[
                "--agent:",
                "`command`",
                "--max-cost",
                // Each way out is a line.
                "\n    --unmetered,",
                "\n    --env",
                "reports_cost",
                "--agent-command ./my-agent",
                "--cost-after-run",
                EXAMPLE,
            ],
        ),
        Wrong {
            config: "[agents.odd]\nkind = 'gemini'\nprogram = '/bin/true'\n",
            ..wrong(
                "a login that bypasses the gateway",
                &["Fix it", "--max", "3", "--max-cost", "1", "--agent", "odd", "--criteria", "true"],
                &["--agent:", "`odd`", "after a run", "an API key", "--unmetered", "--cost-after-run", EXAMPLE],
            )
        },
        wrong(
            "an agent that is not installed",
            &["Fix it", "--max", "3", "--max-cost", "1", "--agent", "lost"],
            &["--agent:", "lost"],
        ),
        but("a race of one", &["--race", "1", "--criteria", "false"], &["--race:", "at least 2 candidates", "2 to 8"]),
        but("a race in words", &["--race", "two"], &["'--race <N>'", "a whole number", "example:"]),
        but("a negative span", &["--max-wait", "-1"], &["'--max-wait <DURATION>'", "not a duration", "example:"]),
        but("turns of one", &["--rotate"], &["--rotate:", "the only agent is", "each with its own --agent", EXAMPLE]),
        but("one to go on with", &["--escalate-after", "2"], &["--escalate-after:", "the only agent is"]),
        wrong(
            "two models",
            &["Fix it", "--max", "3", "--max-cost", "1", "--agent", "claude:opus", "--model", "haiku"],
            &["--model:", "claude:opus", "--agent claude:haiku", EXAMPLE],
        ),
        configured(
            "an order of unknown agents",
            "agent_order = ['cluade']\n",
            &["config.toml:1:", "`agent_order`", "`cluade`", "did you mean `claude`", "codex", "example:"],
        ),
        but("a race without a check", &["--race", "2"], &["--race needs a check", "--criteria"]),
        but("arguments for a command", &["--agent-args", "--x"], &["`command` is your own command"]),
        wrong(
            "an unknown agent",
            &["Fix it", "--max", "3", "--max-cost", "1", "--agent", "clade"],
            &["--agent:", "`clade`", "allowed:", EXAMPLE],
        ),
        wrong(
            "an empty agent",
            &["Fix it", "--max", "3", "--max-cost", "1", "--agent-command", " "],
            &["--agent-command is empty", EXAMPLE],
        ),
        wrong(
            "a misspelt agent",
            &["Fix it", "--max", "3", "--max-cost", "1", "--agent-command", "gti status"],
            &["--agent-command:", "`gti`", "did you mean `git`", EXAMPLE],
        ),
        wrong(
            "an agent that is not there",
            &["Fix it", "--max", "3", "--max-cost", "1", "--agent-command", "./no-such-agent --fast"],
            &["--agent-command:", "./no-such-agent", EXAMPLE],
        ),
        but("an agent by name and by command", &["--agent", "x"], &["--agent", "example:"]),
        but("empty criteria", &["--criteria", ""], &["--criteria is empty", EXAMPLE]),
        but(
            "a misspelt check",
            &["--criteria", "gti diff --exit-code"],
            &["--criteria:", "`gti`", "did you mean `git`", EXAMPLE],
        ),
        but(
            "a check nobody knows",
            &["--criteria", "true", "--criteria", "no-such-program-here --fast"],
            &["--criteria:", "no-such-program-here", EXAMPLE],
        ),
        but("an empty promise", &["--promise", " "], &["--promise is empty", EXAMPLE]),
        but("an unknown skill", &["--skill", "tddd"], &["--skill:", "`tddd`", "allowed:", "tdd"]),
        but("a skill that is a path", &["--skill", "../../etc"], &["--skill:", "allowed:"]),
        but("a bad glob", &["--prohibit", "src/[abc"], &["--prohibit:", "src/[abc", "allowed:", EXAMPLE]),
        but("reports by a bad glob", &["--junit", "["], &["--junit:", "`[`", "allowed: globs", EXAMPLE]),
        but(
            "protection outside",
            &["--protect", "../x"],
            &["--protect:", "`../x` leads out", "allowed: globs", EXAMPLE],
        ),
        but("a report outside", &["--junit", "a/../../x.xml"], &["--junit:", "leads out", EXAMPLE]),
        but("an expectation outside", &["--expect", "file:../x"], &["--expect:", "leads out", EXAMPLE]),
        but("a permission outside", &["--allow-test-change", "../x"], &["--allow-test-change:", "leads out", EXAMPLE]),
        but("a prohibition outside", &["--prohibit", "!../x"], &["--prohibit:", "leads out", EXAMPLE]),
        but("an open quote in a check", &["--criteria", "echo 'x"], &["--criteria:", "shell", "quote", EXAMPLE]),
        but("an open bracket in a check", &["--expect", "command:(true"], &["--expect:", "shell", EXAMPLE]),
        wrong(
            "an open quote in an agent",
            &["Fix it", "--max", "3", "--max-cost", "1", "--agent-command", "cat 'x"],
            &["--agent-command:", "shell", "quote", EXAMPLE],
        ),
        Wrong {
            config: "notify.command = 'echo \"x'\n",
            ..but("an open quote in the notification", &[], &["notify.command:", "shell", "quote"])
        },
        but(
            "more than a year",
            &["--max-duration", "99999999999h"],
            &["--max-duration", "too long", "365d", "example:"],
        ),
        but("a number without end", &["--max-wait", "99999999999999999999h"], &["--max-wait", "too long", "365d"]),
        but("a pause without end", &["--pause", "18446744073709551615"], &["--pause:", "too long", "365d"]),
        configured("a span without end", "max_duration = '9999999h'\n", &["config.toml:1:", "too long", "365d"]),
        configured("an empty table", "[caps]\n", &["config.toml:1:", "`caps`", "empty", "example: caps.iterations"]),
        configured("an empty agent table", "[agents.x]\n", &["config.toml:1:", "`agents.x`", "empty", "example:"]),
        configured("an unknown table", "[chekcs]\nx = 1\n", &["config.toml:1:", "`chekcs` is not a key"]),
        wrong(
            "an objective without end",
            &["--objective-file", "/dev/zero", "--max", "3", "--max-cost", "1", "--agent-command", "AGENT"],
            &["/dev/zero", "larger than 1 MiB", "allowed:"],
        ),
        but("an empty glob", &["--prohibit", ""], &["--prohibit", "allowed:", EXAMPLE]),
        but(
            "a bad expectation",
            &["--expect", "miracle"],
            &["--expect", "miracle", "commit", "clean-tree", "example:"],
        ),
        but("an expectation without a name", &["--expect", "file:"], &["--expect", "file:", "example:"]),
        but("a bad duration", &["--iteration-timeout", "soon"], &["--iteration-timeout", "soon", "example:"]),
        but("a duration without a unit", &["--max-duration", "10"], &["--max-duration", "10", "example:"]),
        but(
            "no time at all",
            &["--verify-timeout", "0s"],
            &["--verify-timeout is 0", "allowed: a duration such as 30s", EXAMPLE],
        ),
        but("a negative duration", &["--idle-timeout=-3s"], &["--idle-timeout", "example:"]),
        but("no patience at all", &["--stall", "0"], &["--stall is 0", "allowed:", EXAMPLE]),
        but("no error at all", &["--same-error", "0"], &["--same-error is 0", "allowed:", EXAMPLE]),
        but(
            "a missing workspace",
            &["--workspace", "no/such/folder"],
            &["--workspace:", "no/such/folder", "allowed: a folder that exists"],
        ),
        but(
            "a workspace that is a file",
            &["--workspace", "README.md"],
            &["--workspace:", "README.md", "allowed: a folder that exists"],
        ),
        but(
            "an objective file and an objective",
            &["--objective-file", "README.md"],
            &["--objective-file", "example:"],
        ),
        wrong(
            "an objective file that is not there",
            &["--objective-file", "no-such.md", "--max", "3", "--max-cost", "1", "--agent-command", "AGENT"],
            &["no-such.md", "objective"],
        ),
        but("--commit without a check", &["--commit"], &["--commit needs a check", EXAMPLE]),
        but("--ratchet without a check", &["--ratchet"], &["--ratchet needs a check", EXAMPLE]),
        but("quiet and plain", &["--quiet", "--plain"], &["--quiet", "--plain", "example:"]),
        but("an unknown flag", &["--maxx", "3"], &["--maxx", "--max", "example:"]),
        but(
            "an unknown way to be blocked",
            &["--on-blocked", "panic"],
            &["--on-blocked", "panic", "stop", "continue", "example:"],
        ),
        but("an unknown state to keep", &["--keep", "worst"], &["--keep", "worst", "last", "best", "example:"]),
        but("a variable with a value", &["--env", "A=1"], &["--env:", "A=1", EXAMPLE]),
        but(
            "a variable that is not set",
            &["--env", "NO_SUCH_VARIABLE"],
            &["--env:", "NO_SUCH_VARIABLE", "allowed:", "example:"],
        ),
        configured(
            "an unknown key",
            "max_iteration = 5\n",
            &["config.toml:1:", "`max_iteration` is not a key", "did you mean `max_iterations`?"],
        ),
        configured(
            "an unknown key in a table",
            "[caps]\n\nloop_cost = 3\n",
            &["config.toml:3:", "did you mean `caps.loop_cost_usd`?"],
        ),
        configured(
            "nearly a flag's name as a key",
            "criterion = 'make'\n",
            &["config.toml:1:", "`criterion`", "did you mean `verification_command`?"],
        ),
        configured("broken TOML", "max_iterations = 5\n\nmax_cost_usd = = 3\n", &["config.toml:3:", "TOML"]),
        configured(
            "a value of the wrong kind",
            "\nmax_iterations = 'many'\n",
            &["config.toml:2:", "`max_iterations`", "example: max_iterations = 10"],
        ),
        configured(
            "an objective in a file",
            "objective = 'x'\n",
            &["config.toml:1:", "`objective` cannot be set in a file", "--objective-file"],
        ),
        configured("a cap below the limits", "[caps]\niterations = 2\n", &["--max:", "cap of 2 iterations", EXAMPLE]),
        configured("a bad glob of the user's own", "prohibited_paths = ['a[b']\n", &["a[b", "allowed:"]),
    ]
}

/// What a refusal must leave alone: the workspace with its git, the agent, the list of loops.
fn refused(user: &User, folder: &Path, script: &Path, wrong: &Wrong) {
    user.configure(wrong.config);
    let before = Fingerprint::of(folder);
    let agent = agent_command(script);
    let words = wrong.words.iter().map(|word| if word == "AGENT" { agent.clone() } else { word.clone() });
    let ended = user.ralph(folder, ["run".to_owned(), "--json".to_owned()].into_iter().chain(words));
    let name = wrong.name;
    assert_eq!(ended.code, 2, "{name}: {}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.stdout, "", "{name}: a refusal is no result");
    for said in &wrong.says {
        assert!(ended.stderr.contains(said), "{name}: {said:?} is not in\n{}", ended.stderr);
    }
    assert_eq!(Script::runs_of(script), 0, "{name}: an agent was started");
    before.assert_same(&Fingerprint::of(folder));
}

#[test]
fn every_refusal_says_what_to_do_and_does_nothing() {
    let (user, repo) = (User::new(), Repo::init());
    let script = Script::new().run([Step::write("done.txt", "x"), Step::claim()]).save(repo.outside());
    let table = table();
    for wrong in &table {
        refused(&user, repo.path(), &script, wrong);
    }
    user.configure("");
    let loops = user.ralph(repo.path(), ["list", "--all", "--json"]).ok().json();
    assert_eq!(loops, serde_json::json!([]), "a refused loop was recorded");
    eprintln!("refusals: {} wrong lines refused", table.len());
}

#[test]
fn what_needs_git_says_why_it_cannot_be_had() {
    let (user, plain, unborn) = (User::new(), Repo::plain(), Repo::unborn());
    let script = Script::new().run([Step::claim()]).save(plain.outside());
    let check = ["--criteria", "true"];
    let cases = [
        (plain.path(), but("--commit outside of git", &[&check[..], &["--commit"]].concat(), &["--commit", "git"])),
        (plain.path(), but("--worktree outside of git", &["--worktree"], &["--worktree", "git"])),
        (unborn.path(), but("--worktree without a commit", &["--worktree"], &["--worktree", "commit"])),
    ];
    for (folder, wrong) in &cases {
        refused(&user, folder, &script, wrong);
    }
    assert_eq!(user.ralph(plain.path(), ["list", "--all", "--json"]).ok().json(), serde_json::json!([]));
}

#[test]
fn caps_that_the_user_moved_hold_in_both_directions() {
    let (user, repo) = (User::new(), Repo::init());
    user.configure("[caps]\niterations = 60\nloop_cost_usd = 12\n");
    let agent = user.agent(Script::new().run([Step::claim()]));
    let line = |max: &'static str, cost: &'static str| {
        ["run", "Fix it", "--max", max, "--max-cost", cost, "--unmetered", "--agent-command", &agent].map(str::to_owned)
    };
    user.ralph(repo.path(), line("60", "12")).ok();
    assert!(user.ralph(repo.path(), line("61", "12")).with_code(2).stderr.contains("cap of 60 iterations"));
    assert!(user.ralph(repo.path(), line("60", "12.5")).with_code(2).stderr.contains("cap of $12.00"));
}

#[test]
fn other_commands_refuse_wrong_words_too() {
    let (user, repo) = (User::new(), Repo::init());
    let cases: [(&[&str], &str); 12] = [
        (&[], "Usage"),
        (&["resum"], "'resume'"),
        (&["list", "--limit", "many"], "--limit"),
        (&["list", "--status", "happy"], "--status"),
        (&["rewind", "abcd1234"], "--to"),
        (&["rewind", "abcd1234", "--to", "0"], "start"),
        (&["rewind", "abcd1234", "--to", "yesterday"], "undo"),
        (&["logs", "abcd1234", "--check", "0"], "--check"),
        (&["report", "--date", "yesterday"], "--date"),
        (&["completions", "tcsh"], "bash"),
        (&["trust", "--yes", "--list"], "--list"),
        (&["tell"], "TEXT"),
    ];
    for (words, said) in cases {
        let ended = user.ralph(repo.path(), words).with_code(2);
        assert!(ended.stderr.contains(said), "{words:?}: {}", ended.stderr);
    }
    assert!(!user.state().exists(), "a wrong word made a state folder");
}
