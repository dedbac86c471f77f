//! Every step of the scripted agent but those that leave processes behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ralph_testkit::{
    CANARIES, Channel, CostReport, Encoding, Flood, HOSTILE_ESCAPES, INVALID_UTF8, Lines, Repo, Rhythm, Script,
    SignalName, StdinUse, Step, agent_command, scripted_agent,
};

use crate::support::{Stage, start, wait_for};

#[test]
fn files_are_changed_as_written() {
    let stage = Stage::new(Script::new().run([
        Step::write("a/b.txt", "one\n"),
        Step::append("a/b.txt", "two\n"),
        Step::replace("a/b.txt", "one", "1"),
        Step::write("run.sh", ""),
        Step::chmod("run.sh", 0o751),
        Step::symlink("b.txt", "a/link"),
        Step::Rename { from: "run.sh".into(), to: "moved/run.sh".into() },
        Step::write("gone", ""),
        Step::delete("gone"),
        Step::write("gone-too/inner", ""),
        Step::delete("gone-too"),
    ]));
    stage.succeed();
    assert_eq!(stage.read("a/b.txt"), "1\ntwo\n");
    assert_eq!(fs::metadata(stage.work().join("moved/run.sh")).unwrap().permissions().mode() & 0o7777, 0o751);
    assert_eq!(fs::read_link(stage.work().join("a/link")).unwrap().to_str(), Some("b.txt"));
    let mut left: Vec<_> = fs::read_dir(stage.work()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["a", "moved"]);
}

#[test]
fn deleting_a_link_leaves_what_it_leads_to() {
    let stage = Stage::new(Script::new().run([
        Step::write("kept/file", "x"),
        Step::symlink("kept", "link"),
        Step::delete("link"),
    ]));
    stage.succeed();
    assert_eq!(stage.read("kept/file"), "x");
    assert!(stage.work().join("link").symlink_metadata().is_err());
}

#[test]
fn an_existing_file_keeps_its_inode_and_mode() {
    let stage = Stage::new(Script::new().run([
        Step::write("a", "1"),
        Step::chmod("a", 0o600),
        Step::run("ln a twin"),
        Step::write("a", "2"),
    ]));
    stage.succeed();
    assert_eq!(stage.read("twin"), "2");
    assert_eq!(fs::metadata(stage.work().join("a")).unwrap().permissions().mode() & 0o7777, 0o600);
}

#[test]
fn each_run_has_its_own_steps_then_the_default() {
    let stage =
        Stage::new(Script::new().run([Step::say("first")]).run([Step::say("second")]).otherwise([Step::say("later")]));
    assert_eq!(Script::runs_of(&stage.script), 0);
    assert_eq!(
        [stage.succeed(), stage.succeed(), stage.succeed(), stage.succeed()],
        ["first\n", "second\n", "later\n", "later\n"]
    );
    assert_eq!(Script::runs_of(&stage.script), 4);
}

#[test]
fn agents_that_start_together_count_apart() {
    let stage =
        Stage::new(Script::new().run([Step::say("1")]).run([Step::say("2")]).run([Step::say("3")]).otherwise([]));
    let agents = [(); 3].map(|()| stage.start(""));
    let mut said = agents.map(|agent| String::from_utf8(agent.wait_with_output().unwrap().stdout).unwrap());
    said.sort();
    assert_eq!(said, ["1\n", "2\n", "3\n"]);
}

#[test]
fn prompts_are_kept_to_the_byte() {
    let prompt = "Fix it.\r\n\n\u{1b}[31m ümläut \0 no line end";
    let stage = Stage::new(Script::new().run([Step::EchoPrompt]));
    let output = stage.run(prompt);
    assert_eq!(output.stdout, prompt.as_bytes());

    let file = stage.outside().join("prompt");
    fs::write(&file, "from a file").unwrap();
    let output = start(stage.command().arg("--prompt-file").arg(&file), "not this").wait_with_output().unwrap();
    assert_eq!(output.stdout, b"from a file");
}

#[test]
fn all_prompts_are_saved_when_asked() {
    let folder = ralph_testkit::scratch();
    let stage = Stage::new(Script::new().run([]).save_prompts(folder.path().join("prompts")));
    stage.run("one");
    stage.run("two");
    assert_eq!(fs::read_to_string(folder.path().join("prompts/prompt-1.txt")).unwrap(), "one");
    assert_eq!(fs::read_to_string(folder.path().join("prompts/prompt-2.txt")).unwrap(), "two");
}

