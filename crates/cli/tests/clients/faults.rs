//! What services do to programs: each is recognised, and the loop reacts as it should.

use ralph_testkit::model::{Fault, Reply, Script, Status, Then, Trouble};
use serde_json::Value;

use crate::client::Client;
use crate::for_each_client;
use crate::place::{Place, RIGHT, script, turn};

/// A model that never does anything else.
fn always(reply: Reply) -> Script {
    Script::new().reply(reply).then(Then::Repeat)
}

/// Only a person or time can help, and nobody waits.
fn ends_at_once(client: Client, trouble: Trouble, words: &str) {
    let place = Place::new(client, Script::new().then(Then::Refuse(trouble)));
    ends_with(&place, words);
}

fn ends_with(place: &Place, words: &str) {
    let ended = place.run(&["--max", "3", "--max-wait", "0"]).with_code(1);
    let result = ended.json();
    assert_eq!(
        (&result["status"], &result["iterations"]),
        (&"ERROR".into(), &0.into()),
        "{result:#}\n{}",
        ended.stderr
    );
    let details = result["details"].as_str().unwrap();
    assert!(details.contains(words) && details.contains("ralph resume"), "{details}");
    assert_eq!(result["costUSD"], 0.0, "a service that refuses sells nothing: {result:#}");
    place.nothing_survives();
}

fn server_error(client: Client) {
    ends_at_once(client, Trouble::ServerError, "the service is overloaded or failed");
}

fn overloaded(client: Client) {
    let status = Status { code: 529, body: None, headers: [("retry-after".to_owned(), "3600".to_owned())].into() };
    let place = Place::new(client, always(Reply::fault(Fault::Status(status))));
    ends_with(&place, "the service is overloaded or failed");
    // As it came from the service, whatever the program makes of it.
    assert!(place.passed().iter().all(|one| one["status"] == 529), "{:#?}", place.passed());
    let until = &place.show()["iterations"][0]["run"]["trouble"]["until"];
    assert!(until.is_number() || until.is_string(), "the service says when it answers again");
}

/// A hotel that wants a login answers everything with a page.
fn portal(client: Client) {
    let headers = [("content-type".to_owned(), "text/html".to_owned())].into();
    let page = Status { code: 200, body: Some("<html><body>Log in to use this network</body></html>".into()), headers };
    let place = Place::new(client, always(Reply::fault(Fault::Status(page))));
    ends_with(&place, "the service cannot be reached");
}

fn rate_limit(client: Client) {
    ends_at_once(client, Trouble::RateLimited { retry_after: None }, "rate or usage limit");
}

fn no_key(client: Client) {
    ends_at_once(client, Trouble::Unauthorized, "not authenticated");
}

fn no_model(client: Client) {
    ends_at_once(client, Trouble::ModelNotFound, "model not found");
}

fn refused(client: Client) {
    // Nobody listens there.
    let place = Place::at(client, Script::new(), |_| "http://127.0.0.1:9".to_owned());
    ends_with(&place, "the service cannot be reached");
}

/// The limit ends after a while; the loop waits for that, and the wait is no iteration.
fn rate_limit_with_a_time(client: Client) {
    // More than any of them tries again by itself, so that at least one run fails of it.
    let count = if client == Client::Opencode { 12 } else { 6 };
    let limits = (0..count).map(|_| Reply::refuse(Trouble::RateLimited { retry_after: Some(1) }));
    let place = Place::new(client, script(limits.chain(turn(client, 1, RIGHT, "done"))));
    let ended = place.run(&["--max", "1"]).ok();
    let result = ended.json();
    assert_eq!(
        (&result["verified"], &result["iterations"]),
        (&Value::Bool(true), &1.into()),
        "{result:#}\n{}",
        ended.stderr
    );
    let shown = place.show();
    let runs = shown["iterations"].as_array().unwrap();
    assert!(runs.len() > 1, "{shown:#}");
    for waited in &runs[..runs.len() - 1] {
        assert_eq!(waited["run"]["trouble"]["kind"], "rateLimit", "{waited:#}");
        assert_eq!(waited["uncounted"], true, "{waited:#}");
    }
    assert!(ended.stderr.contains("waiting until"), "{}", ended.stderr);
}

/// A full context is an iteration like any other, and it ends.
fn context_overflow(client: Client) {
    // Some of them ask for a summary first, which the service answers.
    let script = Script::new().then(Then::Refuse(Trouble::ContextOverflow)).side_usage(client.usage());
    let place = Place::new(client, script);
    let ended = place.run(&["--max", "2", "--stall", "5"]).with_code(10);
    let shown = place.show();
    let runs = shown["iterations"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{}", ended.stderr);
    for run in runs {
        assert_eq!(run["run"]["trouble"]["kind"], "contextOverflow", "{run:#}");
    }
    place.nothing_survives();
}

/// Every answer breaks off. Whatever the program makes of it, it is no success.
fn cut_stream(client: Client) {
    let place = Place::new(client, always(Reply::say("I will look at it").with(Fault::Cut { after_events: 2 })));
    let ended = place.run(&["--max", "1", "--max-wait", "0"]);
    assert!([1, 10, 11].contains(&ended.code), "{}\n{}", ended.code, ended.stderr);
    let run = &place.show()["iterations"][0]["run"];
    let kinds: Vec<&str> =
        run["faults"].as_array().into_iter().flatten().filter_map(|fault| fault["kind"].as_str()).collect();
    let told = kinds.iter().any(|kind| ["cutStream", "service", "endlessRetry"].contains(kind));
    assert!(told, "{run:#}");
    place.nothing_survives();
}

/// The service accepts and never answers.
fn hang(client: Client) {
    let place = Place::new(client, always(Reply::fault(Fault::hang())));
    let ended = place.run(&["--max", "1", "--idle-timeout", "8s"]);
    let run = &place.show()["iterations"][0]["run"];
    assert_eq!(run["ended"]["how"], "idle", "{run:#}\n{}", ended.stderr);
    assert_eq!(run["faults"][0]["kind"], "hang", "{run:#}");
    place.nothing_survives();
}

for_each_client! {
    a_failing_service_is_no_iteration: server_error;
    an_overloaded_service_is_no_iteration: overloaded;
    a_page_in_place_of_an_answer_is_no_iteration: portal;
    a_limit_without_a_time_is_no_iteration: rate_limit;
    a_limit_with_a_time_is_waited_out_and_does_not_count: rate_limit_with_a_time;
    a_key_that_does_not_work_ends_the_loop: no_key;
    a_model_that_there_is_not_ends_the_loop: no_model;
    a_service_that_is_not_there_is_no_iteration: refused;
    a_full_context_begins_the_next_iteration: context_overflow;
    a_stream_that_is_cut_is_no_success: cut_stream;
    a_hang_is_ended: hang;
}
