//! What one model turn of a crew costs Ralph itself, with a conversation of 150,000 tokens: the machine's steps, their events as text,
//! the request for the model and its body. No model is asked.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

use std::sync::Arc;
use std::time::Instant;

use ralph_crew::{
    Approve, Crew, CrewConfig, CrewEffect, CrewEvent, FrameId, ToolEffect, ToolOutcome, Worker, built_in,
};
use ralph_engine::{JournalEvent as _, Machine as _};
use ralph_llm::wire::{self, ChatLimit};
use ralph_llm::{Answer, Arguments, Part, Protocol, StopReason, ToolCall};
use ralph_model::{Money, PriceList, Timestamp, Tokens};

const AT: Timestamp = Timestamp(1_763_200_000_000);
const TURNS: usize = 60;
/// Four bytes are about one token.
const RESULT: usize = 150_000 * 4 / TURNS;
const MEASURED: u32 = 20;

/// Steps as the runtime does: a copy, so that only a commit makes it real, and the event as the journal keeps it.
fn step(crew: &mut Crew, event: CrewEvent) -> Vec<CrewEffect> {
    std::hint::black_box(event.encode().unwrap());
    let mut next = crew.clone();
    let effects = next.step(AT, event);
    *crew = next;
    effects
}

fn main() {
    let config = CrewConfig {
        workspace: "/w".to_owned(),
        max_cost: Some(Money::dollars(100)),
        max_rounds: 10_000,
        approve: Approve::Ask,
        compact_at: 160_000,
        agents: built_in(),
        root: "chapo".to_owned(),
        tools: [("fs_readFile".to_owned(), ToolEffect::Reads)].into(),
        targets: Vec::new(),
        models: Vec::new(),
        access: ralph_model::Access::default(),
    };
    let worker = Worker {
        ask: Arc::new(|_, _| Box::pin(std::future::pending())),
        model_name: Arc::new(|_, _| "claude-sonnet-5-5".to_owned()),
        call: Arc::new(|_| Box::pin(std::future::pending())),
        specs: Arc::default(),
        prices: Arc::new(PriceList::default()),
        tell: Arc::new(|_| {}),
        key: "bench".to_owned(),
    };
    let start = CrewEvent::CrewStarted { config: Box::new(config), request: Some("read everything".to_owned()) };
    let (mut crew, mut effects) = Crew::start(AT, start).unwrap();
    let mut times = Vec::new();
    for turn in 0..TURNS + MEASURED as usize {
        // From here on what is read is short, so that the conversation keeps its length.
        let bytes = if turn < TURNS { RESULT } else { 100 };
        let begun = Instant::now();
        let asked = effects.iter().find_map(|effect| match effect {
            CrewEffect::Ask { attempt, .. } => Some(*attempt),
            _ => None,
        });
        let ask = worker.asks(&crew, FrameId::ROOT).unwrap();
        std::hint::black_box(worker.estimate(&ask));
        let body = wire::body(Protocol::AnthropicMessages, &ask.request(), ChatLimit::MaxTokens).to_string();
        std::hint::black_box(body.len());
        let arguments = Arguments::parse(r#"{"path":"a"}"#);
        let call = ToolCall { id: format!("call-{turn}"), name: "fs_readFile".to_owned(), arguments };
        let answer = Answer {
            parts: vec![Part::Text("I read on".to_owned()), Part::Call(call)],
            stop: StopReason::Calls,
            model: "claude-sonnet-5-5".to_owned(),
            tokens: Some(Tokens { input: 10, output: 10, ..Tokens::default() }),
        };
        let event = CrewEvent::ModelAnswered {
            frame: FrameId::ROOT,
            attempt: asked.unwrap(),
            answer: Box::new(answer),
            cost: Money::from_micros(10),
        };
        let called = step(&mut crew, event);
        let call = called.iter().find_map(|effect| match effect {
            CrewEffect::CallTool { call, .. } => Some(*call),
            _ => None,
        });
        let outcome = ToolOutcome { success: true, text: "x".repeat(bytes), ..ToolOutcome::default() };
        effects = step(&mut crew, CrewEvent::tool_finished(call.unwrap(), outcome));
        if turn >= TURNS {
            times.push(begun.elapsed());
        }
    }
    times.sort_unstable();
    let bytes: usize = worker.asks(&crew, FrameId::ROOT).unwrap().messages.len();
    println!("{:.2} ms per model turn ({bytes} messages, 150,000 tokens)", times[times.len() / 2].as_secs_f64() * 1e3);
}
