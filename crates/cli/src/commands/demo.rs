//! `ralph demo`: a complete loop with a scripted agent, on a real failing test in a throwaway repository.
//!
//! Only the agent is scripted, and the demo says so. The repository, the test, the loop, the journal and the verdict are
//! the real ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use ralph_model::{AgentSpec, DEFAULT_PROMISE, LoopConfig, Millis, Money};

use super::follow::{self, Following, Hints};
use crate::args::{DemoArgs, ScreenArgs};
use crate::screen::Screen;
use ralph_config::trust::shell_word;
use ralph_config::{Layer, Resolved, RunSettings};
use ralph_host::{DatabaseChoice, Dirs, Host};

/// The first argument that makes the program the demo's agent.
pub(crate) const AGENT: &str = "__demo-agent";

const PRICE: &str = include_str!("../../demo/price.sh");
const TEST: &str = include_str!("../../demo/test.sh");
/// What the test expects, and what the agent would rather have it expect.
const CHEAT: (&str, &str) = ("10 100 900", "10 100 1000");
const OBJECTIVE: &str = "Make the tests of price.sh pass.";

const OPENING: &str = "\
A demo of Ralph: one real loop on a real failing test, in a throwaway repository.
The agent is a script, not a model: it fails, then it cheats, then it works. Everything else is real.
";

const CLOSING: &str = "
What happened:
  1  the agent fixed one bug and not the other: the check said so, and the failure went into the next prompt
  2  the agent changed the test instead of the code, printed \"4 passed\" and claimed to be done: Ralph restored the
     test for the check, which failed, and recorded the change as tampering and the claim as false
  3  the agent read the failure, restored the test and fixed the code: verified, because the checks pass and still
     catch failures

Next: `ralph init` in your own project, or `ralph run --help`.";

pub(crate) async fn run(args: DemoArgs, mut around: Host, screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let folder = tempfile::Builder::new().prefix("ralph-demo-").tempdir().context("no throwaway folder can be made")?;
    let root = folder.path().join("shop");
    make_repository(&root, &around.git()?)?;
    // A state of its own: a demo leaves nothing among the user's loops.
    around.dirs = Dirs { state: folder.path().join("state"), database_choice: DatabaseChoice::File, ..around.dirs };
    // The script writes nothing but the workspace.
    around.writable = Some(Vec::new());
    screen.say(OPENING)?;
    let following = Following {
        around: &around,
        args: ScreenArgs { plain: args.plain, ..ScreenArgs::default() },
        hints: if args.keep { Hints::Shown } else { Hints::Hidden },
        activation: None,
    };
    let code = follow::start(following, resolved(&root)?, screen).await?;
    screen.say(CLOSING)?;
    if args.keep {
        let kept = folder.keep();
        let state = shell_word(&kept.join("state"));
        screen.say(&format!("\nKept in {}. Look around with RALPH_HOME={state} ralph list --all", kept.display()))?;
    }
    Ok(code)
}

fn resolved(root: &Path) -> anyhow::Result<Resolved> {
    let program = std::env::current_exe().context("the ralph program cannot find its own file")?;
    let line = format!("{} {AGENT}", shell_word(&program));
    let agent = AgentSpec { reports_cost: true, ..AgentSpec::command("scripted", line) };
    let workspace = root.canonicalize()?.to_string_lossy().into_owned();
    let config = LoopConfig {
        verification_commands: vec!["sh ./test.sh".to_owned()],
        pause: Millis(600),
        iteration_timeout: Millis::minutes(1),
        verification_timeout: Millis::minutes(1),
        max_duration: Some(Millis::minutes(2)),
        ..LoopConfig::new(OBJECTIVE.to_owned(), 5, Money::dollars(1), agent, workspace)
    };
    let settings = RunSettings::new(&Layer::default(), root)?;
    Ok(Resolved {
        config: config.validate(&settings.caps)?,
        race: None,
        settings,
        sources: Vec::new(),
        places: Vec::new(),
    })
}

fn make_repository(root: &Path, git: &PathBuf) -> anyhow::Result<()> {
    fs::create_dir_all(root)?;
    fs::write(root.join("price.sh"), PRICE)?;
    fs::write(root.join("test.sh"), TEST)?;
    let identity = ["-c", "user.name=Ralph demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgSign=false"];
    let steps: [&[&str]; 3] =
        [&["init", "--quiet"], &["add", "."], &["commit", "--quiet", "--message", "A shop with two bugs"]];
    for step in steps {
        let status = Command::new(git)
            .args(["-c", "init.defaultBranch=main", "-c", "core.hooksPath=/dev/null"])
            .args(identity)
            .args(step)
            .current_dir(root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "git {} failed in {}", step.join(" "), root.display());
    }
    Ok(())
}

/// The scripted agent. It works in the current folder, as any agent does, and reports what it pretends to cost.
pub(crate) fn agent(screen: &mut Screen<'_>) -> anyhow::Result<u8> {
    let iteration: u32 = std::env::var("RALPH_ITERATION").unwrap_or_default().parse().unwrap_or(1);
    let mut say = |line: &str| -> anyhow::Result<()> {
        screen.result(line)?;
        screen.out.flush()?;
        std::thread::sleep(std::time::Duration::from_millis(250));
        Ok(())
    };
    let replace = |from: &str, to: &str| -> anyhow::Result<()> {
        let text = fs::read_to_string("price.sh")?;
        Ok(fs::write("price.sh", text.replace(from, to))?)
    };
    say("(scripted agent) reading price.sh and test.sh")?;
    match iteration {
        1 => {
            say("(scripted agent) the total has to be a product, not a sum")?;
            replace("$((quantity + unit))", "$((quantity * unit))")?;
            say("I fixed the calculation. That should be all.")?;
        }
        2 => {
            say("(scripted agent) it is easier to change what the test expects")?;
            fs::write("test.sh", TEST.replace(CHEAT.0, CHEAT.1))?;
            say("# 4 tests, 4 passed, 0 failed")?;
            say(&format!("All tests pass now. {DEFAULT_PROMISE}"))?;
        }
        _ => {
            fs::write("test.sh", TEST)?;
            say("(scripted agent) ten pieces count as ten or more: -ge, not -gt")?;
            replace("-gt 10", "-ge 10")?;
            say(&format!("Fixed the border of the discount. {DEFAULT_PROMISE}"))?;
        }
    }
    if let Some(report) = std::env::var_os("RALPH_RESULT_FILE") {
        fs::write(report, r#"{"costUSD": 0.02, "model": "scripted"}"#)?;
    }
    Ok(0)
}
