use std::fs;

use ralph_agents::Matcher;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::watch;

use super::*;

/// Tools over a throwaway workspace.
pub(crate) struct Lab {
    pub(crate) folder: TempDir,
    pub(crate) tools: Tools,
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self::with(|services| services)
    }

    pub(crate) fn with(change: impl FnOnce(Services) -> Services) -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let is_prohibited: Matcher = Arc::new(|path| path.starts_with("src/auth").then(|| "src/auth/**".to_owned()));
        let services = Services {
            workspace: folder.path().join("work"),
            prohibited: is_prohibited,
            redactor: Arc::new(Redactor::new([("TOKEN", "correct-horse-battery")])),
            shell: None,
            memory: None,
            board: None,
            notifier: None,
            web: None,
            now: || Timestamp(0),
        };
        Self { tools: Tools::new(change(services)).unwrap(), folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Outcome {
        let (_sender, stop) = watch::channel(None);
        self.tools.call(Call { name, arguments: &arguments, key: "key-1" }, &stop).await
    }

    /// A call that has to succeed.
    pub(crate) async fn done(&self, name: &str, arguments: Value) -> Outcome {
        let outcome = self.call(name, arguments).await;
        assert!(outcome.success, "{name}: {outcome:?}");
        outcome
    }

    /// A call that has to fail, and why it did.
    pub(crate) async fn refused(&self, name: &str, arguments: Value) -> String {
        let outcome = self.call(name, arguments.clone()).await;
        assert!(!outcome.success, "{name} {arguments}: {outcome:?}");
        outcome.text
    }
}

#[tokio::test]
async fn bad_arguments_are_named() {
    let lab = Lab::new();
    let table = [
        (
            "fs_edit",
            json!({"path": "a", "of": 1, "to": 2}),
            "fs_edit: unknown arguments: `of`, `to`; missing arguments: `new`, `old` (it takes `all`, `new`, `old`, `path`)",
        ),
        ("fs_readFile", json!(null), "fs_readFile: missing arguments: `path` (it takes `limit`, `offset`, `path`)"),
        ("fs_readFile", json!({"path": 7}), "fs_readFile: bad arguments: invalid type: integer `7`, expected a string"),
        ("fs_readFile", json!("a"), "fs_readFile: the arguments are not a JSON object"),
    ];
    for (name, arguments, expected) in table {
        let text = lab.refused(name, arguments).await;
        let sorted = |text: &str| {
            let mut words: Vec<String> = text.split([' ', ',']).map(str::to_owned).collect();
            words.sort();
            words
        };
        assert_eq!(sorted(&text), sorted(expected), "{text}");
    }
    assert!(
        lab.refused("fs_nothing", json!({})).await.starts_with("there is no tool fs_nothing; there are fs_listFiles,")
    );
}

#[test]
fn schemas_are_small_and_closed() {
    let lab = Lab::new();
    for spec in lab.tools.specs() {
        assert_eq!(spec.schema["type"], "object", "{spec:?}");
        assert_eq!(spec.schema["additionalProperties"], false, "{spec:?}");
        assert!(spec.schema.get("$schema").is_none() && spec.schema.to_string().len() < 4000, "{spec:?}");
        let described = spec.schema["properties"].as_object().unwrap().values();
        assert!(described.clone().all(|property| property["description"].is_string()), "{spec:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_stopped_ends() {
    let lab = Lab::new();
    let (sender, stop) = watch::channel(None);
    sender.send_replace(Some(ralph_process::Stop::Requested));
    let arguments = json!({"pattern": "**"});
    // Either it was done by then or it was stopped: it ends.
    let _ = lab.tools.call(Call { name: "fs_glob", arguments: &arguments, key: "" }, &stop).await;
}
