use super::*;

#[test]
fn only_what_was_found_in_the_same_surroundings_counts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sandbox.json");
    let write = |text: &str| fs::write(&file, text).unwrap();
    assert_eq!(read(&file, "here"), None);
    write(r#"{"around":"here","bubblewrap":null,"landlock":5,"hides":true}"#);
    let files = Files::Landlock { version: 5 };
    let level = Level { files, network: NetworkLevel::Namespace, reads: ReadLevel::Hidden };
    assert_eq!((read(&file, "here"), read(&file, "there")), (Some(level), None));
    write(r#"{"around":"here","bubblewrap":"/usr/bin/bwrap","landlock":null,"hides":true}"#);
    let program = PathBuf::from("/usr/bin/bwrap");
    assert_eq!(read(&file, "here").unwrap().files, Files::Bubblewrap { program, landlock: None });
    let old = r#"{"around":"here","bubblewrap":null,"landlock":5}"#;
    for broken in ["", "{}", old, r#"{"around":"here","bubblewrap":null,"landlock":null,"hides":true}"#] {
        write(broken);
        assert_eq!(read(&file, "here"), None, "{broken}");
    }
}
