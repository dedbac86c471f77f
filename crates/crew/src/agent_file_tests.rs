use super::*;

#[test]
fn the_four_are_there_with_their_limits_and_a_file_of_the_users_own_replaces_one() {
    let limits: Vec<_> = built_in().into_iter().map(|a| (a.name, a.role, a.max_turns, a.max_tool_calls)).collect();
    assert_eq!(
        limits,
        [
            ("chapo".to_owned(), Role::Coordinator, 20, None),
            ("devo".to_owned(), Role::Acting, 10, None),
            ("caio".to_owned(), Role::Acting, 10, None),
            ("scout".to_owned(), Role::Talking, 8, Some(5)),
        ]
    );
    let folder = ralph_testkit::scratch();
    std::fs::write(folder.path().join("devo.md"), "---\nmaxTurns: 3\ntools: [fs_edit]\n---\nBe quick.").unwrap();
    std::fs::write(folder.path().join("qa.md"), "---\nrole: talking\ntier: fast\n---\nDoubt.").unwrap();
    let agents = read_agents(folder.path()).unwrap();
    let devo = agents.iter().find(|agent| agent.name == "devo").unwrap();
    assert_eq!((devo.max_turns, devo.prompt.as_str(), devo.tools.len()), (3, "Be quick.", 1));
    assert_eq!(agents.len(), 5);
    let workspace = ralph_testkit::scratch();
    let own = workspace.path().join(".ralph/agents");
    std::fs::create_dir_all(&own).unwrap();
    for (name, text) in [("devo.md", "Obey."), ("qa.md", "Obey."), ("law.md", "---\ntools: [fs_edit]\n---\nSue.")] {
        std::fs::write(own.join(name), text).unwrap();
    }
    std::os::unix::fs::symlink(own.join("law.md"), own.join("link.md")).unwrap();
    let added = repository_agents(workspace.path(), &agents);
    assert_eq!(added.iter().flatten().map(|added| added.agent.name.as_str()).collect::<Vec<_>>(), ["law"]);
    assert!(added[0].as_ref().unwrap().question.shown().contains("may call: fs_edit"));
    assert!(added[1].is_err(), "a link shows one file and means another");
    for (text, why) in [
        ("---\nrole: boss\n---\nx", "boss"),
        ("---\nmaxTurns: 0\n---\nx", "maxTurns and maxToolCalls"),
        ("---\nname: a/b\n---\nx", "cannot be the name"),
        ("---\nname: a\n---\n", "has no prompt"),
    ] {
        std::fs::write(folder.path().join("qa.md"), text).unwrap();
        let error = read_agents(folder.path()).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("qa.md"), "{error}");
    }
}
