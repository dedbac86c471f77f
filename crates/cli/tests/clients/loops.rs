//! Whole loops: three iterations, verified, and paid to the micro-dollar.

use ralph_testkit::model::Reply;
use serde_json::Value;

use crate::client::Client;
use crate::for_each_client;
use crate::place::{Place, RIGHT, WRONG, script, turn};

fn three_iterations(client: Client) {
    let claims = "All done. <promise>COMPLETE</promise>";
    let turns =
        [turn(client, 1, WRONG, claims), turn(client, 2, WRONG, "I am not sure."), turn(client, 3, RIGHT, claims)];
    // A service may answer under another name than the one that was asked for.
    let named = |(number, reply): (usize, Reply)| if number == 4 { reply.model("answering-1") } else { reply };
    let replies = turns.into_iter().flatten().enumerate().map(named);
    let place = Place::new(client, script(replies).side_usage(client.usage()));
    let ended = place.run(&["--max", "5"]).ok();
    let result = ended.json();
    assert_eq!(result["status"], "COMPLETED", "{result:#}");
    assert_eq!((&result["verified"], &result["iterations"]), (&Value::Bool(true), &Value::from(3)), "{result:#}");
    assert_eq!(result["falseClaims"], 1, "{result:#}");
    let (main, side) = (place.model.usage(), place.model.side_usage());
    assert_eq!(main.input, 9 * client.usage().input, "every reply was used: {:#?}", place.model.requests());
    assert_eq!(side.input > 0, client == Client::OpencodeAcp, "as a server it asks for titles: {side:?}");
    let passed = place.passed();
    assert!(passed.len() >= 9 && passed.iter().any(|one| one["answeredBy"] == "answering-1"), "{passed:#?}");
    let micros = (result["costUSD"].as_f64().unwrap() * 1e6).round();
    assert_eq!(micros, client.price(&(main + side)) as f64, "{main:?} {side:?}\n{}", ended.stderr);
    let shown = place.show();
    for (number, iteration) in shown["iterations"].as_array().unwrap().iter().enumerate() {
        let run = &iteration["run"];
        let calls = run["evidence"].as_array().unwrap();
        assert_eq!(calls.len(), 2, "iteration {}: {run:#}", number + 1);
        assert!(calls.iter().all(|call| call["success"] == true), "{run:#}");
        assert_eq!(run["faults"], Value::Null, "{run:#}");
        if side.input == 0 {
            assert_eq!(run["usage"]["outputTokens"], 300, "{run:#}");
        }
    }
    assert!(place.repo.read("notes-3.md").contains("operator"));
    assert!(
        !ended.stderr.contains("were restored"),
        "what it writes of its own accord is no tampering: {}",
        ended.stderr
    );
    place.nothing_survives();
}

for_each_client! {
    three_iterations_end_verified_and_cost_what_was_used: three_iterations;
}

#[test]
fn claude_as_a_server_does_the_same() {
    three_iterations(Client::ClaudeAcp);
}

#[test]
fn codex_as_a_server_does_the_same() {
    three_iterations(Client::CodexAcp);
}

#[test]
fn opencode_as_a_server_does_the_same() {
    three_iterations(Client::OpencodeAcp);
}

#[test]
fn gemini_as_a_server_does_the_same() {
    three_iterations(Client::GeminiAcp);
}
