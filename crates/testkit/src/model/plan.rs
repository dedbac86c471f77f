//! Decides what a request gets: which reply of the script, in which format, with which fault. Sends nothing.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::answer::Answer;
use super::asked::{Asked, Form};
use super::delivery::{Damage, Delivery};
use super::refusal::{About, Refusal};
use super::route::Route;
use super::script::numbered;
use super::server::Record;
use super::wire;
use super::{Ending, Fault, Format, Logged, Reply, Script, SideKind, Source, Then, Usage};

const JSON: &str = "application/json";
/// Headers that carry a key or a token.
const KEYS: [&str; 3] = ["authorization", "x-api-key", "x-goog-api-key"];
const EVENTS: &str = "text/event-stream";

#[derive(Debug)]
pub(super) struct Planner {
    script: Script,
    /// Tells the answers of this server from those of another.
    prefix: String,
    main: AtomicUsize,
}

pub(super) enum Plan {
    Respond(Box<Prepared>),
    /// The connection is closed without an answer.
    Drop,
    /// The connection is kept without an answer.
    Hang,
}

/// A response that lacks only its line in the log.
pub(super) struct Prepared {
    status: u16,
    headers: BTreeMap<String, String>,
    content: Content,
    damage: Damage,
}

pub(super) enum Content {
    Whole(String),
    Streamed(Vec<String>),
}

impl Planner {
    /// Takes a script whose every status and header can be sent.
    pub(super) fn new(script: Script, port: u16) -> io::Result<Self> {
        for reply in &script.replies {
            headers(&reply.headers).map_err(io::Error::other)?;
            if let Some(Fault::Status(status)) = &reply.fault {
                status_code(status.code).map_err(io::Error::other)?;
                headers(&status.headers).map_err(io::Error::other)?;
            }
        }
        let prefix = format!("{:x}{port:x}", Timestamp::now().as_millisecond());
        Ok(Self { script, prefix, main: AtomicUsize::new(0) })
    }

    /// The plan for a request, and its line in the log with the usage that it has if it is sent to its end.
    pub(super) fn plan(&self, number: usize, head: &Parts, body: &[u8], now: Timestamp) -> (Logged, Plan) {
        let mut logged = logged(number, head);
        let path = head.uri.path();
        let plan = match Route::of(head.method.as_str(), path, head.uri.query()) {
            Route::Generate(format, address) => match serde_json::from_slice::<Value>(body) {
                Ok(value) => {
                    let asked = Asked::read(format, &address, &value);
                    note_request(&mut logged, &asked);
                    self.generate(&mut logged, &asked, now)
                }
                Err(error) => refused(&mut logged, &Refusal::nonsense(400, &format!("the body is not JSON: {error}"))),
            },
            Route::CountTokens(format) => {
                let count = body.len() / 4;
                let key = if format == Format::Gemini { "totalTokens" } else { "input_tokens" };
                logged.format = Some(format);
                plain(&mut logged, SideKind::Tokens, &json!({ key: count }))
            }
            Route::Models => {
                // Codex and Gemini read `models`, everybody else `data`.
                plain(&mut logged, SideKind::Models, &json!({ "object": "list", "data": [], "models": [] }))
            }
            Route::Hello => plain(&mut logged, SideKind::Hello, &json!({ "message": "hello" })),
            Route::Unknown => refused(&mut logged, &Refusal::nonsense(404, &format!("there is nothing at {path}"))),
        };
        (logged, plan)
    }

    fn generate(&self, logged: &mut Logged, asked: &Asked, now: Timestamp) -> Plan {
        let serial = format!("{}{:04}", self.prefix, logged.number);
        let (source, reply) = match SideKind::of(asked) {
            None => self.next_main(),
            Some(kind) => (Source::Side(kind), Reply::say(kind.answer(asked)).usage(self.script.side_usage)),
        };
        logged.source = source;
        let (answer, note) = Answer::to(asked, &reply, serial, self.script.directory.as_deref());
        logged.note = note;
        logged.usage = answer.usage;
        perform(logged, asked, &reply, &answer, now)
    }

    fn next_main(&self) -> (Source, Reply) {
        let replies = &self.script.replies;
        if let Some((at, reply)) = numbered(replies, self.main.fetch_add(1, Ordering::Relaxed)) {
            return (Source::Reply(at + 1), reply.clone());
        }
        let reply = match &self.script.then {
            Then::Repeat => replies.last().cloned().unwrap_or_else(|| Reply::say("done")),
            Then::Say(text) => Reply::say(text.clone()),
            Then::Refuse(trouble) => Reply::refuse(trouble.clone()),
        };
        (Source::Then, reply)
    }
}

