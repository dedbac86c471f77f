use std::fs;

use ralph_tools::{Effect, McpPlace, McpServer};
use serde_json::{Value, json};

use crate::receiver::Receiver;
use crate::support::Lab;

const SERVER: &str = r#"
import json, sys
print("starting up", flush=True)
def send(message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        send({"id": 7, "method": "ping"})
        send({"id": id, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}})
    elif method == "tools/list" and "cursor" not in message["params"]:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        send({"id": id, "result": {"nextCursor": "2", "tools": [{"name": "echo", "description": "Echoes.", "inputSchema": schema}, {"name": "bad name", "inputSchema": {}}]}})
    elif method == "tools/list":
        send({"id": id, "result": {"tools": [{"name": "fail", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call" and message["params"]["name"] == "echo":
        send({"method": "notifications/message", "params": {}})
        send({"id": id, "result": {"content": [{"type": "text", "text": "said " + message["params"]["arguments"]["text"]}, {"type": "image", "data": "", "mimeType": "image/png"}]}})
    elif method == "tools/call":
        send({"id": id, "result": {"isError": True, "content": [{"type": "text", "text": "it broke"}]}})
"#;

fn server(name: &str, place: McpPlace) -> McpServer {
    McpServer { name: name.to_owned(), place }
}

#[tokio::test]
async fn tools_of_a_program_are_listed_and_called() {
    let mut lab = Lab::new();
    fs::write(lab.path("server.py"), SERVER).unwrap();
    let servers = vec![
        server("demo", McpPlace::Command("echo $$ > pid; exec python3 server.py".to_owned())),
        server("gone", McpPlace::Command("exit 3".to_owned())),
        server("no/name", McpPlace::Command("true".to_owned())),
    ];
    let problems = lab.tools.connect(servers).await;
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems[0].starts_with("the MCP server gone: ") && problems[1].starts_with("the MCP server no/name: the name")
    );
    let spec = lab.tools.spec("mcp__demo__echo").unwrap();
    assert_eq!((spec.effect, spec.description.as_str()), (Effect::Outward, "Echoes."));
    assert!(lab.tools.spec("mcp__demo__bad name").is_none());
    let said = lab.done("mcp__demo__echo", json!({"text": "correct-horse-battery"})).await;
    assert_eq!(said.text, "said [redacted:TOKEN]\n[image content]");
    assert_eq!(lab.failed("mcp__demo__fail", json!({})).await.text, "it broke");
    assert!(lab.failed("mcp__demo__echo", json!({"txt": "x"})).await.text.contains("missing arguments: `text`"));
    // It ends with the tools.
    let pid = fs::read_to_string(lab.path("pid")).unwrap();
    drop(lab);
    let process = format!("/proc/{}", pid.trim());
    while fs::exists(&process).unwrap() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn tools_of_an_address_are_listed_and_called() {
    let receiver = Receiver::start(|_, body| {
        let message: Value = serde_json::from_str(body).unwrap();
        let result = match message["method"].as_str().unwrap() {
            "initialize" => {
                json!({"protocolVersion": "2025-03-26", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}})
            },
            "tools/list" => {
                json!({"tools": [{"name": "add", "description": "Adds.", "inputSchema": {"type": "object"}}]})
            }
            "tools/call" => json!({"content": [], "structuredContent": {"sum": 3}}),
            _ => return ("202 Accepted".to_owned(), Vec::new()),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        if message["method"] == "tools/call" {
            let events =
                format!("event: message\ndata: {{\"method\": \"notifications/progress\"}}\n\ndata: {answer}\n\n");
            return ("200 OK\r\ncontent-type: text/event-stream".to_owned(), events.into_bytes());
        }
        ("200 OK\r\ncontent-type: application/json\r\nmcp-session-id: s-1".to_owned(), answer.to_string().into_bytes())
    })
    .await;
    let mut lab = Lab::new();
    let place = McpPlace::Url { url: receiver.url("/mcp"), key: Some("s3cret".to_owned()) };
    let nowhere = McpPlace::Url { url: "http://127.0.0.1:1/mcp".to_owned(), key: None };
    let problems = lab.tools.connect(vec![server("sums", place), server("nowhere", nowhere)]).await;
    assert_eq!(problems.len(), 1, "{problems:?}");
    let added = lab.done("mcp__sums__add", json!({"a": 1, "b": 2})).await;
    assert_eq!(added.text, r#"{"sum":3}"#);
    let requests = receiver.requests.lock().unwrap();
    let last = &requests.last().unwrap().0;
    for header in ["authorization: Bearer s3cret", "mcp-session-id: s-1", "mcp-protocol-version: 2025-03-26"] {
        assert!(last.contains(header), "{last}");
    }
}
