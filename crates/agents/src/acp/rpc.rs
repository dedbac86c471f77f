//! JSON-RPC 2.0 messages, one on a line each. Knows nothing about what methods mean.

use serde_json::{Value, json};

/// What this side answers to a method that it does not have.
const METHOD_NOT_FOUND: i64 = -32601;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Answer { id: Value, outcome: Result<Value, Refusal> },
}

/// An error in place of a result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refusal {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Value,
}

/// Reads a line; none when it is no message. What the version field says is of no importance, and neither are other fields.
pub(super) fn read(line: &str) -> Option<Message> {
    let Value::Object(mut fields) = serde_json::from_str(line).ok()? else { return None };
    let id = fields.remove("id").filter(|id| id.is_string() || id.is_number());
    let params = fields.remove("params").unwrap_or(Value::Null);
    match (fields.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Some(Message::Request { id, method, params }),
        (Some(Value::String(method)), None) => Some(Message::Notification { method, params }),
        (Some(_), _) | (None, None) => None,
        (None, Some(id)) => match (fields.remove("error"), fields.remove("result")) {
            (None | Some(Value::Null), result) => Some(Message::Answer { id, outcome: Ok(result?) }),
            (Some(error), _) => Some(Message::Answer { id, outcome: Err(refusal(error)) }),
        },
    }
}

fn refusal(mut error: Value) -> Refusal {
    let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
    let data = error.get_mut("data").map(Value::take).unwrap_or_default();
    let message = match error.get("message").and_then(Value::as_str) {
        Some(message) => message.to_owned(),
        None => error.to_string(),
    };
    Refusal { code, message, data }
}

/// A request with a number of this side.
pub(super) fn request(id: u64, method: &str, params: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

pub(super) fn notification(method: &str, params: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

pub(super) fn answer(id: &Value, result: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// The answer to a request for something that this side does not have.
pub(super) fn method_not_found(id: &Value) -> String {
    let error = json!({"code": METHOD_NOT_FOUND, "message": "Method not found"});
    line(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

/// JSON in one line: line ends inside of strings are escaped.
fn line(message: &Value) -> String {
    format!("{message}\n")
}

#[cfg(test)]
#[path = "rpc_tests.rs"]
mod tests;