/// Applies the fault of a reply.
fn perform(logged: &mut Logged, asked: &Asked, reply: &Reply, answer: &Answer, now: Timestamp) -> Plan {
    let about = About { format: asked.format, model: &asked.model, serial: &answer.serial, now };
    let damage = match &reply.fault {
        None => Damage::None,
        Some(Fault::Refuse(trouble)) => return refused(logged, &Refusal::of(trouble, about)),
        Some(Fault::Status(status)) => {
            let refusal = Refusal::with_status(status, about);
            let Some(text) = &status.body else { return refused(logged, &refusal) };
            logged.usage = Usage::ZERO;
            logged.status = Some(status.code);
            let content = Content::Whole(text.clone());
            return prepared(status.code, refusal.headers, content, Damage::None);
        }
        Some(Fault::Midway { after_events, trouble }) => {
            let refusal = Refusal::of(trouble, about);
            let Form::Events(totals) = asked.form else { return refused(logged, &refusal) };
            let mut events = wire::events(asked.format, answer, totals);
            events.truncate(short_of_all(*after_events, events.len()));
            events.push(wire::broken(asked.format, &refusal, answer, events.len()));
            logged.usage = Usage::ZERO;
            logged.status = Some(200);
            return prepared(200, reply.headers.clone(), Content::Streamed(events), Damage::Pause);
        }
        Some(Fault::Hang { after_bytes: None }) => return Plan::Hang,
        Some(Fault::Hang { after_bytes: Some(bytes) }) => Damage::Silence(*bytes),
        Some(Fault::Cut { after_events }) => Damage::Cut(*after_events),
        Some(Fault::Truncate { after_events }) => Damage::Truncate(*after_events),
        Some(Fault::Slow { delay_ms }) => Damage::Slow(Duration::from_millis(*delay_ms)),
        Some(Fault::Drop) => return Plan::Drop,
    };
    logged.status = Some(200);
    let content = match asked.form {
        Form::Whole => Content::Whole(wire::whole(asked.format, answer).to_string()),
        Form::Events(totals) => Content::Streamed(wire::events(asked.format, answer, totals)),
    };
    prepared(200, reply.headers.clone(), content, damage)
}

fn prepared(status: u16, headers: BTreeMap<String, String>, content: Content, damage: Damage) -> Plan {
    Plan::Respond(Box::new(Prepared { status, headers, content, damage }))
}

fn refused(logged: &mut Logged, refusal: &Refusal) -> Plan {
    logged.usage = Usage::ZERO;
    logged.status = Some(refusal.code);
    prepared(refusal.code, refusal.headers.clone(), Content::Whole(refusal.body.to_string()), Damage::None)
}

fn plain(logged: &mut Logged, kind: SideKind, body: &Value) -> Plan {
    logged.source = Source::Side(kind);
    logged.status = Some(200);
    let text = if logged.method == "HEAD" { String::new() } else { body.to_string() };
    prepared(200, BTreeMap::new(), Content::Whole(text), Damage::None)
}

impl Prepared {
    /// The response, which says in the log how far it gets.
    pub(super) fn with(self, record: Record) -> Response<Delivery> {
        let kind = match self.content {
            Content::Whole(_) => JSON,
            Content::Streamed(_) => EVENTS,
        };
        let delivery = Delivery::new(self.content, self.damage, record);
        let mut response = Response::new(delivery);
        match (status_code(self.status), headers(&self.headers)) {
            (Ok(status), Ok(headers)) => {
                *response.status_mut() = status;
                *response.headers_mut() = headers;
            }
            (Err(error), _) | (_, Err(error)) => panic!("{error}, although the script was looked through for it"),
        }
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }
}

fn status_code(code: u16) -> Result<StatusCode, String> {
    // Anything below 200 would announce another answer.
    let status = StatusCode::from_u16(code).ok().filter(|status| !status.is_informational());
    status.ok_or_else(|| format!("the script has a status that cannot be sent: {code}"))
}

fn headers(listed: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let header = |(name, value): (&String, &String)| match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        (Ok(name), Ok(value)) => Ok((name, value)),
        _ => Err(format!("the script has a header that cannot be sent: {name}: {value}")),
    };
    listed.iter().map(header).collect()
}

fn logged(number: usize, head: &Parts) -> Logged {
    let path = head.uri.path_and_query().map_or_else(|| head.uri.path().to_owned(), ToString::to_string);
    Logged {
        number,
        method: head.method.to_string(),
        path: without_key(&path),
        format: None,
        source: Source::Nothing,
        model: String::new(),
        messages: 0,
        tools: Vec::new(),
        user: String::new(),
        results: Vec::new(),
        status: None,
        usage: Usage::ZERO,
        has_key: KEYS.iter().any(|name| head.headers.contains_key(*name)) || without_key(&path) != path,
        note: None,
        ending: Ending::Open,
    }
}

fn note_request(logged: &mut Logged, asked: &Asked) {
    logged.format = Some(asked.format);
    logged.model.clone_from(&asked.model);
    logged.messages = asked.messages;
    logged.tools = asked.names();
    // Not all of a prompt of megabytes, or of a file that was read.
    let start = |text: &String, most| text[..text.floor_char_boundary(most)].to_owned();
    logged.user = start(&asked.user, 16 * 1024);
    logged.results = asked.results.iter().map(|result| start(result, 2 * 1024)).collect();
}

/// So many of all events, but never the last one: what ends an answer early leaves something out.
pub(super) fn short_of_all(wanted: usize, all: usize) -> usize {
    wanted.min(all.saturating_sub(1))
}

/// A path without the key that Gemini's older clients put into the query.
fn without_key(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("key=")).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}
