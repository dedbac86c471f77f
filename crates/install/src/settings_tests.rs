use serde_json::json;

use super::*;

fn member() -> Content {
    let value = json!({ "command": "ralph", "args": ["mcp"] });
    Content::Json { edits: vec![JsonEdit::Member { path: vec!["mcpServers".into(), "ralph".into()], value }] }
}

fn hooks() -> Content {
    let value = json!({ "hooks": [{ "type": "command", "command": "ralph hook" }] });
    Content::Json { edits: vec![JsonEdit::Element { path: vec!["hooks".into(), "Stop".into()], value }] }
}

fn table() -> Content {
    let table = "[mcp_servers.ralph]\ncommand = \"ralph\"\nargs = [\"mcp\"]\n".to_owned();
    Content::Toml { name: "mcp_servers.ralph".into(), table }
}

#[test]
fn what_is_added_can_be_removed_from_every_kind_of_settings() {
    let json = [
        "{}",
        "{}\n",
        "{\n  \"a\": 1\n}\n",
        "{\n\t\"a\": [1, 2], // two\n\t/* mine */ \"mcpServers\": {\n\t\t\"other\": {\"command\": \"x\"},\n\t},\n}\n",
        "{\r\n  \"a\": 1,\r\n  \"hooks\": {\r\n    \"Stop\": [\r\n      {\"hooks\": [{\"command\": \"say done\"}]}\r\n    ]\r\n  }\r\n}\r\n",
        "\u{feff}{\"z\": 1, \"a\": {}, \"mcpServers\": {}}",
        "// only a comment\n{\n}\n",
    ];
    for text in json {
        for content in [member(), hooks()] {
            let after = content.added(Some(text), None).unwrap();
            assert_ne!(after, text);
            assert!(content.is_in(&after), "{text:?} became {after:?}");
            assert_eq!(after.contains("\r\n"), text.contains("\r\n"), "{after:?}");
            assert!(
                !after.replace("\r\n", "").contains('\r')
                    && (!text.contains('\r') || !after.replace("\r\n", "").contains('\n')),
                "{after:?}"
            );
            assert!(
                text.split_whitespace().all(|word| after.contains(word.trim_matches(['{', '}', ',', '\u{feff}']))),
                "{after}"
            );
            assert_eq!(content.added(Some(&after), Some(&content)).unwrap(), after, "twice is once");
            let removed = content.removed(&after, Some(text)).unwrap().unwrap();
            let values = |text: &str| {
                let bare: String =
                    text.trim_start_matches('\u{feff}').lines().map(|line| line.split("//").next().unwrap()).collect();
                bare.replace("/* mine */", "").split_whitespace().collect::<String>().replace(",}", "}")
            };
            assert_eq!(values(&removed), values(text), "{after:?}");
        }
    }
    for text in ["", "model = \"x\" # mine\n", "a = 1", "a = 1\r\n[mcp_servers.other]\r\ncommand = \"y\"\r\n"] {
        let after = table().added(Some(text), None).unwrap();
        assert!(table().is_in(&after) && after.starts_with(text), "{after:?}");
        assert_eq!(after.contains("\r\n"), text.contains("\r\n"), "{after:?}");
        let removed = table().removed(&format!("{after}\n[more]\nb = 2\n"), Some(text)).unwrap().unwrap();
        assert!(
            removed.starts_with(text) && removed.ends_with("[more]\nb = 2\n") && !removed.contains("ralph"),
            "{removed:?}"
        );
    }
}

#[test]
fn what_cannot_be_done_is_refused() {
    for text in ["{", "{\"a\": 1 \"b\": 2}", "[1]", "{'a': 1}", "{\"mcpServers\": 3}", "not json"] {
        assert!(matches!(member().added(Some(text), None), Err(Refusal::Broken(_))), "{text}");
    }
    let taken = "{\"mcpServers\": {\"ralph\": {\"command\": \"mine\"}}}";
    assert_eq!(member().added(Some(taken), None), Err(Refusal::Taken("mcpServers.ralph".into())));
    assert_eq!(member().removed(taken, None), Err(Refusal::Altered("mcpServers.ralph".into())));
    for text in ["a = ", "mcp_servers = {}"] {
        assert!(matches!(table().added(Some(text), None), Err(Refusal::Broken(_))), "{text}");
    }
    let taken = "[mcp_servers.ralph]\ncommand = \"mine\"\n";
    assert_eq!(table().added(Some(taken), None), Err(Refusal::Taken("[mcp_servers.ralph]".into())));
    let altered = table().added(None, None).unwrap().replace("\"mcp\"", "\"mcp\", \"--verbose\"");
    assert_eq!(table().removed(&altered, None), Err(Refusal::Altered("[mcp_servers.ralph]".into())));
    let own = Content::File { text: "ours".into() };
    assert!(matches!(own.added(Some("mine"), None), Err(Refusal::Taken(_))));
    assert!(matches!(own.removed("mine", None), Err(Refusal::Altered(_))));
}

#[test]
fn an_earlier_version_is_replaced() {
    let old = Content::File { text: "old".into() };
    let new = Content::File { text: "new".into() };
    assert_eq!(new.added(Some("old"), Some(&old)).unwrap(), "new");
    let value = json!({ "command": "/old/ralph" });
    let old =
        Content::Json { edits: vec![JsonEdit::Member { path: vec!["mcpServers".into(), "ralph".into()], value }] };
    let text = old.added(Some("{\"a\": 1}"), None).unwrap();
    let after = member().added(Some(&text), Some(&old)).unwrap();
    assert!(member().is_in(&after) && !after.contains("/old/ralph"), "{after}");
}
