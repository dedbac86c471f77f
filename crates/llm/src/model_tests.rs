use std::collections::BTreeMap;

use ralph_model::Tokens;
use ralph_testkit::ScriptedModel;
use ralph_testkit::model::{Fault, Reply, Script, Status, Tool, Trouble as Served, Usage};
use serde_json::json;

use super::*;
use crate::conversation::{Message, Part, StopReason, Tool as Offered};
use crate::provider::Provider;

const NOW: Timestamp = Timestamp(1_763_200_000_000);

fn model(server: &ScriptedModel, provider: Provider) -> Model {
    let endpoint = Endpoint::new(provider, Some(&server.url()), Some("key-1")).unwrap();
    Model::new(endpoint, "m-1", &Egress::default(), || NOW).unwrap()
}

/// Asks what has to be asked again, and returns what was seen on the way.
fn asked(models: &[Model], messages: &[Message]) -> (Result<Asked, Failed>, Vec<Watch>) {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tools = [Offered { name: "look".to_owned(), description: "Looks.".to_owned(), schema }];
    let request = Request {
        model: "",
        system: "You are careful.",
        messages,
        tools: &tools,
        max_tokens: 1000,
        thinking_tokens: None,
        cache_key: None,
    };
    let mut seen = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let asked = runtime.block_on(ask(models, &request, &mut |watch| seen.push(watch)));
    (asked, seen)
}

fn said(text: &str) -> Vec<Message> {
    vec![Message::User(text.to_owned())]
}

/// A refusal that may be tried again at once.
fn refusal(code: u16) -> Reply {
    let headers = BTreeMap::from([("retry-after-ms".to_owned(), "1".to_owned())]);
    Reply::fault(Fault::Status(Status { code, body: None, headers }))
}

