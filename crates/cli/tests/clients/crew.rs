//! A crew hands work to a real program: judged by its evidence, counted on the wire, without the key.

use ralph_model::PriceList;
use ralph_testkit::model::{Reply, Tool};
use serde_json::json;

use crate::client::Client;
use crate::harness::Ended;
use crate::money::price;
use crate::place::{Place, RIGHT, mend, script};

/// The crew and the program ask the same scripted model, one after the other.
fn works_for_a_crew(client: Client, target: &str) {
    let usage = client.usage();
    let expects = json!(["file:sum.js", "command:node --test"]);
    let delegation = json!({ "target": target, "objective": "mend sum.js", "expects": expects });
    let replies = [
        Reply::tool(Tool::call("delegateToDevo", delegation)).usage(usage),
        Reply::tool(mend(RIGHT)).usage(usage),
        Reply::say("sum.js adds now").usage(usage),
        Reply::say("mended").usage(usage),
        Reply::say("NONE").usage(usage),
    ];
    let place = Place::new(client, script(replies).side_usage(usage));
    let words = ["crew", "mend the sum", "--max-cost", "5", "--model", "anthropic:claude-sonnet-4-5", "--json"];
    let ended = Ended::of(place.spawn_words(&words)).ok();
    let result = ended.json();
    let delegation = &result["delegations"][0];
    assert_eq!((&delegation["agent"], &delegation["status"]), (&json!(target), &json!("success")), "{result:#}");
    assert!(place.repo.read("sum.js").contains(RIGHT), "{result:#}");
    let (asked, prices) = (place.model.requests(), PriceList::default());
    let envelope = asked.iter().flat_map(|one| &one.results).find(|text| text.starts_with("[DELEGATION RESULT"));
    assert!(envelope.is_some_and(|text| text.contains("Status: SUCCESS")), "{asked:#?}");
    // Everything that was sold is charged, once.
    let cost: i64 = asked.iter().map(|one| price(client, &prices, one)).sum();
    let micros = (result["costUSD"].as_f64().unwrap() * 1e6).round();
    assert_eq!(micros, cost as f64, "{asked:#?}\n{:#?}", place.passed());
    let by_program = place.passed().iter().filter(|one| one["agent"] == target).count();
    assert!(by_program >= 2, "{:#?}", place.passed());
    place.nothing_survives();
}

#[test]
fn claude_works_for_a_crew() {
    works_for_a_crew(Client::Claude, "claude");
}
