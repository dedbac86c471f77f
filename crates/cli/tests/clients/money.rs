//! Money is watched while a program runs.

use std::time::{Duration, Instant};

use ralph_testkit::model::{Fault, Reply, Tool, Usage};

use crate::client::Client;
use crate::for_each_client;
use crate::place::{Place, script};

/// The first answer costs more than there is, and calls a command that would take for ever.
fn stopped_in_time(client: Client) {
    let dear = Usage { input: 6_000_000, output: 100_000, ..Usage::ZERO };
    // OpenCode says what an answer used when the commands in it have ended, and not before.
    let seconds = if client == Client::Opencode { 3 } else { 600 };
    let call = Reply::tool(Tool::shell(format!("sleep {seconds}"))).usage(dear);
    let slow = Reply::say("done").with(Fault::Slow { delay_ms: 60_000 });
    let place = Place::new(client, script([call, slow]));
    let child = place.spawn(&["--max", "3", "--max-cost", "1"]);
    let asked = place.model.wait_until(Duration::from_secs(60), |requests| requests.iter().any(|one| one.is_main()));
    assert!(!asked.is_empty());
    let from = Instant::now();
    let ended = crate::harness::Ended::of(child).with_code(11);
    let took = from.elapsed();
    let run = &place.show()["iterations"][0]["run"];
    assert_eq!(run["ended"]["how"], "budgetSpent", "{run:#}\n{}", ended.stderr);
    // The command never ends by itself, so the bound is only against a machine that stands still.
    assert!(took < Duration::from_secs(30), "{took:?}");
    let micros = (ended.json()["costUSD"].as_f64().unwrap() * 1e6).round();
    let price = client.price(&dear) as f64;
    // OpenCode reports an answer when it may already have sent the next request. Ralph charges that one as an answer of a usual size.
    let open_request = if client == Client::Opencode { 100_000.0 } else { 0.0 };
    assert!((price..=price + open_request).contains(&micros), "{micros} is not {price}: {run:#}");
    place.nothing_survives();
}

for_each_client! {
    a_spent_budget_ends_a_run_in_the_middle_of_a_command: stopped_in_time;
}