#[test]
fn every_provider_streams_texts_calls_and_counts() {
    for provider in Provider::ALL {
        let usage = Usage { input: 11, cache_read: 5, output: 7, ..Usage::default() };
        let reply = Reply::say("I look twice")
            .and(Tool::call("look", json!({ "path": "a" })))
            .and(Tool::call("look", json!({ "path": "b" })))
            .usage(usage);
        let server = ScriptedModel::start(Script::new().reply(reply).reply(Reply::say("found")));
        let models = [model(&server, provider)];
        let mut messages = said("find it");
        let (first, seen) = asked(&models, &messages);
        let Asked { answer, lost } = first.unwrap();
        assert_eq!(
            (answer.text().as_str(), lost, &answer.stop),
            ("I look twice", 0, &StopReason::Calls),
            "{provider:?}"
        );
        let paths: Vec<_> = answer.calls().map(|call| call.arguments.to_value()["path"].clone()).collect();
        assert_eq!(paths, ["a", "b"], "{provider:?}");
        assert_eq!(answer.tokens, Some(Tokens { input: 11, cache_read: 5, output: 7, ..Tokens::default() }));
        let streamed: String = seen
            .iter()
            .filter_map(|watch| match watch {
                Watch::Delta(Delta::Text(text)) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(streamed, "I look twice", "{provider:?}");
        assert!(seen.len() > 3, "in pieces: {seen:?}");
        // The whole conversation goes back, and is understood.
        let result = |id: &str| crate::ToolResult { id: id.to_owned(), content: "x".to_owned(), is_error: false };
        let results = answer.calls().map(|call| result(&call.id)).collect();
        messages.extend([Message::Assistant(answer.parts), Message::Results(results)]);
        let (second, _) = asked(&models, &messages);
        assert_eq!(second.unwrap().answer.parts, [Part::Text("found".to_owned())], "{provider:?}");
        assert_eq!(server.requests().len(), 2);
    }
}

#[test]
fn a_refusal_that_passes_is_tried_again_and_one_that_stays_is_not() {
    for provider in Provider::ALL {
        let script = Script::new().reply(refusal(529)).reply(refusal(429)).reply(Reply::say("at last"));
        let server = ScriptedModel::start(script);
        let (asked_, seen) = asked(&[model(&server, provider)], &said("hello"));
        assert_eq!(asked_.unwrap().answer.text(), "at last", "{provider:?}");
        let kinds: Vec<_> = seen
            .iter()
            .filter_map(|watch| match watch {
                Watch::Again { trouble, wait } => Some((trouble.kind, *wait)),
                _ => None,
            })
            .collect();
        let wait = Duration::from_millis(1);
        assert_eq!(kinds, [(TroubleKind::Overload, wait), (TroubleKind::RateLimit, wait)], "{provider:?}");
        for (served, kind) in [
            (Served::InvalidKey, TroubleKind::Authentication),
            (Served::OutOfCredit, TroubleKind::OutOfCredit),
            (Served::ModelNotFound, TroubleKind::ModelNotFound),
            (Served::ContextOverflow, TroubleKind::ContextOverflow),
            (Served::UsageLimit { resets_in: 7200 }, TroubleKind::RateLimit),
        ] {
            let server = ScriptedModel::start(Script::new().reply(Reply::refuse(served.clone()).times(9)));
            let (asked_, _) = asked(&[model(&server, provider)], &said("hello"));
            let failed = asked_.unwrap_err();
            assert_eq!((failed.trouble.kind, failed.lost), (kind, 0), "{provider:?} {served:?}: {failed}");
            assert_eq!(server.requests().len(), 1, "{provider:?} {served:?}");
        }
    }
}

#[test]
fn an_answer_that_breaks_off_comes_again_and_is_counted_as_lost() {
    for provider in Provider::ALL {
        for fault in [
            Fault::Cut { after_events: 3 },
            Fault::Truncate { after_events: 3 },
            Fault::Midway { after_events: 3, trouble: Served::Overloaded },
        ] {
            let broken = Reply::say("never mind what").with(fault.clone());
            let server = ScriptedModel::start(Script::new().reply(broken).reply(Reply::say("whole")));
            let (asked_, seen) = asked(&[model(&server, provider)], &said("hello"));
            let Asked { answer, lost } = asked_.unwrap();
            assert_eq!((answer.text().as_str(), lost), ("whole", 1), "{provider:?} {fault:?}");
            assert!(seen.iter().any(|watch| matches!(watch, Watch::Again { .. })), "{provider:?} {fault:?}");
        }
    }
}

#[test]
fn another_model_answers_where_the_first_one_cannot() {
    let broken = ScriptedModel::start(Script::new().reply(Reply::refuse(Served::ModelNotFound).times(9)));
    let sound = ScriptedModel::start(Script::new().reply(Reply::say("here")));
    let models = [model(&broken, Provider::Anthropic), model(&sound, Provider::OpenaiChat)];
    let (asked_, seen) = asked(&models, &said("hello"));
    assert_eq!(asked_.unwrap().answer.text(), "here");
    assert!(
        matches!(&seen[0], Watch::Fallback { trouble, .. } if trouble.kind == TroubleKind::ModelNotFound),
        "{seen:?}"
    );
    let (none, _) = asked(&[], &said("hello"));
    assert_eq!(none.unwrap_err().trouble.kind, TroubleKind::Setup);
}

#[test]
fn keys_are_sent_and_never_shown() {
    for provider in Provider::ALL {
        let server = ScriptedModel::start(Script::new().reply(Reply::say("x")));
        let model = model(&server, provider);
        assert!(!format!("{model:?}").contains("key-1"));
        assert!(asked(std::slice::from_ref(&model), &said("hello")).0.is_ok());
        assert!(server.requests()[0].has_key, "{provider:?}");
    }
    let wrong = Endpoint::new(Provider::Openai, Some("nowhere"), None).unwrap_err().to_string();
    assert!(wrong.contains("OPENAI_BASE_URL"), "{wrong}");
    assert!(Endpoint::new(Provider::Openai, None, Some("a\nb")).is_err());
}

#[test]
fn nobody_at_the_address_is_trouble_with_its_words() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = Endpoint::new(Provider::OpenaiChat, Some(&format!("http://{free}")), None).unwrap();
    let model = Model::new(endpoint, "m", &Egress::default(), || NOW).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let fault = runtime.block_on(model.attempt(Bytes::new(), &mut |_| {})).err().unwrap();
    assert_eq!(fault.trouble.kind, TroubleKind::Unreachable);
    assert!(fault.trouble.message.contains("refused"), "{}", fault.trouble);
}
