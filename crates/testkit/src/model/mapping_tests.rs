use super::*;

fn function(name: &str, properties: Value, required: &[&str]) -> Offered {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    Offered { name: name.to_owned(), namespace: None, kind: Kind::Function(schema), description: String::new() }
}

fn free(name: &str, description: &str) -> Offered {
    Offered { name: name.to_owned(), namespace: None, kind: Kind::Free, description: description.to_owned() }
}

fn string() -> Value {
    json!({ "type": "string" })
}

fn claude(prefix: &str) -> Vec<Offered> {
    let file = json!({ "file_path": string(), "content": string() });
    vec![
        function(
            &format!("{prefix}Bash"),
            json!({ "command": string(), "description": string() }),
            &["command", "description"],
        ),
        function(&format!("{prefix}Read"), json!({ "file_path": string() }), &["file_path"]),
        function(&format!("{prefix}Write"), file, &["file_path", "content"]),
    ]
}

fn mapped(tool: &Tool, offered: &[Offered]) -> (String, Input) {
    let call = call(tool, offered, Some(Path::new("/home/user/project"))).unwrap();
    (call.name, call.input)
}

fn json_of(tool: &Tool, offered: &[Offered]) -> (String, Value) {
    match mapped(tool, offered) {
        (name, Input::Json(value)) => (name, value),
        other => panic!("{other:?}"),
    }
}

#[test]
fn tools_get_their_own_names_and_absolute_paths() {
    for prefix in ["", "mcp__acp__"] {
        let offered = claude(prefix);
        let (name, input) = json_of(&Tool::write("src/a.txt", "x"), &offered);
        assert_eq!(name, format!("{prefix}Write"));
        assert_eq!(input, json!({ "file_path": "/home/user/project/src/a.txt", "content": "x" }));
        let (name, input) = json_of(&Tool::read("/etc/hosts"), &offered);
        assert_eq!((name, input), (format!("{prefix}Read"), json!({ "file_path": "/etc/hosts" })));
        let (name, input) = json_of(&Tool::shell("ls"), &offered);
        assert_eq!(name, format!("{prefix}Bash"));
        assert_eq!(input, json!({ "command": "ls", "description": "scripted" }));
    }
    let opencode = [
        function("bash", json!({ "command": string() }), &["command"]),
        function("write", json!({ "content": string(), "filePath": string() }), &["content", "filePath"]),
    ];
    let (name, input) = json_of(&Tool::write("a.txt", "x"), &opencode);
    assert_eq!((name.as_str(), input), ("write", json!({ "filePath": "/home/user/project/a.txt", "content": "x" })));
    let gemini = [
        function("run_shell_command", json!({ "command": string() }), &["command"]),
        function("write_file", json!({ "content": string(), "file_path": string() }), &["content", "file_path"]),
        function("read_file", json!({ "absolute_path": string() }), &["absolute_path"]),
    ];
    assert_eq!(json_of(&Tool::write("a", "x"), &gemini).0, "write_file");
    assert_eq!(json_of(&Tool::shell("ls"), &gemini).0, "run_shell_command");
    assert_eq!(json_of(&Tool::read("a"), &gemini).1, json!({ "absolute_path": "/home/user/project/a" }));
}

#[test]
fn without_a_folder_a_path_stays_as_it_is() {
    let call = call(&Tool::read("a.txt"), &claude(""), None).unwrap();
    assert_eq!(call.input, Input::Json(json!({ "file_path": "a.txt" })));
}

#[test]
fn shells_take_lines_or_words() {
    let line = [function("exec_command", json!({ "cmd": string() }), &["cmd"])];
    assert_eq!(json_of(&Tool::shell("ls -l"), &line).1, json!({ "cmd": "ls -l" }));
    let words = [function("shell", json!({ "command": { "type": "array" } }), &["command"])];
    assert_eq!(json_of(&Tool::shell("ls -l"), &words).1, json!({ "command": ["bash", "-lc", "ls -l"] }));
    let built_in = [Offered { kind: Kind::Shell, ..free("local_shell", "") }];
    let wanted = Input::Shell(["bash", "-lc", "ls -l"].map(str::to_owned).to_vec());
    assert_eq!(mapped(&Tool::shell("ls -l"), &built_in), ("local_shell".to_owned(), wanted));
}

