use std::os::unix::ffi::OsStringExt as _;
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
    let kept = SettingsSnapshot::take(&roots);
    assert_eq!(kept.put_back(&at("aside")).changed, [""; 0], "nothing changed");

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

    let report = kept.put_back(&at("aside"));
    assert_eq!(report.changed.len(), 7, "{report:?}");
    assert!(report.lost.is_empty() && !report.unfinished && report.unsaved == 0, "{report:?}");
    assert_eq!(fs::read_to_string(at("settings.json")).unwrap(), "{}");
    assert_eq!(at("settings.json").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(at("commands/deep/b.md")).unwrap(), "b");
    assert_eq!(fs::read_to_string(at("gone.md")).unwrap(), "c");
    assert_eq!(fs::read_link(at("link")).unwrap(), Path::new("elsewhere"));
    assert!(!at("hooks").exists() && !at("absent.json").exists());
    assert_eq!(fs::read_to_string(at("sessions")).unwrap(), "changed", "what is not watched is the agent's");
    let saved: Vec<String> =
        fs::read_dir(at("aside")).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    assert_eq!(saved.iter().filter(|text| text.contains("evil")).count(), 3, "nothing is lost: {saved:?}");
    assert_eq!(kept.put_back(&at("aside")).changed, [""; 0]);
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_replaced_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    fs::write(&path, "{}").unwrap();
    let kept = SettingsSnapshot::take(std::slice::from_ref(&path));
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    assert_eq!(kept.put_back(&folder.path().join("aside")).changed.len(), 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
}

#[test]
fn thousands_of_new_files_hide_nothing_and_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("rules")).unwrap();
    fs::write(at("rules/mine.md"), "mine").unwrap();
    fs::write(at("settings.json"), "{}").unwrap();
    let kept = SettingsSnapshot::take(&[at("settings.json"), at("rules")]);
    for number in 0..=MAX_NAMES {
        fs::write(at(&format!("rules/{number}.md")), "").unwrap();
    }
    let deep = at("rules").join("deep/".repeat(2 * MAX_DEPTH));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("x.md"), "evil").unwrap();
    fs::write(at("settings.json"), "evil").unwrap();
    let report = kept.put_back(&at("aside"));
    assert_eq!(report.changed.len(), MAX_NAMES + 3, "{:?}", report.lost);
    assert!(report.lost.is_empty() && report.unsaved > 0, "{:?}", report.lost);
    assert_eq!(fs::read_to_string(at("settings.json")).unwrap(), "{}");
    let left: Vec<_> = fs::read_dir(at("rules")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["mine.md"]);
    assert!(fs::read_dir(at("aside")).unwrap().count() <= MAX_SAVED);
}

#[test]
fn what_is_too_much_to_remember_is_named_and_never_lost() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["skills", "plugins"] {
        fs::create_dir(at(name)).unwrap();
    }
    for number in 0..=MAX_NAMES {
        fs::write(at(&format!("skills/{number}")), "").unwrap();
    }
    let large = at("plugins/large");
    fs::File::create(&large).unwrap().set_len(MAX_OF_A_FILE + 1).unwrap();
    fs::write(at("settings.json"), "{}").unwrap();
    let kept = SettingsSnapshot::take(&[at("skills"), at("plugins"), at("settings.json")]);
    assert_eq!(kept.gaps(), [at("skills").display().to_string()]);
    assert!(kept.put_back(&at("aside")).changed.is_empty());
    assert_eq!(fs::read_dir(at("skills")).unwrap().count(), MAX_NAMES + 1);

    fs::write(at("settings.json"), "evil").unwrap();
    fs::write(&large, "evil").unwrap();
    let report = kept.put_back(&at("aside"));
    assert_eq!(report.changed, [at("settings.json").display().to_string()]);
    assert!(report.lost.len() == 1 && report.lost[0].starts_with(&large.display().to_string()), "{report:?}");
    assert!(large.exists() && !report.unfinished);
}

#[test]
fn one_folder_takes_no_room_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for root in ["a", "b"] {
        fs::create_dir(at(root)).unwrap();
        for number in 0..5 {
            fs::write(at(&format!("{root}/{number}")), vec![b'x'; usize::try_from(MAX_OF_A_FILE).unwrap()]).unwrap();
        }
    }
    fs::write(at("settings.json"), "{}").unwrap();
    let kept = SettingsSnapshot::take(&[at("a"), at("b"), at("settings.json")]);
    let remembered = |root: usize| kept.roots[root].kept.values().filter(|kept| matches!(kept, Kept::File { .. }));
    assert_eq!([0, 1, 2].map(|root| remembered(root).count()), [1, 4, 3], "files come first, and the whole is bounded");
}

