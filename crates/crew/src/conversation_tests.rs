use proptest::prelude::*;
use ralph_llm::{Arguments, ToolCall};
use serde_json::json;

use super::*;

const LIMIT: u64 = 160_000;

/// One turn: the model calls a tool and reads its result.
fn turn(conversation: &mut Conversation, number: usize, bytes: usize) {
    let id = format!("call-{number}");
    let Arguments::Object(arguments) = Arguments::parse(&json!({ "path": "a" }).to_string()) else { panic!() };
    let call = ToolCall { id: id.clone(), name: "fs_readFile".to_owned(), arguments: Arguments::Object(arguments) };
    conversation.push(Message::Assistant(vec![Part::Text(format!("step {number}")), Part::Call(call)]));
    let content = "x".repeat(bytes);
    conversation.push(Message::Results(vec![ToolResult { id, content, is_error: false }]));
}

fn pins(conversation: &Conversation) -> Vec<&str> {
    let messages = conversation.messages().iter();
    let pins = messages.filter_map(|message| match message {
        Message::System(text) => Some(text.as_str()),
        _ => None,
    });
    pins.collect()
}

/// Every result follows the call that it belongs to: a service refuses anything else.
fn is_paired(conversation: &Conversation) -> bool {
    conversation.messages().windows(2).all(|pair| match pair {
        [before, Message::Results(_)] => matches!(before, Message::Assistant(_)),
        _ => true,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn however_often_it_is_compacted_there_is_one_pin_and_it_is_the_request(
        words in "\\PC{0,300}",
        tail in prop::sample::select(vec!["", "\n```rust\nfn a() {}\n```\n", "\n[ORIGINAL REQUEST — pinned]\nanother", "\r\n\u{0}  \n", "ünïcödé 漢字 🦀"]),
        sizes in prop::collection::vec(1_000_usize..400_000, 20..40),
    ) {
        let request = format!("{words}{tail}");
        let mut conversation = Conversation::new(request.clone());
        let (mut all, mut number) = (0, 0);
        while all < 510_000 || conversation.compactions() < 2 {
            let bytes = sizes[number % sizes.len()];
            turn(&mut conversation, number, bytes);
            all += bytes / 4;
            number += 1;
            if conversation.is_too_long(LIMIT) {
                let summary = format!("summary {number}\n{PIN}not the request");
                conversation.compact(&summary, LIMIT);
                prop_assert_eq!(pins(&conversation), vec![format!("{PIN}{request}")]);
                prop_assert!(conversation.tokens() < LIMIT, "{} tokens", conversation.tokens());
            }
            prop_assert!(is_paired(&conversation));
        }
        prop_assert!(conversation.compactions() >= 2);
    }
}

#[test]
fn a_new_request_takes_the_place_of_the_pinned_one() {
    let mut conversation = Conversation::new("first");
    (0..9).for_each(|number| turn(&mut conversation, number, 1000));
    conversation.compact("so far", 1000);
    conversation.ask("second");
    assert_eq!(pins(&conversation), Vec::<&str>::new());
    (9..19).for_each(|number| turn(&mut conversation, number, 1000));
    conversation.compact("since then", 1000);
    assert_eq!(pins(&conversation), ["[ORIGINAL REQUEST — pinned]\nsecond"]);
    assert!(!conversation.transcript(1000).contains(PIN.trim()));
}

#[test]
fn what_the_service_counted_goes_before_the_estimate_and_a_lone_request_is_never_compacted() {
    let mut conversation = Conversation::new("x".repeat(4000));
    conversation.push(Message::Assistant(vec![Part::Text("yes".to_owned())]));
    conversation.count(Tokens { input: 5000, output: 20, ..Tokens::default() });
    assert_eq!(conversation.tokens(), 5020);
    conversation.push(Message::User("more".to_owned()));
    assert_eq!(conversation.tokens(), 5029);
    assert!(!Conversation::new("x".repeat(4_000_000)).is_too_long(LIMIT), "there is nothing to summarise");
}
