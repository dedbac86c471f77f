//! Money is watched while a program runs.

use std::time::{Duration, Instant};

use ralph_model::{PriceList, Tokens};
use ralph_testkit::model::{Fault, Logged, Reply, Then, Tool, Usage};

use crate::client::Client;
use crate::for_each_client;
use crate::harness::Ended;
use crate::place::{Place, RIGHT, mend, script};

/// The first answer costs more than there is, and calls a command that would take for ever.
fn stopped_in_time(client: Client) {
    let dear = Usage { input: 6_000_000, output: 100_000, ..Usage::ZERO };
    let call = Reply::tool(Tool::shell("sleep 600")).usage(dear);
    let slow = Reply::say("done").with(Fault::Slow { delay_ms: 60_000 });
    let place = Place::new(client, script([call, slow]));
    let child = place.spawn(&["--max", "3", "--max-cost", "1"]);
    let asked = place.model.wait_until(Duration::from_secs(60), |requests| requests.iter().any(|one| one.is_main()));
    assert!(!asked.is_empty());
    let from = Instant::now();
    let ended = Ended::of(child).with_code(11);
    let took = from.elapsed();
    let run = &place.show()["iterations"][0]["run"];
    assert_eq!(run["ended"]["how"], "budgetSpent", "{run:#}\n{}", ended.stderr);
    // The command never ends by itself, so the bound is only against a machine that stands still.
    assert!(took < Duration::from_secs(30), "{took:?}");
    let micros = (ended.json()["costUSD"].as_f64().unwrap() * 1e6).round();
    assert_eq!(micros, client.price(&dear) as f64, "{run:#}");
    place.nothing_survives();
}

/// Every answer costs two dollars and asks for another one.
fn refused_in_time(client: Client) {
    let thousand = Usage { input: 1000, ..Usage::ZERO };
    let dear = Usage { input: 2_000_000 / client.price(&thousand) * 1000, ..Usage::ZERO };
    let call = Reply::tool(Tool::shell("true")).usage(dear);
    let place = Place::new(client, script([call]).then(Then::Repeat).side_usage(client.usage()));
    let ended = place.run(&["--max", "3", "--max-cost", "3"]).with_code(11);
    let result = ended.json();
    assert_eq!(result["reason"], "COST_LIMIT", "{result:#}");
    let micros = (result["costUSD"].as_f64().unwrap() * 1e6).round();
    assert!((1_900_000.0..=4_000_000.0).contains(&micros), "{result:#}");
    let sold = place.model.usage() + place.model.side_usage();
    assert_eq!(micros, client.price(&sold) as f64, "{result:#}\n{}", ended.stderr);
    // Gemini ends its run by itself when so many tokens do not fit into its context.
    let ends_itself = matches!(client, Client::Gemini | Client::GeminiAcp);
    let refused = place.passed().iter().filter(|one| one["outcome"] == "refused").count();
    assert!(refused > 0 || ends_itself, "{:#?}", place.passed());
    place.nothing_survives();
}

/// What a program asks beside its work, under the name of another model or of its own: a summary, a title, which model to take.
fn side_requests(client: Client) {
    // So much that Claude Code and Codex make a summary before they go on.
    let full = Usage { input: 990_000, output: 100, ..Usage::ZERO };
    let usage = match client {
        Client::ClaudeAcp | Client::Codex => full,
        _ => client.usage(),
    };
    let replies = [Reply::tool(mend(RIGHT)).usage(usage), Reply::say("done").usage(client.usage())];
    let place = Place::new(client, script(replies).side_usage(client.usage()));
    // Gemini asks which model to take where none is named.
    let words = if client == Client::Gemini { &["--agent", "gemini:auto"] } else { client.words() };
    let ended = Ended::of(place.spawn_as(words, &["--max", "1", "--max-cost", "9"])).ok();
    let prices = PriceList::default();
    let asked = place.model.requests();
    let side = place.model.side_usage();
    assert!(side.input > 0, "nothing was asked beside the work: {asked:#?}");
    let cost: i64 = asked.iter().map(|one| price(client, &prices, one)).sum();
    let micros = (ended.json()["costUSD"].as_f64().unwrap() * 1e6).round();
    assert_eq!(micros, cost as f64, "{asked:#?}\n{:#?}", place.passed());
}

/// What the service asks for one request.
pub fn price(client: Client, prices: &PriceList, one: &Logged) -> i64 {
    let Usage { input, cache_read, cache_write, output, .. } = one.usage;
    let tokens = Tokens { input, cache_read, cache_write, output, ..Tokens::default() };
    match prices.of(&one.model) {
        Some(price) => price.request(tokens).micros(),
        None => client.price(&one.usage).try_into().unwrap(),
    }
}

for_each_client! {
    two_dollars_a_call_under_three_end_at_four_at_most: refused_in_time;
    a_spent_budget_ends_a_run_in_the_middle_of_a_command: stopped_in_time;
}

#[test]
fn two_dollars_a_call_of_a_server_end_at_four_at_most() {
    Client::SERVERS.into_iter().for_each(refused_in_time);
}

#[test]
fn what_claude_asks_beside_its_work_as_a_server_is_paid() {
    side_requests(Client::ClaudeAcp);
}

#[test]
fn what_codex_asks_beside_its_work_is_paid() {
    side_requests(Client::Codex);
}

#[test]
fn what_gemini_asks_beside_its_work_is_paid() {
    side_requests(Client::Gemini);
}

#[test]
fn what_opencode_asks_beside_its_work_as_a_server_is_paid() {
    side_requests(Client::OpencodeAcp);
}