#[test]
fn a_link_in_the_place_of_a_folder_leads_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["commands/deep", "elsewhere/deep"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    fs::write(at("commands/deep/a.md"), "mine").unwrap();
    fs::write(at("elsewhere/a.md"), "the user's").unwrap();
    fs::write(at("elsewhere/deep/a.md"), "the user's").unwrap();
    let kept = SettingsSnapshot::take(&[at("commands")]);
    for place in ["commands/deep", "commands"] {
        fs::remove_dir_all(at(place)).unwrap();
        symlink(at("elsewhere"), at(place)).unwrap();
        let report = kept.put_back(&at("aside"));
        assert!(!report.changed.is_empty() && report.lost.is_empty(), "{report:?}");
        assert_eq!(fs::read_to_string(at("commands/deep/a.md")).unwrap(), "mine");
        assert!(at(place).symlink_metadata().unwrap().is_dir());
    }
    for name in ["elsewhere/a.md", "elsewhere/deep/a.md"] {
        assert_eq!(fs::read_to_string(at(name)).unwrap(), "the user's");
    }
}

#[test]
fn folders_without_permissions_stop_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("home")).unwrap();
    fs::write(at("home/settings.json"), "{}").unwrap();
    let kept = SettingsSnapshot::take(&[at("home/settings.json"), at("home/hooks")]);
    fs::create_dir_all(at("home/hooks/deep")).unwrap();
    fs::write(at("home/hooks/deep/x.sh"), "evil").unwrap();
    fs::write(at("home/settings.json"), "evil").unwrap();
    for (name, mode) in [("home/hooks/deep", 0o500), ("home/hooks", 0o000), ("home", 0o100)] {
        fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let report = kept.put_back(&at("aside"));
    assert!(report.lost.is_empty(), "{report:?}");
    assert_eq!(fs::read_to_string(at("home/settings.json")).unwrap(), "{}");
    assert!(!at("home/hooks").exists());
}

#[test]
fn of_the_state_of_a_program_only_what_steers_is_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join(".claude.json");
    let aside = folder.path().join("aside");
    let put_back = |was: Option<&str>, is: &str| {
        let _ = fs::remove_file(&state);
        if let Some(was) = was {
            fs::write(&state, was).unwrap();
        }
        let kept = SettingsSnapshot::take(std::slice::from_ref(&state));
        fs::write(&state, is).unwrap();
        let report = kept.put_back(&aside);
        (report.changed.len(), fs::read_to_string(&state).unwrap())
    };
    let was = r#"{"mcpServers": {"mine": {}}, "numStartups": 1}"#;
    let (changed, now) =
        put_back(Some(was), r#"{"mcpServers": {"evil": {}}, "numStartups": 2, "oauthAccount": "new"}"#);
    let now: serde_json::Value = serde_json::from_str(&now).unwrap();
    let expected = serde_json::json!({"mcpServers": {"mine": {}}, "numStartups": 2, "oauthAccount": "new"});
    assert_eq!((changed, now), (1, expected));
    let login = r#"{"numStartups":2,"mcpServers":{"mine":{}}}"#;
    assert_eq!(put_back(Some(was), login), (0, login.to_owned()), "the program's own business");
    assert_eq!(put_back(None, r#"{"mcpServers": {}}"#).0, 0, "made by its first run");
    assert_eq!(put_back(None, r#"{"mcpServers": {"evil": {}}}"#), (1, "{}".to_owned()));
    assert_eq!(put_back(Some("not JSON"), "neither"), (0, "neither".to_owned()));
    // JavaScript reads this.
    let strange = r#"{"x": "\ud800", "mcpServers": {"evil": {}}}"#;
    assert_eq!(put_back(Some(was), strange), (1, was.to_owned()));
}

#[test]
fn what_a_program_makes_by_itself_is_put_back_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let skills = folder.path().join("skills");
    let kept = SettingsSnapshot::take(std::slice::from_ref(&skills));
    fs::create_dir_all(skills.join(".system/imagegen")).unwrap();
    fs::write(skills.join(".system/imagegen/SKILL.md"), "own").unwrap();
    let aside = folder.path().join("aside");
    let report = kept.put_back(&aside);
    assert!(report.changed.is_empty() && report.lost.is_empty() && !aside.exists(), "{report:?}");
    assert!(!skills.join(".system").exists());
}

#[test]
fn what_is_written_down_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("skills")).unwrap();
    fs::write(at("skills").join(std::ffi::OsString::from_vec(b"no\xfftext".to_vec())), b"\0\xff\n").unwrap();
    fs::write(at("empty"), "").unwrap();
    symlink("x", at("skills/link")).unwrap();
    fs::File::create(at("large")).unwrap().set_len(MAX_OF_A_FILE + 1).unwrap();
    let kept = SettingsSnapshot::take(&["skills", "empty", "large", "absent"].map(at));
    assert!(SettingsSnapshot::read(&at("copy")).unwrap().is_none());
    kept.write(&at("copy")).unwrap();
    let read = SettingsSnapshot::read(&at("copy")).unwrap().unwrap();
    assert_eq!(format!("{kept:?}"), format!("{read:?}"));
    assert_eq!(at("copy").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read(at("copy")).unwrap();
    fs::write(at("copy"), &text[..text.len() - 1]).unwrap();
    assert!(SettingsSnapshot::read(&at("copy")).is_err(), "half a copy is none");
}
