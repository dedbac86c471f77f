use super::*;

#[test]
fn words_survive_a_shell() {
    for text in ["", "plain/word-1.0", "two words", "it's", "$HOME `x` \"y\" \\ * ; & |", "new\nline"] {
        let output =
            Command::new("/bin/sh").arg("-c").arg(format!("printf %s {}", shell_quoted(text))).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
    }
    assert_eq!(shell_quoted("plain/word-1.0"), "plain/word-1.0");
}

#[test]
fn the_build_folder_is_found_from_tests_examples_and_programs() {
    for test in ["/t/debug/deps/it-0f", "/t/debug/examples/cost", "/t/debug/ralph"] {
        assert_eq!(build_folder(Path::new(test)), Some(PathBuf::from("/t/debug")));
    }
}

#[test]
fn a_program_is_current_until_its_source_is_newer() {
    let folder = crate::scratch();
    let program = folder.path().join(AGENT);
    assert!(!is_current(&program), "there is none");
    let file = fs::File::create(&program).unwrap();
    assert!(is_current(&program));
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert!(!is_current(&program));
}