#[test]
fn a_file_is_written_by_a_patch_where_there_is_no_better_tool() {
    let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n+\n+two\n*** End Patch\n";
    let shell = function("exec_command", json!({ "cmd": string() }), &["cmd"]);
    let codex = [shell.clone(), free("apply_patch", "")];
    let write = Tool::write("a.txt", "one\n\ntwo\n");
    assert_eq!(mapped(&write, &codex), ("apply_patch".to_owned(), Input::Free(patch.to_owned())));
    let opencode = [function("apply_patch", json!({ "patchText": string() }), &["patchText"])];
    assert_eq!(json_of(&write, &opencode).1, json!({ "patchText": patch }));
    // A patch cannot leave out the last line break.
    assert_eq!(mapped(&Tool::write("a.txt", "no break"), &codex).0, "exec_command");
    assert_eq!(mapped(&Tool::write("a.txt", ""), &codex).0, "exec_command");
}

#[test]
fn a_file_is_written_by_a_shell_where_there_is_nothing_else() {
    let folder = crate::scratch();
    let shell = [function("exec_command", json!({ "cmd": string() }), &["cmd"])];
    for content in ["", "plain", "it's\n\n  \"quoted\" $HOME `x` \\n %s\n", "größer\t\u{1f600}"] {
        let (_, input) = json_of(&Tool::write("in a folder/a b.txt", content), &shell);
        let line = input["cmd"].as_str().unwrap();
        let run = std::process::Command::new("/bin/sh").args(["-c", line]).current_dir(folder.path()).status().unwrap();
        assert!(run.success(), "{line}");
        assert_eq!(std::fs::read_to_string(folder.path().join("in a folder/a b.txt")).unwrap(), content);
    }
    assert_eq!(json_of(&Tool::read("a b"), &shell).1, json!({ "cmd": "cat 'a b'" }));
}

#[test]
fn javascript_is_written_where_only_that_is_run() {
    let exec =
        free("exec", "declare const tools: { apply_patch(input: string) } declare const tools: { exec_command(args: {");
    let exec = [Offered { namespace: Some("functions".to_owned()), ..exec }];
    let call = call(&Tool::shell("echo \"a\""), &exec, None).unwrap();
    assert_eq!((call.name.as_str(), call.namespace.as_deref()), ("exec", Some("functions")));
    assert_eq!(call.input, Input::Free(r#"text((await tools.exec_command({"cmd":"echo \"a\""})).output);"#.to_owned()));
    let (_, input) = mapped(&Tool::write("a", "x\n"), &exec);
    let code = r#"text(await tools.apply_patch("*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n"));"#;
    assert_eq!(input, Input::Free(code.to_owned()));
    assert!(super::call(&Tool::shell("ls"), &[free("exec", "runs a program")], None).is_err(), "another exec");
}

#[test]
fn a_tool_that_nobody_offers_is_said_to_be_missing() {
    let offered = [function("glob", json!({}), &[]), Offered { kind: Kind::Hosted, ..free("shell", "") }];
    let unfit = call(&Tool::shell("ls"), &offered, None).unwrap_err();
    assert_eq!(
        unfit.to_string(),
        "scripted-model: no tool is offered that could run a command; offered are: glob, shell"
    );
    assert!(call(&Tool::write("a", "b"), &[], None).unwrap_err().to_string().ends_with("offered are: none"));
}

#[test]
fn a_call_by_name_is_left_alone() {
    let (name, input) = json_of(&Tool::call("mcp__x__Y", json!({ "a": 1 })), &[]);
    assert_eq!((name.as_str(), input), ("mcp__x__Y", json!({ "a": 1 })));
    assert_eq!(mapped(&Tool::call("exec", "text(1)"), &[]).1, Input::Free("text(1)".to_owned()));
}
