use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

#[test]
fn everything_is_as_it_was_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("commands/deep")).unwrap();
    for (name, text) in [("settings.json", "{}"), ("commands/a.md", "a"), ("commands/deep/b.md", "b"), ("gone.md", "c")]
    {
        fs::write(at(name), text).unwrap();
    }
    fs::set_permissions(at("settings.json"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("elsewhere", at("link")).unwrap();
    fs::write(at("sessions"), "not watched").unwrap();
    let roots = ["settings.json", "commands", "gone.md", "link", "hooks", "absent.json"].map(at).to_vec();
    let kept = Keepsakes::take(roots);
    assert_eq!(kept.put_back(&at("aside")), [""; 0], "nothing changed");

    fs::write(at("settings.json"), r#"{"env": {"X": "evil"}}"#).unwrap();
    fs::set_permissions(at("settings.json"), fs::Permissions::from_mode(0o666)).unwrap();
    fs::remove_file(at("gone.md")).unwrap();
    fs::remove_dir_all(at("commands/deep")).unwrap();
    fs::remove_file(at("link")).unwrap();
    symlink("/etc/passwd", at("link")).unwrap();
    fs::create_dir(at("hooks")).unwrap();
    fs::write(at("hooks/new.sh"), "evil").unwrap();
    fs::write(at("absent.json"), "evil").unwrap();
    fs::write(at("sessions"), "changed").unwrap();

    let changed = kept.put_back(&at("aside"));
    assert_eq!(changed.len(), 6, "{changed:?}");
    assert_eq!(fs::read_to_string(at("settings.json")).unwrap(), "{}");
    assert_eq!(at("settings.json").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(at("commands/deep/b.md")).unwrap(), "b");
    assert_eq!(fs::read_to_string(at("gone.md")).unwrap(), "c");
    assert_eq!(fs::read_link(at("link")).unwrap(), Path::new("elsewhere"));
    assert!(!at("hooks/new.sh").exists() && !at("absent.json").exists());
    assert_eq!(fs::read_to_string(at("sessions")).unwrap(), "changed", "what is not watched is the agent's");
    let saved: Vec<String> =
        fs::read_dir(at("aside")).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    assert_eq!(saved.iter().filter(|text| text.contains("evil")).count(), 3, "nothing is lost: {saved:?}");
    assert_eq!(kept.put_back(&at("aside")), [""; 0]);
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_replaced_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    fs::write(&path, "{}").unwrap();
    let kept = Keepsakes::take(vec![path.clone()]);
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    assert_eq!(kept.put_back(&folder.path().join("aside")).len(), 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
}
