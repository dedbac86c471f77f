use std::fs;

use ralph_process::{Files, Network, Sandbox, Stop, probe};
use ralph_tools::{Call, MAX_TEXT};
use serde_json::json;
use tokio::sync::watch;

use crate::support::{Lab, reaper};

#[tokio::test]
async fn commands_give_their_output_and_their_end() {
    let lab = Lab::new();
    let done =
        lab.done("bash_execute", json!({"command": "echo out; echo err >&2; echo correct-horse-battery; pwd"})).await;
    assert!(done.summary.ends_with("pwd (exit code 0)"), "{}", done.summary);
    assert!(done.text.contains("out\n") && done.text.contains("err\n") && done.text.contains("[redacted:TOKEN]"));
    assert!(done.text.contains("/work\n") && done.text.contains("[exit code 0, "), "{}", done.text);
    // Nothing of it stays.
    assert_eq!(fs::read_dir(lab.folder.path().join("logs")).unwrap().count(), 0);

    let tests = "printf 'test a ... FAILED\\ntest b ... ok\\n\\ntest result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\\n'";
    let failed = lab.failed("bash_execute", json!({"command": tests})).await;
    assert!(failed.text.ends_with("s]") && failed.text.contains("[exit code 0, 2 tests failing, "), "{}", failed.text);
    let failed = lab.failed("bash_execute", json!({"command": "exit 3"})).await;
    assert_eq!(failed.summary, "exit 3 (exit code 3)");

    let flood = lab.done("bash_execute", json!({"command": "echo first; seq 1 100000; echo last"})).await;
    assert!(flood.text.len() <= MAX_TEXT && flood.text.starts_with("first\n1\n"), "{}", flood.text.len());
    assert!(flood.text.contains("bytes left out …]") && flood.text.contains("100000\nlast\n[exit code 0"));
    let wrong = lab.failed("bash_execute", json!({"command": "true", "timeoutSeconds": 0})).await;
    assert!(wrong.text.contains("1 to 1800"));
}

#[tokio::test]
async fn a_command_that_hangs_ends_with_all_it_started() {
    let lab = Lab::new();
    let failed = lab.failed("bash_execute", json!({"command": "sleep 1000", "timeoutSeconds": 1})).await;
    assert_eq!(failed.summary, "sleep 1000 (stopped after its time limit of 1.0s)");

    // The same when the caller stops it, which it does once the command runs.
    let (sender, stop) = watch::channel(None);
    let pid = lab.path("pid");
    let arguments = json!({"command": "setsid sleep 1000 & echo $! > new; mv new pid; sleep 1000"});
    let call = lab.tools.call(Call { name: "bash_execute", arguments: &arguments, key: "" }, &stop);
    let stopper = async {
        while !pid.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        sender.send_replace(Some(Stop::Requested));
    };
    let (outcome, ()) = tokio::join!(call, stopper);
    assert!(!outcome.success && outcome.summary.contains("stopped on request"), "{outcome:?}");
    let pid = fs::read_to_string(pid).unwrap();
    assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap(), "{pid} is alive");
}

#[tokio::test]
async fn a_command_stays_in_the_sandbox() {
    let level = probe(&reaper(), None);
    if let Files::Open { .. } = level.files {
        println!("this machine has no sandbox");
        return;
    }
    let lab = Lab::with(|services| {
        let writable = vec![services.workspace.clone()];
        let sandbox = Sandbox { writable, hidden: Vec::new(), network: Network::Allowed, level };
        services.shell.as_mut().unwrap().sandbox = Some(sandbox);
    });
    lab.done("bash_execute", json!({"command": "echo ours > inside"})).await;
    let outside = lab.folder.path().join("outside");
    lab.failed("bash_execute", json!({"command": format!("echo theirs > {}", outside.display())})).await;
    assert!(lab.path("inside").exists() && !outside.exists());
}