#[test]
fn a_prompt_that_is_left_alone_is_not_read() {
    let stage = Stage::new(Script::new().stdin(StdinUse::Leave).run([Step::write("done", "")]));
    // More than a pipe holds, so the writer would block if the agent lived on without reading.
    let mut agent = stage.command().spawn().unwrap();
    let mut stdin = agent.stdin.take().unwrap();
    let written = thread::spawn(move || std::io::Write::write_all(&mut stdin, &vec![b'x'; 1 << 20]));
    assert!(agent.wait().unwrap().success());
    assert_eq!(written.join().unwrap().unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
}

#[test]
fn what_is_said_is_printed_as_it_is() {
    let stage = Stage::new(Script::new().run([
        Step::Print("no line end".into()),
        Step::PrintStderr("aside".into()),
        Step::say(""),
        Step::claim(),
        Step::Claim("<promise>BUG_FIXED</promise>".into()),
        Step::blocked("no key"),
        Step::Escapes(Channel::Stdout),
        Step::InvalidUtf8(Channel::Stderr),
    ]));
    let output = stage.run("");
    let wanted = "no line end\n<promise>COMPLETE</promise>\n<promise>BUG_FIXED</promise>\n<blocked>no key</blocked>\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{wanted}{HOSTILE_ESCAPES}"));
    assert_eq!(output.stderr, [b"aside", INVALID_UTF8].concat());
    assert!(str::from_utf8(INVALID_UTF8).is_err());
}

#[test]
fn floods_have_the_wanted_size_and_shape() {
    let flood = |channel, lines, encoding| Flood { bytes: 1_000_003, channel, lines, encoding };
    let stage = Stage::new(Script::new().run([
        Step::Flood(flood(Channel::Stdout, Lines::One, Encoding::Ascii)),
        Step::Flood(flood(Channel::Stderr, Lines::Many, Encoding::InvalidUtf8)),
    ]));
    let output = stage.run("");
    assert_eq!(output.stdout.len(), 1_000_003);
    assert!(output.stdout.iter().all(u8::is_ascii_lowercase));
    assert_eq!(output.stderr.len(), 1_000_003);
    assert!(output.stderr.split(|byte| *byte == b'\n').all(|line| line.len() < 80));
    assert!(String::from_utf8(output.stderr).is_err());
}

#[test]
fn runs_end_as_told() {
    let stage =
        Stage::new(Script::new().run([Step::Exit(3), Step::write("never", "")]).run([Step::Die(SignalName::Kill)]));
    assert_eq!(stage.run("").status.code(), Some(3));
    assert!(!stage.work().join("never").exists());
    assert_eq!(stage.run("").status.signal(), Some(9));
}

