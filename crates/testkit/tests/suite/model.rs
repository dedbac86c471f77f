//! The scripted model over real connections, and as a program.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ralph_testkit::model::{
    Ending, Fault, Format, Logged, Reply, Script, ScriptedModel, SideKind, Source, Status, Then, Tool, Trouble, Usage,
};
use ralph_testkit::scratch;
use serde_json::{Value, json};

use super::http::{Answered, Asking, End, post};
use super::support::TIMEOUT;

const MESSAGES: &str = "/v1/messages?beta=true";

fn usage(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::ZERO }
}

fn asked(stream: bool) -> Value {
    let bash = json!({ "name": "Bash", "input_schema": { "type": "object", "properties": { "command": {} }, "required": ["command"] } });
    json!({
        "model": "claude-opus-5-5", "stream": stream, "tools": [bash], "messages": [{ "role": "user", "content": "do it" }],
    })
}

fn ask(model: &ScriptedModel) -> Answered {
    post(model.port(), MESSAGES, &asked(true))
}

fn start(reply: Reply) -> ScriptedModel {
    ScriptedModel::start(Script::new().reply(reply))
}

fn ended(model: &ScriptedModel, ending: Ending) -> Logged {
    let mut log = model.wait_until(TIMEOUT, |log| log.last().is_some_and(|request| request.ending == ending));
    log.pop().unwrap()
}

fn text_of(answered: &Answered) -> String {
    answered.events().iter().filter_map(|event| event["delta"]["text"].as_str()).collect()
}

