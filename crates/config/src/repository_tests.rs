use super::*;

fn file(text: &str) -> Result<RepositoryFile, String> {
    RepositoryFile::from_bytes(PathBuf::from("ralph.toml"), text.as_bytes().to_vec()).map_err(|error| error.to_string())
}

#[test]
fn what_only_the_user_may_say_is_refused_with_the_place() {
    for key in Key::ALL.iter().filter(|key| key.class() == Class::UserOnly) {
        let message = file(&format!("\n{}", key.example())).unwrap_err();
        assert!(message.starts_with("ralph.toml:2:") && message.contains("not allowed in a repository"), "{message}");
    }
    insta::assert_snapshot!(file("caps.iterations = 900").unwrap_err(), @r#"
    ralph.toml:1:19: `caps.iterations` is not allowed in a repository: it changes the cap on iterations per loop
      |
    1 | caps.iterations = 900
      |                   ^^^
      set it in your own configuration, or remove it here
    "#);
}

#[test]
fn a_glob_that_would_widen_is_refused() {
    for glob in ["!.env", " !.env", "a\\n!.env", "a\\r!.env"] {
        for key in ["prohibited_paths", "protected_paths"] {
            let message = file(&format!("{key} = [\"ok/**\", \"{glob}\"]")).unwrap_err();
            assert!(message.contains("would allow what is prohibited"), "{glob}: {message}");
        }
    }
    // A backslash makes it an ordinary character.
    assert!(file(r"prohibited_paths = ['\!important.txt']").is_ok());
}

#[test]
fn without_approval_only_what_narrows_is_left() {
    let text = "prohibited_paths = ['infra/**']\nprotected_paths = ['t/**']\nverification_command = 'evil'";
    let repository = file(text).unwrap().with(Approval::Missing);
    assert_eq!(repository.approved(), None);
    assert_eq!(
        (repository.prohibited(), repository.protected()),
        (&["infra/**".to_owned()][..], &["t/**".to_owned()][..])
    );
    let repository = file(text).unwrap().with(Approval::Given);
    assert!(repository.approved().is_some_and(|layer| layer.verification_command.is_some()));
}

#[test]
fn approval_is_asked_for_exactly_the_keys_that_need_it() {
    for key in Key::ALL.iter().filter(|key| key.class() != Class::UserOnly && **key != Key::AgentsUnmetered) {
        let needing: Vec<Key> = file(key.example()).unwrap().needing_approval().map(|present| present.key).collect();
        let wanted = if key.class() == Class::NeedsApproval { vec![*key] } else { vec![] };
        assert_eq!(needing, wanted, "{key:?}");
    }
}

#[test]
fn one_other_byte_is_another_hash() {
    let (one, other) = (file("max_iterations = 3").unwrap(), file("max_iterations = 3\n").unwrap());
    assert_ne!(one.sha256(), other.sha256());
    assert_eq!(one.sha256().len(), 64);
}

#[test]
fn what_is_no_text_is_refused() {
    let message = RepositoryFile::from_bytes("ralph.toml".into(), vec![0xff]).unwrap_err().to_string();
    assert!(message.contains("not UTF-8"), "{message}");
}

#[test]
fn a_link_in_a_repository_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.path().join(FILE_NAME)).unwrap();
    assert!(RepositoryFile::read(folder.path()).unwrap_err().to_string().contains("symbolic link"));
}