#[test]
fn a_wrong_script_ends_with_64_and_says_where() {
    for (text, said) in [
        (r#"{"runs":[[{"wirte":{"path":"a","text":""}}]]}"#, "unknown variant `wirte`, expected one of `write`"),
        (r#"{"runs":[[{"write":{"path":"a","txt":""}}]]}"#, "unknown field `txt`"),
        (r#"{"run":[]}"#, "unknown field `run`"),
        (r#"{"runs":"#, "EOF while parsing"),
    ] {
        let stage = Stage::new(Script::new());
        fs::write(&stage.script, text).unwrap();
        let output = stage.run("");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(64), "{stderr}");
        assert!(stderr.starts_with("scripted-agent: ") && stderr.contains(said), "{stderr}");
    }
}

#[test]
fn wrong_words_end_with_64() {
    for words in [&[][..], &["--nonsense"], &["a", "b"], &["a", "--prompt-file"], &["/nonexistent/script.json"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_scripted-agent")).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{words:?}");
    }
}

#[test]
fn a_step_that_fails_ends_with_70_and_says_why() {
    for (step, said) in [
        (Step::replace("a.txt", "x", "y"), "could not read a.txt"),
        (Step::delete("nothing"), "could not remove nothing"),
        (Step::run("exit 4"), "`exit 4` ended with exit status: 4"),
        (Step::cost(1), "RALPH_RESULT_FILE is not set"),
        (Step::WaitForFile { path: "never".into(), limit_ms: 1 }, "never did not appear in 1 ms"),
        (Step::Chmod { path: ".".into(), mode: "rwx".into() }, "`rwx` is no octal mode"),
        (Step::IgnoreSignals(vec![SignalName::Kill]), "the signals KILL are not ignored"),
    ] {
        let stage = Stage::new(Script::new().run([step, Step::write("never-after", "")]));
        let output = start(stage.command().env_remove("RALPH_RESULT_FILE"), "").wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(70), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
        assert!(!stage.work().join("never-after").exists());
    }
}

#[test]
fn the_environment_is_recorded() {
    let stage = Stage::new(Script::new().run([Step::ignore_signals(), Step::RecordEnv("env.json".into())]));
    let output = start(stage.command().env_clear().env("ONLY", "this \"one\""), "").wait_with_output().unwrap();
    assert!(output.status.success());
    let recorded: serde_json::Value = serde_json::from_str(&stage.read("env.json")).unwrap();
    assert_eq!(recorded["ONLY"], "this \"one\"");
    // The shell in between sets PWD and a few of its own, and nothing of ours.
    assert!(
        recorded.as_object().unwrap().keys().all(|name| ["ONLY", "PWD", "OLDPWD", "SHLVL", "_"].contains(&&**name))
    );
}

#[test]
fn costs_are_reported_at_once_and_while_they_grow() {
    let report = CostReport {
        micros: 250_000,
        input_tokens: 1000,
        output_tokens: 10,
        model: Some("scripted".into()),
        rhythm: Some(Rhythm { reports: 2, pause_ms: 0 }),
    };
    let stage = Stage::new(
        Script::new()
            .run([Step::ReportCost(report)])
            .run([Step::ReportText("no JSON".into())])
            .run([Step::growing_cost(1_000_000, 1_000_000, Duration::from_secs(30))]),
    );
    let file = stage.work().join("result.json");
    let started = || start(stage.command().env("RALPH_RESULT_FILE", &file), "");
    let read = || fs::read_to_string(&file).unwrap();

    assert!(started().wait().unwrap().success());
    let said: serde_json::Value = serde_json::from_str(&read()).unwrap();
    let wanted = serde_json::json!({"costUSD": 0.25, "inputTokens": 1000, "outputTokens": 10, "model": "scripted"});
    assert_eq!(said, wanted);

    assert!(started().wait().unwrap().success());
    assert_eq!(read(), "no JSON");

    // The first part is there while the agent still runs.
    fs::remove_file(&file).unwrap();
    let mut agent = started();
    let said: serde_json::Value = serde_json::from_str(&wait_for(&file)).unwrap();
    assert_eq!(said["costUSD"], 0.000_001);
    assert!(agent.try_wait().unwrap().is_none());
    agent.kill().unwrap();
    agent.wait().unwrap();
}

#[test]
fn lines_run_in_the_workspace() {
    let stage = Stage::new(Script::new().run([Step::run("pwd > where; echo loud")]));
    assert_eq!(stage.succeed(), "loud\n");
    assert_eq!(stage.read("where").trim(), stage.work().canonicalize().unwrap().to_str().unwrap());
}

#[test]
fn time_is_spent_as_told() {
    let tenth = Duration::from_millis(100);
    let stage = Stage::new(Script::new().run([Step::sleep(tenth)]));
    let begin = Instant::now();
    stage.succeed();
    assert!(begin.elapsed() >= tenth);
}

#[test]
fn a_file_is_waited_for() {
    let stage = Stage::new(Script::new().run([Step::write("ready", ""), Step::wait_for_file("go"), Step::say("gone")]));
    let mut agent = stage.start("");
    wait_for(&stage.work().join("ready"));
    assert!(agent.try_wait().unwrap().is_none());
    fs::write(stage.work().join("go"), "").unwrap();
    assert_eq!(agent.wait_with_output().unwrap().stdout, b"gone\n");
}

#[test]
fn without_a_terminal_it_says_so() {
    let stage = Stage::new(Script::new().run([Step::ReadTty { question: "Continue? ".into() }]));
    // setsid(1) takes the terminal away that the test itself may have.
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(env!("CARGO_BIN_EXE_scripted-agent")).arg(&stage.script).current_dir(stage.work());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "no terminal\n");
}

#[test]
fn with_a_terminal_it_asks_and_waits() {
    let stage = Stage::new(Script::new().run([Step::ReadTty { question: "Continue? ".into() }]));
    // script(1) gives the line a terminal of its own and types what it reads.
    let line = format!("{} < /dev/null", agent_command(&stage.script));
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(stage.work());
    let mut script = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = script.stdout.take().unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"Continue? ") {
        let mut byte = [0];
        assert_eq!(std::io::Read::read(&mut stdout, &mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
        said.extend(byte);
    }
    std::io::Write::write_all(script.stdin.as_mut().unwrap(), b"yes\n").unwrap();
    std::io::Read::read_to_end(&mut stdout, &mut said).unwrap();
    assert!(script.wait().unwrap().success());
    assert!(String::from_utf8(said).unwrap().contains("answer: yes"));
}

#[test]
fn canaries_sing_when_git_is_used_carelessly() {
    let repo = Repo::init();
    let script = Script::new().run([Step::GitCanaries("../log".into())]).save(repo.outside());
    let mut command = Command::new(env!("CARGO_BIN_EXE_scripted-agent"));
    let output = command.arg(&script).current_dir(repo.path()).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    repo.write("a.txt", "x");
    repo.git(["status"]);
    repo.commit("careless");
    repo.write("a.txt", "y");
    repo.git(["diff"]);
    let log = fs::read_to_string(repo.outside().join("log")).unwrap();
    for name in ["fsmonitor", "diff-external", "clean", "hook"] {
        assert!(log.lines().any(|line| line == name), "{name} did not sing:\n{log}");
        assert!(CANARIES.contains(&name));
    }
}

#[test]
fn the_program_is_found_and_its_command_line_works() {
    assert_eq!(
        scripted_agent().canonicalize().unwrap(),
        fs::canonicalize(env!("CARGO_BIN_EXE_scripted-agent")).unwrap()
    );
    let folder = ralph_testkit::scratch();
    let script = Script::new().run([Step::EchoPrompt]).save(folder.path().join("it's a folder"));
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(agent_command(&script)).stdin(Stdio::piped()).stdout(Stdio::piped());
    assert_eq!(start(&mut command, "hello").wait_with_output().unwrap().stdout, b"hello");
}