#[test]
fn each_main_request_takes_the_next_reply_whichever_format_it_speaks() {
    let script = Script::new()
        .reply(Reply::say("one").usage(usage(10, 1)))
        .reply(Reply::say("two").usage(usage(20, 2)).times(2))
        .reply(Reply::say("three").usage(usage(40, 4)).model("another"));
    let model = ScriptedModel::start(script.then(Then::Say("over".to_owned())));
    let port = model.port();
    assert_eq!(model.url(), format!("http://127.0.0.1:{port}"));

    assert_eq!(text_of(&ask(&model)), "one");
    let responses = post(port, "/v1/responses", &json!({ "model": "m", "input": "go on" }));
    assert_eq!(responses.json()["output"][0]["content"][0]["text"], "two");
    let chat = post(port, "/v1/chat/completions", &json!({ "model": "m", "messages": [] })).json();
    assert_eq!(chat["choices"][0]["message"]["content"], "two");
    let gemini =
        post(port, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", &json!({ "contents": [] }));
    assert_eq!(gemini.events().last().unwrap()["modelVersion"], "another");
    assert_eq!(gemini.end, End::Proper);
    assert_eq!(text_of(&ask(&model)), "over");

    let log = model.main_requests();
    let sources: Vec<Source> = log.iter().map(|request| request.source).collect();
    assert_eq!(sources, [Source::Reply(1), Source::Reply(2), Source::Reply(2), Source::Reply(3), Source::Then]);
    let formats: Vec<Format> = log.iter().filter_map(|request| request.format).collect();
    assert_eq!(formats, [Format::Anthropic, Format::Responses, Format::Chat, Format::Gemini, Format::Anthropic]);
    assert_eq!(
        (log[0].user.as_str(), log[1].user.as_str(), log[3].model.as_str()),
        ("do it", "go on", "gemini-2.5-flash")
    );
    assert_eq!((log[0].tools.as_slice(), log[0].messages), (["Bash".to_owned()].as_slice(), 1));
    assert!(log.iter().all(|request| request.ending == Ending::Sent && request.status == Some(200)));
    assert_eq!(model.usage(), usage(90, 9));
    assert_eq!(model.side_usage(), Usage::ZERO);
}

#[test]
fn a_connection_serves_one_request_after_the_other() {
    let model = ScriptedModel::start(Script::new().reply(Reply::say("one")).reply(Reply::say("two")));
    let mut asking = Asking::connect(model.port());
    for text in ["one", "two", "done"] {
        asking.send("POST", MESSAGES, "", &asked(true).to_string());
        assert_eq!(text_of(&asking.read()), text);
    }
}

#[test]
fn requests_beside_the_conversation_take_no_reply() {
    let script = Script::new().reply(Reply::say("main").usage(usage(5, 5))).side_usage(usage(3, 1));
    let model = ScriptedModel::start(script);
    let title = json!({ "model": "haiku", "system": "You are a title generator.", "messages": [] });
    let name = |answered: Answered| answered.json()["content"][0]["text"].clone();
    assert_eq!(name(post(model.port(), MESSAGES, &title)), "Scripted work");
    let mut asking = Asking::connect(model.port());
    asking.send("HEAD", "/api/hello", "", "");
    assert_eq!(asking.head().unwrap().0, 200);
    asking.send("GET", "/v1/models", "", "");
    assert_eq!(asking.read().json()["models"], json!([]));
    let counted = post(model.port(), "/v1/messages/count_tokens", &asked(false)).json();
    assert!(counted["input_tokens"].as_u64().unwrap() > 10, "{counted}");
    assert_eq!(text_of(&ask(&model)), "main");

    let sources: Vec<Source> = model.requests().iter().map(|request| request.source).collect();
    assert!(model.requests().iter().all(|request| request.ending == Ending::Sent));
    let [hello, models, tokens] = [SideKind::Hello, SideKind::Models, SideKind::Tokens].map(Source::Side);
    let title = Source::Side(SideKind::Title);
    assert_eq!(sources, [title, hello, models, tokens, Source::Reply(1)]);
    assert_eq!((model.usage(), model.side_usage()), (usage(5, 5), usage(3, 1)));
}

#[test]
fn a_tool_call_fits_the_tools_of_the_request_and_what_does_not_fit_is_said() {
    let model =
        start(Reply::say("both").and(Tool::shell("ls")).and(Tool::call("Agent", json!({ "prompt": "look" }))).times(2));
    let content = post(model.port(), MESSAGES, &asked(false)).json()["content"].clone();
    assert_eq!((&content[1]["name"], &content[1]["input"]), (&json!("Bash"), &json!({ "command": "ls" })));
    assert_eq!((&content[2]["name"], &content[2]["input"]["prompt"]), (&json!("Agent"), &json!("look")));
    let mut toolless = asked(false);
    toolless["tools"] = json!([]);
    let content = post(model.port(), MESSAGES, &toolless).json()["content"].clone();
    let missing = "scripted-model: no tool is offered that could run a command; offered are: none";
    assert_eq!(content[1]["text"], missing);
    let notes: Vec<Option<String>> = model.requests().into_iter().map(|request| request.note).collect();
    assert_eq!(notes, [None, Some(missing.to_owned())]);
}

#[test]
fn keys_are_noted_but_not_kept() {
    let model = start(Reply::say("hi"));
    let gemini = "/v1beta/models/m:generateContent";
    for (path, header) in
        [(MESSAGES, ""), (MESSAGES, "X-Api-Key: secret\r\n"), (MESSAGES, "Authorization: Bearer secret\r\n")]
    {
        let mut asking = Asking::connect(model.port());
        asking.send("POST", path, header, &asked(true).to_string());
        asking.read();
    }
    post(model.port(), &format!("{gemini}?alt=json&key=secret"), &json!({ "contents": [] }));
    let log = model.requests();
    assert_eq!(log.iter().map(|request| request.has_key).collect::<Vec<_>>(), [false, true, true, true]);
    assert_eq!(log[3].path, format!("{gemini}?alt=json"));
    assert!(!format!("{log:?}").contains("secret"));
}

#[test]
fn what_is_no_request_to_a_model_takes_no_reply() {
    let model = start(Reply::say("kept"));
    assert_eq!(post(model.port(), "/v1/embeddings", &json!({})).status, 404);
    let mut asking = Asking::connect(model.port());
    asking.send("POST", MESSAGES, "", "{");
    assert_eq!(asking.read().status, 400);
    assert!(model.requests().iter().all(|request| request.source == Source::Nothing));
    assert_eq!(text_of(&ask(&model)), "kept");
}

#[test]
fn an_error_has_the_status_headers_and_words_of_the_service() {
    let status =
        Status { code: 418, body: Some("tea".to_owned()), headers: [("x-pot".to_owned(), "1".to_owned())].into() };
    let script = Script::new()
        .reply(Reply::refuse(Trouble::RateLimited { retry_after: Some(7) }).usage(usage(9, 9)))
        .reply(Reply::fault(Fault::Status(status)))
        .reply(Reply::fault(Fault::status(529)))
        .reply(Reply::say("fine").header("anthropic-ratelimit-unified-status", "allowed_warning"));
    let model = ScriptedModel::start(script.then(Then::Refuse(Trouble::InvalidKey)));
    let limited = ask(&model);
    assert_eq!((limited.status, limited.json()["error"]["type"].as_str()), (429, Some("rate_limit_error")));
    assert!(limited.head.contains("retry-after: 7\r\n"), "{}", limited.head);
    let teapot = ask(&model);
    assert_eq!((teapot.status, teapot.body.as_str()), (418, "tea"));
    assert!(teapot.head.contains("x-pot: 1\r\n"), "{}", teapot.head);
    assert_eq!(ask(&model).json()["error"]["type"], "overloaded_error");
    assert!(ask(&model).head.contains("anthropic-ratelimit-unified-status: allowed_warning\r\n"));
    assert_eq!(ask(&model).status, 401);
    let statuses: Vec<Option<u16>> = model.requests().iter().map(|request| request.status).collect();
    assert_eq!(statuses, [429, 418, 529, 200, 401].map(Some));
    assert_eq!(model.usage(), Usage::ZERO);
}

#[test]
fn a_stream_breaks_midway_with_an_error_event() {
    let fault = Fault::Midway { after_events: 4, trouble: Trouble::Overloaded };
    let model = start(Reply::say("a long story").usage(usage(9, 9)).with(fault).times(2));
    let answered = ask(&model);
    let events = answered.events();
    assert_eq!((answered.status, events.len(), &answered.end), (200, 5, &End::Proper));
    assert_eq!(events[4]["error"]["type"], "overloaded_error");
    assert_eq!(post(model.port(), MESSAGES, &asked(false)).status, 529);
    assert_eq!(model.usage(), Usage::ZERO);
}

#[test]
fn a_cut_answer_ends_without_its_end() {
    let model = start(Reply::say("a long story").usage(usage(9, 9)).with(Fault::Cut { after_events: 4 }).times(2));
    let answered = ask(&model);
    assert_eq!((answered.events().len(), &answered.end), (4, &End::Cut));
    assert_eq!(ended(&model, Ending::CutByScript).status, Some(200));
    let whole = post(model.port(), MESSAGES, &asked(false));
    let length: usize =
        whole.head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    assert_eq!((whole.body.len(), whole.end), (length / 2, End::Cut));
    assert_eq!(model.usage(), Usage::ZERO);
}

#[test]
fn a_truncated_stream_ends_in_good_order_without_its_end() {
    let model = start(Reply::say("a long story").usage(usage(9, 9)).with(Fault::Truncate { after_events: 4 }).times(2));
    let answered = ask(&model);
    assert_eq!((answered.events().len(), &answered.end), (4, &End::Proper));
    assert_eq!(ended(&model, Ending::CutByScript).usage, Usage::ZERO);
    let whole = post(model.port(), MESSAGES, &asked(false));
    assert_eq!(whole.json()["content"][0]["text"], "a long story");
    assert_eq!(model.usage(), usage(9, 9));
}

#[test]
fn what_ends_early_never_has_its_last_event() {
    let cut = Reply::say("a").with(Fault::Cut { after_events: 99 });
    let midway = Reply::say("a").with(Fault::Midway { after_events: 99, trouble: Trouble::ServerError });
    let model = ScriptedModel::start(Script::new().reply(cut).reply(midway));
    let (cut, midway) = (ask(&model), ask(&model));
    assert_eq!((cut.events().pop().unwrap()["type"].as_str(), cut.end), (Some("message_delta"), End::Cut));
    assert_eq!(midway.events().pop().unwrap()["type"], "error");
    assert!(!midway.body.contains("message_stop"), "{}", midway.body);
}

#[test]
fn a_dropped_request_gets_nothing_and_takes_its_reply() {
    let model = ScriptedModel::start(Script::new().reply(Reply::fault(Fault::Drop)).reply(Reply::say("then this")));
    let mut asking = Asking::connect(model.port());
    asking.send("POST", MESSAGES, "", &asked(true).to_string());
    assert_eq!(asking.head(), None);
    assert_eq!(ended(&model, Ending::CutByScript).status, None);
    assert_eq!(text_of(&ask(&model)), "then this");
}

#[test]
fn silence_lasts_until_the_client_leaves() {
    let model = start(Reply::fault(Fault::hang()));
    let mut asking = Asking::connect(model.port());
    asking.send("POST", MESSAGES, "", &asked(true).to_string());
    assert_eq!(ended(&model, Ending::Open).source, Source::Reply(1));
    drop(asking);
    assert_eq!(ended(&model, Ending::ClosedByClient).status, None);
}

#[test]
fn silence_can_begin_after_the_head_or_inside_an_event() {
    let hang = |bytes| Reply::say("a long story").with(Fault::Hang { after_bytes: Some(bytes) });
    let model = ScriptedModel::start(Script::new().reply(hang(0)).reply(hang(10)));
    let mut asking = Asking::connect(model.port());
    asking.send("POST", MESSAGES, "", &asked(true).to_string());
    assert_eq!(asking.head().unwrap().0, 200);
    drop(asking);
    ended(&model, Ending::ClosedByClient);
    let mut asking = Asking::connect(model.port());
    asking.send("POST", MESSAGES, "", &asked(true).to_string());
    asking.head().unwrap();
    assert_eq!(asking.chunk().as_deref(), Some(b"event: mes".as_slice()));
    drop(asking);
    assert_eq!(ended(&model, Ending::ClosedByClient).usage, Usage::ZERO);
}

#[test]
fn a_slow_answer_waits_before_each_event() {
    let model = start(Reply::say("abc").usage(usage(9, 9)).with(Fault::Slow { delay_ms: 20 }));
    let begun = Instant::now();
    let answered = ask(&model);
    assert_eq!((text_of(&answered).as_str(), &answered.end), ("abc", &End::Proper));
    assert!(begun.elapsed() >= Duration::from_millis(20) * u32::try_from(answered.events().len()).unwrap());
    assert_eq!(model.usage(), usage(9, 9));
}

#[test]
fn a_client_that_leaves_early_is_noticed() {
    let model = start(Reply::say("abc").usage(usage(9, 9)).with(Fault::Slow { delay_ms: 50 }));
    let mut asking = Asking::connect(model.port());
    asking.send("POST", MESSAGES, "", &asked(true).to_string());
    asking.head().unwrap();
    drop(asking);
    assert_eq!(ended(&model, Ending::ClosedByClient).usage, Usage::ZERO);
}

#[test]
fn a_dropped_server_leaves_nobody_waiting() {
    let model = start(Reply::fault(Fault::hang()));
    let mut asking = Asking::connect(model.port());
    asking.send("POST", MESSAGES, "", &asked(true).to_string());
    ended(&model, Ending::Open);
    // Joins the thread: a server that went on would hold up the test.
    drop(model);
    assert_eq!(asking.head(), None);
}

#[test]
fn a_long_text_of_the_user_is_kept_in_part() {
    let model = start(Reply::say("hi"));
    let prompt = "ß".repeat(1_000_000);
    let mut body = asked(true);
    body["messages"][0]["content"] = json!(prompt);
    post(model.port(), MESSAGES, &body);
    let request = model.requests().remove(0);
    assert_eq!(request.user.len(), 16 * 1024);
}

fn program(script: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scripted-model"));
    command.arg(script).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A program that does not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn the_program_says_where_it_listens() {
    let folder = scratch();
    let script = folder.path().join("script.json");
    fs::write(&script, r#"{"replies": [{"say": "from a file", "usage": {"input": 4}}]}"#).unwrap();
    let mut running = Running(program(&script).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim_end().strip_prefix("listening on http://127.0.0.1:").unwrap().parse().unwrap();
    assert_eq!(text_of(&post(port, MESSAGES, &asked(true))), "from a file");
}

#[test]
fn the_program_says_what_is_wrong() {
    let folder = scratch();
    let script = folder.path().join("script.json");
    let run = |words: &[&str]| {
        let output = program(&script).args(words).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, message) = run(&[]);
    assert_eq!(code, Some(64));
    assert!(message.contains("could not read the script"), "{message}");
    fs::write(&script, r#"{"replys": []}"#).unwrap();
    let (code, message) = run(&[]);
    assert_eq!(code, Some(64));
    assert!(message.contains("unknown field `replys`"), "{message}");
    fs::write(&script, "{}").unwrap();
    assert_eq!(run(&["--colour"]).0, Some(64));
    for reply in [r#"{"headers": {"a b": "c"}}"#, r#"{"fault": {"status": {"code": 100}}}"#] {
        fs::write(&script, format!(r#"{{"replies": [{reply}]}}"#)).unwrap();
        let (code, message) = run(&[]);
        assert_eq!(code, Some(70));
        assert!(message.contains("cannot be sent"), "{message}");
    }
}
