//! However a run ends, nothing of it stays.

use std::time::Duration;

use ralph_testkit::Processes;
use ralph_testkit::model::{Reply, Tool};
use rustix::process::{Pid, Signal, kill_process};

use crate::client::Client;
use crate::for_each_client;
use crate::harness::Ended;
use crate::place::{Place, RIGHT, mend, script};

/// SIGTERM to Ralph while a command of the agent runs.
fn terminated(client: Client) {
    let call = Reply::tool(Tool::shell("touch begun; sleep 600")).usage(client.usage());
    let place = Place::new(client, script([call, Reply::say("done")]));
    let child = place.spawn(&["--max", "2"]);
    let begun = place.repo.path().join("begun");
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while !begun.exists() {
        assert!(std::time::Instant::now() < deadline, "the tool was never called: {:#?}", place.model.requests());
        std::thread::sleep(Duration::from_millis(50));
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let ended = Ended::of(child).with_code(19);
    place.nothing_survives();
    let run = &place.show()["iterations"][0]["run"];
    assert_eq!(run["ended"]["how"], "stopped", "{run:#}\n{}", ended.stderr);
}

/// A command that puts itself into the background and out of every group.
fn left_behind(client: Client) {
    let marker = format!("left-behind-{}", std::process::id());
    let leave = format!("setsid sh -c 'exec -a {marker} sleep 600' >/dev/null 2>&1 & echo $! > pid");
    let replies = [
        Reply::tool(Tool::shell(leave)).usage(client.usage()),
        Reply::tool(mend(RIGHT)).usage(client.usage()),
        Reply::say("done").usage(client.usage()),
    ];
    let place = Place::new(client, script(replies));
    place.run(&["--max", "2"]).ok();
    assert!(place.repo.path().join("pid").exists());
    place.nothing_survives();
    let left = Processes::with_marker(&marker).list();
    assert!(left.is_empty(), "{left:?}");
}

for_each_client! {
    a_signal_in_a_tool_call_leaves_nothing: terminated;
    a_command_left_behind_is_ended: left_behind;
}
