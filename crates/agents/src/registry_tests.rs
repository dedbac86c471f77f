use ralph_model::Launch;

use super::*;

#[test]
fn a_kind_is_found_by_its_name_alone() {
    let names: Vec<&str> = Kind::all().map(|kind| kind.name).collect();
    for name in &names {
        assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        assert_eq!(Kind::find(name).unwrap().name, *name);
    }
    assert!(Kind::find("nobody").is_none());
    assert_eq!(Kind::names(), "claude, codex, opencode, gemini, acp, command or native");
}

#[test]
fn what_a_kind_needs_is_what_it_is_built_from() {
    let folder = tempfile::tempdir().unwrap();
    let reaper = ralph_process::ReaperProgram { program: "/nobody".into(), arguments: Vec::new() };
    let supervisor = std::sync::Arc::new(ralph_process::Supervisor::new(reaper, std::sync::Arc::default()));
    let build = |spec: &AgentSpec| {
        let base = crate::golden::base(folder.path(), &[]);
        build(spec, AgentServices { supervisor: std::sync::Arc::clone(&supervisor), base })
    };
    // What asks models is built where models are known.
    for kind in Kind::all().filter(|kind| kind.name != AgentSpec::NATIVE) {
        let launch = match kind.needs {
            Needs::Program => Some(Launch::Program(kind.name.into())),
            Needs::Command => Some(Launch::Command("server".into())),
            Needs::Nothing => None,
        };
        let agent =
            build(&AgentSpec::new("x", kind.name, launch)).unwrap_or_else(|error| panic!("{}: {error}", kind.name));
        assert_eq!(agent.capabilities(), kind.capabilities, "{}", kind.name);
        if kind.needs != Needs::Nothing {
            let refused = build(&AgentSpec::new("x", kind.name, None)).err().unwrap();
            assert!(matches!(refused, Error::NothingToStart { .. }), "{}: {refused}", kind.name);
        }
    }
    let refused = build(&AgentSpec::new("x", "of-tomorrow", None)).err().unwrap();
    assert!(matches!(refused, Error::UnknownKind { .. }), "{refused}");
}

#[test]
fn every_program_is_given_the_server_of_tools_and_no_value_of_its_variables_is_written_down() {
    let server = crate::McpServer {
        program: "/opt/of-the-run/ralph".into(),
        arguments: vec!["mcp".into()],
        variables: vec!["RALPH_TOKEN".into()],
    };
    for kind in Kind::all() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        let mut base = crate::golden::base(folder.path(), &[("RALPH_TOKEN", "ralph_s3cr3t"), ("HOME", home)]);
        base.mcp_server = Some(server.clone());
        let Start::Program(invoke) = kind.start else { continue };
        let invocation = invoke(&AgentSpec::program("x", kind.name), "x", &crate::golden::request("x", base)).unwrap();
        let mut written: Vec<String> =
            invocation.program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        written.extend(invocation.environment.iter().map(|(_, value)| value.to_string_lossy().into_owned()));
        for file in ["claude-mcp.json", "gemini/.gemini/settings.json"] {
            written.extend(std::fs::read_to_string(folder.path().join(file)));
        }
        let written = written.join("\n");
        assert!(written.contains("/opt/of-the-run/ralph") && written.contains("mcp"), "{}: {written}", kind.name);
        assert!(!written.contains("s3cr3t"), "{}: {written}", kind.name);
    }
    let base = crate::golden::base(Path::new("/w"), &[("RALPH_TOKEN", "ralph_s3cr3t")]);
    let variables = serde_json::json!([{"name": "RALPH_TOKEN", "value": "ralph_s3cr3t"}]);
    assert_eq!(server.for_acp(&base)["env"], variables, "this one takes values, over a pipe");
}

#[test]
fn a_kind_with_events_has_logs_that_need_a_reader() {
    // The native agent writes its log for people.
    for kind in Kind::all().filter(|kind| kind.name != AgentSpec::NATIVE) {
        assert_eq!(kind.capabilities.streams_tool_calls, kind.log_parser.is_some(), "{}", kind.name);
    }
}
